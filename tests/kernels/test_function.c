/* The kernels' own functions against the C library in double precision, and rounding to the storage formats. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/kernels/body_function.h"
#include "harness/kernels/host_span.h"

/* What is no number is as wrong as can be. */
static double larger_error(double worst, double error)
{
    return isnan(error) ? INFINITY : fmax(worst, error);
}

/* The largest relative error over a dense grid of [low, high]. */
static double error_over(float (*function)(float), double (*exact)(double), double low, double high)
{
    double worst = 0.0;
    for (int k = 0; k <= 400000; k++) {
        float x = (float)(low + (high - low) * k / 400000.0);
        double right = exact((double)x);
        double error = fabs((double)function(x) - right) / fmax(fabs(right), 1e-37);
        worst = larger_error(worst, error);
    }
    return worst;
}

static float exponential(float x)
{
    return body_exponential(x);
}

static float exponential_falling(float x)
{
    return body_exponential_falling(x);
}

static float hyperbolic_tangent(float x)
{
    return body_tanh(x);
}

static float logarithm(float x)
{
    return body_logarithm(x);
}

static float sine_of_turn(float x)
{
    return body_sine_of_turn(x);
}

static float cosine_of_turn(float x)
{
    return body_cosine_of_turn(x);
}

static double sine_of_turn_exact(double x)
{
    return sin(2.0 * 3.14159265358979323846 * x);
}

static double cosine_of_turn_exact(double x)
{
    return cos(2.0 * 3.14159265358979323846 * x);
}

static float cumulative(float x)
{
    return body_normal_cumulative(x, body_exponential(-0.5f * x * x));
}

static double cumulative_exact(double x)
{
    return 0.5 * erfc(-x / sqrt(2.0));
}

/* The largest absolute error over a dense grid of [low, high]. */
static double absolute_error_over(float (*function)(float), double (*exact)(double), double low, double high)
{
    double worst = 0.0;
    for (int k = 0; k <= 400000; k++) {
        float x = (float)(low + (high - low) * k / 400000.0);
        worst = larger_error(worst, fabs((double)function(x) - exact((double)x)));
    }
    return worst;
}

static void test_functions_are_accurate(void **state)
{
    (void)state;
    assert_true(error_over(exponential, exp, -87.0, 88.7) < 3e-7);
    assert_true(error_over(exponential_falling, exp, -87.0, 60.0) < 3e-7);
    assert_true(error_over(hyperbolic_tangent, tanh, -12.0, 12.0) < 4e-7);
    assert_true(error_over(hyperbolic_tangent, tanh, -1e-3, 1e-3) < 4e-7);
    assert_true(absolute_error_over(logarithm, log, 0.5, 2.0) < 1e-7);
    assert_true(error_over(logarithm, log, 0.5, 2.0) < 3e-7); /* near 1, where it is small, too */
    assert_true(error_over(logarithm, log, 1e-7, 0.5) < 3e-7 && error_over(logarithm, log, 2.0, 1e30) < 3e-7);
    assert_true(absolute_error_over(sine_of_turn, sine_of_turn_exact, -0.5, 0.49999997) < 3e-7);
    assert_true(absolute_error_over(cosine_of_turn, cosine_of_turn_exact, -0.5, 0.49999997) < 3e-7);
    assert_true(error_over(cumulative, cumulative_exact, -3.0, 8.0) < 2e-6);
    assert_true(error_over(cumulative, cumulative_exact, -8.0, -3.0) < 8e-6);
}

static void test_functions_at_their_ends(void **state)
{
    (void)state;
    assert_true(body_exponential(0.0f) == 1.0f);
    assert_true(body_exponential(-INFINITY) == 0.0f);
    assert_true(body_exponential(-200.0f) == 0.0f);
    assert_true(body_exponential(-100.0f) > 0.0f); /* subnormal */
    assert_true(body_exponential_falling(0.0f) == 1.0f && body_exponential_falling(-INFINITY) == 0.0f);
    assert_true(body_exponential_falling(-200.0f) == 0.0f && isnan(body_exponential_falling(NAN)));
    assert_true(body_exponential_falling(-100.0f) == body_exponential(-100.0f));
    assert_true(isinf(body_exponential(INFINITY)) && isinf(body_exponential(89.0f)));
    assert_true(isnan(body_exponential(NAN)) && isnan(body_tanh(NAN)));
    assert_true(body_tanh(INFINITY) == 1.0f && body_tanh(-INFINITY) == -1.0f && body_tanh(0.0f) == 0.0f);
    assert_true(body_logarithm(1.0f) == 0.0f);
    assert_true(body_sine_of_turn(0.0f) == 0.0f && body_sine_of_turn(-0.5f) == 0.0f);
    assert_true(body_cosine_of_turn(0.25f) == 0.0f && body_cosine_of_turn(-0.25f) == 0.0f);
}

