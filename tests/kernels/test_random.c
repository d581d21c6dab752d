/* The random numbers: their statistics, and that they depend on seed and position alone. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "harness/kernels/body_random.h"
#include "harness/kernels/kernel_host.h"

enum { SAMPLES = 1 << 20 };

/* |value| lies within five standard errors: one chance in two million for each look, at fixed seeds. */
static void assert_near_zero(double value, double standard_error)
{
    assert_true(fabs(value) < 5.0 * standard_error);
}

static void test_uniform_is_flat_and_uncorrelated(void **state)
{
    (void)state;
    for (int64_t seed = 0; seed < 4; seed++) {
        struct random_key key = random_key_of(seed), next = random_key_of(seed + 1);
        double mean = 0.0, neighbour = 0.0, other_seed = 0.0, squares = 0.0;
        int bins[64] = {0};
        for (uint64_t k = 0; k < SAMPLES; k++) {
            double u = (double)random_uniform(key, k) - 0.5;
            mean += u / SAMPLES;
            neighbour += u * ((double)random_uniform(key, k + 1) - 0.5) / SAMPLES;
            other_seed += u * ((double)random_uniform(next, k) - 0.5) / SAMPLES;
            bins[(int)((u + 0.5) * 64.0)]++;
        }
        for (int bin = 0; bin < 64; bin++) {
            double excess = bins[bin] - SAMPLES / 64.0;
            squares += excess * excess / (SAMPLES / 64.0);
        }
        assert_near_zero(mean, sqrt(1.0 / 12.0 / SAMPLES));
        assert_near_zero(neighbour, 1.0 / 12.0 / sqrt(SAMPLES));
        assert_near_zero(other_seed, 1.0 / 12.0 / sqrt(SAMPLES));
        assert_near_zero(squares - 63.0, sqrt(2.0 * 63.0));
    }
}

/* Every output bit changes with a chance of one half when one bit of seed or counter does. */
static void test_bits_avalanche(void **state)
{
    (void)state;
    enum { TRIES = 20000 };
    for (int flipped = 0; flipped < 104; flipped++) {
        int changed = 0;
        for (uint64_t k = 0; k < TRIES; k++) {
            int64_t seed = (int64_t)(k * 0x9e3779b97f4a7c15u);
            uint64_t counter = k * 7919u;
            uint32_t before = random_bits(random_key_of(seed), counter);
            if (flipped < 64) {
                seed ^= (int64_t)(1ull << flipped);
            } else {
                counter ^= 1ull << (flipped - 64);
            }
            changed += __builtin_popcount(before ^ random_bits(random_key_of(seed), counter));
        }
        double share = changed / (32.0 * TRIES);
        if (fabs(share - 0.5) > 0.02) {
            fail_msg("flipping bit %d changes a share of %.4f of the output", flipped, share);
        }
    }
}

static void test_normal_has_its_moments(void **state)
{
    (void)state;
    struct random_key key = random_key_of(42);
    double moments[5] = {0.0};
    for (uint64_t k = 0; k < SAMPLES; k++) {
        double z = (double)random_normal(key, k), power = 1.0;
        for (int m = 0; m < 5; m++, power *= z) {
            moments[m] += power / SAMPLES;
        }
        assert_true(fabs(z) < 5.78);
    }
    assert_near_zero(moments[1], 1.0 / sqrt(SAMPLES));
    assert_near_zero(moments[2] - 1.0, sqrt(2.0 / SAMPLES));
    assert_near_zero(moments[3], sqrt(15.0 / SAMPLES));
    assert_near_zero(moments[4] - 3.0, sqrt(96.0 / SAMPLES));
}

/* A pair shares a radius and an angle: neither its numbers nor their squares may know of each other. */
static void test_normals_of_a_pair_are_uncorrelated(void **state)
{
    (void)state;
    for (int64_t seed = 0; seed < 4; seed++) {
        struct random_key key = random_key_of(seed);
        double product = 0.0, squares = 0.0, across = 0.0;
        for (uint64_t k = 0; k < SAMPLES; k += 2) {
            double first = (double)random_normal(key, k), second = (double)random_normal(key, k + 1);
            product += first * second / (SAMPLES / 2.0);
            squares += (first * first - 1.0) * (second * second - 1.0) / (SAMPLES / 2.0);
            across += second * (double)random_normal(key, k + 2) / (SAMPLES / 2.0);
        }
        assert_near_zero(product, 1.0 / sqrt(SAMPLES / 2.0));
        assert_near_zero(squares, 2.0 / sqrt(SAMPLES / 2.0));
        assert_near_zero(across, 1.0 / sqrt(SAMPLES / 2.0));
    }
}

