/* What is assumed of a GPU, judged by records: those of real GPUs hold, and each row falls by the figure that it is
 * about, planted into them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/report/assumptions.h"
#include "tests/report/records_place.h"
#include "tests/support/whole_file.h"

#define H100 "results/reference/nvidia-h100-80gb-hbm3"
#define H200 "results/reference/nvidia-h200"

/* The JSON of what the records at path come to; the caller releases it. */
static struct json *judged(const char *path, enum run_outcome *outcome)
{
    struct assumptions *assumptions = NULL;
    struct status error = {0};
    struct text text = {0}, reason = {0};
    struct json *document = NULL;
    if (assumptions_read(path, false, "results/reference", &assumptions, &error) != STATUS_OK ||
        assumptions_render(assumptions, REPORT_JSON, NULL, &text, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    *outcome = assumptions_outcome(assumptions, &reason);
    assert_int_equal(json_parse_text("assumptions", text_string(&text), text.length, &document, &error), STATUS_OK);
    text_release(&reason);
    text_release(&text);
    assumptions_release(assumptions);
    return document;
}

static const struct json *row_of(const struct json *document, const char *name)
{
    const struct json *rows = json_get(document, "assumptions");
    for (size_t i = 0; i < json_count(rows); i++) {
        if (strcmp(json_string_or(json_get(json_at(rows, i), "name"), ""), name) == 0) {
            return json_at(rows, i);
        }
    }
    fail_msg("there is no row %s", name);
    return NULL;
}

static void verdict_check(const struct json *document, const char *name, const char *verdict)
{
    const struct json *row = row_of(document, name);
    const char *found = json_string_or(json_get(row, "verdict"), "");
    if (strcmp(found, verdict) != 0) {
        fail_msg("%s is %s where %s was meant: %s", name, found, verdict, json_string_or(json_get(row, "seen"), ""));
    }
}

static void records_of_real_gpus_hold(void **state)
{
    static const struct {
        const char *path, *holds[12];
    } rows[] = {
        {H100,
         {"cases", "alone", "start", "baseline", "process", "both", "loads", "libraries", "repeats", "constants"}},
        {H200,
         {"cases", "alone", "start", "baseline", "process", "both", "loads", "libraries", "repeats", "constants"}},
        {H100 "/suites/safety", {"cases", "baseline", "both", "loads", "full", "ballast"}},
        {H100 "/suites/batch-size", {"cases", "baseline", "both", "loads", "full", "segments"}},
        {H100 "/suites/placement", {"cases", "baseline", "both", "loads"}},
        {H100 "/suites/offload", {"cases", "process"}},
        {H100 "/suites/checkpoint", {"cases", "process"}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        enum run_outcome outcome;
        struct json *document = judged(rows[i].path, &outcome);
        for (int k = 0; rows[i].holds[k] != NULL; k++) {
            verdict_check(document, rows[i].holds[k], "holds");
        }
        assert_int_equal(outcome, RUN_PASS);
        json_release(document);
    }
}

/* Records as they are, but for one piece, of which every occurrence (or the first alone) is another. */
static void planted_write(const char *from, const char *to, const char *piece, const char *instead, bool once)
{
    char *content = whole_file_read(from);
    FILE *file = fopen(to, "w");
    int count = 0;
    assert_non_null(file);
    char *rest = content;
    for (char *at = strstr(rest, piece); at != NULL && !(once && count > 0); at = strstr(rest, piece)) {
        fwrite(rest, 1, (size_t)(at - rest), file);
        fputs(instead, file);
        rest = at + strlen(piece);
        count++;
    }
    fputs(rest, file);
    assert_int_equal(fclose(file), 0);
    assert_true(count > 0);
    free(content);
}

#define NAMED        "\"name\": \"NVIDIA H200\""
#define NAMED_OTHERS "\"name\": \"NVIDIA RTX A4000\""

/* The records of the place are of a class of GPU that results/reference has nothing of. */
static void others_name_write(const struct place *place)
{
    char *content = whole_file_read(place->records), from[256];
    snprintf(from, sizeof from, "%s.h200", place->records);
    FILE *file = fopen(from, "w");
    assert_non_null(file);
    fputs(content, file);
    assert_int_equal(fclose(file), 0);
    free(content);
    planted_write(from, place->records, NAMED, NAMED_OTHERS, false);
    assert_int_equal(remove(from), 0);
}

struct plant {
    const char *from, *piece, *instead;
    bool once;
    const char *row, *verdict;
    enum run_outcome outcome;
};

#define ITEMS         "\"remainder_bytes\": 0}, \"process_items\""
#define ITEMS_OFF     "\"remainder_bytes\": 67108864}, \"process_items\""
#define DEVICE_READ   "\"device_bytes\": 1049427968, \"process_bytes\": 1040187392"
#define DEVICE_OFF    "\"device_bytes\": 1116536832, \"process_bytes\": 1040187392"
#define REPEATED      "\"device_bytes\": 1089273856"
#define REPEATED_OFF  "\"device_bytes\": 1095565312"
#define CONTEXT_READ  "\"context\": {\"device_bytes\": 552402944"
#define CONTEXT_OFF   "\"context\": {\"device_bytes\": 558694400"
#define LISTED        "\"process_bytes\": 1040187392"
#define LISTED_OFF    "\"process_bytes\": 4194304"
#define DISTURBED     "\"validity\": {\"valid\": false, \"reasons\": [\"another process (7) held 5 bytes of the GPU\"]}"
#define VALID         "\"validity\": {\"valid\": true, \"reasons\": []}"
#define BASELINE_READ "\"process_bytes\": 543162368, \"baseline_bytes\": 3407872"
#define BASELINE_OFF  "\"process_bytes\": 543162368, \"baseline_bytes\": null"
#define TIGHT         "\"runs\": true, \"less_runs\": false"
#define TIGHT_OFF     "\"runs\": true, \"less_runs\": true"
#define SAFE_UNKNOWN  "\"runs\": null, \"less_runs\": false"
#define TRIED         "\"batch\": 128, \"ended\": \"refused\""
#define TRIED_OFF     "\"batch\": 128, \"ended\": \"error\""
#define FITTED        "\"batch\": 32, \"ended\": \"ran\""
#define FITTED_OFF    "\"batch\": 32, \"ended\": \"refused\""
#define WELL          "\"status\": \"ok\", \"reason\": null"
#define SKIPPED       "\"status\": \"skip\", \"reason\": \"cuda: there is no driver\""
#define LOST          "\"status\": \"error\", \"reason\": \"an illegal memory access\""
#define FAILED        "\"status\": \"fail\", \"reason\": \"allocated peak\""

static const struct plant plants[] = {
    {H200, BASELINE_READ, BASELINE_OFF, false, "baseline", "otherwise", RUN_FAIL},
    {H200, BASELINE_READ, BASELINE_OFF, true, "baseline", "otherwise", RUN_FAIL},
    {H200, CONTEXT_READ, CONTEXT_OFF, true, "baseline", "otherwise", RUN_FAIL},
    {H200, LISTED, LISTED_OFF, true, "process", "otherwise", RUN_FAIL},
    {H200, DEVICE_READ, DEVICE_OFF, false, "both", "otherwise", RUN_FAIL},
    {H200, ITEMS, ITEMS_OFF, true, "loads", "otherwise", RUN_FAIL},
    {H200, "\"library_bytes\": 69206016", "\"library_bytes\": 169206016", true, "libraries", "noted", RUN_PASS},
    {H200, REPEATED, REPEATED_OFF, true, "repeats", "otherwise", RUN_FAIL},
    {H200, "\"signed_error_bytes\": 2097152", "\"signed_error_bytes\": 20971520", true, "constants", "otherwise",
     RUN_FAIL},
    {H200, "\"duration_s\": 0.4039118", "\"duration_s\": 21.4", true, "start", "noted", RUN_PASS},
    {H200, VALID, DISTURBED, true, "alone", "open", RUN_INCONCLUSIVE},
    {H200, VALID, DISTURBED, false, "baseline", "open", RUN_INCONCLUSIVE},
    {H200, WELL, LOST, true, "cases", "open", RUN_INCONCLUSIVE},
    {H200, WELL, FAILED, true, "cases", "otherwise", RUN_FAIL},
    {H200, WELL, SKIPPED, false, "cases", "untold", RUN_SKIPPED},
    {H100 "/suites/safety", TIGHT, TIGHT_OFF, true, "ballast", "otherwise", RUN_FAIL},
    {H100 "/suites/safety", TIGHT, SAFE_UNKNOWN, true, "full", "otherwise", RUN_FAIL},
    {H100 "/suites/batch-size", TRIED, TRIED_OFF, true, "full", "otherwise", RUN_FAIL},
    {H100 "/suites/batch-size", FITTED, FITTED_OFF, true, "segments", "otherwise", RUN_FAIL},
};

static void each_row_falls_by_its_figure(void **state)
{
    struct place *place = *state;
    for (size_t i = 0; i < sizeof plants / sizeof plants[0]; i++) {
        const struct plant *plant = &plants[i];
        enum run_outcome outcome;
        char from[128];
        snprintf(from, sizeof from, "%s/records.jsonl", plant->from);
        planted_write(from, place->records, plant->piece, plant->instead, plant->once);
        struct json *document = judged(place->folder, &outcome);
        verdict_check(document, plant->row, plant->verdict);
        if (outcome != plant->outcome) {
            fail_msg("%s: outcome %s", plant->row, run_outcome_name(outcome));
        }
        json_release(document);
    }
}

/* Bytes beyond what an H100 and an H200 showed are noted on a GPU of which results/reference has nothing; what is no
 * matter of bytes fails there too. */
static void bytes_of_a_class_that_nobody_measured_fail_nothing(void **state)
{
    struct place *place = *state;
    int noted_count = 0;
    for (size_t i = 0; i < sizeof plants / sizeof plants[0]; i++) {
        const struct plant *plant = &plants[i];
        static const char *const bytes[] = {CONTEXT_OFF, DEVICE_OFF, ITEMS_OFF, REPEATED_OFF,
                                            "\"signed_error_bytes\": 20971520"};
        bool is_bytes = false;
        enum run_outcome outcome;
        for (size_t k = 0; k < sizeof bytes / sizeof bytes[0]; k++) {
            is_bytes = is_bytes || strcmp(plant->instead, bytes[k]) == 0;
        }
        if (strcmp(plant->from, H200) != 0) {
            continue;
        }
        planted_write(H200 "/records.jsonl", place->records, plant->piece, plant->instead, plant->once);
        others_name_write(place);
        struct json *document = judged(place->folder, &outcome);
        const char *seen = json_string_or(json_get(row_of(document, plant->row), "seen"), "");
        verdict_check(document, plant->row, is_bytes ? "noted" : plant->verdict);
        assert_int_equal(outcome, is_bytes ? RUN_PASS : plant->outcome);
        assert_int_equal(strstr(seen, "no GPU of this class is in results/reference yet") != NULL, is_bytes);
        assert_false(json_boolean_or(json_get(document, "class_is_measured"), true));
        noted_count += is_bytes;
        json_release(document);
    }
    assert_int_equal(noted_count, 5);
}

/* A case that was disturbed says nothing of what the driver counts, and the others still do. */
static void disturbed_cases_are_left_out(void **state)
{
    struct place *place = *state;
    enum run_outcome outcome;
    planted_write(H200 "/records.jsonl", place->records, VALID, DISTURBED, true);
    struct json *document = judged(place->folder, &outcome);
    verdict_check(document, "baseline", "holds");
    assert_int_equal(json_integer_or(json_get(json_get(json_get(document, "figures"), "baseline_bytes"), "count"), 0),
                     107);
    assert_non_null(strstr(json_string_or(json_get(document, "reason"), ""), "DISTURBED"));
    assert_non_null(strstr(json_string_or(json_get(document, "reason"), ""), "another process (7)"));
    json_release(document);
}

/* As if NVML counted what the driver keeps: no reading is apart from another, and all are too far off. */
static void a_gap_may_not_be_wide_either(void **state)
{
    struct place *place = *state;
    enum run_outcome outcome;
    planted_write(H200 "/records.jsonl", place->records, DEVICE_READ, DEVICE_OFF, true);
    char *content = whole_file_read(place->records), *end = content;
    for (int line = 0; line < 3; line++) { /* of the run, of what was selected, of the first case */
        end = strchr(end, '\n') + 1;
    }
    FILE *file = fopen(place->records, "w");
    assert_non_null(file);
    fwrite(content, 1, (size_t)(end - content), file);
    assert_int_equal(fclose(file), 0);
    free(content);
    struct json *document = judged(place->folder, &outcome);
    verdict_check(document, "both", "otherwise");
    json_release(document);
}

/* Two runs may find another baseline each, and one run may not. */
static void runs_may_differ_from_each_other(void **state)
{
    struct place *place = *state;
    enum run_outcome outcome;
    char *first = whole_file_read(H200 "/records.jsonl");
    planted_write(H200 "/records.jsonl", place->records, CONTEXT_READ, CONTEXT_OFF, false);
    FILE *file = fopen(place->records, "a");
    assert_non_null(file);
    fputs(first, file);
    assert_int_equal(fclose(file), 0);
    free(first);
    struct json *document = judged(place->folder, &outcome);
    verdict_check(document, "baseline", "holds");
    json_release(document);
}

static void every_row_says_what_it_is_about(void **state)
{
    enum run_outcome outcome;
    (void)state;
    struct json *document = judged(H200, &outcome);
    const struct json *rows = json_get(document, "assumptions");
    assert_int_equal(json_count(rows), 16);
    for (size_t i = 0; i < json_count(rows); i++) {
        const struct json *row = json_at(rows, i);
        assert_true(strlen(json_string_or(json_get(row, "assumed"), "")) > 20);
        assert_true(strlen(json_string_or(json_get(row, "otherwise"), "")) > 15);
        assert_true(strlen(json_string_or(json_get(row, "seen"), "")) > 5);
    }
    json_release(document);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_of_real_gpus_hold),
        cmocka_unit_test_setup_teardown(bytes_of_a_class_that_nobody_measured_fail_nothing, place_make, place_remove),
        cmocka_unit_test_setup_teardown(each_row_falls_by_its_figure, place_make, place_remove),
        cmocka_unit_test_setup_teardown(disturbed_cases_are_left_out, place_make, place_remove),
        cmocka_unit_test_setup_teardown(a_gap_may_not_be_wide_either, place_make, place_remove),
        cmocka_unit_test_setup_teardown(runs_may_differ_from_each_other, place_make, place_remove),
        cmocka_unit_test(every_row_says_what_it_is_about),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
