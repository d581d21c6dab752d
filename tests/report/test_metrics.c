/* Figures for programs that watch: OpenMetrics, and the JSON of github-action-benchmark. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/json.h"
#include "harness/report/report.h"
#include "tests/report/nights_fixture.h"
#include "tests/report/records_fixture.h"

static struct text rendered(const char *path, const char *format)
{
    struct report *report = NULL;
    struct text text = {0};
    enum report_format parsed = REPORT_TABLE;
    assert_int_equal(report_format_parse(format, &parsed, NULL), STATUS_OK);
    assert_int_equal(report_open(path, &report, NULL), STATUS_OK);
    assert_int_equal(report_render(report, parsed, NULL, &text, NULL), STATUS_OK);
    report_release(report);
    return text;
}

static void line_check(const struct text *text, const char *line)
{
    const size_t length = strlen(line);
    const char *at = text_string(text);
    while (*at != '\0' && (strncmp(at, line, length) != 0 || at[length] != '\n')) {
        at += strcspn(at, "\n") + 1;
    }
    if (*at == '\0') {
        fail_msg("no line '%s' in:\n%s", line, text_string(text));
    }
}

#define LOAD "{case=\"gpt2/load/float32\",model=\"gpt2\",mode=\"load\",precision=\"float32\",device=\"NVIDIA H200\""

static void a_night_is_gauges(void **state)
{
    const struct nights *nights = *state;
    night_write(nights->base, &(struct night){.status = "oom"});
    struct text text = rendered(nights->base, "openmetrics");
    line_check(&text, "assay_peak_bytes" LOAD ",level=\"requested\",source=\"measured\"} 104857600");
    line_check(&text, "assay_peak_bytes" LOAD ",level=\"allocated\",source=\"replay\"} 104858112");
    line_check(&text, "assay_case_status" LOAD ",status=\"ok\"} 1");
    line_check(&text, "assay_cases{status=\"ok\"} 1");
    line_check(&text, "assay_cases{status=\"oom\"} 1");
    line_check(&text, "assay_run_complete 1");
    line_check(&text, "assay_run_start_seconds 1795226400"); /* 2026-11-21T02:00:00Z */
    assert_non_null(strstr(text_string(&text), ",driver=\"570.124.06\","));
    assert_null(strstr(text_string(&text), "assay_peak_bytes{case=\"gpt2/infer/float32/b8/s512\",model=\"gpt2\",mode="
                                           "\"infer\",precision=\"float32\",device=\"NVIDIA H200\",level=\"requested\","
                                           "source=\"measured\"}")); /* it did not end */
    assert_string_equal(text_string(&text) + text.length - strlen("\n# EOF\n"), "\n# EOF\n");
    text_release(&text);
}

/* A name, labels whose values end where they seem to, a number: what a parser of either format wants of a line. */
static const char *sample_pass(const char *at)
{
    at += strspn(at, "abcdefghijklmnopqrstuvwxyz_");
    if (*at == '{') {
        do {
            at++;
            at += strspn(at, "abcdefghijklmnopqrstuvwxyz_");
            assert_int_equal(at[0], '=');
            assert_int_equal(at[1], '"');
            for (at += 2; *at != '"'; at++) {
                assert_true((unsigned char)*at >= ' ');
                at += *at == '\\' ? 1 : 0;
            }
            at++;
        } while (*at == ',');
        assert_int_equal(*at, '}');
        at++;
    }
    assert_int_equal(*at, ' ');
    at++;
    assert_true(isdigit((unsigned char)*at));
    at += strspn(at, "0123456789");
    assert_int_equal(*at, '\n');
    return at + 1;
}

static void every_line_is_one_whatever_the_names_are(void **state)
{
    const struct nights *nights = *state;
    static const enum records_kind kinds[] = {RECORDS_HOSTILE, RECORDS_NULLS, RECORDS_LARGE, RECORDS_EMPTY};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        int samples = 0;
        remove(nights->base);
        records_fixture_write(nights->base, kinds[i]);
        struct text text = rendered(nights->base, "prometheus");
        for (const char *at = text_string(&text); *at != '\0';) {
            if (*at == '#') {
                assert_true(strncmp(at, "# TYPE assay_", 13) == 0 || strncmp(at, "# HELP assay_", 13) == 0 ||
                            strncmp(at, "# UNIT assay_", 13) == 0 || strcmp(at, "# EOF\n") == 0);
                at += strcspn(at, "\n") + 1;
            } else {
                assert_int_equal(strncmp(at, "assay_", 6), 0);
                at = sample_pass(at);
                samples++;
            }
        }
        assert_in_range(samples, 9, 10000);
        text_release(&text);
    }
}

