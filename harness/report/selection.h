/* Selection: which cases the runs of a file were to measure, which of these are missing, and what stands there twice.
 * Not for anybody outside this folder.
 *
 * A later run of the whole suite replaces what earlier ones selected; a later run of some of its cases, those. A case
 * is missing if the last run that selected it has fewer attempts at it than it was to make. Runs of one run_id are
 * copies: their attempts count once. */
#ifndef ASSAY_REPORT_SELECTION_H
#define ASSAY_REPORT_SELECTION_H

#include "harness/record/record.h"
#include "harness/report/case_view.h"

struct selection_group;
struct selection_entry;

/* All zero is empty. */
struct selection {
    struct arena arena;
    struct name_table ids, run_ids;
    struct selection_group *groups; /* one for each different run_id, in the order of their first lines */
    struct selection_entry *entries;
    size_t entry_count, entry_room, group_room;
    int group;   /* of the run that is being read */
    bool failed; /* memory ran out */
};

/* One line of the file after the other. */
void selection_add(struct selection *selection, const struct record_line *line);

/* Fills what the report has of it: missing, notes, ended. False if memory ran out. */
bool selection_settle(struct selection *selection, struct report *report);

void selection_release(struct selection *selection);

#endif
