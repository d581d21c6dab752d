/* Ordered work: what is taken, in which order, and what becomes of the rest, with any number of threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sched.h>
#include <stdatomic.h>

#include "harness/base/ordered_work.h"

enum { ITEMS = 3000, AHEAD_MAXIMUM = 32 };

struct bench {
    atomic_int worked, dropped, taken;
    atomic_int ahead; /* the farthest that an item was begun before it was wanted */
    int stop_at;      /* the item after which nothing more is wanted */
    bool in_order;
};

static void item_work(void *context, int index, void *result)
{
    struct bench *bench = context;
    int *number = result;
    int ahead = index - atomic_load(&bench->taken), most = atomic_load(&bench->ahead);
    while (ahead > most && !atomic_compare_exchange_weak(&bench->ahead, &most, ahead)) {
    }
    if (index % 7 == 0) {
        sched_yield(); /* so that others overtake */
    }
    *number += index; /* it was zeroed */
    atomic_fetch_add(&bench->worked, 1);
}

static bool item_take(void *context, int index, void *result)
{
    struct bench *bench = context;
    const int *number = result;
    bench->in_order = bench->in_order && index == atomic_load(&bench->taken) && *number == index;
    atomic_fetch_add(&bench->taken, 1);
    return index != bench->stop_at;
}

static void item_drop(void *context, void *result)
{
    struct bench *bench = context;
    (void)result;
    atomic_fetch_add(&bench->dropped, 1);
}

static void work_run(struct bench *bench, int count, int workers)
{
    const struct ordered_work work = {.count = count,
                                      .worker_count = workers,
                                      .result_bytes = sizeof(int),
                                      .context = bench,
                                      .work = item_work,
                                      .take = item_take,
                                      .drop = item_drop};
    bench->in_order = true;
    assert_int_equal(ordered_work_run(&work, NULL), STATUS_OK);
    assert_true(bench->in_order);
}

static const int workers[] = {0, 1, 2, 7, 16, 1000};
enum { ROWS = sizeof workers / sizeof workers[0] };

static void results_are_taken_in_order(void **state)
{
    (void)state;
    for (int i = 0; i < ROWS; i++) {
        struct bench bench = {.stop_at = -1};
        work_run(&bench, ITEMS, workers[i]);
        assert_int_equal(atomic_load(&bench.taken), ITEMS);
        assert_int_equal(atomic_load(&bench.worked), ITEMS);
        assert_int_equal(atomic_load(&bench.dropped), 0);
    }
}

static void an_end_in_the_middle_drops_what_was_begun(void **state)
{
    (void)state;
    for (int i = 0; i < ROWS; i++) {
        struct bench bench = {.stop_at = 500};
        work_run(&bench, ITEMS, workers[i]);
        assert_int_equal(atomic_load(&bench.taken), 501);
        assert_int_equal(atomic_load(&bench.worked), 501 + atomic_load(&bench.dropped));
    }
}

static void few_results_wait(void **state)
{
    (void)state;
    for (int i = 0; i < ROWS; i++) {
        struct bench bench = {.stop_at = -1};
        work_run(&bench, ITEMS, workers[i]);
        int threads = workers[i] < 16 ? workers[i] : 16;
        assert_in_range(atomic_load(&bench.ahead), 0, AHEAD_MAXIMUM * (threads > 0 ? threads : 1));
    }
}

static bool any_take(void *context, int index, void *result)
{
    struct bench *bench = context;
    (void)result;
    bench->in_order = bench->in_order && index == atomic_load(&bench->taken);
    atomic_fetch_add(&bench->taken, 1);
    return true;
}

static void as_few_results_wait_as_is_asked_for(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 7; threads += 3) {
        struct bench bench = {.stop_at = -1, .in_order = true};
        const struct ordered_work work = {.count = ITEMS,
                                          .worker_count = threads,
                                          .result_bytes = sizeof(int),
                                          .results_each = 2,
                                          .is_filled = true,
                                          .context = &bench,
                                          .work = item_work,
                                          .take = any_take};
        assert_int_equal(ordered_work_run(&work, NULL), STATUS_OK);
        assert_true(bench.in_order);
        assert_int_equal(atomic_load(&bench.taken), ITEMS);
        assert_in_range(atomic_load(&bench.ahead), 0, 2 * threads);
    }
}

/* Begins with what it found there. */
static void found_work(void *context, int index, void *result)
{
    int *found = context, *number = result;
    found[index] = *number;
    *number = 7;
}

static bool found_take(void *context, int index, void *result)
{
    (void)context;
    (void)index;
    return *(const int *)result == 7;
}

static void a_result_that_is_filled_is_not_zeroed(void **state)
{
    (void)state;
    for (int filled = 0; filled < 2; filled++) {
        int found[3] = {-1, -1, -1};
        const struct ordered_work work = {.count = 3,
                                          .worker_count = 1,
                                          .result_bytes = sizeof(int),
                                          .results_each = 1,
                                          .is_filled = filled == 1,
                                          .context = found,
                                          .work = found_work,
                                          .take = found_take};
        assert_int_equal(ordered_work_run(&work, NULL), STATUS_OK);
        assert_int_equal(found[0], 0);
        assert_int_equal(found[1], filled == 1 ? 7 : 0);
        assert_int_equal(found[2], filled == 1 ? 7 : 0);
    }
}

static void nothing_to_do_is_no_error(void **state)
{
    (void)state;
    for (int i = 0; i < ROWS; i++) {
        struct bench bench = {.stop_at = -1};
        work_run(&bench, 0, workers[i]);
        assert_int_equal(atomic_load(&bench.worked), 0);
    }
    assert_int_equal(ordered_work_workers(0), 0);
    assert_int_equal(ordered_work_workers(1), 0);
}

static void a_process_on_one_processor_has_no_workers(void **state)
{
    cpu_set_t before, one;
    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    CPU_ZERO(&one);
    for (size_t i = 0; i < CPU_SETSIZE; i++) {
        if (CPU_ISSET(i, &before)) {
            CPU_SET(i, &one);
            break;
        }
    }
    int usable = CPU_COUNT(&before) < 16 ? CPU_COUNT(&before) : 16;
    assert_int_equal(ordered_work_workers(1000), usable > 1 ? usable : 0);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(ordered_work_workers(1000), 0);
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_are_taken_in_order),
        cmocka_unit_test(an_end_in_the_middle_drops_what_was_begun),
        cmocka_unit_test(few_results_wait),
        cmocka_unit_test(as_few_results_wait_as_is_asked_for),
        cmocka_unit_test(a_result_that_is_filled_is_not_zeroed),
        cmocka_unit_test(nothing_to_do_is_no_error),
        cmocka_unit_test(a_process_on_one_processor_has_no_workers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
