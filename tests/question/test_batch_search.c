/* The batches that each policy tries, number for number, and what bisection finds where memory does not grow with the
 * batch. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "harness/question/batch_search.h"

enum { BATCHES_MAXIMUM = 128 };

/* Ends each list of batches. */
#define END 0

/* Tries each batch; those up to limit run. Writes them down and returns what was found. */
static int64_t tried(enum batch_policy policy, int64_t start, int64_t limit, int64_t batches[BATCHES_MAXIMUM])
{
    struct batch_search search = batch_search_begin(policy, start);
    int count = 0;
    while (search.batch > 0) {
        assert_true(count < BATCHES_MAXIMUM - 1);
        batches[count++] = search.batch;
        batch_search_tell(&search, search.batch <= limit);
    }
    batches[count] = END;
    return search.found;
}

static void expect_batches(enum batch_policy policy, int64_t start, int64_t limit, const int64_t *expected)
{
    int64_t batches[BATCHES_MAXIMUM];
    tried(policy, start, limit, batches);
    int i = 0;
    for (; expected[i] != END; i++) {
        assert_int_equal(batches[i], expected[i]);
    }
    assert_int_equal(batches[i], END);
}

static void nine_tenths_from_128_are_30_tries(void **state)
{
    static const int64_t from_128[] = {128, 115, 103, 92, 82, 73, 65, 58, 52, 46, 41, 36, 32, 28, 25, 22,
                                       19,  17,  15,  13, 11, 9,  8,  7,  6,  5,  4,  3,  2,  1,  END};
    static const int64_t from_16[] = {16, 14, 12, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, END};
    (void)state;
    assert_int_equal(sizeof from_128 / sizeof from_128[0] - 1, 30);
    expect_batches(BATCH_NINE_TENTHS, 128, 0, from_128);
    expect_batches(BATCH_NINE_TENTHS, 16, 0, from_16);
    int64_t batches[BATCHES_MAXIMUM];
    assert_int_equal(tried(BATCH_NINE_TENTHS, 128, 0, batches), 0);
    assert_int_equal(tried(BATCH_NINE_TENTHS, 128, 100, batches), 92); /* accelerate#3650: the limit is 100 */
}

static void halving_from_128_is_8_tries(void **state)
{
    static const int64_t from_128[] = {128, 64, 32, 16, 8, 4, 2, 1, END}, from_100[] = {100, 50, 25, 12, 6, 3, 1, END};
    int64_t batches[BATCHES_MAXIMUM];
    (void)state;
    expect_batches(BATCH_HALVE, 128, 0, from_128);
    expect_batches(BATCH_HALVE, 100, 0, from_100);
    assert_int_equal(tried(BATCH_HALVE, 128, 100, batches), 64);
}

/* int(batch * 0.9) is a product of doubles: 10 * 0.9 is 9, not a little less. */
static void products_are_pythons(void **state)
{
    static const int64_t from_10[] = {10, 9, 8, END};
    int64_t batches[BATCHES_MAXIMUM];
    (void)state;
    tried(BATCH_NINE_TENTHS, 10, 8, batches);
    expect_batches(BATCH_NINE_TENTHS, 10, 8, from_10);
    struct batch_search search = batch_search_begin(BATCH_NINE_TENTHS, BATCH_MAXIMUM);
    batch_search_tell(&search, false);
    assert_int_equal(search.batch, INT64_C(989560464998)); /* 2^40 * 0.9 = 989560464998.4 */
}

static void what_runs_ends_the_policies_of_accelerate(void **state)
{
    static const int64_t once[] = {128, END};
    (void)state;
    expect_batches(BATCH_HALVE, 128, 1000, once);
    expect_batches(BATCH_NINE_TENTHS, 128, 128, once);
}

/* Every limit from none to 300, from every start to 70: exactly the limit, in no more tries than doubling and halving
 * take. */
static void bisection_finds_every_limit(void **state)
{
    int64_t batches[BATCHES_MAXIMUM];
    (void)state;
    for (int64_t start = 1; start <= 70; start++) {
        for (int64_t limit = 0; limit <= 300; limit++) {
            assert_int_equal(tried(BATCH_BISECT, start, limit, batches), limit);
            int count = 0;
            while (batches[count] != END) {
                for (int i = 0; i < count; i++) {
                    assert_int_not_equal(batches[i], batches[count]);
                }
                count++;
            }
            assert_true(count <= 2 * 9 + 1);
        }
    }
}

static void bisection_doubles_and_halves_first(void **state)
{
    static const int64_t up[] = {4, 8, 16, 32, 24, 20, 18, 19, END}, down[] = {128, 64, 32, 16, 24, 20, 18, 19, END};
    (void)state;
    expect_batches(BATCH_BISECT, 4, 19, up);
    expect_batches(BATCH_BISECT, 128, 19, down);
}

static void bisection_ends_at_the_largest_that_there_is(void **state)
{
    struct batch_search search = batch_search_begin(BATCH_BISECT, BATCH_MAXIMUM / 4 * 3);
    (void)state;
    batch_search_tell(&search, true);
    assert_int_equal(search.batch, BATCH_MAXIMUM);
    batch_search_tell(&search, true);
    assert_int_equal(search.batch, 0);
    assert_int_equal(search.found, BATCH_MAXIMUM);
}

/* Segments are not monotone: 15, 16 and 19 run, 14, 17 and 18 do not. */
static bool holes_run(int64_t batch)
{
    return batch <= 13 || batch == 15 || batch == 16 || batch == 19;
}

static int64_t found_with_hint(int64_t start, int64_t hint, int *tries)
{
    struct batch_search search = batch_search_begin(BATCH_BISECT, start);
    *tries = 0;
    while (search.batch > 0) {
        search.hint = hint;
        ++*tries;
        assert_true(*tries < BATCHES_MAXIMUM);
        batch_search_tell(&search, holes_run(search.batch));
    }
    return search.found;
}

/* A replay that looks at every size says 19. */
static void a_batch_that_a_replay_says_runs_is_tried_too(void **state)
{
    int tries = 0;
    (void)state;
    assert_int_equal(found_with_hint(14, 0, &tries), 13);
    for (int64_t start = 1; start <= 40; start++) {
        assert_int_equal(found_with_hint(start, 19, &tries), 19);
        assert_true(tries <= 20);
        int64_t found = found_with_hint(start, 15, &tries); /* which ran, and so did the next */
        assert_true(found == 16 || found == 19);
    }
}

static void a_wrong_hint_costs_one_try(void **state)
{
    int with = 0, without = 0;
    (void)state;
    assert_int_equal(found_with_hint(8, 0, &without), 16);
    assert_int_equal(found_with_hint(8, 30, &with), 16);
    assert_int_equal(with, without + 1);
    assert_int_equal(found_with_hint(8, 3, &with), 16);
    assert_int_equal(with, without);
    assert_int_equal(found_with_hint(8, 17, &with), 16); /* already refused */
    assert_int_equal(with, without);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nine_tenths_from_128_are_30_tries),
        cmocka_unit_test(halving_from_128_is_8_tries),
        cmocka_unit_test(products_are_pythons),
        cmocka_unit_test(what_runs_ends_the_policies_of_accelerate),
        cmocka_unit_test(bisection_finds_every_limit),
        cmocka_unit_test(bisection_doubles_and_halves_first),
        cmocka_unit_test(bisection_ends_at_the_largest_that_there_is),
        cmocka_unit_test(a_batch_that_a_replay_says_runs_is_tried_too),
        cmocka_unit_test(a_wrong_hint_costs_one_try),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
