/* Grouped rows: ids in rising order, where each group of equal ids ends, and products in which each group of rows has a
 * matrix of its own. Indices come from memory that a kernel wrote: none leads outside a tensor. */
#ifndef ASSAY_KERNELS_BODY_GROUPED_H
#define ASSAY_KERNELS_BODY_GROUPED_H

#include "harness/kernels/body.h"

/* Groups of columns side by side, of which so many are chosen by the sum of their `best` largest elements. */
struct group_choice {
    int64_t columns, groups, active, best;
};

BODY float group_score(const struct tensor *scores, int64_t first, int64_t count, int64_t best)
{
    float highest = -INFINITY, second = -INFINITY;
    for (int64_t k = first; k < first + count; k++) {
        float value = float_load(scores->data, scores->dtype, k);
        value = value != value ? INFINITY : value;
        second = value > highest ? highest : value > second ? value : second;
        highest = value > highest ? value : highest;
    }
    return best == 2 ? highest + second : highest;
}

/* Whether `active` groups of the row come before this one: they score higher, or as high and stand in front of it. */
BODY bool group_is_hidden(const struct tensor *scores, struct group_choice choice, int64_t row, int64_t group)
{
    int64_t width = choice.columns / choice.groups, first = row * choice.columns, before = 0;
    float own = group_score(scores, first + group * width, width, choice.best);
    for (int64_t other = 0; other < choice.groups; other++) {
        float score = group_score(scores, first + other * width, width, choice.best);
        before += score > own || (score == own && other < group) ? 1 : 0;
    }
    return before >= choice.active;
}

/* How many of the first `count` ids are below `bound`. */
BODY int64_t ids_below(const int64_t *ids, int64_t count, int64_t bound)
{
    int64_t below = 0;
    for (int64_t k = 0; k < count; k++) {
        below += ids[k] < bound ? 1 : 0;
    }
    return below;
}

/* The same where they rise. */
BODY int64_t rising_ids_below(const int64_t *ids, int64_t count, int64_t bound)
{
    int64_t low = 0, high = count;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (ids[middle] < bound) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Writes the ids that equal `group`, and where they were, in their order, behind the `below` smaller ones. */
BODY void group_collect(const int64_t *ids, int64_t count, int64_t group, int64_t below, int64_t *sorted,
                        int64_t *places)
{
    for (int64_t k = 0; k < count; k++) {
        if (ids[k] == group) {
            sorted[below] = group;
            places[below++] = k;
        }
    }
}

/* Rows [first, end) of a group, inside [0, rows). */
struct group_rows {
    int64_t first, end;
};

BODY int64_t group_end(const int32_t *ends, int64_t group, int64_t rows)
{
    int64_t end = group < 0 ? 0 : ends[group];
    return end < 0 ? 0 : end > rows ? rows : end;
}

BODY struct group_rows group_rows_of(const int32_t *ends, int64_t group, int64_t rows)
{
    struct group_rows range = {group_end(ends, group - 1, rows), group_end(ends, group, rows)};
    return range;
}

/* The group of a row: the first that ends behind it; `groups` if none does. */
BODY int64_t group_of_row(const int32_t *ends, int64_t groups, int64_t row)
{
    int64_t low = 0, high = groups;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (ends[middle] > row) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

#endif
