/* Note groups: notes on cases, where cases of which the same is said share a line. In the order in which they were
 * added. Raw text. */
#ifndef ASSAY_REPORT_NOTE_GROUPS_H
#define ASSAY_REPORT_NOTE_GROUPS_H

#include <stdbool.h>

#include "harness/base/arena.h"
#include "harness/base/name_table.h"
#include "harness/base/text.h"
#include "harness/report/page.h"

struct note_group;

/* All zero is empty. */
struct note_groups {
    struct arena arena;
    struct name_table words; /* the number of a text is that of its group */
    struct note_group *groups;
    int count;
    size_t room;
    bool failed; /* memory ran out */
};

/* Says `words` of the case with this title; nothing if they are empty. Both are copied. */
void note_groups_add(struct note_groups *notes, const char *title, const char *words);

/* A list under a heading, an item for each group: "CASE, CASE and 3 more: WORDS". Nothing if there is none. */
void note_groups_describe(const struct note_groups *notes, const char *heading, unsigned media, struct page *page);

void note_groups_release(struct note_groups *notes);

#endif
