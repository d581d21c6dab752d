/* assay merge and nights: a shard of yesterday is of the same plan, and is refused all the same; what was started late,
 * or once more, is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/run/shard_scene.h"
#include "tests/support/whole_file.h"

struct dates {
    const char *started, *finished; /* finished NULL: killed behind its last case */
    const char *night;              /* NULL: null */
};

static const char *dated_parts(const char *name, const struct dates dates[SHARD_SCENE_SHARDS])
{
    const char *parts = shard_parts_copy(name);
    for (int i = 0; i < SHARD_SCENE_SHARDS; i++) {
        char night[64];
        const char *path = shard_path("%s/%d/records.jsonl", name, i + 1);
        shard_time_change(path, "started", dates[i].started);
        snprintf(night, sizeof night, "\"night\": \"%s\"", dates[i].night != NULL ? dates[i].night : "");
        shard_file_change(path, "\"night\": null", dates[i].night != NULL ? night : "\"night\": null");
        if (dates[i].finished != NULL) {
            shard_time_change(path, "finished", dates[i].finished);
        } else {
            shard_file_cut(path, 1);
        }
    }
    return parts;
}

static struct command_result merged(const char *parts, const char *name, const char *option, int exit_code)
{
    return shard_do(exit_code, "merge", SHARD_WORDS(parts, "--out", shard_path("%s", name), "--records-only", option));
}

static bool is_there(const char *name)
{
    return access(shard_path("%s/records.jsonl", name), F_OK) == 0;
}

static void shards_of_a_night_say_when_it_was(void **state)
{
    static const struct dates dates[] = {{"2026-11-20T02:00:10Z", "2026-11-20T02:40:00Z", NULL},
                                         {"2026-11-20T02:00:05Z", "2026-11-20T07:10:00Z", NULL},
                                         {"2026-11-20T13:05:00Z", "2026-11-20T13:20:00Z", NULL}};
    struct command_result result = merged(dated_parts("one-night", dates), "one-night-merged", NULL, 0);
    (void)state;
    command_says(&result.output, "begun at 2026-11-20T02:00:05Z (shard 2) to 2026-11-20T13:05:00Z (shard 3), ended by "
                                 "2026-11-20T13:20:00Z\n"); /* the third waited for the GPU of the second */
    command_result_release(&result);
}

static void a_shard_of_another_night_is_refused(void **state)
{
    static const struct {
        struct dates dates[SHARD_SCENE_SHARDS];
        const char *error;
    } rows[] = {
        {{{"2026-11-20T02:00:00Z", "2026-11-20T02:40:00Z", NULL},
          {"2026-11-19T02:00:00Z", "2026-11-19T02:35:00Z", NULL},
          {"2026-11-20T02:00:01Z", "2026-11-20T02:30:00Z", NULL}},
         "merge: shard 1 began at 2026-11-20T02:00:00Z, 23 h after the shards before it had ended (shard 2: "
         "2026-11-19T02:35:00Z), which is another night; merge the shards of one night, or write --allow-nights"},
        {{{"2026-11-20T02:00:00Z", "2026-11-20T02:40:00Z", NULL},
          {"2026-11-20T02:00:00Z", NULL, NULL}, /* killed, and nobody knows when */
          {"2026-11-20T08:40:01Z", "2026-11-20T08:50:00Z", NULL}},
         "shard 3 began at 2026-11-20T08:40:01Z, 6 h after the shards before it had ended (shard 1: "},
        {{{"2026-11-20T02:00:00Z", "2026-11-20T02:40:00Z", "slurm-17"},
          {"2026-11-20T02:00:00Z", "2026-11-20T02:40:00Z", "slurm-16"},
          {"2026-11-20T02:00:00Z", "2026-11-20T02:40:00Z", "slurm-17"}},
         "', of 2026-11-20T02:00:00Z; merge the shards of one night, or write --allow-nights"},
        {{{"2026-11-19T02:00:00Z", "2026-11-19T02:40:00Z", NULL}, /* of a version that gave no names */
          {"2026-11-20T02:00:00Z", "2026-11-20T02:40:00Z", "slurm-17"},
          {"2026-11-20T02:00:00Z", "2026-11-20T02:40:00Z", "slurm-17"}},
         "which is another night"}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char name[32], to[32], allowed[32];
        snprintf(name, sizeof name, "nights-%zu", i);
        snprintf(to, sizeof to, "nights-%zu-merged", i);
        snprintf(allowed, sizeof allowed, "nights-%zu-allowed", i);
        const char *parts = dated_parts(name, rows[i].dates);
        command_refused(merged(parts, to, NULL, 2), rows[i].error);
        assert_false(is_there(to));
        const bool is_cut = rows[i].dates[1].finished == NULL;
        struct command_result result = merged(parts, allowed, "--allow-nights", 0);
        command_says(&result.output, is_cut ? "nobody knows when\n" : "ended by 2026-11-20T02:40:00Z\n");
        command_result_release(&result);
    }
}

