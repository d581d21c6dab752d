/* Merging: shards together are the run of one machine, and what does not belong together is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/run/command_scene.h"
#include "tests/run/shard_scene.h"
#include "tests/support/whole_file.h"

/* Merges folder `from` into folder `to`, and returns what was said. */
static struct command_result merge_do(int exit_code, const char *from, const char *to, const char *option,
                                      const char *value)
{
    return shard_do(exit_code, "merge", SHARD_WORDS(from, "--out", to, "--records-only", option, value));
}

static void merge_refused(const char *from, const char *to, const char *words)
{
    struct command_result result = merge_do(2, from, to, NULL, NULL);
    assert_string_equal(text_string(&result.output), "");
    command_says(&result.error, words);
    command_result_release(&result);
    char path[256];
    snprintf(path, sizeof path, "%s/records.jsonl", to);
    assert_int_not_equal(access(path, F_OK), 0);
}

static void the_whole_check(const char *merged)
{
    struct record_file one = records_of(shard_path("whole")), other = records_of(merged);
    const struct record_run *whole = &one.runs[0], *run = &other.runs[0];
    assert_int_equal(other.run_count, 1);
    assert_int_equal(whole->case_count, SHARD_SCENE_ATTEMPTS);
    assert_int_equal(run->case_count, SHARD_SCENE_ATTEMPTS);
    for (int i = 0; i < run->case_count; i++) { /* one job: the order of the suite */
        assert_string_equal(json_string_or(json_get(run->cases[i], "id"), ""),
                            json_string_or(json_get(whole->cases[i], "id"), "?"));
        assert_int_equal(json_integer_or(json_get(run->cases[i], "attempt"), 0),
                         json_integer_or(json_get(whole->cases[i], "attempt"), -1));
        same_case_check(whole->cases[i], run->cases[i]);
    }
    struct text counts = {0}, expected = {0}, ids = {0}, expected_ids = {0};
    json_write(json_get(run->end, "counts"), 0, &counts, NULL);
    json_write(json_get(whole->end, "counts"), 0, &expected, NULL);
    assert_string_equal(text_string(&counts), text_string(&expected));
    json_write(run->selected, 0, &ids, NULL);
    json_write(whole->selected, 0, &expected_ids, NULL);
    assert_string_equal(text_string(&ids), text_string(&expected_ids));
    text_release(&counts);
    text_release(&expected);
    text_release(&ids);
    text_release(&expected_ids);
    record_file_release(&one);
    record_file_release(&other);
}

static void shards_together_are_the_run_of_one_machine(void **state)
{
    struct command_result result = merge_do(0, shard_path("parts"), shard_path("merged"), NULL, NULL);
    (void)state;
    command_says(&result.output, "in 3 shards: 13 of 13 cases, of 3 runs\n");
    command_result_release(&result);
    the_whole_check(shard_path("merged"));
    result = shard_do(0, "compare", SHARD_WORDS(shard_path("whole"), shard_path("merged")));
    command_result_release(&result);
}

/* On standard error alone, with a name from outside made harmless. */
static void what_is_taken_of_which_run_is_told(void **state)
{
    const char *parts = shard_parts_copy("told");
    (void)state;
    shard_file_change(shard_path("told/3/records.jsonl"), "\"host\": {\"name\": \"",
                      "\"host\": {\"name\": \"\\u001b[31m");
    shard_file_cut(shard_path("told/2/records.jsonl"), 1);
    struct command_result result = merge_do(0, parts, shard_path("told-merged"), "--verbose", NULL);
    command_says(&result.error, "assay: merge: shard 1 of 3: ");
    command_says(&result.error, " results of ");
    command_says(&result.error, "told/1/records.jsonl, run ");
    command_says(&result.error, ", ended 20");
    command_says(&result.error, ", was killed, or still runs\n");
    assert_null(strchr(text_string(&result.error), '\033'));
    assert_null(strstr(text_string(&result.output), "shard 1 of 3"));
    command_result_release(&result);
    command_refused(shard_do(2, "merge", SHARD_WORDS(parts, "--out", shard_path("told-not"), "--verbose", "--quiet")),
                    "--quiet and --verbose contradict each other");
}

