/* Shards: which cases --shard takes, what variables say and when they are asked, and what a folder is for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/run/shard_scene.h"
#include "tests/support/whole_file.h"

static struct command_result ids_of(const char *shard, const char *const *environment)
{
    const char *words[] = {program_path(), "plan", shard_path("suite.yaml"), "--ids", "--shard", shard, NULL};
    if (shard == NULL) {
        words[4] = NULL;
    }
    return command_run(words, environment);
}

static int lines_of(const char *text)
{
    int count = 0;
    for (; *text != '\0'; text++) {
        count += *text == '\n' ? 1 : 0;
    }
    return count;
}

static void the_parts_of_a_suite_have_each_case_once(void **state)
{
    struct command_result whole = ids_of(NULL, NULL);
    int count = 0;
    (void)state;
    assert_int_equal(lines_of(text_string(&whole.output)), SHARD_SCENE_CASES);
    for (int i = 1; i <= 5; i++) {
        char shard[16];
        snprintf(shard, sizeof shard, "%d/5", i);
        struct command_result part = ids_of(shard, NULL);
        assert_int_equal(part.exit_code, 0);
        char *line = part.output.data; /* each a case of the whole that no other part has */
        for (char *end = NULL; (end = strchr(line, '\n')) != NULL; line = end + 1, count++) {
            struct text sought = {0};
            text_append_bytes(&sought, line, (size_t)(end - line) + 1);
            char *found = strstr(whole.output.data, text_string(&sought));
            assert_non_null(found);
            memset(found, '.', sought.length - 1);
            text_release(&sought);
        }
        command_result_release(&part);
    }
    assert_int_equal(count, SHARD_SCENE_CASES);
    command_result_release(&whole);
}

/* What a system sets, and the part that it means; NULL: what the refusal says. */
struct variables_case {
    const char *set[8];
    const char *part, *refusal;
};

static const struct variables_case variables_cases[] = {
    {{"SLURM_ARRAY_TASK_ID=2", "SLURM_ARRAY_TASK_COUNT=4", "SLURM_ARRAY_TASK_MIN=1", "SLURM_ARRAY_TASK_MAX=4"},
     "2/4",
     NULL},
    {{"SLURM_ARRAY_TASK_ID=0", "SLURM_ARRAY_TASK_COUNT=4", "SLURM_ARRAY_TASK_MIN=0", "SLURM_ARRAY_TASK_MAX=3"},
     "1/4",
     NULL},
    {{"SLURM_ARRAY_TASK_ID=14", "SLURM_ARRAY_TASK_COUNT=3", "SLURM_ARRAY_TASK_MIN=10", "SLURM_ARRAY_TASK_MAX=14",
      "SLURM_ARRAY_TASK_STEP=2"},
     "3/3",
     NULL},
    {{"SLURM_ARRAY_TASK_ID=7", "SLURM_ARRAY_TASK_COUNT=2", "SLURM_ARRAY_TASK_MIN=3", "SLURM_ARRAY_TASK_MAX=7"},
     NULL,
     "of a Slurm array with gaps (2 tasks from 3 to 7)"},
    {{"JOB_COMPLETION_INDEX=0", "ASSAY_SHARD_COUNT=5"}, "1/5", NULL},
    {{"JOB_COMPLETION_INDEX=0"}, NULL, "set ASSAY_SHARD_COUNT to the Job's completions"},
    {{"CI_NODE_INDEX=5", "CI_NODE_TOTAL=5"}, "5/5", NULL},
    {{"CI_NODE_INDEX=6", "CI_NODE_TOTAL=5"}, NULL, "parts count from 1"},
    {{"CI_NODE_INDEX=1", "CI_NODE_TOTAL=5", "JOB_COMPLETION_INDEX=0", "ASSAY_SHARD_COUNT=4"},
     NULL,
     "Kubernetes says 1/4 and GitLab says 1/5; write --shard I/N"},
    {{"GITHUB_ACTIONS=true"}, NULL, "--shard ${{ matrix.shard }}/N"},
    {{"SLURM_ARRAY_TASK_ID=x"}, NULL, "neither Slurm"},
};

