/* Plans of grouped rows: groups that are empty, all in one, and matrices that lie either way. */
#include "tests/kernels/trial_plan.h"

#include <math.h>
#include <stddef.h>

/* Rows, columns, picked. */
static const int64_t picks[][3] = {{1, 1, 1}, {3, 8, 2}, {5, 60, 4}, {300, 128, 8}, {2, 7, 7}, {1, 2000, 3}};

bool plan_scatter(struct trial *trial, int variant)
{
    if (variant >= (int)(sizeof picks / sizeof picks[0])) {
        return false;
    }
    const int64_t *pick = picks[variant];
    const int64_t from[] = {pick[0], pick[2]}, to[] = {pick[0], pick[1]};
    enum dtype dtype = trial_dtype(trial);
    trial_input(trial, dtype, LAYOUT_DENSE, 2, from, -8.0, 8.0);
    trial_input(trial, DTYPE_INT64, LAYOUT_DENSE, 2, from, 0.0, 0.0);
    for (int64_t k = 0; k < from[0] * from[1]; k++) { /* ids of a row differ */
        int64_t turn = pick[1] / pick[2];
        trial_set(trial, 1, k, (double)(k % pick[2] * turn + trial_integer(trial, 0, turn - 1)));
    }
    trial_output(trial, dtype, LAYOUT_DENSE, 2, to);
    return true;
}

bool plan_group_limit(struct trial *trial, int variant)
{
    /* Rows, groups, columns of a group, chosen groups, best elements. */
    static const int64_t shapes[][5] = {{1, 1, 1, 1, 1},   {7, 8, 32, 4, 2}, {300, 2, 3, 1, 1}, {5, 4, 2, 4, 2},
                                        {33, 8, 20, 3, 1}, {0, 2, 4, 1, 2},  {40, 6, 5, 2, 2}};
    enum { SHAPES = sizeof shapes / sizeof shapes[0] };
    if (variant >= 2 * SHAPES) {
        return false;
    }
    const int64_t *s = shapes[variant % SHAPES], size[] = {s[0], s[1] * s[2]};
    trial->call.attributes.i[0] = s[1];
    trial->call.attributes.i[1] = s[3];
    trial->call.attributes.i[2] = s[4];
    trial_input(trial, trial_dtype(trial), LAYOUT_DENSE, 2, size, -4.0, 4.0);
    for (int64_t k = 0; k < size[0] * size[1] && variant >= SHAPES; k++) { /* ties, and what is not finite */
        int64_t value = trial_integer(trial, -3, 4);
        trial_set(trial, 0, k, value == 4 ? (k % 3 == 0 ? (double)NAN : (double)INFINITY) : (double)value);
    }
    trial_output(trial, DTYPE_BOOL, LAYOUT_DENSE, 2, size);
    return true;
}

bool plan_complex_multiply(struct trial *trial, int variant)
{
    static const int64_t shapes[][5] = {{1, 1, 1, 1, 2}, {2, 3, 5, 4, 2}, {2, 4, 70, 32, 2}, {1, 1, 0, 3, 2}};
    enum { SHAPES = sizeof shapes / sizeof shapes[0] };
    if (variant >= 4 * SHAPES) {
        return false;
    }
    const int64_t *s = shapes[variant % SHAPES];
    /* Heads and rows exchanged in memory, with a gap between rows; one factor for all heads. */
    const struct placement heads = {.order = {4, 3, 1, 2, 0}, .gap = variant / SHAPES % 2};
    const struct placement table = {.order = {4, 3, 2, 1, 0}, .repeated = {false, true}};
    trial->call.attributes.i[0] = variant / SHAPES / 2;
    trial->roundings = 64.0; /* the two products of a part may cancel */
    trial->allowance = 1e-5;
    trial_input_placed(trial, trial_dtype(trial), &heads, 5, s, -2.0, 2.0);
    trial_input_placed(trial, trial_dtype(trial), &table, 5, s, -1.0, 1.0);
    trial_output(trial, trial_dtype(trial), LAYOUT_DENSE, 5, s);
    return true;
}

/* Ids, groups. */
static const int64_t lists[][2] = {{4, 1}, {17, 4}, {5000, 128}, {64, 60}, {3, 256}, {1000, 8}};

enum { LISTS = sizeof lists / sizeof lists[0] };

bool plan_sort_ids(struct trial *trial, int variant)
{
    if (variant >= LISTS) {
        return false;
    }
    const int64_t *list = lists[variant];
    trial->call.attributes.i[0] = list[1];
    trial_input(trial, DTYPE_INT64, LAYOUT_DENSE, 1, &list[0], 0.0, (double)(list[1] - 1));
    trial_output(trial, DTYPE_INT64, LAYOUT_DENSE, 1, &list[0]);
    trial_output(trial, DTYPE_INT64, LAYOUT_DENSE, 1, &list[0]);
    return true;
}