/* In whatever order they are named, and when one is named twice. */
static void the_order_of_the_folders_makes_no_difference(void **state)
{
    struct command_result result =
        shard_do(0, "merge",
                 SHARD_WORDS(shard_path("parts/3"), shard_path("parts/1"), shard_path("parts/2"), shard_path("parts/1"),
                             "--out", shard_path("order"), "--records-only"));
    (void)state;
    command_says(&result.output, "13 of 13 cases, of 3 runs\n");
    command_result_release(&result);
    the_whole_check(shard_path("order"));
}

static void a_shard_that_is_missing_is_named_with_its_cases_until_it_is_there(void **state)
{
    struct command_result result = shard_do(
        7, "merge",
        SHARD_WORDS(shard_path("parts/1"), shard_path("parts/3"), "--out", shard_path("missing"), "--records-only"));
    (void)state;
    command_says(&result.error, "attempts missing: shard 2 of 3 has no results");
    command_says(&result.output, "missing: ");
    command_result_release(&result);
    result = shard_do(7, "report", SHARD_WORDS(shard_path("missing"), "--format", "json"));
    struct json *document = command_document(&result);
    assert_true(json_count(json_get(document, "missing")) > 0);
    json_release(document);
    command_result_release(&result);
    result = merge_do(0, shard_path("parts"), shard_path("missing"), NULL, NULL);
    command_result_release(&result);
    the_whole_check(shard_path("missing"));
}

static void a_shard_that_was_killed_lacks_what_it_did_not_finish(void **state)
{
    const char *parts = shard_parts_copy("killed");
    (void)state;
    shard_file_cut(shard_path("killed/2/records.jsonl"), 2); /* its last case and the end line */
    struct command_result result = merge_do(7, parts, shard_path("killed-merged"), NULL, NULL);
    command_says(&result.error, "INCOMPLETE: 1 of 13 attempts missing: shard 2 was killed, or still runs");
    command_result_release(&result);
    struct record_file records = records_of(shard_path("killed-merged"));
    assert_int_equal(records.runs[0].case_count, SHARD_SCENE_ATTEMPTS - 1);
    record_file_release(&records);
}

/* As a task of an array that is requeued does it: what is there is not measured again, and so stands there once. */
static void reports_say_where_it_went_on(const char *name, size_t count)
{
    struct command_result result = shard_do(0, "report", SHARD_WORDS(shard_path("%s", name), "--format", "json"));
    struct json *document = command_document(&result);
    const struct json *list = json_get(document, "resumptions");
    assert_int_equal(json_count(list), count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(json_integer_or(json_get(json_at(list, i), "number"), 0), 1);
        assert_int_equal(strlen(json_string_or(json_get(json_at(list, i), "run_id"), "")), 32);
    }
    json_release(document);
    command_result_release(&result);
    result = shard_do(0, "report", SHARD_WORDS(shard_path("%s", name), "--format", "md"));
    assert_int_equal(strstr(text_string(&result.output), "; a run was cut short, and went on at 20") != NULL,
                     count > 0);
    command_result_release(&result);
}

static void a_shard_that_was_killed_goes_on(void **state)
{
    const char *parts = shard_parts_copy("resumed"), *out = shard_path("resumed/2");
    (void)state;
    shard_file_cut(shard_path("resumed/2/records.jsonl"), 2);
    const char *words[] = {shard_path("suite.yaml"), "--device", "meta", "--out",    out,
                           "--records-only",         "--shard",  "1/3",  "--resume", NULL};
    struct command_result result = shard_do(2, "run", words);
    command_says(&result.error, "--shard and --last-failed choose was shard 2 of 3, and is shard 1 of 3");
    command_result_release(&result);
    words[7] = "2/3";
    result = shard_do(0, "run", words);
    command_says(&result.error, " goes on: ");
    command_result_release(&result);
    result = merge_do(0, parts, shard_path("resumed-merged"), NULL, NULL);
    command_says(&result.output, "13 of 13 cases, of 3 runs\n");
    command_result_release(&result);
    the_whole_check(shard_path("resumed-merged"));
    reports_say_where_it_went_on("resumed-merged", 1);
    /* of a file from outside: what is no list is none */
    shard_file_change(shard_path("resumed-merged/records.jsonl"), "\"resumptions\": [", "\"resumptions\": 7, \"x\": [");
    reports_say_where_it_went_on("resumed-merged", 0);
}