static void what_ends_a_label_is_escaped(void **state)
{
    const struct nights *nights = *state;
    night_write(nights->base, &(struct night){.device = "a \\\"b\\\\c\\nd"});
    struct text text = rendered(nights->base, "openmetrics");
    assert_non_null(strstr(text_string(&text), "device=\"a \\\"b\\\\c d\""));
    text_release(&text);
}

static void disturbed_readings_and_earlier_nights_are_left_out(void **state)
{
    const struct nights *nights = *state;
    night_write(nights->base, &(struct night){.disturbance = "[\"somebody else\"]"});
    struct text text = rendered(nights->base, "openmetrics"), json = rendered(nights->base, "benchmark-json");
    assert_non_null(strstr(text_string(&text), "{case=\"gpt2/infer/float32/b8/s512\""));
    assert_non_null(strstr(text_string(&json), "\"gpt2/infer/float32/b8/s512 reserved\""));
    assert_null(strstr(text_string(&json), "\"gpt2/infer/float32/b8/s512 process\""));
    assert_non_null(strstr(text_string(&json), "\"gpt2/load/float32 process\""));
    for (const char *at = text_string(&text); (at = strstr(at, "level=\"process\"")) != NULL; at++) {
        const char *line = at;
        while (line > text_string(&text) && line[-1] != '\n') {
            line--;
        }
        assert_int_equal(strncmp(line, "assay_peak_bytes" LOAD, strlen("assay_peak_bytes" LOAD)), 0);
    }
    text_release(&text);
    text_release(&json);
    /* A second run in the same file was killed before it came to the second case. */
    night_write(nights->base, &(struct night){.listed = true});
    night_write(nights->other, &(struct night){.listed = true, .second_missing = true, .killed = true, .run_id = "91"});
    FILE *from = fopen(nights->other, "r");
    char line[8192];
    assert_non_null(from);
    while (fgets(line, sizeof line, from) != NULL) {
        records_fixture_append(nights->base, line);
    }
    fclose(from);
    text = rendered(nights->base, "openmetrics");
    json = rendered(nights->base, "benchmark-json");
    line_check(&text, "assay_run_complete 0");
    line_check(&text, "assay_cases{status=\"missing\"} 1");
    assert_null(strstr(text_string(&text), "assay_peak_bytes{case=\"gpt2/infer/float32/b8/s512\""));
    assert_null(strstr(text_string(&json), "gpt2/infer"));
    text_release(&text);
    text_release(&json);
}

static void benchmark_json_is_an_array_of_peaks(void **state)
{
    const struct nights *nights = *state;
    struct json *document = NULL;
    night_write(nights->base, &(struct night){.attempts = 2, .attempt_bytes = 6000001});
    struct text text = rendered(nights->base, "benchmark-json");
    assert_int_equal(json_parse_text("json", text_string(&text), text.length, &document, NULL), STATUS_OK);
    assert_int_equal(json_count(document), 2 * LEVEL_COUNT);
    const struct json *first = json_at(document, 0), *process = json_at(document, LEVEL_PROCESS);
    assert_string_equal(json_string_or(json_get(first, "name"), ""), "gpt2/load/float32 requested");
    assert_string_equal(json_string_or(json_get(first, "unit"), ""), "bytes");
    assert_int_equal(json_integer_or(json_get(first, "value"), 0), 104857600);
    assert_string_equal(json_string_or(json_get(first, "range"), ""), "± 0");
    assert_string_equal(json_string_or(json_get(first, "extra"), ""), "cuda (NVIDIA H200), driver 570.124.06");
    assert_string_equal(json_string_or(json_get(process, "range"), ""), "± 3000001");
    json_release(document);
    text_release(&text);
    remove(nights->base);
    records_fixture_write(nights->base, RECORDS_EMPTY);
    text = rendered(nights->base, "benchmark-json");
    assert_string_equal(text_string(&text), "[\n]\n");
    text_release(&text);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, nights_make, nights_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_night_is_gauges),
        TEST(every_line_is_one_whatever_the_names_are),
        TEST(what_ends_a_label_is_escaped),
        TEST(disturbed_readings_and_earlier_nights_are_left_out),
        TEST(benchmark_json_is_an_array_of_peaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
