/* Items of readings: the worked number of the header, and that they always sum to what was read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "harness/run/reading_items.h"

static void the_worked_number_is_right(void **state)
{
    (void)state;
    const struct replay_stage context = {
        .present = true,
        .reading = {.device_valid = true, .device_bytes = 520, .kernel_valid = true, .library_valid = true}};
    const struct replay_stage stage = {.reserved_bytes = 300,
                                       .workspace_allocated_bytes = 34,
                                       .reading = {.device_valid = true,
                                                   .device_bytes = 1000,
                                                   .baseline_valid = true,
                                                   .baseline_bytes = 20,
                                                   .kernel_valid = true,
                                                   .kernel_bytes = 30,
                                                   .library_valid = true,
                                                   .library_bytes = 64}};
    static const int64_t expected[READING_ITEM_COUNT] = {20, 500, 30, 64, 34, 266, 86};
    struct reading_items items;
    assert_true(reading_itemise(READING_TOTAL_DEVICE, &context, &stage, true, &items));
    for (int i = 0; i < READING_ITEM_COUNT; i++) {
        assert_true(items.valid[i]);
        assert_int_equal(items.bytes[i], expected[i]);
    }
    assert_false(reading_itemise(READING_TOTAL_PROCESS, &context, &stage, true, &items));
}

/* On the host libraries are loaded before the context's reading, and are no part of the context. */
static void what_was_loaded_before_is_taken_out_of_the_context(void **state)
{
    (void)state;
    const struct device_reading first = {
        .process_valid = true, .process_bytes = 170, .library_valid = true, .library_bytes = 60};
    struct replay_stage context = {.present = true, .reading = first},
                        stage = {.reserved_bytes = 500, .reading = first};
    struct reading_items items;
    stage.reading.process_bytes = 680;
    assert_true(reading_itemise(READING_TOTAL_PROCESS, &context, &stage, true, &items));
    assert_int_equal(items.bytes[READING_ITEM_CONTEXT], 110);
    assert_int_equal(items.bytes[READING_ITEM_LIBRARY], 60);
    assert_int_equal(items.bytes[READING_ITEM_REMAINDER], 10);
    assert_false(items.valid[READING_ITEM_BASELINE] || items.valid[READING_ITEM_KERNEL]);
    assert_true(reading_itemise(READING_TOTAL_PROCESS, &context, &stage, false, &items)); /* loads are not told apart */
    assert_int_equal(items.bytes[READING_ITEM_CONTEXT], 170);
    assert_false(items.valid[READING_ITEM_LIBRARY]);
    assert_int_equal(items.bytes[READING_ITEM_REMAINDER], 10);
    context.reading.library_bytes = 171; /* more than there was: then the context is not known */
    assert_true(reading_itemise(READING_TOTAL_PROCESS, &context, &stage, true, &items));
    assert_false(items.valid[READING_ITEM_CONTEXT]);
    assert_int_equal(items.bytes[READING_ITEM_REMAINDER], 120);
}

static struct device_reading reading_draw(void)
{
    return (struct device_reading){.device_valid = rand() % 4 > 0,
                                   .device_bytes = rand(),
                                   .process_valid = rand() % 4 > 0,
                                   .process_bytes = rand(),
                                   .baseline_valid = rand() % 2 > 0,
                                   .baseline_bytes = rand(),
                                   .kernel_valid = rand() % 2 > 0,
                                   .kernel_bytes = rand(),
                                   .library_valid = rand() % 2 > 0,
                                   .library_bytes = rand()};
}

/* Whatever is known or not: the sum is the reading, an unknown item adds nothing, and null stands for it. */
static void items_always_sum_to_the_reading(void **state)
{
    (void)state;
    srand(5);
    for (int trial = 0; trial < 20000; trial++) {
        const struct replay_stage context = {.present = rand() % 8 > 0, .reading = reading_draw()};
        const int64_t reserved = rand();
        const struct replay_stage stage = {
            .reserved_bytes = reserved, .workspace_allocated_bytes = reserved / 3, .reading = reading_draw()};
        enum reading_total total = trial % 2 > 0 ? READING_TOTAL_DEVICE : READING_TOTAL_PROCESS;
        bool whole = total == READING_TOTAL_DEVICE;
        struct reading_items items = {.bytes = {-7}};
        bool made = reading_itemise(total, &context, &stage, rand() % 2 > 0, &items);
        assert_int_equal(made, whole ? stage.reading.device_valid : stage.reading.process_valid);
        if (!made) {
            assert_int_equal(items.bytes[0], -7);
            continue;
        }
        struct json *object = reading_items_json(total, &items);
        assert_int_equal(json_count(object), READING_ITEM_COUNT - (whole ? 0 : 1));
        int64_t sum = 0;
        for (const char *key = json_key_after(object, NULL); key != NULL; key = json_key_after(object, key)) {
            sum += json_integer_or(json_get(object, key), 0);
        }
        assert_int_equal(sum, whole ? stage.reading.device_bytes : stage.reading.process_bytes);
        assert_int_equal(json_integer_or(json_get(object, "workspace_bytes"), -1) +
                             json_integer_or(json_get(object, "segment_bytes"), -1),
                         reserved);
        json_release(object);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_worked_number_is_right),
        cmocka_unit_test(what_was_loaded_before_is_taken_out_of_the_context),
        cmocka_unit_test(items_always_sum_to_the_reading),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