/* No room for the file: what was there stays, and no other file is left. */
static void a_merge_that_cannot_be_written_changes_nothing(void **state)
{
    (void)state;
    struct command_result result = merge_do(0, shard_path("parts"), shard_path("full"), NULL, NULL);
    command_result_release(&result);
    char *before = whole_file_read(shard_path("full/records.jsonl"));
    const char *const words[] = {"sh",
                                 "-c",
                                 "ulimit -f 8; exec \"$0\" merge \"$1\" --out \"$2\" --records-only",
                                 program_path(),
                                 shard_path("parts"),
                                 shard_path("full"),
                                 NULL};
    result = command_run(words, NULL);
    assert_int_equal(result.exit_code, 2);
    command_says(&result.error, "full/records.jsonl: cannot be written: ");
    command_result_release(&result);
    char *after = whole_file_read(shard_path("full/records.jsonl"));
    assert_string_equal(before, after);
    free(before);
    free(after);
    const char *const list[] = {"ls", "-A", shard_path("full"), NULL};
    result = command_run(list, NULL);
    assert_string_equal(text_string(&result.output), "records.jsonl\n");
    command_result_release(&result);
}

/* The node went down before the first line was written, or in it: the shard has no results, and the others have. */
/* One that was interrupted says so itself. */
static void a_shard_that_was_interrupted_ended_early(void **state)
{
    const char *parts = shard_parts_copy("early"), *path = shard_path("early/2/records.jsonl");
    (void)state;
    char *text = whole_file_read(path), *last = text;
    for (char *at = text; (at = strstr(at, "{\"type\": \"case\"")) != NULL; at++) {
        last = at;
    }
    *strchr(last, '\n') = '\0';
    shard_file_change(path, last, "{\"type\": \"nothing\"}");
    shard_file_change(path, "\"interrupted\": false", "\"interrupted\": true");
    free(text);
    struct command_result result = merge_do(7, parts, shard_path("early-merged"), NULL, NULL);
    command_says(&result.error, "INCOMPLETE: 1 of 13 attempts missing: shard 2 ended early");
    command_result_release(&result);
}

static void a_shard_that_was_killed_before_it_began_is_missing(void **state)
{
    static const long lengths[] = {0, 5, 300};
    (void)state;
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        char name[32], merged[32];
        snprintf(name, sizeof name, "unbegun-%zu", i);
        snprintf(merged, sizeof merged, "unbegun-merged-%zu", i);
        const char *parts = shard_parts_copy(name);
        assert_int_equal(truncate(shard_path("%s/2/records.jsonl", name), lengths[i]), 0);
        struct command_result result = merge_do(7, parts, shard_path("%s", merged), NULL, NULL);
        command_says(&result.error, "shard 2 of 3 has no results");
        command_result_release(&result);
        assert_int_equal(truncate(shard_path("%s/1/records.jsonl", name), 0), 0);
        assert_int_equal(truncate(shard_path("%s/3/records.jsonl", name), lengths[i]), 0);
        merge_refused(parts, shard_path("%s-none", merged), "no shard has a result yet");
    }
    const char *parts = shard_parts_copy("unbegun-other"); /* what is no line of a run is no such file */
    FILE *file = fopen(shard_path("unbegun-other/2/records.jsonl"), "we");
    assert_non_null(file);
    fputs("notes of mine", file);
    assert_int_equal(fclose(file), 0);
    merge_refused(parts, shard_path("unbegun-other-merged"), "unbegun-other/2/records.jsonl:1:");
}

