/* How far off a float8 product of tensor cores may be: they add products of float8 with fewer bits than float32.
 *
 * One instruction of Hopper adds 32 products and the sum so far, one of Ada 16. The products are exact; all addends are
 * shifted to the largest exponent among them and cut below 13 bits of fraction, and what is written has 13 bits of
 * fraction, cut as well: "MMA-Sim: Bit-Accurate Reference Model of Tensor Cores and Matrix Cores", arXiv:2511.10909;
 * "around 14 bits" in DeepSeek-V3's technical report, arXiv:2412.19437. cublasLt without fast accumulation has float32
 * take such a sum over every 128 terms. Of the ways that we tried this one alone gives what an H100 left
 * (tests/conformance/test_float8.c).
 *
 * The bound goes with the exact sums of the same terms. Sums may be taken over more often, not less. */
#include <math.h>

#include "tests/kernels/reference.h"

enum { RUN_TERMS = 128, FRACTION_BITS = 13, FACTOR_EXPONENT_LEAST = -6 };

/* That of the factors, as numbers of float8 have it: 1 to 2 is 0, and numbers below the least normal one have that
 * one's. */
static int product_exponent(double a, double b)
{
    return (int)fmax(ilogb(a), FACTOR_EXPONENT_LEAST) + (int)fmax(ilogb(b), FACTOR_EXPONENT_LEAST);
}

/* The terms of a run so far: what the tensor core adds before float32 takes it over. */
struct float8_run {
    double sum, low, high; /* exact; the lowest and highest that it has been, 0 among them */
    double bound;
};

/* How large the sum of the last terms may be in the tensor core, whichever of them it began with. */
static double run_reach(const struct float8_run *run)
{
    return fmax(run->sum - run->low, run->high - run->sum) + run->bound;
}

/* One instruction: each addend loses what is below the last bit kept, the written sum again. row, column: the factors
 * of count terms; step: from one of the column's to the next. */
static void group_add(struct float8_run *run, const double *row, const double *column, int64_t step, int64_t count)
{
    const double before = run_reach(run);
    int top = before > 0.0 ? ilogb(before) : 2 * FACTOR_EXPONENT_LEAST;
    for (int64_t term = 0; term < count; term++) {
        bool there = row[term] != 0.0 && column[term * step] != 0.0;
        top = there ? (int)fmax(top, product_exponent(row[term], column[term * step])) : top;
    }
    const double grain = ldexp(1.0, top - FRACTION_BITS);
    for (int64_t term = 0; term < count; term++) {
        double product = row[term] * column[term * step];
        run->bound += fmod(fabs(product), grain);
        run->sum += product;
    }
    run->bound += fmin(before, grain);
    run->low = fmin(run->low, run->sum);
    run->high = fmax(run->high, run->sum);
    run->bound += ldexp(run_reach(run), -FRACTION_BITS);
}

void reference_scaled_matmul_bound(const struct operation_call *call, double *const *values, int terms, double *bounds)
{
    int64_t m = call->tensors[0].size[0], k = call->tensors[0].size[1], n = call->tensors[1].size[1];
    double factor = fabs(call->attributes.f[0] * values[2][0] * values[3][0]);
    for (int64_t at = 0; at < m * n; at++) {
        struct float8_run run = {0};
        bounds[at] = 0.0;
        for (int64_t term = 0; term < k; term += terms) {
            int64_t count = k - term < terms ? k - term : terms;
            group_add(&run, values[0] + at / n * k + term, values[1] + term * n + at % n, n, count);
            if ((term + count) % RUN_TERMS == 0 || term + count == k) {
                bounds[at] += factor * run.bound;
                run = (struct float8_run){0};
            }
        }
    }
}
