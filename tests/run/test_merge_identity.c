/* The run_id of a merged run: one night has one, however often and in whatever order its shards are merged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "tests/run/command_scene.h"
#include "tests/run/shard_scene.h"

/* The run_id of a merge of these folders into `to`, by which a history knows the night. */
static void merged_id(const char *const *words, const char *to, int exit_code, char run_id[64])
{
    const char *all[12] = {NULL};
    int count = 0;
    for (; words[count] != NULL; count++) {
        all[count] = words[count];
    }
    all[count++] = "--out";
    all[count++] = to;
    all[count] = "--records-only";
    struct command_result result = shard_do(exit_code, "merge", all);
    command_result_release(&result);
    struct record_file records = records_of(to);
    snprintf(run_id, 64, "%s", json_string_or(json_get(records.runs[0].run, "run_id"), ""));
    assert_int_equal(strlen(run_id), 32);
    record_file_release(&records);
}

/* Parts that began one after the other, so that the first is known: shard 1 at 01, 2 at 02, 3 at 03. */
static void parts_date(const char *name)
{
    for (int i = 1; i <= SHARD_SCENE_SHARDS; i++) {
        char date[40];
        snprintf(date, sizeof date, "2026-11-20T%02d:00:00Z", i);
        shard_time_change(shard_path("%s/%d/records.jsonl", name, i), "started", date);
        shard_time_change(shard_path("%s/%d/records.jsonl", name, i), "finished", "2026-11-20T04:00:00Z");
    }
}

static void a_merge_that_is_completed_is_the_same_run(void **state)
{
    char all[64], some[64];
    const char *parts = shard_parts_copy("identity");
    const char *one = shard_path("identity/1"), *two = shard_path("identity/2"), *three = shard_path("identity/3");
    (void)state;
    parts_date("identity");
    merged_id(SHARD_WORDS(parts), shard_path("identity-all"), 0, all);
    merged_id(SHARD_WORDS(three, one, two), shard_path("identity-order"), 0, some);
    assert_string_equal(some, all);
    merged_id(SHARD_WORDS(one, three), shard_path("identity-new"), 7, some); /* the first is there */
    assert_string_equal(some, all);
    merged_id(SHARD_WORDS(two, three), shard_path("identity-kept"), 7, some); /* and here it comes later */
    assert_string_not_equal(some, all);
    merged_id(SHARD_WORDS(parts), shard_path("identity-kept"), 0, all);
    assert_string_equal(some, all);
}

/* Another night, and results that were replaced, are other runs. */
static void other_results_are_another_run(void **state)
{
    char night[64], other[64], replaced[64];
    const char *parts = shard_parts_copy("night"), *next = shard_parts_copy("next");
    (void)state;
    for (int i = 1; i <= SHARD_SCENE_SHARDS; i++) {
        shard_file_change(shard_path("next/%d/records.jsonl", i), "\"run_id\": \"", "\"run_id\": \"0");
    }
    merged_id(SHARD_WORDS(parts), shard_path("night-merged"), 0, night);
    merged_id(SHARD_WORDS(next), shard_path("night-merged"), 0, other); /* in its place */
    assert_string_not_equal(other, night);
    merged_id(SHARD_WORDS(parts, shard_path("next/2"), "--prefer", "latest"), shard_path("night-new"), 0, replaced);
    assert_string_not_equal(replaced, night);
    merged_id(SHARD_WORDS(parts), shard_path("night-again"), 0, other);
    assert_string_equal(other, night);
    merged_id(SHARD_WORDS(parts, shard_path("next/2"), "--prefer", "latest"), shard_path("night-again"), 0, other);
    assert_string_equal(other, replaced);
}

/* What a shard said of its case, the whole says. */
static void a_case_that_ran_only_after_a_retry_is_open_in_the_whole(void **state)
{
    const char *parts = shard_parts_copy("retried");
    (void)state;
    shard_file_change(shard_path("retried/1/records.jsonl"), "\"attempt\": 1,",
                      "\"attempt\": 1, \"retried\": [{\"status\": \"error\", \"reason\": \"it crashed\", "
                      "\"duration_s\": 1.5}],");
    struct command_result result =
        shard_do(3, "merge", SHARD_WORDS(parts, "--out", shard_path("retried-merged"), "--records-only"));
    command_says(&result.error, "ran only after a retry; first ");
    command_says(&result.error, ": ran only after 1 retry: it crashed\n");
    command_result_release(&result);
    result = shard_do(3, "report", SHARD_WORDS(shard_path("retried-merged")));
    command_says(&result.error, "ran only after a retry; first ");
    command_result_release(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_merge_that_is_completed_is_the_same_run),
        cmocka_unit_test(other_results_are_another_run),
        cmocka_unit_test(a_case_that_ran_only_after_a_retry_is_open_in_the_whole),
    };
    return cmocka_run_group_tests(tests, shard_scene_open, shard_scene_close);
}
