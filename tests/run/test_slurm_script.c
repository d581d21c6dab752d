/* Job scripts: their text, and that every word of a user means itself to a shell and to sbatch. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/run/slurm_script.h"
#include "tests/support/command_run.h"
#include "tests/support/scratch_folder.h"
#include "tests/support/whole_file.h"

static const struct slurm_job plain_job = {.name = "quick",
                                           .program = "/opt/assay",
                                           .suite = "suites/quick.yaml",
                                           .folder = "out",
                                           .working_folder = "/home/me",
                                           .shard_count = 8,
                                           .gpus_per_task = 1};

static void a_job_has_the_fewest_words(void **state)
{
    struct text array = {0}, merge = {0};
    (void)state;
    assert_int_equal(slurm_array_script(&plain_job, &array, NULL), STATUS_OK);
    assert_int_equal(slurm_merge_script(&plain_job, &merge, NULL), STATUS_OK);
    assert_string_equal(
        text_string(&array),
        "#!/bin/sh\n"
        "# The 8 shards of an assay suite, one task each. By hand: sbatch array.sbatch; shard 3 alone: sbatch\n"
        "# --array=3 array.sbatch. A shard that was interrupted, or is requeued, goes on where it was; one that\n"
        "# is finished is not measured again. Afterwards: sbatch merge.sbatch\n"
        "#SBATCH --job-name=assay-quick\n"
        "#SBATCH --array=1-8\n"
        "#SBATCH --ntasks=1\n"
        "#SBATCH --chdir=/home/me\n"
        "#SBATCH --gpus-per-task=1\n"
        "#SBATCH --requeue\n"
        "#SBATCH --open-mode=append\n"
        "#SBATCH --output=out/logs/shard-%a.log\n"
        "exec /opt/assay run suites/quick.yaml \\\n"
        "    --shard \"$SLURM_ARRAY_TASK_ID/8\" --out out/shards/\"$SLURM_ARRAY_TASK_ID\" --resume --records-only\n");
    assert_string_equal(
        text_string(&merge),
        "#!/bin/sh\n"
        "# Merges the shards of array.sbatch, whichever have results. Exit code 7: cases are missing; it can be\n"
        "# submitted again once they are there.\n"
        "#SBATCH --job-name=assay-quick-merge\n"
        "#SBATCH --ntasks=1\n"
        "#SBATCH --chdir=/home/me\n"
        "#SBATCH --output=out/logs/merge.log\n"
        "exec /opt/assay merge out/shards --out out\n");
    text_release(&array);
    text_release(&merge);
}

static void what_a_user_asks_for_is_a_directive(void **state)
{
    static const char *const extra[] = {"constraint=h100&nvlink", "exclusive", "comment=two words"};
    struct slurm_job job = plain_job;
    struct text array = {0}, merge = {0};
    (void)state;
    job.max_running = 3;
    job.gpus_per_task = 0;
    job.partition = "gpu";
    job.account = "team";
    job.time = "1-00:00:00";
    job.folder = "100% out #1";
    job.sbatch_words = extra;
    job.sbatch_word_count = 3;
    assert_int_equal(slurm_array_script(&job, &array, NULL), STATUS_OK);
    assert_int_equal(slurm_merge_script(&job, &merge, NULL), STATUS_OK);
    command_says(&array, "#SBATCH --array=1-8%3\n#SBATCH --ntasks=1\n#SBATCH --partition=gpu\n"
                         "#SBATCH --account=team\n#SBATCH --chdir=/home/me\n#SBATCH --time=1-00:00:00\n");
    command_says(&array, "#SBATCH --output=\"100%% out #1/logs/shard-%a.log\"\n"
                         "#SBATCH --constraint=\"h100&nvlink\"\n#SBATCH --exclusive\n"
                         "#SBATCH --comment=\"two words\"\n");
    command_says(&merge, "#SBATCH --partition=gpu\n#SBATCH --account=team\n");
    assert_null(strstr(text_string(&merge), "constraint"));
    assert_null(strstr(text_string(&merge), "--time"));
    text_release(&array);
    text_release(&merge);
}

/* A program that writes its words down stands for assay; a shell runs the script. */
static void a_shell_hands_every_word_on_as_it_is(void **state)
{
    const struct scratch_scene *scene = *state;
    static const char *const words[] = {"--filter", "*'; touch x; \"$HOME\" `id` \\ !", "--not", "$(touch y)"};
    struct slurm_job job = plain_job;
    struct text script = {0}, expected = {0};
    char program[128], said[128];
    snprintf(program, sizeof program, "%s/a ssay", scene->folder);
    snprintf(said, sizeof said, "%s/said", scene->folder);
    job.program = program;
    job.suite = "my $uite.yaml";
    job.folder = "o $HOME; #&";
    job.run_words = words;
    job.run_word_count = 4;
    script_write(scene->folder, "a ssay", "printf '%s\\n' \"$@\" >\"$(dirname \"$0\")/said\"\n");
    for (int merge = 0; merge < 2; merge++) {
        text_release(&script);
        text_release(&expected);
        assert_int_equal(merge ? slurm_merge_script(&job, &script, NULL) : slurm_array_script(&job, &script, NULL),
                         STATUS_OK);
        const char *const run[] = {"sh", "-c", text_string(&script), NULL};
        const char *const environment[] = {"SLURM_ARRAY_TASK_ID=5", NULL};
        struct command_result result = command_run(run, environment);
        assert_int_equal(result.exit_code, 0);
        command_result_release(&result);
        if (merge) {
            text_format(&expected, "merge\n%s/shards\n--out\n%s\n", job.folder, job.folder);
        } else {
            text_format(&expected,
                        "run\n%s\n%s\n%s\n%s\n%s\n--shard\n5/8\n--out\n%s/shards/5\n--resume\n"
                        "--records-only\n",
                        job.suite, words[0], words[1], words[2], words[3], job.folder);
        }
        char *got = whole_file_read(said);
        assert_string_equal(got, text_string(&expected));
        free(got);
    }
    text_release(&script);
    text_release(&expected);
}

