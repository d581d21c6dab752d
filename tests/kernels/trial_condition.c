/* Condition of a trial: the reference, run again on inputs that are off in their last place. */
#include "tests/kernels/trial_condition.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/kernels/reference.h"

/* One pattern of signs may happen to cancel where another does not. */
enum { PATTERN_COUNT = 4 };

/* Scratch has no values. */
static int64_t value_count(const struct trial *trial, int t)
{
    return trial->scratch[t] ? 0 : tensor_element_count(&trial->call.tensors[t]);
}

static double *doubles_copy(const double *from, int64_t count)
{
    double *copy = malloc(((size_t)count + 1) * sizeof *copy);
    assert_non_null(copy);
    memcpy(copy, from, (size_t)count * sizeof *copy);
    return copy;
}

void values_copy(const struct trial *trial, struct trial_values *values)
{
    *values = (struct trial_values){{NULL}};
    for (int t = 0; t < trial->call.tensor_count; t++) {
        values->of[t] = doubles_copy(trial->value[t], value_count(trial, t));
    }
}

void values_release(struct trial_values *values)
{
    for (int t = 0; t < OPERATION_TENSORS_MAXIMUM; t++) {
        free(values->of[t]);
        values->of[t] = NULL;
    }
}

/* Up or down as chance has it, the same in every run. */
static void values_disturb(double *values, int64_t count, int pattern)
{
    uint32_t state = 0x9e3779b9u * (uint32_t)(pattern + 1);
    for (int64_t k = 0; k < count; k++) {
        state = state * 1664525u + 1013904223u;
        values[k] *= (state >> 31) != 0 ? 1.0 + 0x1p-24 : 1.0 - 0x1p-24;
    }
}

/* moved: of each element of output t, the largest so far. */
static void disturbance_measure(const struct trial *trial, const struct trial_values *before, int t, int disturbed,
                                int pattern, double *moved)
{
    struct trial_values values = {{NULL}};
    for (int each = 0; each < trial->call.tensor_count; each++) {
        values.of[each] = doubles_copy(before->of[each], value_count(trial, each));
    }
    values_disturb(values.of[disturbed], value_count(trial, disturbed), pattern);
    reference_run(&trial->call, values.of);
    for (int64_t k = 0; k < value_count(trial, t); k++) {
        double step = fabs(values.of[t][k] - trial->value[t][k]);
        moved[k] = isfinite(step) ? fmax(moved[k], step) : moved[k];
    }
    values_release(&values);
}

double *trial_condition(const struct trial *trial, const struct trial_values *before, int t)
{
    int64_t count = value_count(trial, t);
    double *sum = calloc((size_t)count + 1, sizeof *sum);
    assert_non_null(sum);
    for (int disturbed = 0; disturbed < trial->call.tensor_count; disturbed++) {
        if (!dtype_is_floating(trial->call.tensors[disturbed].dtype)) {
            continue;
        }
        double *moved = calloc((size_t)count + 1, sizeof *moved);
        assert_non_null(moved);
        for (int pattern = 0; pattern < PATTERN_COUNT; pattern++) {
            disturbance_measure(trial, before, t, disturbed, pattern, moved);
        }
        for (int64_t k = 0; k < count; k++) {
            sum[k] += moved[k];
        }
        free(moved);
    }
    return sum;
}