/* A task that Slurm has put back into its queue, or that somebody started once more two days later. */
static void shards_of_one_name_may_be_days_apart(void **state)
{
    static const struct dates dates[] = {{"2026-11-20T02:00:00Z", "2026-11-20T02:40:00Z", "slurm-17"},
                                         {"2026-11-22T09:00:00Z", "2026-11-22T09:40:00Z", "slurm-17"},
                                         {"2026-11-20T02:00:00Z", "2026-11-20T02:40:00Z", "slurm-17"}};
    struct command_result result = merged(dated_parts("named", dates), "named-merged", NULL, 0);
    (void)state;
    command_says(&result.output, "to 2026-11-22T09:00:00Z (shard 2)");
    command_result_release(&result);
}

/* A workspace that stays: what the night has measured anew does not count, and what it has not is refused. */
static void what_is_replaced_may_be_old(void **state)
{
    static const struct dates old[] = {{"2026-11-19T02:00:00Z", "2026-11-19T02:40:00Z", NULL},
                                       {"2026-11-19T02:00:00Z", "2026-11-19T02:40:00Z", NULL},
                                       {"2026-11-19T02:00:00Z", "2026-11-19T02:40:00Z", NULL}};
    static const struct dates new[] = {{"2026-11-20T02:00:00Z", "2026-11-20T02:40:00Z", NULL},
                                       {"2026-11-20T02:00:00Z", "2026-11-20T02:40:00Z", NULL},
                                       {"2026-11-20T02:00:00Z", "2026-11-20T02:40:00Z", NULL}};
    const char *before = dated_parts("stays-old", old), *after = dated_parts("stays-new", new);
    (void)state;
    for (int i = 1; i <= SHARD_SCENE_SHARDS; i++) { /* a run of its own */
        shard_file_change(shard_path("stays-old/%d/records.jsonl", i), "\"run_id\": \"", "\"run_id\": \"0");
    }
    struct command_result result =
        shard_do(0, "merge", SHARD_WORDS(before, after, "--out", shard_path("stays"), "--prefer", "latest"));
    command_says(&result.output, "begun at 2026-11-20T02:00:00Z");
    command_result_release(&result);
    command_refused(shard_do(2, "merge",
                             SHARD_WORDS(before, shard_path("stays-new/1"), shard_path("stays-new/3"), "--out",
                                         shard_path("stays-not"), "--prefer", "latest")),
                    "which is another night");
}

/* The name is what started the shards, or what somebody says; it is in the records, and decides no plan. */
static void a_run_records_its_night(void **state)
{
    static const struct {
        const char *setting, *option, *night;
    } rows[] = {{"SLURM_ARRAY_JOB_ID=17", NULL, "\"night\": \"slurm-17\""},
                {"CI_PIPELINE_ID=4", NULL, "\"night\": \"gitlab-4\""},
                {"GITHUB_RUN_ID=99", NULL, "\"night\": \"github-99\""},
                {"GITHUB_RUN_ID=99", "--night=tonight", "\"night\": \"tonight\""},
                {"GITHUB_RUN_ID=", NULL, "\"night\": null"}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *out = shard_path("recorded-%zu", i);
        const char *const words[] = {"env",
                                     "-u",
                                     "SLURM_ARRAY_JOB_ID",
                                     "-u",
                                     "CI_PIPELINE_ID",
                                     "-u",
                                     "GITHUB_RUN_ID",
                                     rows[i].setting,
                                     program_path(),
                                     "run",
                                     shard_path("suite.yaml"),
                                     "--shard",
                                     "1/3",
                                     "--device",
                                     "meta",
                                     "--out",
                                     out,
                                     "--records-only",
                                     "--quiet",
                                     rows[i].option,
                                     NULL};
        struct command_result result = command_run(words, NULL);
        assert_int_equal(result.exit_code, 0);
        command_result_release(&result);
        char *records = whole_file_read(shard_path("recorded-%zu/records.jsonl", i));
        assert_non_null(strstr(records, rows[i].night));
        free(records);
        char *plan = whole_file_read(shard_path("recorded-%zu/plan.json", i));
        char *other = whole_file_read(shard_path("parts/1/plan.json"));
        assert_string_equal(plan, other);
        free(plan);
        free(other);
    }
    command_refused(shard_do(2, "run", SHARD_WORDS(shard_path("suite.yaml"), "--night", "x", "--device", "meta")),
                    "run: --night is of --shard; leave it out");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shards_of_a_night_say_when_it_was),
        cmocka_unit_test(a_shard_of_another_night_is_refused),
        cmocka_unit_test(shards_of_one_name_may_be_days_apart),
        cmocka_unit_test(what_is_replaced_may_be_old),
        cmocka_unit_test(a_run_records_its_night),
    };
    return cmocka_run_group_tests(tests, shard_scene_open, shard_scene_close);
}
