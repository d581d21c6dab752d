/* Note groups: notes on cases, where cases of which the same is said share a line. In the order in which they were
 * added. Raw text; callers escape it, note_groups_markdown does. */
#ifndef ASSAY_REPORT_NOTE_GROUPS_H
#define ASSAY_REPORT_NOTE_GROUPS_H

#include <stdbool.h>

#include "harness/base/arena.h"
#include "harness/base/name_table.h"
#include "harness/base/text.h"

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

/* Says `words` of the case with this title; nothing where they are empty. Both are copied. */
void note_groups_add(struct note_groups *notes, const char *title, const char *words);

/* Appends one group as a line, raw: "CASE, CASE and 3 more: WORDS". at: from 0 to count. */
void note_groups_line(const struct note_groups *notes, int at, struct text *line);

/* A list under a heading of the second level, one line for each group: "- CASE, CASE and 3 more: WORDS". Nothing where
 * there is none. */
void note_groups_markdown(struct text *text, const struct note_groups *notes, const char *heading);

void note_groups_release(struct note_groups *notes);

#endif