/* The nearest of all values of a format, ties to the even one, by search. */
static uint16_t nearest_by_search(float value, float (*decode)(uint16_t), uint16_t infinity)
{
    uint16_t best = 0;
    double best_distance = INFINITY;
    for (uint32_t code = 0; code <= infinity; code++) {
        /* An infinity stands one step beyond the largest finite number, where rounding is concerned. */
        double previous = code > 1 ? (double)decode((uint16_t)(code - 2)) : 0.0;
        double here =
            code == infinity ? 2.0 * (double)decode((uint16_t)(code - 1)) - previous : (double)decode((uint16_t)code);
        double distance = fabs(fabs((double)value) - here);
        if (distance < best_distance || (distance == best_distance && code % 2 == 0)) {
            best = (uint16_t)code;
            best_distance = distance;
        }
    }
    return (uint16_t)(best | (signbit(value) ? 0x8000u : 0u));
}

static float decode_float16(uint16_t half)
{
    return float_from_float16(half);
}

static float decode_bfloat16(uint16_t half)
{
    return float_from_bfloat16(half);
}

static void test_rounding_to_halves(void **state)
{
    (void)state;
    static const float values[] = {0.0f,        -0.0f,      1.0f,       1.00048828125f, 1.0009765625f, 1.00146484375f,
                                   65504.0f,    65519.996f, 65520.0f,   -70000.0f,      0x1p-24f,      0x1p-25f,
                                   0x1.8p-25f,  0x1.8p-24f, 0x1p-14f,   6.09e-5f,       -3.14159274f,  1.00390625f,
                                   1.01171875f, 3.3895e38f, 3.4028e38f, 1e-40f,         0.1f,          12345.678f};
    for (size_t k = 0; k < sizeof values / sizeof values[0]; k++) {
        assert_int_equal(float_to_float16(values[k]), nearest_by_search(values[k], decode_float16, 0x7c00));
        assert_int_equal(float_to_bfloat16(values[k]), nearest_by_search(values[k], decode_bfloat16, 0x7f80));
    }
}

static void test_every_half_survives_the_way_there_and_back(void **state)
{
    (void)state;
    for (uint32_t code = 0; code < 0x10000u; code++) {
        uint16_t half = (uint16_t)code;
        bool nan16 = (half & 0x7fffu) > 0x7c00u, nan_brain = (half & 0x7fffu) > 0x7f80u;
        float wide = float_from_float16(half), brain = float_from_bfloat16(half);
        assert_true(nan16 ? isnan(wide) && isnan(float_from_float16(float_to_float16(wide)))
                          : float_to_float16(wide) == half);
        assert_true(nan_brain ? isnan(brain) && isnan(float_from_bfloat16(float_to_bfloat16(brain)))
                              : float_to_bfloat16(brain) == half);
    }
    assert_true(float_from_float16(0x3c00) == 1.0f && float_from_float16(0x0001) == 0x1p-24f);
    assert_true(isinf(float_from_float16(0x7c00)) && float_from_bfloat16(0x3f80) == 1.0f);
}

/* The vectorised loops give what the single conversions give, whatever the length. */
static void test_spans_convert_like_single_elements(void **state)
{
    (void)state;
    static const enum dtype dtypes[] = {DTYPE_FLOAT16, DTYPE_BFLOAT16, DTYPE_FLOAT32};
    float values[67], back[67];
    for (int k = 0; k < 67; k++) {
        values[k] = k % 13 == 0 ? INFINITY : ldexpf(1.0f + (float)k / 67.0f, k - 30) * (k % 2 == 0 ? 1.0f : -1.0f);
    }
    for (int count = 0; count <= 67; count++) {
        for (size_t d = 0; d < sizeof dtypes / sizeof dtypes[0]; d++) {
            float stored[67], single[67];
            span_store(values, stored, dtypes[d], 1, count);
            span_load(back, stored, dtypes[d], 1, count);
            for (int k = 0; k < count; k++) {
                float_store(single, dtypes[d], k, values[k]);
                assert_true(float_load(single, dtypes[d], k) == back[k]);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_functions_are_accurate),
        cmocka_unit_test(test_functions_at_their_ends),
        cmocka_unit_test(test_rounding_to_halves),
        cmocka_unit_test(test_every_half_survives_the_way_there_and_back),
        cmocka_unit_test(test_spans_convert_like_single_elements),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
