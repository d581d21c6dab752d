/* Plans of 8-bit Adam and of other codes of a map: blocks that are full, begun and missing; gradients that are not
 * finite; blocks of zeros. */
#include "tests/kernels/trial_plan.h"

#include <math.h>

#include "tests/kernels/reference.h"

enum { CODES = 256, BLOCK = 256 };

bool plan_dynamic_map(struct trial *trial, int variant)
{
    if (variant >= 4) {
        return false;
    }
    trial->call.attributes.i[0] = variant % 2;
    const int64_t size[] = {variant < 2 ? CODES : 2, CODES / 2};
    trial_output(trial, DTYPE_FLOAT32, LAYOUT_DENSE, variant < 2 ? 1 : 2, size);
    return true;
}

static void map_input(struct trial *trial, bool is_signed)
{
    int map = trial_input(trial, DTYPE_FLOAT32, LAYOUT_DENSE, 1, (const int64_t[]){CODES}, 0.0, 0.0);
    double numbers[CODES];
    double *values[] = {numbers};
    struct operation_call made = {.opcode = OPCODE_DYNAMIC_MAP, .tensor_count = 1, .attributes.i = {is_signed}};
    reference_run(&made, values);
    for (int code = 0; code < CODES; code++) {
        trial_set(trial, map, code, numbers[code]);
    }
}

bool plan_adam_8bit(struct trial *trial, int variant)
{
    static const int64_t sizes[][2] = {{0, 4},  {1, 1},   {7, 1},    {16, 16},   {1, 257},
                                       {3, 85}, {2, 256}, {33, 129}, {1, 20000}, {5003, 1}};
    enum { SIZES = sizeof sizes / sizeof sizes[0] };
    if (variant >= 3 * SIZES) {
        return false;
    }
    const int64_t *size = sizes[variant % SIZES];
    int64_t count = size[0] * size[1];
    const int64_t blocks[] = {(count + BLOCK - 1) / BLOCK};
    double *f = trial->call.attributes.f;
    f[0] = 1e-2, f[1] = 0.9, f[2] = 0.999, f[3] = 1e-8, f[4] = variant % 2 == 0 ? 0.0 : 0.1;
    trial->call.attributes.i[0] = 1 - variant % 3 / 2;
    trial->call.attributes.i[1] = 1 + variant;
    trial->code_slack = 1.0;
    bool still = variant % SIZES == 6; /* nothing moves: all moments stay 0 */
    int grad = trial_input(trial, trial_dtype(trial), LAYOUT_DENSE, 2, size, still ? 0.0 : -1.0, still ? 0.0 : 1.0);
    if (variant >= SIZES && count > 3) {
        trial_set(trial, grad, count / 2, variant % 2 == 0 ? INFINITY : NAN);
    }
    map_input(trial, true);
    map_input(trial, false);
    if (variant >= 2 * SIZES) {
        double found = variant % 2;
        trial_input(trial, DTYPE_FLOAT32, LAYOUT_DENSE, 1, (const int64_t[]){1}, found, found);
    }
    trial_update(trial, trial_dtype(trial), 2, size, -1.0, 1.0);
    trial_update(trial, DTYPE_UINT8, 2, size, 0.0, 255.0);
    trial_update(trial, DTYPE_UINT8, 2, size, 0.0, 255.0);
    trial_update(trial, DTYPE_FLOAT32, 1, blocks, still ? 0.0 : 0.1, still ? 0.0 : 1.0);
    trial_update(trial, DTYPE_FLOAT32, 1, blocks, still ? 0.0 : 0.1, still ? 0.0 : 1.0);
    return true;
}

/* Elements and the block. */
static const int64_t runs[][2] = {{0, 256},   {1, 256},    {255, 256}, {256, 256},
                                  {257, 256}, {5000, 256}, {33, 8},    {7000, 4096}};

enum { RUNS = sizeof runs / sizeof runs[0] };

