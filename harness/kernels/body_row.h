/* Row: the elements of a row that a team goes through more than once, in groups. On the host a group is the whole row
 * in memory. On CUDA (launch_row.h) it is up to eight elements in a lane's registers; the first groups of a lane stay
 * there from one pass to the next, so that memory is read once, and what they cannot hold is read again.
 *
 *     GROUP_BODY float group_sum(GROUP x, float sum)     // one lane, one group
 *     {
 *         GROUP_SIMD(reduction(+ : sum))
 *         for (int64_t k = 0; k < GROUP_SIZE(x); k++) {
 *             if (group_has(x, k)) { sum += x.at[k]; }   // always true on the host
 *         }
 *         return sum;
 *     }
 *     ROW_BODY float row_sum(struct team team, ROW a)    // the team, the row
 *     {
 *         float sum = 0.0f;
 *         ROW_EACH(a, place, { sum = group_sum(row_get(a, place), sum); });
 *         return team_sum(team, sum);
 *     }
 *
 * ROW is a row that is kept, MEMORY_ROW one that is read or written once. A result is made in row_target(out, place)
 * and brought to memory by row_set; row_keep leaves it where row_kept finds it in a later pass, if row_keeps(place). */
#ifndef ASSAY_KERNELS_BODY_ROW_H
#define ASSAY_KERNELS_BODY_ROW_H

#include <stdbool.h>

#include "harness/kernels/body.h"

#ifdef __CUDACC__

#include "harness/kernels/launch_row.h"

#else

struct row {
    float *data;
    int64_t columns;
};

struct group {
    float *at;
    int64_t count;
};

#define GROUP_BODY          BODY
#define GROUP               struct group
#define GROUP_SIZE(group)   ((group).count)
#define GROUP_SIMD(clauses) BODY_SIMD(clauses)
#define ROW_BODY            BODY
#define ROW                 struct row
#define MEMORY_ROW          struct row
#define ROW_EACH(row, place, ...)                                                                                      \
    do {                                                                                                               \
        const int place = 0;                                                                                           \
        (void)place;                                                                                                   \
        __VA_ARGS__                                                                                                    \
    } while (0)

BODY struct row row_of(struct span span, int64_t columns)
{
    struct row row = {span.data, columns};
    return row;
}

BODY float group_count(struct group group)
{
    return (float)group.count;
}

BODY bool group_has(struct group group, int64_t k)
{
    (void)group;
    (void)k;
    return true;
}

BODY struct group row_get(struct row row, int place)
{
    (void)place;
    struct group group = {row.data, row.columns};
    return group;
}

BODY struct group row_target(struct row row, int place)
{
    return row_get(row, place);
}

BODY void row_set(struct row row, int place, struct group group)
{
    (void)row;
    (void)place;
    (void)group;
}

BODY void row_keep(struct row row, int place, struct group group)
{
    row_set(row, place, group);
}

BODY struct group row_kept(struct row row, int place)
{
    return row_get(row, place);
}

BODY bool row_keeps(int place)
{
    (void)place;
    return true;
}

#endif

#endif