static int float_order(const void *a, const void *b)
{
    float left = *(const float *)a, right = *(const float *)b;
    return (left > right) - (left < right);
}

static void run_normal(float *out, int64_t count, int64_t seed)
{
    struct operation_call call = {.opcode = OPCODE_RANDOM_NORMAL, .tensor_count = 1};
    call.tensors[0] = (struct tensor){out, DTYPE_FLOAT32, 1, {count}, {1}};
    call.attributes.f[1] = 1.0;
    call.attributes.i[0] = seed;
    assert_null(kernel_host_run(&call));
}

/* Kolmogorov and Smirnov: the largest distance of the two distribution functions, times the root of the number of
 * samples, exceeds 2.5 once in 130,000 times. */
static void test_normal_has_its_distribution(void **state)
{
    (void)state;
    float *samples = malloc(SAMPLES * sizeof *samples);
    assert_non_null(samples);
    for (int64_t seed = 0; seed < 4; seed++) {
        double distance = 0.0;
        run_normal(samples, SAMPLES, seed);
        qsort(samples, SAMPLES, sizeof *samples, float_order);
        for (int k = 0; k < SAMPLES; k++) {
            double cumulative = 0.5 * erfc(-(double)samples[k] / sqrt(2.0));
            distance = fmax(distance, fabs(cumulative - k / (double)SAMPLES));
            distance = fmax(distance, fabs(cumulative - (k + 1) / (double)SAMPLES));
        }
        assert_true(distance * sqrt(SAMPLES) < 2.5);
    }
    free(samples);
}

/* What the host computes in vectors, beside the body that every device has. */
static void test_normals_are_those_of_the_body(void **state)
{
    (void)state;
    enum { COUNT = 5001 };
    float *out = malloc(COUNT * sizeof *out);
    assert_non_null(out);
    for (int64_t seed = -1; seed < 3; seed++) {
        struct random_key key = random_key_of(seed);
        run_normal(out, COUNT, seed);
        for (uint64_t k = 0; k < COUNT; k++) {
            assert_true(fabsf(out[k] - random_normal(key, k)) <= 1e-6f);
        }
    }
    free(out);
}

static void test_an_element_depends_on_seed_and_position_alone(void **state)
{
    (void)state;
    float *lengthy = malloc(50000 * sizeof *lengthy), *brief = malloc(77 * sizeof *brief);
    assert_non_null(lengthy);
    assert_non_null(brief);
    run_normal(lengthy, 50000, 9);
    run_normal(brief, 77, 9);
    assert_memory_equal(lengthy, brief, 77 * sizeof *brief);
    run_normal(brief, 77, 10);
    int equal = 0;
    for (int k = 0; k < 77; k++) {
        equal += lengthy[k] == brief[k];
    }
    assert_true(equal < 3);
    free(lengthy);
    free(brief);
}

static void test_dropout_keeps_the_share_it_should(void **state)
{
    (void)state;
    static const float probabilities[] = {0.0f, 0.1f, 0.5f, 1.0f};
    struct random_key key = random_key_of(7);
    for (size_t i = 0; i < sizeof probabilities / sizeof probabilities[0]; i++) {
        double p = (double)probabilities[i], kept = 0.0;
        for (uint64_t k = 0; k < SAMPLES; k++) {
            kept += dropout_keeps(key, k, probabilities[i]) ? 1.0 / SAMPLES : 0.0;
        }
        assert_true(fabs(kept - (1.0 - p)) <= 5.0 * sqrt(p * (1.0 - p) / SAMPLES) + 1e-9);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_uniform_is_flat_and_uncorrelated),
        cmocka_unit_test(test_bits_avalanche),
        cmocka_unit_test(test_normal_has_its_moments),
        cmocka_unit_test(test_normals_of_a_pair_are_uncorrelated),
        cmocka_unit_test(test_normal_has_its_distribution),
        cmocka_unit_test(test_normals_are_those_of_the_body),
        cmocka_unit_test(test_an_element_depends_on_seed_and_position_alone),
        cmocka_unit_test(test_dropout_keeps_the_share_it_should),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