/* The second half of a shard in another run, as after an interruption. */
static void two_runs_of_a_shard_that_complete_each_other_are_one(void **state)
{
    const char *parts = shard_parts_copy("halves"), *first = shard_path("halves/2/records.jsonl");
    struct record_file whole = records_of(shard_path("halves/2"));
    struct text rest = {0};
    (void)state;
    (void)parts;
    const struct record_run *run = &whole.runs[0];
    json_set(run->run, "run_id", json_string_new("another"));
    json_write(run->run, 0, &rest, NULL);
    text_append(&rest, "\n");
    json_write(run->cases[run->case_count - 1], 0, &rest, NULL);
    text_append(&rest, "\n");
    json_write(run->end, 0, &rest, NULL);
    text_append(&rest, "\n");
    shard_file_cut(first, 2);
    FILE *file = fopen(first, "a");
    assert_non_null(file);
    fputs(text_string(&rest), file);
    fclose(file);
    text_release(&rest);
    record_file_release(&whole);
    struct command_result result = merge_do(0, parts, shard_path("halves-merged"), NULL, NULL);
    command_says(&result.output, "13 of 13 cases, of 4 runs\n");
    command_result_release(&result);
    the_whole_check(shard_path("halves-merged"));
}

static void a_shard_measured_twice_is_refused_unless_the_latest_is_preferred(void **state)
{
    const char *parts = shard_parts_copy("twice"), *path = shard_path("again/2/records.jsonl");
    (void)state;
    shard_parts_copy("again");
    shard_file_change(path, "\"run_id\": \"", "\"run_id\": \"0");
    shard_time_change(path, "started", "2126-11-20T02:00:00Z"); /* a century later, which is another night */
    shard_time_change(path, "finished", "2126-11-20T02:10:00Z");
    shard_file_change(path, "\"duration_s\": ", "\"duration_s\": 77");
    const char *words[] = {shard_path("again/2"),
                           parts,
                           "--out",
                           shard_path("twice-merged"),
                           "--records-only",
                           "--allow-nights",
                           NULL,
                           NULL,
                           NULL};
    struct command_result result = shard_do(2, "merge", words);
    command_says(&result.error, "shard 2 has ");
    command_says(&result.error, " twice: from 20");
    command_says(&result.error, "--prefer latest");
    command_result_release(&result);
    words[6] = "--prefer";
    words[7] = "latest";
    result = shard_do(0, "merge", words);
    command_says(&result.output, "13 of 13 cases, of 4 runs\n");
    command_result_release(&result);
    char *merged = whole_file_read(shard_path("twice-merged/records.jsonl"));
    int late_count = 0;
    for (const char *at = merged; (at = strstr(at, "\"duration_s\": 77")) != NULL; at++) {
        late_count++;
    }
    struct record_file records = records_of(shard_path("again/2"));
    assert_int_equal(late_count, records.runs[0].case_count);
    record_file_release(&records);
    free(merged);
}

static void devices_and_versions_that_differ_are_refused_unless_they_may(void **state)
{
    static const char *const changes[][3] = {
        {"\"name\": \"no memory\"", "\"name\": \"another\"",
         "has 'another' as name of device meta, and shard 1 'no memory'"},
        {"\"libraries\": [", "\"libraries\": [\"libmore 1\", ", "as libraries of device meta"},
        {"\"version\": \"", "\"version\": \"9", "as version of assay"}};
    (void)state;
    for (int i = 0; i < 3; i++) {
        char name[32], merged[32];
        snprintf(name, sizeof name, "mixed-%d", i);
        snprintf(merged, sizeof merged, "mixed-merged-%d", i);
        const char *parts = shard_parts_copy(name);
        shard_file_change(shard_path("%s/3/records.jsonl", name), changes[i][0], changes[i][1]);
        merge_refused(parts, shard_path("%s", merged), changes[i][2]);
        struct command_result result = merge_do(0, parts, shard_path("%s", merged), "--allow-mixed", NULL);
        command_result_release(&result);
        struct record_file all = records_of(shard_path("%s", merged));
        assert_int_equal(all.runs[0].case_count, SHARD_SCENE_ATTEMPTS);
        record_file_release(&all);
    }
    struct record_file records = records_of(shard_path("mixed-merged-0"));
    assert_int_equal(json_count(json_get(records.runs[0].run, "devices")), 2);
    record_file_release(&records);
}