static int64_t run_blocks(const int64_t *run)
{
    return (run[0] + run[1] - 1) / run[1];
}

bool plan_map_quantize(struct trial *trial, int variant)
{
    if (variant >= 2 * RUNS) {
        return false;
    }
    const int64_t *run = runs[variant / 2];
    trial->call.attributes.i[0] = run[1];
    int a = trial_input(trial, trial_dtype(trial), LAYOUT_DENSE, 1, run, -1.0, 1.0);
    for (int64_t k = 0; k < run[0] && k < run[1] && variant % 2 == 1; k++) {
        trial_set(trial, a, k, 0.0); /* a block of zeros */
    }
    map_input(trial, true);
    trial_output(trial, DTYPE_UINT8, LAYOUT_DENSE, 1, run);
    trial_output(trial, DTYPE_FLOAT32, LAYOUT_DENSE, 1, (const int64_t[]){run_blocks(run)});
    return true;
}

bool plan_map_dequantize(struct trial *trial, int variant)
{
    if (variant >= RUNS) {
        return false;
    }
    const int64_t *run = runs[variant];
    trial->call.attributes.i[0] = run[1];
    trial_input(trial, DTYPE_UINT8, LAYOUT_DENSE, 1, run, 0.0, 255.0);
    trial_input(trial, DTYPE_FLOAT32, LAYOUT_DENSE, 1, (const int64_t[]){run_blocks(run)}, 0.01, 0.1);
    map_input(trial, true);
    trial_output(trial, trial_dtype(trial), LAYOUT_DENSE, 1, run);
    return true;
}

/* Every second variant has a bias. */
bool plan_nested_linear(struct trial *trial, int variant)
{
    static const int64_t matrices[][2] = {{1, 64}, {3, 6}, {7, 64}, {4, 66}, {0, 64}, {9, 3000}, {130, 256}};
    static const enum dtype dtypes[] = {DTYPE_NF4X2, DTYPE_INT8, DTYPE_FLOAT8_E4M3FN};
    enum { MATRICES = sizeof matrices / sizeof matrices[0], WEIGHT_BLOCK = 64 };
    if (variant >= 2 * 3 * MATRICES) {
        return false;
    }
    const int64_t *m = matrices[variant / 2 % MATRICES];
    enum dtype dtype = dtypes[variant / 2 / MATRICES];
    bool pairs = dtype == DTYPE_NF4X2;
    int64_t rows = trial_integer(trial, 1, 4), elements = m[0] * m[1];
    int64_t codes = pairs ? (elements + 1) / 2 : elements, scales = (elements + WEIGHT_BLOCK - 1) / WEIGHT_BLOCK;
    int64_t nested = (scales + BLOCK - 1) / BLOCK;
    trial->call.attributes.i[0] = WEIGHT_BLOCK;
    trial->call.attributes.i[1] = BLOCK;
    trial_input(trial, trial_dtype(trial), LAYOUT_DENSE, 3, (const int64_t[]){1, rows, m[1]}, -1.0, 1.0);
    trial_input(trial, dtype, LAYOUT_DENSE, 1, &codes, pairs ? 0.0 : -127.0, pairs ? 255.0 : 127.0);
    trial_input(trial, DTYPE_UINT8, LAYOUT_DENSE, 1, &scales, 0.0, 255.0);
    trial_input(trial, DTYPE_FLOAT32, LAYOUT_DENSE, 1, &nested, 0.01, 0.1);
    map_input(trial, true);
    trial_input(trial, DTYPE_FLOAT32, LAYOUT_DENSE, 1, (const int64_t[]){1}, 0.2, 0.3);
    if (variant % 2 == 1) {
        trial_input(trial, trial_dtype(trial), LAYOUT_DENSE, 1, (const int64_t[]){m[0]}, -1.0, 1.0);
    }
    trial_output(trial, trial_dtype(trial), LAYOUT_DENSE, 3, (const int64_t[]){1, rows, m[0]});
    return true;
}
