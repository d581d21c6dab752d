/* assay submit with an sbatch of our own: what is asked of it, what is told, and what is said before it is asked. A
 * real Slurm is tests/run/test_slurm.c's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/command_run.h"
#include "tests/support/scratch_folder.h"
#include "tests/support/whole_file.h"

#define SUITE "tests/cli/data/small-suite.yaml"

/* Runs `assay submit slurm` with the programs of the folder alone on PATH. */
static struct command_result submit(const struct scratch_scene *scene, const char *const *more)
{
    static char path[128], out[128];
    snprintf(path, sizeof path, "PATH=%s/bin", scene->folder);
    snprintf(out, sizeof out, "%s/out", scene->folder);
    const char *words[24] = {program_path(), "submit", "slurm", SUITE, "--shards", "2", "--out", out};
    for (int i = 0; more[i] != NULL; i++) {
        words[8 + i] = more[i];
    }
    const char *const environment[] = {path, NULL};
    return command_run(words, environment);
}

#define MORE(...) ((const char *const[]){__VA_ARGS__, NULL})

static const char *below(const struct scratch_scene *scene, const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", scene->folder, name);
    return path;
}

/* Programs of a Slurm: sbatch answers with 17, then with 18, and writes down how it was called. */
static void slurm_put(const struct scratch_scene *scene, const char *sbatch)
{
    mkdir(below(scene, "bin"), 0700);
    script_write(below(scene, "bin"), "sbatch", sbatch);
}

static const char good_sbatch[] = "d=${0%/*}\n"
                                  "n=17; [ ! -e \"$d/said\" ] || n=18\n"
                                  "echo \"$*\" >>\"$d/said\"\n"
                                  "echo \"$n;cluster\"\n";

static void the_merge_job_waits_for_the_array_job(void **state)
{
    struct scratch_scene *scene = *state;
    struct text expected = {0};
    slurm_put(scene, good_sbatch);
    struct command_result result = submit(scene, MORE("--", "--device", "meta"));
    assert_string_equal(text_string(&result.error), "");
    assert_int_equal(result.exit_code, 0);
    command_says(&result.output, "in 2 shards, plan ");
    command_says(&result.output, "array job 17, and merge job 18 after it");
    command_says(&result.output, "squeue --jobs 17,18");
    command_result_release(&result);
    text_format(&expected,
                "--parsable %s/out/array.sbatch\n"
                "--parsable --dependency=afterany:17 %s/out/merge.sbatch\n",
                scene->folder, scene->folder);
    char *said = whole_file_read(below(scene, "bin/said"));
    assert_string_equal(said, text_string(&expected));
    free(said);
    text_release(&expected);
    char *script = whole_file_read(below(scene, "out/array.sbatch"));
    assert_non_null(strstr(script, " run " SUITE " --device meta \\\n"));
    assert_non_null(strstr(script, "#SBATCH --gpus-per-task=1\n"));
    free(script);
    struct stat logs;
    assert_int_equal(stat(below(scene, "out/logs"), &logs), 0); /* Slurm makes none */
}

static void a_dry_run_prints_and_leaves_nothing(void **state)
{
    struct scratch_scene *scene = *state;
    slurm_put(scene, good_sbatch);
    struct command_result result = submit(scene, MORE("--dry-run", "--gpus-per-task", "0", "--sbatch", "qos=low"));
    assert_int_equal(result.exit_code, 0);
    command_says(&result.output, "#SBATCH --array=1-2\n");
    command_says(&result.output, "#SBATCH --qos=low\n");
    command_says(&result.output, " merge ");
    assert_null(strstr(text_string(&result.output), "gpus-per-task"));
    command_result_release(&result);
    assert_int_not_equal(access(below(scene, "out"), F_OK), 0);
    assert_int_not_equal(access(below(scene, "bin/said"), F_OK), 0);
}

static void without_slurm_the_scripts_stay(void **state)
{
    struct scratch_scene *scene = *state;
    struct command_result result = submit(scene, MORE(NULL));
    command_says(&result.error, "there is no sbatch on PATH; submit ");
    command_says(&result.error, "out/merge.sbatch where Slurm's commands are, or see them with --dry-run");
    command_refused(result, "assay: submit: ");
    assert_int_equal(access(below(scene, "out/array.sbatch"), F_OK), 0);
    assert_int_equal(access(below(scene, "out/merge.sbatch"), F_OK), 0);
}

static void what_sbatch_says_is_passed_on(void **state)
{
    struct scratch_scene *scene = *state;
    slurm_put(scene, "echo 'sbatch: error: invalid partition specified: gpux' >&2\nexit 1\n");
    command_refused(submit(scene, MORE(NULL)),
                    "submit: sbatch refuses (exit code 1): sbatch: error: invalid partition specified: gpux\n");
    slurm_put(scene, "echo hello\n");
    command_refused(submit(scene, MORE(NULL)), "sbatch did not print the number of the job");
    slurm_put(scene, "case $* in *merge*) echo full >&2; exit 1 ;; esac\necho 5\n");
    struct command_result result = submit(scene, MORE(NULL));
    command_says(&result.error, "(exit code 1): full. Array job 5 is submitted all the same; its merge job by hand: "
                                "sbatch --dependency=afterany:5 ");
    command_result_release(&result);
}

