/* Members of placed cases, of loaded checkpoints and of searches: which of them a line has, and of which kind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/record/record.h"
#include "tests/record/record_lines.h"

static const char PLACES[] =
    "\"places\": [{\"place\": \"0\", \"spec\": \"host:mem=300000000B\", \"budget_bytes\": 300000000, "
    "\"placed_bytes\": 1234, \"kept_bytes\": 567, \"needed_bytes\": null, \"stages\": {\"load\": "
    "{\"requested_bytes\": 4, \"requested_bytes_peak\": 4, \"allocated_bytes\": 512, \"allocated_bytes_peak\": 512, "
    "\"reserved_bytes\": 2097152, \"reserved_bytes_peak\": 2097152, \"process_bytes_peak\": null}}, \"estimates\": "
    "{\"replay\": {\"allocated_bytes_peak\": 512}, \"accelerate\": {\"total_bytes\": 1801}}}, {\"place\": \"disk\", "
    "\"spec\": null, \"budget_bytes\": null, \"placed_bytes\": 9, \"kept_bytes\": null, \"needed_bytes\": null, "
    "\"stages\": null, \"estimates\": null}], \"transfers\": [{\"from\": \"disk\", \"to\": \"0\", \"count\": 12, "
    "\"bytes\": 108, \"seconds\": 0.5, \"plain_bytes\": 108, \"plain_seconds\": 0.25, \"plain\": \"sequential "
    "read\"}], \"placement\": {\"strategy\": \"balanced\", \"map\": {\"transformer.h.0\": \"0\"}, \"raised\": null, "
    "\"accelerate_runs\": null}, \"search\": {\"policy\": \"halve\", \"start\": 128, \"end\": \"found\", \"found\": "
    "64, \"predicted\": 70, \"error\": null, \"tries\": [{\"batch\": 128, \"ended\": \"refused\", \"cause\": "
    "\"memory\", \"recognised\": true, \"stage\": \"forward\", \"label\": \"scores\", \"wanted_bytes\": 77, "
    "\"predicted_runs\": false, \"seconds\": 1.5, \"next\": 64}], \"per_second\": 10.5, \"unit\": \"samples\", "
    "\"best_per_second\": null, \"duration_s\": 3, \"pass\": true}, ";

static enum status_code members_check(const char *members, struct status *error)
{
    static const char usual[] = CASE_LINE("a");
    struct json *line = NULL;
    struct text text = {0};
    text_append(&text, "{");
    text_append(&text, members);
    text_append(&text, &usual[1]);
    assert_false(text.failed);
    assert_int_equal(json_parse_text("line", text_string(&text), text.length, &line, error), STATUS_OK);
    enum status_code code = record_line_check(line, error);
    json_release(line);
    text_release(&text);
    return code;
}

static void whole_members_are_a_record(void **state)
{
    (void)state;
    struct status error = {0};
    if (members_check(PLACES, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    assert_int_equal(
        members_check("\"places\": null, \"transfers\": null, \"placement\": null, \"search\": null, ", &error),
        STATUS_OK);
}

struct spoiling {
    const char *from, *to, *message;
};

static const struct spoiling SPOILINGS[] = {
    {"\"place\": \"0\", ", "", "'places.0.place' is missing"},
    {"\"placed_bytes\": 1234", "\"placed_bytes\": -1",
     "'places.0.placed_bytes' is negative; an unknown figure is null"},
    {"\"requested_bytes\": 4", "\"requested_bytes\": \"4\"",
     "'places.0.stages.load.requested_bytes' is a string; it must be an integer or null"},
    {"{\"allocated_bytes_peak\": 512}", "7", "'places.0.estimates.replay' is an integer; it must be an object or null"},
    {"\"seconds\": 0.5", "\"seconds\": \"0.5\"", "'transfers.0.seconds' is a string; it must be a number or null"},
    {"\"count\": 12, ", "", "'transfers.0.count' is missing"},
    {"{\"transformer.h.0\": \"0\"}", "{\"transformer.h.0\": 0}",
     "'placement.map.transformer.h.0' is an integer; it must be a string"},
    {"\"batch\": 128", "\"batch\": null", "'search.tries.0.batch' is null; it must be an integer"},
    {"\"predicted_runs\": false", "\"predicted_runs\": \"no\"",
     "'search.tries.0.predicted_runs' is a string; it must be a boolean or null"},
    {"\"found\": 64", "\"found\": 64.5", "'search.found' is a real number; it must be an integer or null"},
};

static void wrong_members_are_named_with_their_path(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof SPOILINGS / sizeof SPOILINGS[0]; i++) {
        char spoiled[sizeof PLACES + 64];
        const char *at = strstr(PLACES, SPOILINGS[i].from);
        struct status error = {0};
        assert_non_null(at);
        snprintf(spoiled, sizeof spoiled, "%.*s%s%s", (int)(at - PLACES), PLACES, SPOILINGS[i].to,
                 at + strlen(SPOILINGS[i].from));
        assert_int_equal(members_check(spoiled, &error), STATUS_INVALID);
        assert_string_equal(error.text, SPOILINGS[i].message);
    }
}

/* A place of a verdict and of what ran out of memory: of the members that lines had before. */
static void places_of_verdicts_and_of_refusals_are_texts(void **state)
{
    (void)state;
    static const char oom[] = "\"oom\": {\"wanted_bytes\": 1, \"held_bytes\": 2, \"stage\": \"load\", \"label\": null, "
                              "\"place\": %s}";
    static const char *const values[][2] = {
        {"\"1\"", NULL}, {"null", NULL}, {"1", "'oom.place' is an integer; it must be a string or null"}};
    static const char usual[] = CASE_LINE("a");
    const char *at = strstr(usual, "\"oom\": null");
    assert_non_null(at);
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        char line_text[sizeof usual + 256], member[256];
        struct json *line = NULL;
        struct status error = {0};
        snprintf(member, sizeof member, oom, values[i][0]);
        snprintf(line_text, sizeof line_text, "%.*s%s%s", (int)(at - usual), usual, member,
                 at + strlen("\"oom\": null"));
        assert_int_equal(json_parse_text("line", line_text, strlen(line_text), &line, &error), STATUS_OK);
        assert_int_equal(record_line_check(line, &error), values[i][1] == NULL ? STATUS_OK : STATUS_INVALID);
        assert_string_equal(error.text, values[i][1] == NULL ? "" : values[i][1]);
        json_release(line);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_members_are_a_record),
        cmocka_unit_test(wrong_members_are_named_with_their_path),
        cmocka_unit_test(places_of_verdicts_and_of_refusals_are_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
