/* The scratch of divided sums against what PyTorch took on an H100: probe.py's single operators and the histories of
 * training steps (results/reference/nvidia-h100-80gb-hbm3). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/tape/reduction_scratch.h"

static struct reduction_scratch scratch_of(const char *target_name, const struct reduction *reduction)
{
    const struct target *target = NULL;
    struct status error = {0};
    assert_int_equal(target_find(target_name, &target, &error), STATUS_OK);
    return reduction_scratch_of(target, reduction);
}

/* A dense matrix, summed over its rows (the gradient of a bias) or over its columns (a mean). */
static struct reduction matrix(enum dtype dtype, int64_t rows, int64_t columns, bool over_rows)
{
    return (struct reduction){
        .dtype = dtype, .rank = 2, .size = {rows, columns}, .stride = {columns, 1}, .summed = {over_rows, !over_rows}};
}

static void scratch_is(struct reduction_scratch scratch, int64_t partial_bytes, int64_t counter_bytes)
{
    assert_int_equal(scratch.partial_bytes, partial_bytes);
    assert_int_equal(scratch.counter_bytes, counter_bytes);
}

static void sums_of_rows_take_what_was_measured(void **state)
{
    (void)state;
    static const struct {
        int64_t rows, columns, partial_bytes, counter_bytes;
    } measured[] = {
        {4096, 768, 25165824, 24},
        {4096, 3072, 100663296, 96},
        {4096, 2304, 75497472, 72},
        {4096, 1600, 52428800, 52},
        {4096, 6400, 140902400, 200},
        {4096, 4800, 137625600, 152},
        {1024, 4096, 33554432, 128},
        {128, 768, 0, 0},
        {128, 3072, 0, 0},
    };
    static const enum dtype dtypes[] = {DTYPE_FLOAT32, DTYPE_BFLOAT16, DTYPE_FLOAT16};
    for (size_t i = 0; i < sizeof measured / sizeof measured[0]; i++) {
        for (size_t k = 0; k < sizeof dtypes / sizeof dtypes[0]; k++) {
            struct reduction reduction = matrix(dtypes[k], measured[i].rows, measured[i].columns, true);
            scratch_is(scratch_of("sm_90", &reduction), measured[i].partial_bytes, measured[i].counter_bytes);
        }
    }
}

/* 6 columns of blocks, of which 12 run on a multiprocessor of 1,536 threads: 28 * 12 / 6 = 56 blocks share an output
 * of an RTX 3060, 24 * 12 / 6 = 48 one of an RTX 4060; on an H100 as many as there is work for, 64. */
static void a_gpu_divides_by_its_multiprocessors(void **state)
{
    (void)state;
    struct reduction reduction = matrix(DTYPE_FLOAT32, 4096, 768, true);
    scratch_is(scratch_of("RTX 3060", &reduction), INT64_C(4) * 768 * 56 * 32 * 4, 24);
    scratch_is(scratch_of("sm_86:28", &reduction), INT64_C(4) * 768 * 56 * 32 * 4, 24);
    scratch_is(scratch_of("RTX 4060", &reduction), INT64_C(4) * 768 * 48 * 32 * 4, 24);
    scratch_is(scratch_of("H100", &reduction), 25165824, 24);
}

/* [batch, rows, columns] is the matrix of all rows, whatever dimensions of size 1 are put between. */
static void dimensions_that_lie_as_one_are_one(void **state)
{
    (void)state;
    struct reduction reduction = {.dtype = DTYPE_BFLOAT16,
                                  .rank = 4,
                                  .size = {4, 1, 1024, 1600},
                                  .stride = {1024 * 1600, 7, 1600, 1},
                                  .summed = {true, false, true, false}};
    scratch_is(scratch_of("sm_90", &reduction), 52428800, 52);
}

/* The means of RMSNorm: a row of 4,096 is one block's work. */
static void a_row_is_summed_by_one_block(void **state)
{
    (void)state;
    for (int64_t rows = 1; rows <= 8192; rows *= 2) {
        struct reduction reduction = matrix(DTYPE_FLOAT32, rows, 4096, false);
        scratch_is(scratch_of("sm_90", &reduction), 0, 0);
    }
}

/* 4 outputs cannot be loaded together where their rows begin at odd places: one each, four times as many columns of
 * blocks. */
static void odd_rows_are_loaded_one_by_one(void **state)
{
    (void)state;
    struct reduction reduction = matrix(DTYPE_FLOAT32, 4096, 768, true);
    reduction.stride[0] = 769;
    /* 32 x 16 threads, 24 columns, 256 rows a thread: min(ceil(132 * 4 / 24), 16) = 16 blocks an output */
    scratch_is(scratch_of("sm_90", &reduction), INT64_C(4) * 768 * 16 * 32, 96);
}

static void fewer_multiprocessors_share_less(void **state)
{
    (void)state;
    struct reduction reduction = matrix(DTYPE_FLOAT32, 4096, 6400, true);
    /* 50 columns, of 108 * 16 blocks: ceil(1,728 / 50) = 35 share an output, on an H100 ceil(2,112 / 50) = 43 */
    scratch_is(scratch_of("sm_80", &reduction), INT64_C(4) * 6400 * 35 * 32 * 4, 200);
    scratch_is(scratch_of("host", &reduction), 0, 0);
}

static void everything_into_one_number(void **state)
{
    (void)state;
    struct reduction reduction = {
        .dtype = DTYPE_FLOAT32, .rank = 1, .size = {1 << 20}, .stride = {1}, .summed = {true}};
    /* 512 threads of 4 elements a load, 2,048 each: max(min(132 * 4, 128), 8) = 128 blocks */
    scratch_is(scratch_of("sm_90", &reduction), 4 * 128, 4);
    reduction.size[0] = 0;
    scratch_is(scratch_of("sm_90", &reduction), 0, 0);
    reduction.rank = 0;
    scratch_is(scratch_of("sm_90", &reduction), 0, 0);
}

/* 2^31 bytes and more: in halves, so the scratch of any size is bounded and overflows nothing. */
static void what_is_large_is_summed_in_halves(void **state)
{
    (void)state;
    struct reduction whole = matrix(DTYPE_FLOAT32, 1 << 20, 1024, true),
                     half = matrix(DTYPE_FLOAT32, 1 << 19, 1024, true);
    struct reduction_scratch of_half = scratch_of("sm_90", &half);
    assert_true(of_half.partial_bytes > 0);
    scratch_is(scratch_of("sm_90", &whole), of_half.partial_bytes, of_half.counter_bytes);
    struct reduction huge = matrix(DTYPE_FLOAT32, INT64_C(1) << 40, INT64_C(1) << 20, true);
    assert_in_range(scratch_of("sm_90", &huge).partial_bytes, 0, INT64_C(1) << 34);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_of_rows_take_what_was_measured), cmocka_unit_test(a_gpu_divides_by_its_multiprocessors),
        cmocka_unit_test(dimensions_that_lie_as_one_are_one),  cmocka_unit_test(a_row_is_summed_by_one_block),
        cmocka_unit_test(odd_rows_are_loaded_one_by_one),      cmocka_unit_test(fewer_multiprocessors_share_less),
        cmocka_unit_test(everything_into_one_number),          cmocka_unit_test(what_is_large_is_summed_in_halves)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
