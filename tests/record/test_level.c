/* Levels and quantities: what follows from their rows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "harness/device/device.h"
#include "harness/record/quantity.h"
#include "harness/record/record.h"
#include "harness/replay/replay.h"
#include "tests/record/record_lines.h"

static struct json *parsed(const char *text)
{
    struct json *value = NULL;
    struct status error = {0};
    if (json_parse_text("line", text, strlen(text), &value, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    return value;
}

/* What is said of a record line whose stage has a word instead of a number under key. */
static const char *spoiled_by(const char *key, struct status *error)
{
    struct json *line = parsed(CASE_LINE("a"));
    struct json *stage = json_get(json_get(line, "stages"), "load");
    assert_true(json_set(stage, key, json_string_new("word")));
    assert_int_equal(record_line_check(line, error), STATUS_INVALID);
    json_release(line);
    return error->text;
}

static void a_key_is_the_stem_and_its_unit(void **state)
{
    (void)state;
    for (int i = 0; i < LEVEL_RECORDED_COUNT; i++) {
        enum level level = (enum level)i;
        char key[64], peak_key[64];
        snprintf(key, sizeof key, "%s_bytes", level_name(level));
        snprintf(peak_key, sizeof peak_key, "%s_bytes_peak", level_name(level));
        assert_string_equal(level_key(level), key);
        assert_string_equal(level_peak_key(level), level_has_peak(level) ? peak_key : key);
    }
    assert_string_equal(level_peak_key(LEVEL_DEVICE), "device_bytes");
    assert_string_equal(level_peak_key(LEVEL_CGROUP), "cgroup_bytes_peak");
}

/* The checker of records looks at both keys of every level. */
static void a_record_knows_every_level(void **state)
{
    (void)state;
    struct status error = {0};
    for (int i = 0; i < LEVEL_RECORDED_COUNT; i++) {
        char place[96];
        snprintf(place, sizeof place, "'stages.load.%s' is a string; it must be an integer or null",
                 level_key((enum level)i));
        assert_string_equal(spoiled_by(level_key((enum level)i), &error), place);
        snprintf(place, sizeof place, "'stages.load.%s' is a string; it must be an integer or null",
                 level_peak_key((enum level)i));
        assert_string_equal(spoiled_by(level_peak_key((enum level)i), &error), place);
    }
}

/* Names of options and reports are those of the levels that are compared; a cgroup is not one of them. */
static void options_know_the_levels_that_are_compared(void **state)
{
    (void)state;
    enum level level = LEVEL_REQUESTED;
    for (int i = 0; i < LEVEL_COUNT; i++) {
        assert_string_equal(level_names()[i], level_name((enum level)i));
        assert_true(level_from_name(level_name((enum level)i), &level));
        assert_int_equal(level, i);
        assert_int_equal(level_is_reading((enum level)i), i >= LEVEL_COUNTED_COUNT);
    }
    assert_null(level_names()[LEVEL_COUNT]);
    assert_false(level_from_name("cgroup", &level));
}

static void each_compared_level_is_a_quantity(void **state)
{
    (void)state;
    for (int i = 0; i < LEVEL_COUNT; i++) {
        enum quantity quantity = QUANTITY_COUNT;
        const char *key = i < LEVEL_COUNTED_COUNT ? level_peak_key((enum level)i) : level_key((enum level)i);
        assert_true(quantity_from_name(key, &quantity));
        assert_int_equal(quantity_level(quantity), i);
        assert_int_equal(quantity_measure(quantity), i < LEVEL_COUNTED_COUNT ? QUANTITY_HIGHEST : QUANTITY_GROWTH);
        assert_int_equal(quantity_is_reading(quantity), level_is_reading((enum level)i));
        assert_null(quantity_counterpart(key));
    }
    assert_string_equal(quantity_counterpart("total_bytes"), "allocated_bytes_peak");
    assert_int_equal(quantity_level(QUANTITY_FOOTPRINT_BYTES), LEVEL_COUNT);
}

/* Structs have the same bytes by name and by level. */
static void members_have_a_name_and_a_level(void **state)
{
    (void)state;
    struct replay_stage stage = {.allocated_bytes = 5, .allocated_bytes_peak = 6};
    struct replay_result result = {.reserved_bytes_peak = 7};
    struct device_reading reading = {.cgroup_peak_valid = true, .cgroup_peak_bytes = 8, .process_bytes = 9};
    assert_int_equal(stage.levels[LEVEL_ALLOCATED].bytes, 5);
    assert_int_equal(stage.levels[LEVEL_ALLOCATED].bytes_peak, 6);
    assert_int_equal(result.peaks[LEVEL_RESERVED], 7);
    assert_true(reading.levels[LEVEL_CGROUP - LEVEL_COUNTED_COUNT].peak_valid);
    assert_int_equal(reading.levels[LEVEL_CGROUP - LEVEL_COUNTED_COUNT].peak_bytes, 8);
    assert_int_equal(reading.levels[LEVEL_PROCESS - LEVEL_COUNTED_COUNT].bytes, 9);
    level_peaks_raise(result.peaks, stage.levels);
    assert_int_equal(result.allocated_bytes_peak, 6);
    assert_int_equal(result.reserved_bytes_peak, 7);
}

static void documents_have_the_counted_levels_in_their_order(void **state)
{
    (void)state;
    static const char *const keys[] = {"requested_bytes",      "requested_bytes_peak", "allocated_bytes",
                                       "allocated_bytes_peak", "reserved_bytes",       "reserved_bytes_peak"};
    const struct replay_stage stage = {.requested_bytes = 1, .requested_bytes_peak = 2, .reserved_bytes_peak = 3};
    struct json *object = json_object_new(), *peaks = json_object_new(), *unknown = json_object_new();
    const int64_t three[LEVEL_COUNTED_COUNT] = {4, 5, 6};
    assert_true(level_figures_set(object, stage.levels));
    assert_true(level_peaks_set(peaks, three) && level_peaks_set(unknown, NULL));
    const char *key = NULL;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        key = json_key_after(object, key);
        assert_string_equal(key, keys[i]);
    }
    assert_null(json_key_after(object, key));
    assert_int_equal(json_integer_or(json_get(object, "requested_bytes_peak"), -1), 2);
    assert_int_equal(json_integer_or(json_get(object, "reserved_bytes_peak"), -1), 3);
    assert_int_equal(json_count(peaks), LEVEL_COUNTED_COUNT);
    assert_int_equal(json_integer_or(json_get(peaks, "reserved_bytes_peak"), -1), 6);
    assert_int_equal(json_kind(json_get(unknown, "allocated_bytes_peak")), JSON_KIND_NULL);
    assert_non_null(json_get(unknown, "allocated_bytes_peak"));
    json_release(object);
    json_release(peaks);
    json_release(unknown);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_is_the_stem_and_its_unit),
        cmocka_unit_test(a_record_knows_every_level),
        cmocka_unit_test(options_know_the_levels_that_are_compared),
        cmocka_unit_test(each_compared_level_is_a_quantity),
        cmocka_unit_test(members_have_a_name_and_a_level),
        cmocka_unit_test(documents_have_the_counted_levels_in_their_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
