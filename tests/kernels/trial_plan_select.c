/* Plans of selection: ties, infinities and NaN among the largest; ids for each element and for whole rows. */
#include "tests/kernels/trial_plan.h"

#include <math.h>
#include <stddef.h>

/* Rows, columns, picked, bytes of workspace (0: none): for no part of a row, for two of them, for as many as can be. */
static const int64_t picks[][4] = {
    {1, 1, 1, 0},           {3, 5, 2, 0},           {1, 1023, 8, 0},         {7, 64, 64, 0},
    {5, 129, 3, 0},         {2, 20011, 16, 0},      {150, 77, 1, 0},         {0, 4, 2, 0},
    {1, 300, 10, 0},        {2, 5000, 700, 0},      {1, 3000, 1100, 0},      {1, 20011, 50, 7},
    {1, 20011, 50, 1000},   {1, 20011, 5, 1 << 16}, {2, 20011, 50, 1 << 16}, {3, 16400, 1, 1 << 9},
    {1, 16400, 700, 18000}, {1, 16400, 9, 1 << 16}, {1, 2100, 600, 1 << 16},
};

enum { PICK_COUNT = sizeof picks / sizeof picks[0] };

/* numbers; ties; ties with what is not finite; the best where one lane after the other looks, more than are sorted */
enum kind { NUMBERS, TIES, ODD_TIES, BUNCHES, KIND_COUNT };

/* Integers of a small range are exact in every dtype and often equal. */
static void ties_set(struct trial *trial, int64_t count)
{
    for (int64_t k = 0; k < count; k++) {
        trial_set(trial, 0, k, (double)trial_integer(trial, -3, 3));
    }
}

static void odd_set(struct trial *trial, int64_t count)
{
    static const double odd[] = {INFINITY, -INFINITY, NAN, -0.0};
    for (int k = 0; k < 4 && count > 0; k++) {
        trial_set(trial, 0, trial_integer(trial, 0, count - 1), odd[k]);
    }
}

/* Few lanes have all of the best, whether they look at 128, 256 or 1,024 packets together. */
static void bunches_set(struct trial *trial, const int64_t *pick)
{
    enum { LANES_TOGETHER = 1024, LANES_OF_BEST = 8 };
    int64_t unit = pick[1] % 8 == 0 ? 8 : 1;
    for (int64_t k = 0; k < pick[0] * pick[1]; k++) {
        bool is_best = k % pick[1] / unit % LANES_TOGETHER < LANES_OF_BEST;
        trial_set(trial, 0, k, (double)trial_integer(trial, is_best ? 100 : 0, is_best ? 200 : 99));
    }
}

bool plan_top_k(struct trial *trial, int variant)
{
    if (variant >= KIND_COUNT * PICK_COUNT) {
        return false;
    }
    const int64_t *pick = picks[variant % PICK_COUNT];
    enum kind kind = (enum kind)(variant / PICK_COUNT);
    bool all = trial->call.opcode == OPCODE_TOP_K;
    int64_t count = pick[0] * pick[1];
    trial_input(trial, trial_dtype(trial), LAYOUT_DENSE, 2, pick, -8.0, 8.0);
    if (kind == TIES || kind == ODD_TIES) {
        ties_set(trial, count);
    }
    if (kind == ODD_TIES) {
        odd_set(trial, count);
    } else if (kind == BUNCHES) {
        bunches_set(trial, pick);
    }
    if (pick[3] > 0) {
        trial_workspace(trial, pick[3]);
    }
    if (all) {
        trial_output(trial, trial_dtype(trial), LAYOUT_DENSE, 2, (const int64_t[]){pick[0], pick[2]});
    }
    trial_output(trial, DTYPE_INT64, LAYOUT_DENSE, all ? 2 : 1, (const int64_t[]){pick[0], pick[2]});
    return true;
}

bool plan_gather(struct trial *trial, int variant)
{
    /* Groups, rows, columns, picked. */
    static const int64_t shapes[][4] = {
        {1, 1, 1, 1}, {2, 3, 5, 7}, {1, 4, 4096, 4}, {3, 300, 1, 40}, {2, 2, 1001, 4}, {1, 8, 0, 4}, {2, 6, 96, 3},
    };
    enum { SHAPES = sizeof shapes / sizeof shapes[0], DTYPES = 8 };
    if (variant >= 2 * DTYPES * SHAPES) {
        return false;
    }
    static const enum dtype others[DTYPES - 1] = {DTYPE_INT64, DTYPE_BOOL,          DTYPE_UINT8, DTYPE_INT8,
                                                  DTYPE_INT32, DTYPE_FLOAT8_E4M3FN, DTYPE_NF4X2};
    const int64_t *s = shapes[variant % SHAPES];
    bool whole_rows = variant / SHAPES % 2 == 1; /* dimensions 0 and 2 of the ids have stride 0 */
    int kind = variant / SHAPES / 2;
    enum dtype dtype = kind == 0 ? trial_dtype(trial) : others[kind - 1];
    int64_t from[] = {s[0], s[1], s[2]}, to[] = {s[0], s[3], s[2]};
    trial_input(trial, dtype, LAYOUT_DENSE, 3, from, 0.0, kind == 2 ? 1.0 : 120.0);
    trial_input(trial, DTYPE_INT64, whole_rows ? LAYOUT_BROADCAST : trial_layout(trial, LAYOUT_PERMUTED), 3, to, 0.0,
                (double)(s[1] - 1));
    trial_output(trial, dtype, LAYOUT_DENSE, 3, to);
    return true;
}

bool plan_token_positions(struct trial *trial, int variant)
{
    static const int64_t sizes[][2] = {{1, 1}, {2, 7}, {3, 130}, {1, 1025}, {40, 33}, {0, 4}, {2, 0}};
    static const int64_t rules[][3] = {{1, 1, 1}, {0, -1, -1}, {0, -1, 0}};
    enum { SIZES = sizeof sizes / sizeof sizes[0], RULES = sizeof rules / sizeof rules[0] };
    if (variant >= SIZES * RULES) {
        return false;
    }
    for (int k = 0; k < 3; k++) {
        trial->call.attributes.i[k] = rules[variant / SIZES][k];
    }
    trial_input(trial, DTYPE_INT64, LAYOUT_DENSE, 2, sizes[variant % SIZES], 0.0, 2.0);
    trial_output(trial, DTYPE_INT64, LAYOUT_DENSE, 2, sizes[variant % SIZES]);
    return true;
}

bool plan_divide(struct trial *trial, int variant)
{
    static const int64_t sizes[][3] = {{1, 1, 1}, {2, 3, 5}, {1, 5003, 1}, {0, 3, 4}, {7, 33, 129}};
    static const int64_t divisors[] = {1, 7, 50257};
    enum { SIZES = sizeof sizes / sizeof sizes[0], DIVISORS = sizeof divisors / sizeof divisors[0] };
    if (variant >= SIZES * DIVISORS) {
        return false;
    }
    trial->call.attributes.i[0] = divisors[variant / SIZES];
    const int64_t *size = sizes[variant % SIZES];
    trial_input(trial, DTYPE_INT64, trial_layout(trial, LAYOUT_BROADCAST), 3, size, -200000.0, 200000.0);
    trial_output(trial, DTYPE_INT64, trial_layout(trial, LAYOUT_PERMUTED), 3, size);
    return true;
}
