/* The host's nf4 loops against the bodies they stand for: codes and worths bit for bit, whatever the length, and
 * nothing beyond it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "harness/kernels/body_quantize.h"
#include "harness/kernels/host_nf4.h"

enum { LONGEST = 200, PAIRS = LONGEST / 2, GUARD = 0x5a };

/* Every midpoint and its neighbours, what has no nearest level, and numbers beyond the levels. */
static float element_of(int k)
{
    static const float odd[] = {NAN, INFINITY, -INFINITY, 0.0f, -0.0f, 1.5f, -1.5f, 1e-30f};
    int midpoint = k / 3 % 23;
    if (midpoint >= 15) {
        return odd[midpoint - 15];
    }
    float exact = nf4_midpoint(midpoint);
    return k % 3 == 0 ? exact : nextafterf(exact, k % 3 == 1 ? -2.0f : 2.0f);
}

static void test_codes_are_those_of_the_nearest_levels(void **state)
{
    (void)state;
    for (int count = 0; count <= LONGEST; count++) {
        float a[LONGEST];
        uint8_t got[PAIRS + 1];
        for (int k = 0; k < count; k++) {
            a[k] = 2.0f * element_of(k + 7 * count);
        }
        memset(got, GUARD, sizeof got);
        host_nf4_write(a, count, 0.5f, got);
        for (int k = 0; k < count; k += 2) {
            assert_int_equal(got[k / 2], nf4_pair(a[k] * 0.5f, k + 1 < count ? a[k + 1] * 0.5f : 0.0f));
        }
        assert_int_equal(got[(count + 1) / 2], GUARD);
    }
}

static void pairs_fill(uint8_t *pairs, int seed)
{
    for (int k = 0; k < PAIRS; k++) {
        pairs[k] = (uint8_t)(k * 37 + seed);
    }
}

static void test_worths_are_those_of_the_codes(void **state)
{
    (void)state;
    for (int count = 0; count <= LONGEST; count++) {
        uint8_t pairs[PAIRS];
        float got[LONGEST + 1];
        pairs_fill(pairs, count);
        memset(got, GUARD, sizeof got);
        float guard = got[count];
        host_nf4_read(pairs, count, 0.7f, got);
        for (int k = 0; k < count; k++) {
            float expected = code_value(pairs, DTYPE_NF4X2, k, 0.7f);
            assert_memory_equal(&got[k], &expected, sizeof expected);
        }
        assert_memory_equal(&got[count], &guard, sizeof guard);
    }
}

/* A sum of n products in float32 is off by at most n times half a last place of the sum of their magnitudes. */
static void test_products_are_those_of_the_worths(void **state)
{
    (void)state;
    for (int block = 16; block <= 64; block += 16) {
        for (int first = 0; first < LONGEST && host_nf4_dot_fits(first, block); first += 16) {
            uint8_t pairs[PAIRS];
            float a[LONGEST], scales[LONGEST];
            double sum = 0.0, magnitudes = 0.0;
            pairs_fill(pairs, first + block);
            for (int k = 0; k < LONGEST; k++) {
                scales[k] = 1.0f + (float)k;
                a[k] = sinf((float)k);
            }
            for (int k = first; k < LONGEST; k++) {
                double product = (double)a[k - first] * code_value(pairs, DTYPE_NF4X2, k, scales[k / block]);
                sum += product;
                magnitudes += fabs(product);
            }
            double got = host_nf4_dot(a, pairs, scales, block, first, LONGEST - first);
            assert_true(fabs(got - sum) <= LONGEST * 0x1p-24 * magnitudes);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_codes_are_those_of_the_nearest_levels),
        cmocka_unit_test(test_worths_are_those_of_the_codes),
        cmocka_unit_test(test_products_are_those_of_the_worths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
