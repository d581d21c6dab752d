/* Items of readings: the worked number of the header, and that they always sum to what was read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/record/record.h"
#include "harness/run/reading_items.h"
#include "tests/support/whole_file.h"

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

static int64_t items_sum(const struct json *items)
{
    int64_t sum = 0;
    for (const char *key = json_key_after(items, NULL); key != NULL; key = json_key_after(items, key)) {
        sum += json_integer_or(json_get(items, key), 0);
    }
    return sum;
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
        assert_int_equal(items_sum(object), whole ? stage.reading.device_bytes : stage.reading.process_bytes);
        assert_int_equal(json_integer_or(json_get(object, "workspace_bytes"), -1) +
                             json_integer_or(json_get(object, "segment_bytes"), -1),
                         reserved);
        json_release(object);
    }
}

/* Returns how many readings of the line had items. */
static int line_check(const struct json *line)
{
    static const char *const names[][2] = {{"device_bytes", "device_items"}, {"process_bytes", "process_items"}};
    const struct json *stages = json_get(line, "stages");
    int count = 0;
    for (const char *key = json_key_after(stages, NULL); key != NULL; key = json_key_after(stages, key)) {
        const struct json *stage = json_get(stages, key);
        for (int i = 0; i < 2; i++) {
            const struct json *items = json_get(stage, names[i][1]);
            if (json_kind(items) == JSON_KIND_OBJECT) {
                assert_int_equal(items_sum(items), json_integer_or(json_get(stage, names[i][0]), -1));
                count++;
            }
        }
    }
    return count;
}

/* What is committed as measured; those of the host's calibration have items at 26 ends of stages. */
static void items_of_reference_records_sum_to_their_readings(void **state)
{
    (void)state;
    glob_t found;
    int count = 0;
    assert_int_equal(glob("results/reference/*/*/records.jsonl", 0, NULL, &found), 0);
    for (size_t path = 0; path < found.gl_pathc; path++) {
        struct record_file file;
        struct status error;
        if (record_file_read(found.gl_pathv[path], &file, &error) != STATUS_OK) {
            fail_msg("%s", error.text);
        }
        for (int run = 0; run < file.run_count; run++) {
            for (int i = 0; i < file.runs[run].case_count; i++) {
                count += line_check(file.runs[run].cases[i]);
            }
        }
        record_file_release(&file);
    }
    globfree(&found);
    assert_true(count >= 26);
}

/* Fails where docs/NUMBERS.md does not have the number, as 1,234,567. */
static void expect_documented(const char *document, int64_t number)
{
    char digits[32], text[48];
    int length = snprintf(digits, sizeof digits, "%lld", (long long)number), written = 0;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0) {
            text[written++] = ',';
        }
        text[written++] = digits[i];
    }
    text[written] = '\0';
    if (strstr(document, text) == NULL) {
        fail_msg("docs/NUMBERS.md, section 15, has no %s; write what the records say", text);
    }
}

static void the_documents_example_is_the_reference_records(void **state)
{
    (void)state;
    struct record_file file;
    char *document = whole_file_read("docs/NUMBERS.md");
    const char *section = strstr(document, "## 15.");
    assert_non_null(section);
    assert_int_equal(
        record_file_read("results/reference/host-intel-r-xeon-r-processor/calibrate/records.jsonl", &file, NULL),
        STATUS_OK);
    const struct record_run *last = &file.runs[file.run_count - 1];
    bool found = false;
    for (int i = 0; i < last->case_count; i++) {
        const struct json *line = last->cases[i], *stage = json_get(json_get(line, "stages"), "forward");
        if (strcmp(json_string_or(json_get(line, "id"), ""), "gpt2/infer/bfloat16/b2/s96") != 0) {
            continue;
        }
        const struct json *items = json_get(stage, "process_items");
        expect_documented(section, json_integer_or(json_get(json_get(line, "context"), "process_bytes"), -1));
        expect_documented(section, json_integer_or(json_get(stage, "process_bytes"), -1));
        for (const char *key = json_key_after(items, NULL); key != NULL; key = json_key_after(items, key)) {
            expect_documented(section, json_integer_or(json_get(items, key), 0));
        }
        found = true;
    }
    assert_true(found);
    record_file_release(&file);
    free(document);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_worked_number_is_right),
        cmocka_unit_test(what_was_loaded_before_is_taken_out_of_the_context),
        cmocka_unit_test(items_always_sum_to_the_reading),
        cmocka_unit_test(items_of_reference_records_sum_to_their_readings),
        cmocka_unit_test(the_documents_example_is_the_reference_records),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