/* A line of its own would be a command, or an option of sbatch. */
static void what_cannot_stand_in_a_script_is_refused(void **state)
{
    static const char *const evil[] = {"a\n#SBATCH --uid=0", "a\rb", "a\"b", "a'b", "a\\b", "a\x7f"};
    static const char *const evil_words[] = {"--filter", "a\nrm -rf x"};
    struct text script = {0};
    (void)state;
    for (size_t i = 0; i < sizeof evil / sizeof evil[0]; i++) {
        const char **places[] = {NULL, NULL, NULL, NULL, NULL};
        struct slurm_job job = plain_job;
        places[0] = &job.folder;
        places[1] = &job.partition;
        places[2] = &job.account;
        places[3] = &job.time;
        places[4] = &job.working_folder;
        for (int place = 0; place < 5; place++) {
            const char *kept = *places[place];
            *places[place] = evil[i];
            assert_int_equal(slurm_array_script(&job, &script, NULL), STATUS_INVALID);
            assert_int_equal(slurm_merge_script(&job, &script, NULL), STATUS_INVALID);
            *places[place] = kept;
        }
        job.sbatch_words = &evil[i];
        job.sbatch_word_count = 1;
        assert_int_equal(slurm_array_script(&job, &script, NULL), STATUS_INVALID);
    }
    struct slurm_job job = plain_job;
    job.run_words = evil_words;
    job.run_word_count = 2;
    assert_int_equal(slurm_array_script(&job, &script, NULL), STATUS_INVALID);
    job = plain_job;
    job.suite = "a\nb.yaml";
    assert_int_equal(slurm_array_script(&job, &script, NULL), STATUS_INVALID);
    assert_int_equal(script.length, 0);
    text_release(&script);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_has_the_fewest_words),
        cmocka_unit_test(what_a_user_asks_for_is_a_directive),
        cmocka_unit_test_setup_teardown(a_shell_hands_every_word_on_as_it_is, scratch_scene_open, scratch_scene_close),
        cmocka_unit_test(what_cannot_stand_in_a_script_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
