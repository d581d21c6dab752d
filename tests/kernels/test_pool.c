/* Max pooling where the values do not decide alone: equals, infinities and NaN, in windows of every kind, against the
 * contract's rule taken literally. That random planes come out right is the conformance suite's. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/kernels/kernel_host.h"

enum { PLANES = 3, ELEMENTS_MAXIMUM = 3 * 40 * 70 };

struct window_case {
    int64_t kernel, stride, padding, height, width;
};

static const struct window_case cases[] = {
    {3, 2, 1, 40, 70}, {3, 2, 1, 1, 1},    {3, 2, 1, 2, 33},     {2, 2, 0, 17, 34}, {1, 1, 0, 5, 16},
    {3, 1, 1, 9, 31},  {5, 3, 2, 20, 50},  {7, 9, 3, 30, 64},    {6, 1, 3, 11, 48}, {64, 64, 32, 33, 65},
    {65, 2, 32, 9, 9}, {3, 65, 0, 40, 70}, {70, 35, 35, 40, 70},
};

/* Few different values, so that most windows hold equals; stretches of -infinity alone, which no number can beat. */
static void plane_fill(float *values, int64_t count, unsigned *state)
{
    static const float choices[] = {-INFINITY, -INFINITY, -1.0f, 0.0f, -0.0f, 2.0f, 2.0f, INFINITY, NAN, -NAN};
    static const unsigned choice_counts[] = {1, 2, 3, 7, 8, 9, 10};
    unsigned choice_count = 1;
    for (int64_t k = 0; k < count; k++) {
        *state = *state * 1664525u + 1013904223u;
        if (k % 61 == 0) {
            choice_count = choice_counts[(*state >> 16) % (sizeof choice_counts / sizeof choice_counts[0])];
        }
        values[k] = choices[(*state >> 8) % choice_count];
    }
}

/* The first place of a window that no other beats. */
static int64_t window_winner(const float *plane, const struct window_case *test, int64_t row, int64_t column)
{
    int64_t winner = -1;
    for (int64_t y = row * test->stride - test->padding; y < row * test->stride - test->padding + test->kernel; y++) {
        for (int64_t k = 0; k < test->kernel; k++) {
            int64_t x = column * test->stride - test->padding + k;
            if (y < 0 || y >= test->height || x < 0 || x >= test->width) {
                continue;
            }
            int64_t at = y * test->width + x;
            bool first_nan = winner >= 0 && isnan(plane[at]) && !isnan(plane[winner]);
            if (winner < 0 || first_nan || plane[at] > plane[winner]) {
                winner = at;
            }
        }
    }
    return winner;
}

static void case_check(const struct window_case *test, unsigned seed)
{
    static float planes[ELEMENTS_MAXIMUM], out[ELEMENTS_MAXIMUM * 4];
    static int64_t indices[ELEMENTS_MAXIMUM * 4];
    int64_t height = (test->height + 2 * test->padding - test->kernel) / test->stride + 1;
    int64_t width = (test->width + 2 * test->padding - test->kernel) / test->stride + 1;
    int64_t elements = test->height * test->width, pooled = height * width;
    struct operation_call call = {.opcode = OPCODE_MAX_POOL, .input_count = 1, .tensor_count = 3};
    plane_fill(planes, PLANES * elements, &seed);
    call.tensors[0] = (struct tensor){planes,
                                      DTYPE_FLOAT32,
                                      4,
                                      {1, PLANES, test->height, test->width},
                                      {PLANES * elements, elements, test->width, 1}};
    call.tensors[1] =
        (struct tensor){out, DTYPE_FLOAT32, 4, {1, PLANES, height, width}, {PLANES * pooled, pooled, width, 1}};
    call.tensors[2] = call.tensors[1];
    call.tensors[2].data = indices;
    call.tensors[2].dtype = DTYPE_INT64;
    call.attributes.i[0] = test->kernel;
    call.attributes.i[1] = test->stride;
    call.attributes.i[2] = test->padding;
    assert_null(kernel_host_run(&call));
    for (int64_t k = 0; k < PLANES * pooled; k++) {
        const float *plane = planes + k / pooled * elements;
        int64_t right = window_winner(plane, test, k % pooled / width, k % width);
        if (indices[k] != right || memcmp(&out[k], &plane[right], sizeof *out) != 0) {
            fail_msg("kernel %d, stride %d: element %d is %g from %d, not %g from %d", (int)test->kernel,
                     (int)test->stride, (int)k, (double)out[k], (int)indices[k], (double)plane[right], (int)right);
        }
    }
}

static void test_the_first_of_equals_wins_and_nan_beats_all(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (unsigned seed = 0; seed < 20; seed++) {
            case_check(&cases[i], seed);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_the_first_of_equals_wins_and_nan_beats_all)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