static void arrays_are_as_long_as_slurm_allows(void **state)
{
    struct scratch_scene *scene = *state;
    slurm_put(scene, good_sbatch);
    script_write(below(scene, "bin"), "scontrol", "echo 'MaxArraySize            = 2'\n");
    command_refused(submit(scene, MORE(NULL)), "takes arrays up to index 1 (MaxArraySize); give --shards 1 or fewer");
    script_write(below(scene, "bin"), "scontrol", "echo 'MaxArraySize            = 3'\n");
    struct command_result result = submit(scene, MORE(NULL));
    assert_int_equal(result.exit_code, 0);
    command_result_release(&result);
}

/* Said here, and not in the logs of all tasks, or by the merge after hours. */
static void what_would_fail_later_is_said_now(void **state)
{
    struct scratch_scene *scene = *state;
    slurm_put(scene, good_sbatch);
    command_refused(submit(scene, MORE("--", "--devise", "meta")), "run: unknown option '--devise'; did you mean");
    command_refused(submit(scene, MORE("--", "--filter", "nothing*")), "matches 'nothing*'");
    command_refused(submit(scene, MORE("--", "--out", "x")), "--out is not for the run of a shard");
    command_refused(submit(scene, MORE("--", "--shard", "1/2")), "--shard is not for the run of a shard");
    command_refused(submit(scene, MORE("--", "other.yaml")), "one operand too many");
    command_refused(submit(scene, MORE("--shards", "3")), "--shards is given twice");
    const char *const many[] = {program_path(), "submit", "slurm", SUITE, "--shards", "99", "--out", "x", NULL};
    command_refused(command_run(many, NULL), "99 shards are more than the ");
    const char *const nowhere[] = {program_path(), "submit", "slurm", SUITE, "--shards", "2", NULL};
    command_refused(command_run(nowhere, NULL), "write --out DIR");
    const char *const uncounted[] = {program_path(), "submit", "slurm", SUITE, "--out", "x", NULL};
    command_refused(command_run(uncounted, NULL), "write --shards N");
    const char *const other[] = {program_path(), "submit", "pbs", SUITE, "--shards", "2", "--out", "x", NULL};
    command_refused(command_run(other, NULL), "'pbs' is no system that is known");
    assert_int_not_equal(access(below(scene, "bin/said"), F_OK), 0);
}

static void a_folder_with_other_results_is_refused(void **state)
{
    struct scratch_scene *scene = *state;
    char out[128];
    slurm_put(scene, good_sbatch);
    snprintf(out, sizeof out, "%s/out/shards/1", scene->folder);
    struct command_result result = command_named(
        "run", MORE(SUITE, "--device", "meta", "--out", out, "--shard", "1/2", "--records-only", "--quiet"));
    command_result_release(&result);
    command_refused(submit(scene, MORE("--", "--device", "host")), "is of another plan: the suite, the cases");
    result = submit(scene, MORE("--", "--device", "meta")); /* the same plan: it goes on */
    assert_int_equal(result.exit_code, 0);
    command_result_release(&result);
    char left[128]; /* of an array that had more tasks */
    snprintf(left, sizeof left, "%s/out/shards/4", scene->folder);
    result = command_named(
        "run", MORE(SUITE, "--device", "meta", "--out", left, "--shard", "4/4", "--records-only", "--quiet"));
    command_result_release(&result);
    command_refused(submit(scene, MORE("--", "--device", "meta")), "shards/4/plan.json is of another plan");
    scratch_folder_remove(left);
    snprintf(out, sizeof out, "%s/out", scene->folder);
    result = command_named("run", MORE(SUITE, "--device", "meta", "--out", out, "--records-only", "--quiet"));
    command_result_release(&result);
    command_refused(submit(scene, MORE("--", "--device", "meta")), "has other results; name a new folder");
}

/* Shards that are finished go on with nothing: the night of yesterday would be told as that of today. */
static void a_folder_with_all_results_is_refused(void **state)
{
    struct scratch_scene *scene = *state;
    char out[128], shards[128];
    slurm_put(scene, good_sbatch);
    snprintf(out, sizeof out, "%s/out", scene->folder);
    snprintf(shards, sizeof shards, "%s/out/shards", scene->folder);
    for (int i = 1; i <= 2; i++) {
        char shard[16], folder[160];
        snprintf(shard, sizeof shard, "%d/2", i);
        snprintf(folder, sizeof folder, "%s/%d", shards, i);
        struct command_result result = command_named(
            "run", MORE(SUITE, "--device", "meta", "--out", folder, "--shard", shard, "--records-only", "--quiet"));
        command_result_release(&result);
        result = command_named("merge", MORE(shards, "--out", out, "--records-only"));
        command_result_release(&result);
        result = submit(scene, MORE("--", "--device", "meta"));
        if (i == 1) { /* shard 2 is missing, and comes */
            assert_int_equal(result.exit_code, 0);
            command_result_release(&result);
        } else {
            command_refused(result, "has the results of all shards of this plan, and none would be measured again; "
                                    "name a new folder with --out");
        }
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_scene_open, scratch_scene_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_merge_job_waits_for_the_array_job),  TEST(a_dry_run_prints_and_leaves_nothing),
        TEST(without_slurm_the_scripts_stay),         TEST(what_sbatch_says_is_passed_on),
        TEST(arrays_are_as_long_as_slurm_allows),     TEST(what_would_fail_later_is_said_now),
        TEST(a_folder_with_other_results_is_refused), TEST(a_folder_with_all_results_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