static void variables_say_the_part_if_they_are_asked(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof variables_cases / sizeof variables_cases[0]; i++) {
        const struct variables_case *one = &variables_cases[i];
        struct command_result told = ids_of("auto", one->set);
        if (one->part != NULL) {
            struct command_result asked = ids_of(one->part, NULL);
            assert_int_equal(told.exit_code, 0);
            assert_string_equal(text_string(&told.output), text_string(&asked.output));
            command_result_release(&asked);
        } else {
            assert_int_equal(told.exit_code, 2);
            command_says(&told.error, one->refusal);
        }
        command_result_release(&told);
    }
}

static void variables_alone_leave_out_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof variables_cases / sizeof variables_cases[0]; i++) {
        struct command_result result = ids_of(NULL, variables_cases[i].set);
        assert_int_equal(lines_of(text_string(&result.output)), SHARD_SCENE_CASES);
        command_result_release(&result);
    }
}

static void what_is_no_part_is_refused(void **state)
{
    static const char *const wrong[][2] = {{"0/3", "parts count from 1"}, {"4/3", "parts count from 1"},
                                           {"1/0", "parts count from 1"}, {"3", "write I/N"},
                                           {"1/3x", "write I/N"},         {"-1/3", "write I/N"},
                                           {"1/100001", "write I/N"},     {"1/3/5", "write I/N"},
                                           {"1/13", "give at most 12"}};
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        command_refused(ids_of(wrong[i][0], NULL), wrong[i][1]);
    }
}

static void the_plan_says_how_much_of_the_suite_it_is(void **state)
{
    struct command_result result = shard_do(0, "plan", SHARD_WORDS(shard_path("suite.yaml"), "--shard", "2/12"));
    (void)state;
    command_says(&result.output, "predicted for sm_90; shard 2 of 12 has 1 of them\n");
    command_result_release(&result);
}

static void a_choice_that_other_machines_cannot_make_is_refused(void **state)
{
    struct command_result result = shard_do(2, "run",
                                            SHARD_WORDS(shard_path("suite.yaml"), "--device", "meta", "--out",
                                                        shard_path("parts/1"), "--shard", "1/3", "--last-failed"));
    (void)state;
    command_says(&result.error, "--shard needs one choice for all; leave out one of them");
    command_result_release(&result);
}

/* A folder is of one plan: another number of shards, other options, another choice are refused before anything is
 * measured. */
static void a_folder_takes_shards_of_one_plan(void **state)
{
    const char *parts = shard_parts_copy("one-plan"), *out = shard_path("one-plan/1");
    char *before = whole_file_read(shard_path("one-plan/1/records.jsonl"));
    const char *const others[][4] = {{"--shard", "1/4", NULL, NULL},
                                     {"--shard", "1/3", "--fitting", NULL},
                                     {"--shard", "1/3", "--not", "*/b64/*"},
                                     {"--shard", "1/3", "--repeat", "2"}};
    (void)state;
    (void)parts;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        const char *words[] = {shard_path("suite.yaml"),
                               "--device",
                               "meta",
                               "--out",
                               out,
                               others[i][0],
                               others[i][1],
                               others[i][2],
                               others[i][3],
                               NULL};
        struct command_result result = shard_do(2, "run", words);
        command_says(&result.error, "name another folder than");
        command_result_release(&result);
    }
    char *after = whole_file_read(shard_path("one-plan/1/records.jsonl"));
    assert_string_equal(before, after);
    free(before);
    free(after);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_parts_of_a_suite_have_each_case_once),
        cmocka_unit_test(variables_say_the_part_if_they_are_asked),
        cmocka_unit_test(variables_alone_leave_out_nothing),
        cmocka_unit_test(what_is_no_part_is_refused),
        cmocka_unit_test(the_plan_says_how_much_of_the_suite_it_is),
        cmocka_unit_test(a_choice_that_other_machines_cannot_make_is_refused),
        cmocka_unit_test(a_folder_takes_shards_of_one_plan),
    };
    return cmocka_run_group_tests(tests, shard_scene_open, shard_scene_close);
}
