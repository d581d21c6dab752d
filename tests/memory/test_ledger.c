/* The ledger: sums, peaks and what they were made of, the hash of the sequence. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "harness/memory/ledger.h"

static void added(struct ledger *ledger, int storage, enum category category, int64_t bytes)
{
    assert_int_equal(ledger_add(ledger, storage, category, bytes, 512 * storage, NULL), STATUS_OK);
}

static void removed(struct ledger *ledger, int storage, enum category category, int64_t bytes)
{
    assert_int_equal(ledger_remove(ledger, storage, category, bytes, 512 * storage, NULL), STATUS_OK);
}

static void a_peak_keeps_its_composition(void **state)
{
    (void)state;
    struct ledger ledger = ledger_new();
    ledger_begin_stage(&ledger, STAGE_FORWARD);
    added(&ledger, 0, CATEGORY_WEIGHTS, 100);
    added(&ledger, 1, CATEGORY_ACTIVATIONS, 50);
    removed(&ledger, 1, CATEGORY_ACTIVATIONS, 50);
    added(&ledger, 2, CATEGORY_TEMPORARIES, 50); /* an equal height is no new peak */
    const struct ledger_stage *forward = &ledger.stages[STAGE_FORWARD];
    assert_int_equal(forward->bytes_peak, 150);
    assert_int_equal(forward->categories_at_peak[CATEGORY_ACTIVATIONS], 50);
    assert_int_equal(forward->categories_at_peak[CATEGORY_TEMPORARIES], 0);
    added(&ledger, 3, CATEGORY_TEMPORARIES, 1);
    assert_int_equal(forward->bytes_peak, 151);
    assert_int_equal(forward->categories_at_peak[CATEGORY_ACTIVATIONS], 0);
    assert_int_equal(forward->categories_at_peak[CATEGORY_TEMPORARIES], 51);
    assert_int_equal(forward->categories[CATEGORY_WEIGHTS], 100);
    assert_int_equal(ledger_bytes(&ledger), 151);
    assert_int_equal(ledger.live_count, 3);
    assert_int_equal(ledger.alloc_count, 4);
}

static void a_stage_begins_with_what_is_live(void **state)
{
    (void)state;
    struct ledger ledger = ledger_new();
    assert_true(ledger.stages[STAGE_CONTEXT].present);
    ledger_begin_stage(&ledger, STAGE_LOAD);
    added(&ledger, 0, CATEGORY_WEIGHTS, 100);
    added(&ledger, 1, CATEGORY_BUFFERS, 30);
    removed(&ledger, 1, CATEGORY_BUFFERS, 30);
    ledger_begin_stage(&ledger, STAGE_FORWARD);
    assert_int_equal(ledger.stages[STAGE_FORWARD].bytes_peak, 100);
    assert_int_equal(ledger.stages[STAGE_FORWARD].categories_at_peak[CATEGORY_WEIGHTS], 100);
    added(&ledger, 2, CATEGORY_INPUTS, 5);
    assert_int_equal(ledger.stages[STAGE_LOAD].bytes, 100); /* it has ended */
    assert_int_equal(ledger.stages[STAGE_LOAD].bytes_peak, 130);
    assert_false(ledger.stages[STAGE_BACKWARD].present);
}

static void wrong_entries_are_refused_and_change_nothing(void **state)
{
    (void)state;
    struct ledger ledger = ledger_new();
    struct status error = {0};
    added(&ledger, 0, CATEGORY_WEIGHTS, INT64_MAX - 10);
    struct ledger before = ledger;
    assert_int_equal(ledger_add(&ledger, 1, CATEGORY_INPUTS, 11, 0, NULL), STATUS_OVERFLOW);
    assert_int_equal(ledger_remove(&ledger, 0, CATEGORY_INPUTS, 1, 0, &error), STATUS_INTERNAL);
    assert_string_equal(error.text, "1 bytes of inputs leave the ledger, but it holds 0");
    assert_int_equal(memcmp(&before, &ledger, sizeof ledger), 0);
}

static void the_hash_tells_sequences_apart(void **state)
{
    (void)state;
    struct ledger a = ledger_new(), b = ledger_new();
    added(&a, 0, CATEGORY_WEIGHTS, 100);
    added(&b, 0, CATEGORY_WEIGHTS, 100);
    assert_true(a.sequence_hash == b.sequence_hash);
    added(&a, 1, CATEGORY_WEIGHTS, 100);
    added(&b, 2, CATEGORY_WEIGHTS, 100); /* another storage */
    assert_false(a.sequence_hash == b.sequence_hash);
    b = ledger_new();
    added(&b, 1, CATEGORY_WEIGHTS, 100); /* another order */
    added(&b, 0, CATEGORY_WEIGHTS, 100);
    assert_false(a.sequence_hash == b.sequence_hash);
    b = ledger_new();
    added(&b, 0, CATEGORY_WEIGHTS, 100);
    assert_int_equal(ledger_add(&b, 1, CATEGORY_WEIGHTS, 100, 1024, NULL), STATUS_OK); /* another position */
    assert_false(a.sequence_hash == b.sequence_hash);
    b = a;
    removed(&a, 0, CATEGORY_WEIGHTS, 100);
    removed(&b, 1, CATEGORY_WEIGHTS, 100);
    assert_false(a.sequence_hash == b.sequence_hash);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_peak_keeps_its_composition),
        cmocka_unit_test(a_stage_begins_with_what_is_live),
        cmocka_unit_test(wrong_entries_are_refused_and_change_nothing),
        cmocka_unit_test(the_hash_tells_sequences_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
