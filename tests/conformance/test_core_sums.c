/* What products on tensor cores are allowed: sums that cut are, on the oldest GPUs too, and a lost product is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>

#include "tests/kernels/trial_plan.h"

enum { TERMS_MAXIMUM = 4096, SUM_BITS = 23, LOST = 7 };

static double last_place(double number, int bits)
{
    return number != 0.0 ? ldexp(1.0, ilogb(number) - bits) : 1.0;
}

static double cut(double number, double grain)
{
    return trunc(number / grain) * grain;
}

/* A factor of float16. */
static double factor_draw(struct trial *trial)
{
    enum { FLOAT16_BITS = 10 };
    double number = trial_real(trial, -1.0, 1.0), grain = last_place(number, FLOAT16_BITS);
    return round(number / grain) * grain;
}

/* The sum with at_once products added at a time, all cut so many bits below the first of the largest. */
static double sum_of_cores(const double *products, int count, int at_once, int bits)
{
    double sum = 0.0;
    for (int first = 0; first < count; first += at_once) {
        int end = first + at_once < count ? first + at_once : count;
        double largest = fabs(sum);
        for (int k = first; k < end; k++) {
            largest = fmax(largest, fabs(products[k]));
        }
        double grain = last_place(largest, bits), added = cut(sum, grain);
        for (int k = first; k < end; k++) {
            added += cut(products[k], grain);
        }
        sum = cut(added, last_place(added, SUM_BITS));
    }
    return sum;
}

/* The largest part of the allowance that sums of drawn products use, and the least that they use without one of
 * them. */
struct use {
    double most, least_without_one;
};

static struct use allowance_use(int count, int at_once, int bits)
{
    enum { SUMS = 500 };
    static double products[TERMS_MAXIMUM];
    struct use use = {0.0, INFINITY};
    struct trial trial;
    double allowance = product_allowance(count, at_once);
    trial_open(&trial, OPCODE_MATMUL, MIX_FLOAT16, (uint64_t)(count + at_once));
    for (int i = 0; i < SUMS; i++) {
        double exact = 0.0;
        for (int k = 0; k < count; k++) {
            products[k] = factor_draw(&trial) * factor_draw(&trial);
            exact += products[k];
        }
        use.most = fmax(use.most, fabs(sum_of_cores(products, count, at_once, bits) - exact) / allowance);
        bool counts = fabs(products[LOST]) > 0.1;
        products[LOST] = 0.0;
        double off = fabs(sum_of_cores(products, count, at_once, bits) - exact) / allowance;
        use.least_without_one = counts ? fmin(use.least_without_one, off) : use.least_without_one;
    }
    trial_close(&trial);
    return use;
}

/* at_once, bits: of a V100, A100, H100 and B200 in 16 bits; of TF32 half as many at once (NUMBERS.md, 11, has the
 * sources). */
static void sums_that_cut_are_allowed_and_lost_products_are_not(void **state)
{
    (void)state;
    static const int counts[] = {17, 65, 256, 1029, TERMS_MAXIMUM}, at_once[] = {4, 8, 16, 32}, bits[] = {23, 25};
    enum {
        COUNTS = sizeof counts / sizeof counts[0],
        AT_ONCE = sizeof at_once / sizeof at_once[0],
        CASES = COUNTS * AT_ONCE * 2
    };
    double beyond = 0.0;
    for (int i = 0; i < CASES; i++) {
        int count = counts[i % COUNTS], together = at_once[i / COUNTS % AT_ONCE];
        struct use use = allowance_use(count, together, bits[i / COUNTS / AT_ONCE]);
        if (use.most > 0.8 || use.least_without_one <= 1.0) {
            fail_msg("%d terms, %d at once: sums use %.2f of what is allowed, without one product %.2f", count,
                     together, use.most, use.least_without_one);
        }
        beyond = fmax(beyond, use.most * product_allowance(count, together) / product_allowance(count, 0));
    }
    assert_true(beyond > 1.0); /* what float32 is allowed is not enough */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_that_cut_are_allowed_and_lost_products_are_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
