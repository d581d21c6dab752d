/* Plans of 8-bit Adam: blocks that are full, begun and missing; gradients that are not finite; blocks of zeros. */
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
