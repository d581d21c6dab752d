/* How much repeated attempts differ: highest less lowest, null where a reading is missing, and of the last run
 * alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "harness/report/spread.h"
#include "tests/report/records_fixture.h"

/* One report at a time, so that what it spreads over stays until the test has looked at it. */
static struct report scene;

static int scene_clear(void **state)
{
    (void)state;
    name_table_release(&scene.words);
    arena_release(&scene.arena);
    scene = (struct report){0};
    return 0;
}

static struct spread spread_of_texts(const char *const *texts)
{
    struct spread_sum sum = {0};
    struct case_view before, view;
    struct spread spread;
    for (int count = 0; texts[count] != NULL; count++, before = view) {
        struct json *line = NULL;
        assert_int_equal(json_parse_text("a test", texts[count], strlen(texts[count]), &line, NULL), STATUS_OK);
        assert_true(case_view_read(&scene, line, "a", &view));
        json_release(line);
        assert_true(spread_add(&sum, &scene.arena, count > 0 ? &before : NULL, &view));
    }
    assert_true(spread_make(&sum, &scene.arena, &spread));
    return spread;
}

#define ATTEMPT(status, hash, reserved, device, peak)                                                                  \
    "{\"status\": \"" status "\", \"sequence_hash\": " hash ", \"stages\": {\"load\": {\"reserved_bytes\": " reserved  \
    ", \"reserved_bytes_peak\": " peak ", \"device_bytes\": " device "}}}"

static void the_highest_less_the_lowest(void **state)
{
    (void)state;
    struct spread spread = spread_of_texts((const char *const[]){ATTEMPT("ok", "\"a\"", "100", "512", "100"),
                                                                 ATTEMPT("fail", "\"a\"", "100", "544", "130"),
                                                                 ATTEMPT("ok", "\"a\"", "100", "520", "110"), NULL});
    assert_int_equal(spread.attempt_count, 3);
    assert_int_equal(spread.stage_bytes[STAGE_LOAD][LEVEL_DEVICE], 32);
    assert_int_equal(spread_widest(&spread, LEVEL_DEVICE), 32);
    assert_int_equal(spread_widest(&spread, LEVEL_RESERVED), 30); /* the peaks differ, the ends do not */
    assert_int_equal(spread_widest(&spread, LEVEL_PROCESS), BYTES_UNKNOWN);
    assert_int_equal(spread.sequences, SEQUENCES_EQUAL);
}

static void a_missing_reading_is_no_zero(void **state)
{
    (void)state;
    struct spread spread = spread_of_texts((const char *const[]){ATTEMPT("ok", "\"a\"", "100", "512", "100"),
                                                                 ATTEMPT("ok", "null", "100", "null", "100"),
                                                                 ATTEMPT("timeout", "\"b\"", "7", "7", "7"), NULL});
    assert_int_equal(spread.attempt_count, 2); /* what ran out of time was not measured */
    assert_int_equal(spread_widest(&spread, LEVEL_DEVICE), BYTES_UNKNOWN);
    assert_int_equal(spread_widest(&spread, LEVEL_RESERVED), 0);
    assert_int_equal(spread.sequences, SEQUENCES_UNKNOWN);
}

static void words_say_it(void **state)
{
    (void)state;
    struct text text = {0};
    struct spread spread = spread_of_texts((const char *const[]){ATTEMPT("ok", "\"a\"", "1024", "512", "1024"),
                                                                 ATTEMPT("ok", "\"b\"", "2048", "512", "2048"), NULL});
    spread_append(&text, &spread);
    assert_string_equal(text_string(&text), "2 attempts: requested -, allocated -, reserved 1.00 KiB, device 0 B, "
                                            "process -; DIFFERENT sequences of allocations");
    text_release(&text);
    spread = spread_of_texts((const char *const[]){ATTEMPT("ok", "\"a\"", "1024", "512", "1024"), NULL});
    spread_append(&text, &spread);
    assert_string_equal(text_string(&text), "");
    text_release(&text);
}

static void contains(const char *path, enum report_format format, const char *part)
{
    struct report *report = NULL;
    struct text text = {0};
    assert_int_equal(report_open(path, &report, NULL), STATUS_OK);
    assert_int_equal(report_render(report, format, NULL, &text, NULL), STATUS_OK);
    if (strstr(text_string(&text), part) == NULL) {
        fail_msg("no '%s' in:\n%s", part, text_string(&text));
    }
    text_release(&text);
    report_release(report);
}

static void attempts_of_the_last_run_count(void **state)
{
    (void)state;
    char *folder = folder_fixture_make();
    char path[128];
    snprintf(path, sizeof path, "%s/records.jsonl", folder);
    records_fixture_run(path, 1);
    records_fixture_case(path, "a", "ok", "100000"); /* of another day */
    records_fixture_run(path, 3);
    records_fixture_case(path, "a", "ok", "1000");
    records_fixture_case(path, "b", "ok", "700");
    records_fixture_case(path, "a", "ok", "1512");
    contains(path, REPORT_JSON, "\"attempts\": 2,\n      \"requested_bytes\": 0,\n      \"allocated_bytes\": 512");
    contains(path, REPORT_TABLE, "2 attempts: requested 0 B, allocated 512 B, reserved 0 B");
    contains(path, REPORT_MARKDOWN, "a load float32: 2 attempts:");
    contains(path, REPORT_CSV, "load,allocated,1512,1512,,,,,2,512,,2,");
    contains(path, REPORT_CSV, "load,allocated,700,700,,,,,1,,,1,");
    folder_fixture_remove(folder);
}

/* An attempt that was not measured is one all the same, so that the rows of attempt number `attempts` are there. */
static void attempts_are_counted_however_they_ended(void **state)
{
    (void)state;
    static const char *const endings[][3] = {{"ok", "error", "ok"}, {"error", "ok", "ok"}, {"ok", "ok", "oom"}};
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        char *folder = folder_fixture_make();
        char path[128];
        snprintf(path, sizeof path, "%s/records.jsonl", folder);
        records_fixture_run(path, 3);
        for (int at = 0; at < 3; at++) {
            bool measured = strcmp(endings[i][at], "ok") == 0;
            records_fixture_case(path, "a", endings[i][at], measured ? "1000" : "null");
        }
        for (int at = 0; at < 3; at++) {
            char end_of_row[32];
            bool measured = strcmp(endings[i][at], "ok") == 0;
            snprintf(end_of_row, sizeof end_of_row, ",3,%s,,%d,", measured ? "0" : "", at + 1);
            contains(path, REPORT_CSV, end_of_row);
        }
        folder_fixture_remove(folder);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(the_highest_less_the_lowest, scene_clear),
        cmocka_unit_test_teardown(a_missing_reading_is_no_zero, scene_clear),
        cmocka_unit_test_teardown(words_say_it, scene_clear),
        cmocka_unit_test(attempts_of_the_last_run_count),
        cmocka_unit_test(attempts_are_counted_however_they_ended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