bool plan_group_ends(struct trial *trial, int variant)
{
    if (variant >= LISTS) {
        return false;
    }
    const int64_t *list = lists[variant];
    trial_input(trial, DTYPE_INT64, LAYOUT_DENSE, 1, &list[0], 0.0, 0.0);
    int64_t id = 0;
    for (int64_t k = 0; k < list[0]; k++) {
        id = id + 1 < list[1] ? id + trial_integer(trial, 0, 1) : id;
        trial_set(trial, 0, k, (double)id);
    }
    trial_output(trial, DTYPE_INT32, LAYOUT_DENSE, 1, &list[0]);
    trial_output(trial, DTYPE_INT32, LAYOUT_DENSE, 1, &list[1]);
    trial_output(trial, DTYPE_INT32, LAYOUT_DENSE, 1, &list[1]);
    return true;
}

bool plan_place_ids(struct trial *trial, int variant)
{
    static const int64_t counts[] = {1, 4, 19, 4096};
    if (variant >= (int)(sizeof counts / sizeof counts[0])) {
        return false;
    }
    int64_t count = counts[variant];
    trial_input(trial, DTYPE_INT64, LAYOUT_DENSE, 1, &count, 0.0, 0.0);
    for (int64_t k = 0; k < count; k++) {
        trial_set(trial, 0, k, (double)(k * 5 % count)); /* 5 divides none of the counts: each place once */
    }
    trial_input(trial, DTYPE_INT64, LAYOUT_DENSE, 1, &count, -100000.0, 100000.0);
    trial_output(trial, DTYPE_INT64, LAYOUT_DENSE, 1, &count);
    return true;
}

/* Where groups end: one behind the other, the last behind all rows but in every third variant. */
static void ends_input(struct trial *trial, int64_t rows, int64_t groups, int variant)
{
    int ends = trial_input(trial, DTYPE_INT32, LAYOUT_DENSE, 1, &groups, 0.0, 0.0);
    int64_t end = 0;
    for (int64_t group = 0; group < groups; group++) {
        end = trial_integer(trial, end, rows);
        bool last = group == groups - 1 && variant % 3 != 0;
        trial_set(trial, ends, group, (double)(last ? rows : end));
    }
}

bool plan_grouped_matmul(struct trial *trial, int variant)
{
    /* Rows, inner, columns, groups. Tiles have 64 or 128 rows and columns, and 32 terms. */
    static const int64_t shapes[][4] = {{1, 1, 1, 1},   {16, 32, 48, 4},   {33, 7, 129, 8}, {200, 64, 40, 60},
                                        {5, 300, 3, 2}, {150, 40, 136, 3}, {70, 136, 8, 2}};
    enum { SHAPES = sizeof shapes / sizeof shapes[0] };
    if (variant >= 4 * SHAPES) {
        return false;
    }
    const int64_t *s = shapes[variant % SHAPES];
    bool turned = variant / SHAPES % 2 == 1, summed = variant / SHAPES / 2 == 1;
    const struct placement plain = {.order = {1, 0}}, columns_first = {.order = {0, 1}};
    const struct placement matrices = {.order = {2, 1, 0}}, matrices_turned = {.order = {1, 2, 0}};
    trial->tolerance = 0.0;
    trial->allowance = 1e-6 * (double)(summed ? s[0] : s[1]) + 1e-6;
    if (summed) {
        trial_input_placed(trial, trial_dtype(trial), &columns_first, 2, (const int64_t[]){s[1], s[0]}, -1.0, 1.0);
        trial_input_placed(trial, trial_dtype(trial), turned ? &columns_first : &plain, 2,
                           (const int64_t[]){s[0], s[2]}, -1.0, 1.0);
    } else {
        trial_input_placed(trial, trial_dtype(trial), &plain, 2, (const int64_t[]){s[0], s[1]}, -1.0, 1.0);
        trial_input_placed(trial, trial_dtype(trial), turned ? &matrices_turned : &matrices, 3,
                           (const int64_t[]){s[3], s[1], s[2]}, -1.0, 1.0);
    }
    ends_input(trial, s[0], s[3], variant);
    if (summed) {
        trial_output(trial, trial_dtype(trial), LAYOUT_DENSE, 3, (const int64_t[]){s[3], s[1], s[2]});
    } else {
        trial_output(trial, trial_dtype(trial), LAYOUT_DENSE, 2, (const int64_t[]){s[0], s[2]});
    }
    return true;
}