/* Files from outside: each change is told with its file, and nothing is written. */
static void what_is_not_of_the_plan_is_refused(void **state)
{
    static const struct {
        const char *file, *from, *to, *words;
    } wrongs[] = {
        {"1/plan.json", "\"shard\": 2,", "\"shard\": 1,", "the plan is not what its plan_hash says"},
        {"1/plan.json", "\"shard_count\": 3", "\"shard_count\": -3", "the plan has no shard_count"},
        {"1/plan.json", "\"shard\": 2,", "\"shard\": 200,", "has no id, shard or number of attempts"},
        {"1/plan.json", "assay-shard-plan", "assay-record", "this is no plan of shards"},
        {"1/plan.json", "\"major\": 1", "\"major\": 2", "another version of assay"},
        {"1/plan.json", "{", "[", "plan.json"},
        {"2/records.jsonl", "\"count\": 3, \"plan_hash\": \"", "\"count\": 3, \"plan_hash\": \"0", "is of plan 0"},
        {"2/records.jsonl", "\"shard\": {\"index\": 2", "\"shard\": {\"index\": 1", "belongs into shard 2"},
        {"2/records.jsonl", "\"shard\": {\"index\": 2", "\"shard\": {\"index\": 0", "is shard 0 of 3"},
        {"2/records.jsonl", "\"shard\": {\"index\": 2", "\"shad\": {\"index\": 2", "is no shard; merge takes"},
        {"2/records.jsonl", "\"type\": \"case\", \"id\": \"tiny", "\"type\": \"case\", \"id\": \"huge",
         "the plan has no case huge"},
        {"2/records.jsonl", "\"attempt\": ", "\"attempt\": 7", "and the plan has"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof wrongs / sizeof wrongs[0]; i++) {
        char name[32];
        snprintf(name, sizeof name, "wrong-%zu", i);
        const char *parts = shard_parts_copy(name);
        shard_file_change(shard_path("%s/%s", name, wrongs[i].file), wrongs[i].from, wrongs[i].to);
        merge_refused(parts, shard_path("%s-merged", name), wrongs[i].words);
    }
}

/* 2,200 times a million. */
static void a_plan_of_more_attempts_than_can_be_is_refused(void **state)
{
    const char *parts = shard_parts_copy("many");
    struct text rows = {0};
    (void)state;
    text_append(&rows, "\"cases\": [");
    for (int i = 0; i < 2200; i++) {
        text_format(&rows, "{\"id\": \"case-%d\", \"attempts\": 1000000, \"shard\": 1, \"predicted_ms\": 1},", i);
    }
    shard_file_change(shard_path("many/1/plan.json"), "\"cases\": [", text_string(&rows));
    merge_refused(parts, shard_path("many-merged"), "the plan has more attempts than a run can make");
    text_release(&rows);
}

static void folders_without_shards_are_refused(void **state)
{
    const char *parts = shard_parts_copy("bare");
    (void)state;
    for (int i = 1; i <= SHARD_SCENE_SHARDS; i++) {
        assert_int_equal(unlink(shard_path("bare/%d/plan.json", i)), 0);
    }
    merge_refused(parts, shard_path("bare-merged"), "no plan.json is beside its records");
    merge_refused(shard_path("whole"), shard_path("bare-merged"), "no plan.json is beside its records");
    merge_refused(shard_path("none"), shard_path("bare-merged"), "cannot be read");
    struct command_result result = shard_do(2, "merge", SHARD_WORDS(parts));
    command_says(&result.error, "write --out DIR");
    command_result_release(&result);
}

/* One plan.json is enough, whichever. */
static void the_plan_of_any_shard_serves_all(void **state)
{
    const char *parts = shard_parts_copy("one-file");
    (void)state;
    assert_int_equal(unlink(shard_path("one-file/1/plan.json")), 0);
    assert_int_equal(unlink(shard_path("one-file/2/plan.json")), 0);
    struct command_result result = merge_do(0, parts, shard_path("one-file-merged"), NULL, NULL);
    command_result_release(&result);
}

static void other_records_are_not_replaced(void **state)
{
    (void)state;
    const char *parts = shard_parts_copy("kept");
    char *before = whole_file_read(shard_path("whole/records.jsonl"));
    struct command_result result = merge_do(2, parts, shard_path("whole"), NULL, NULL);
    command_says(&result.error, "holds other records; name a new folder with --out");
    command_result_release(&result);
    result = merge_do(2, parts, shard_path("kept/1"), NULL, NULL);
    command_says(&result.error, "is one of the shards; name a new folder with --out");
    command_result_release(&result);
    char *after = whole_file_read(shard_path("whole/records.jsonl"));
    assert_string_equal(before, after);
    free(before);
    free(after);
}

/* Somebody measured into the folder of a merge: merging again must not take that away. */
static void what_was_measured_into_a_merged_folder_is_not_replaced(void **state)
{
    (void)state;
    const char *parts = shard_parts_copy("grown"), *merged = shard_path("grown-merged");
    const char *path = shard_path("grown-merged/records.jsonl");
    struct command_result result = merge_do(0, parts, merged, NULL, NULL);
    command_result_release(&result);
    char *whole = whole_file_read(shard_path("whole/records.jsonl"));
    FILE *file = fopen(path, "ae");
    assert_non_null(file);
    fputs(whole, file);
    assert_int_equal(fclose(file), 0);
    free(whole);
    char *before = whole_file_read(path);
    result = merge_do(2, parts, merged, NULL, NULL);
    command_says(&result.error, "holds other records; name a new folder with --out");
    command_result_release(&result);
    char *after = whole_file_read(path);
    assert_string_equal(before, after);
    free(before);
    free(after);
}

/* The result may lie beside the shards, also of a second merge; not above them, where it would hide them. */
static void the_result_may_lie_beside_the_shards(void **state)
{
    (void)state;
    const char *parts = shard_parts_copy("beside"), *merged = shard_path("beside/all");
    for (int i = 0; i < 2; i++) {
        struct command_result result = merge_do(0, parts, merged, NULL, NULL);
        command_says(&result.output, "13 of 13 cases, of 3 runs\n");
        command_result_release(&result);
    }
    merge_refused(parts, parts, "is the folder that the shards are in");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shards_together_are_the_run_of_one_machine),
        cmocka_unit_test(what_is_taken_of_which_run_is_told),
        cmocka_unit_test(the_order_of_the_folders_makes_no_difference),
        cmocka_unit_test(a_shard_that_is_missing_is_named_with_its_cases_until_it_is_there),
        cmocka_unit_test(a_shard_that_was_killed_lacks_what_it_did_not_finish),
        cmocka_unit_test(a_shard_that_was_interrupted_ended_early),
        cmocka_unit_test(a_shard_that_was_killed_before_it_began_is_missing),
        cmocka_unit_test(a_shard_that_was_killed_goes_on),
        cmocka_unit_test(a_merge_that_cannot_be_written_changes_nothing),
        cmocka_unit_test(two_runs_of_a_shard_that_complete_each_other_are_one),
        cmocka_unit_test(a_shard_measured_twice_is_refused_unless_the_latest_is_preferred),
        cmocka_unit_test(devices_and_versions_that_differ_are_refused_unless_they_may),
        cmocka_unit_test(what_is_not_of_the_plan_is_refused),
        cmocka_unit_test(a_plan_of_more_attempts_than_can_be_is_refused),
        cmocka_unit_test(folders_without_shards_are_refused),
        cmocka_unit_test(the_plan_of_any_shard_serves_all),
        cmocka_unit_test(other_records_are_not_replaced),
        cmocka_unit_test(what_was_measured_into_a_merged_folder_is_not_replaced),
        cmocka_unit_test(the_result_may_lie_beside_the_shards),
    };
    return cmocka_run_group_tests(tests, shard_scene_open, shard_scene_close);
}
