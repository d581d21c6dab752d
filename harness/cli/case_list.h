/* Case list: options of a case whose values are lists, "--batch 8,16,32", and the cases that they make: all
 * combinations, in the order of the fields of a case, the last one running fastest, as in a suite. */
#ifndef ASSAY_CLI_CASE_LIST_H
#define ASSAY_CLI_CASE_LIST_H

#include "harness/base/arena.h"
#include "harness/cli/command.h"

enum { CASE_LIST_MAXIMUM = 1000 };

struct case_list_axis {
    int row;             /* of the command's options */
    const char **values; /* in the arena */
    int count;
};

struct case_list {
    struct arena arena;
    const struct arguments *arguments; /* borrowed */
    struct case_list_axis axes[OPTION_COUNT_MAXIMUM];
    int axis_count; /* 0: no option has a list */
    int count;      /* of cases; 1 if there is no list */
};

/* STATUS_INVALID if there are more than CASE_LIST_MAXIMUM. The caller releases the list. */
enum status_code case_list_make(const struct arguments *arguments, struct case_list *list, struct status *error);
void case_list_release(struct case_list *list);

/* The arguments of one case: those of the list with one value for each option. */
struct arguments case_list_at(const struct case_list *list, int index);

#endif
