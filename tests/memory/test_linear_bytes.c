/* Linear bytes: what is decided of a span of repetitions is held against each of them, worked out one by one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/memory/allocator.h"
#include "harness/memory/linear_bytes.h"

enum { REPETITIONS = 3000, CASES = 4000 };

static uint64_t random_next(uint64_t *state, uint64_t bound)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (*state >> 33) % bound;
}

/* A request as the allocator rounds it, in one repetition. */
static int64_t rounded(int64_t bytes, int64_t growth, int64_t repetition)
{
    const int64_t unit = ALLOCATOR_UNIT_BYTES;
    return (bytes + growth * repetition + unit - 1) / unit * unit;
}

/* Differences of two requests, and sums of them with a whole segment. */
static void what_is_decided_holds(void **state)
{
    (void)state;
    uint64_t seed = 3;
    int told[3] = {0};
    for (int i = 0; i < CASES; i++) {
        static const int64_t growths[] = {0, 8, 64, 512, 640, 2048};
        int64_t bytes[2], growth[2], threshold = (int64_t)random_next(&seed, 3) * 100000;
        struct linear_span span = {.last = REPETITIONS};
        struct linear_bytes sizes[2];
        for (int k = 0; k < 2; k++) {
            bytes[k] = 1 + (int64_t)random_next(&seed, 300000);
            growth[k] = growths[random_next(&seed, 6)];
            assert_true(linear_request(&span, bytes[k], growth[k], &sizes[k]));
        }
        struct linear_bytes difference = linear_difference(&sizes[0], &sizes[1]);
        enum linear_answer answer = linear_decide(&span, &difference, threshold);
        told[answer]++;
        assert_in_range(span.last, 0, REPETITIONS);
        for (int64_t u = 0; u <= span.last && answer != LINEAR_UNKNOWN; u++) {
            bool reaches = rounded(bytes[0], growth[0], u) - rounded(bytes[1], growth[1], u) >= threshold;
            assert_int_equal(reaches, answer == LINEAR_REACHES);
        }
    }
    assert_true(told[LINEAR_BELOW] > CASES / 10 && told[LINEAR_REACHES] > CASES / 10);
    assert_in_range(told[LINEAR_UNKNOWN], 1, CASES / 10);
}

/* Where nothing is rounded from repetition to repetition the span ends exactly where the comparison turns. */
static void the_span_ends_where_it_turns(void **state)
{
    (void)state;
    struct linear_span span = {.last = INT64_MAX};
    struct linear_bytes cache, segment = {.bytes = 22 << 20};
    assert_true(linear_request(&span, 20 << 20, 2048, &cache));
    struct linear_bytes rest = linear_difference(&segment, &cache);
    assert_int_equal(linear_decide(&span, &rest, ALLOCATOR_SMALL_BYTES + 1), LINEAR_REACHES);
    assert_int_equal(span.last, 511); /* 2 MiB less 511 * 2048 is more than 1 MiB, less 512 * 2048 is 1 MiB */
    assert_int_equal(linear_decide(&span, &rest, 3 << 20), LINEAR_BELOW);
    assert_int_equal(span.last, 511);
}

/* Requests that are rounded alike are compared without doubt, whatever is added to them. */
static void roundings_cancel_out(void **state)
{
    (void)state;
    struct linear_span span = {.last = 1000};
    struct linear_bytes a, b;
    assert_true(linear_request(&span, 5000, 64, &a));
    assert_true(linear_request(&span, 5000 + 512, 64, &b));
    struct linear_bytes difference = linear_difference(&b, &a);
    assert_false(linear_is_rounded(&difference));
    assert_int_equal(linear_decide(&span, &difference, 512), LINEAR_REACHES);
    assert_int_equal(span.last, 1000);
    difference = linear_difference(&a, &a);
    assert_true(linear_is_zero(&difference));
}

static void too_many_roundings_are_said(void **state)
{
    (void)state;
    struct linear_span span = {.last = 1000};
    struct linear_bytes size;
    for (int k = 0; k < LINEAR_ROUNDINGS; k++) {
        assert_true(linear_request(&span, 5000, 8 + k, &size));
    }
    assert_true(linear_request(&span, 5000, 8, &size));
    assert_false(linear_request(&span, 5000, 8 + LINEAR_ROUNDINGS, &size));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_decided_holds),
        cmocka_unit_test(the_span_ends_where_it_turns),
        cmocka_unit_test(roundings_cancel_out),
        cmocka_unit_test(too_many_roundings_are_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
