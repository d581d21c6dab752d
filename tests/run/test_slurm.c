/* A night on a Slurm of its own (ci/slurm-here.sh): 64 cases over 8 tasks, of which one is killed, one is taken off a
 * node that is drained, and what is missing is submitted again. What is merged is the run of one machine. Skipped, with
 * the reason, where Slurm is not installed. */
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
#include "tests/support/command_run.h"
#include "tests/support/whole_file.h"

enum { CASES = 64, REPEATS = 3, ATTEMPTS = CASES * REPEATS, SHARDS = 8, EXIT_SKIPPED = 77 };

static const char cases[] =
    "  - {model: [tiny-bert, tiny-gpt2], mode: infer, batch: [1, 2, 4, 8], seq: [8, 16, 24, 32],\n"
    "     precision: [float32, float16], repeat: 3}\n"; /* a task takes long enough to be killed in it */

/* $1: assay, $2: the suite, $3: the folder. Kills the processes of task 3 at once when it has a case; they are found by
 * their folder, which no other process has. Slurm may not have noticed yet when another task is taken off its node. */
static const char night[] =
    "set -u\n"
    "assay=$1 suite=$2 out=$3\n"
    "lines() { cat \"$1\" 2>/dev/null | grep -c '\"type\": \"case\"'; }\n"
    "until_idle() {\n"
    "    tries=2400\n"
    "    while squeue --noheader | grep -q .; do\n"
    "        tries=$((tries - 1)); [ $tries -gt 0 ] || { squeue; echo 'jobs do not end'; exit 98; }\n"
    "        sleep 0.1\n"
    "    done\n"
    "}\n"
    "\"$assay\" submit slurm \"$suite\" --shards 8 --out \"$out\" -- --device host || exit 98\n"
    "tries=6000\n"
    "until [ \"$(lines \"$out/shards/3/records.jsonl\")\" -ge 1 ]; do\n"
    "    tries=$((tries - 1)); [ $tries -gt 0 ] || { echo 'task 3 measures nothing'; exit 98; }\n"
    "    sleep 0.01\n"
    "done\n"
    "pids=$(pgrep -f -- \"--shard 3/8 --out $out/shards/3\")\n"
    "kill -STOP $pids; kill -KILL $pids\n"
    "scontrol update nodename=n2 state=drain reason=test || exit 98\n"
    "task=$(squeue --noheader --array --nodelist=n2 --states=RUNNING --format=%i | grep -v '_3$' | head -n 1)\n"
    "[ -z \"$task\" ] || scontrol requeue \"$task\" || task='none, it had just ended'\n"
    "echo \"requeued: $task\"\n"
    "until_idle\n"
    "cp \"$out/records.jsonl\" \"$out/first.jsonl\"\n"
    "cp \"$out/logs/merge.log\" \"$out/first.log\"\n"
    "array=$(sbatch --parsable --array=3 \"$out/array.sbatch\") &&\n"
    "    sbatch --parsable --dependency=afterany:\"$array\" \"$out/merge.sbatch\" || exit 98\n"
    "until_idle\n"
    "sinfo --noheader --Node --format='%N %t'\n";

static void the_reference_check(const char *whole, const char *merged)
{
    struct record_file one = records_of(whole), other = records_of(merged);
    assert_int_equal(one.runs[0].case_count, ATTEMPTS);
    assert_int_equal(other.run_count, 1);
    assert_int_equal(other.runs[0].case_count, ATTEMPTS);
    for (int i = 0; i < ATTEMPTS; i++) {
        assert_string_equal(json_string_or(json_get(one.runs[0].cases[i], "id"), ""),
                            json_string_or(json_get(other.runs[0].cases[i], "id"), "?"));
        same_case_check(one.runs[0].cases[i], other.runs[0].cases[i]);
    }
    record_file_release(&one);
    record_file_release(&other);
}

/* Whether the log of task number shard says that it went on, and after how many cases: those were not measured
 * again. */
static int resumed_after(struct command_scene *scene, int shard)
{
    char name[64];
    int count = 0;
    snprintf(name, sizeof name, "out/logs/shard-%d.log", shard);
    char *log = whole_file_read(scene_path(scene, name));
    const char *found = strstr(log, " goes on: ");
    if (found != NULL) {
        count = (int)strtol(found + strlen(" goes on: "), NULL, 10);
    }
    free(log);
    return found != NULL ? count : -1;
}

static void a_night_with_a_kill_and_a_drained_node_is_that_of_one_machine(void **state)
{
    struct command_scene *scene = *state;
    const char *suite = scene_suite(scene, "suite.yaml", cases), *out = scene_path(scene, "out");
    const char *whole = scene_path(scene, "whole");
    const char *words[] = {"ci/slurm-here.sh", "sh", "-c", night, "night", program_path(), suite, out, NULL};
    char program[4096];
    assert_non_null(realpath(program_path(), program));
    words[5] = program;
    struct command_result result = command_run(words, NULL);
    if (result.exit_code == EXIT_SKIPPED) {
        print_message("%s", text_string(&result.error));
        command_result_release(&result);
        skip();
    }
    if (result.exit_code != 0) {
        fail_msg("%d: %s%s", result.exit_code, text_string(&result.output), text_string(&result.error));
    }
    command_says(&result.output, "64 cases of t in 8 shards, plan ");
    command_says(&result.output, "n2 drain\n");

    /* The first merge: what the killed task did not finish is missing, and named. */
    char *log = whole_file_read(scene_path(scene, "out/first.log"));
    if (strstr(log, "exit code 7: INCOMPLETE: ") == NULL || strstr(log, "shard 3 was killed, or still runs") == NULL) {
        fail_msg("the first merge says:\n%s\nand the night:\n%s", log, text_string(&result.output));
    }
    free(log);
    struct record_file first = {0};
    assert_int_equal(record_file_read(scene_path(scene, "out/first.jsonl"), &first, NULL), STATUS_OK);
    assert_in_range(first.runs[0].case_count, ATTEMPTS - ATTEMPTS / SHARDS, ATTEMPTS - 1);

    /* Submitted again, it goes on with what it has. (So does the one that was requeued: a case that is there twice
     * would have been refused.) */
    assert_int_equal(resumed_after(scene, 3), ATTEMPTS / SHARDS - (ATTEMPTS - first.runs[0].case_count));
    record_file_release(&first);
    command_result_release(&result);

    struct run_words run = run_words_of(suite, "host", whole, "--records-only", NULL);
    assert_int_equal(run_do(scene, &run), 0);
    the_reference_check(whole, out);
}

/* The status of the command comes back, and nothing of Slurm is left. */
static void slurm_here_ends_with_its_command(void **state)
{
    struct command_scene *scene = *state;
    char setting[128];
    snprintf(setting, sizeof setting, "TMPDIR=%s", scene->folder);
    const char *const environment[] = {setting, NULL};
    const char *const words[] = {"ci/slurm-here.sh", "sh", "-c",
                                 "sbatch --output=/dev/null --wrap 'exec sleep 600' >/dev/null\n"
                                 "until [ \"$(squeue --noheader --format=%t)\" = R ]; do sleep 0.1; done\n"
                                 "cat \"${SLURM_CONF%/*}\"/run/*.pid; exit 5",
                                 NULL};
    struct command_result result = command_run(words, environment);
    if (result.exit_code == EXIT_SKIPPED) {
        command_result_release(&result);
        skip();
    }
    if (result.exit_code != 5) {
        fail_msg("%d: %s", result.exit_code, text_string(&result.error));
    }
    int count = 0;
    for (char *line = result.output.data, *end = NULL; (end = strchr(line, '\n')) != NULL; line = end + 1, count++) {
        char path[64];
        snprintf(path, sizeof path, "/proc/%d", (int)strtol(line, NULL, 10));
        assert_int_not_equal(access(path, F_OK), 0);
    }
    assert_int_equal(count, 4); /* munged, slurmctld, two slurmd */
    command_result_release(&result);
    assert_int_equal(rmdir(scene->folder), 0); /* its folder is gone, with the job that ran */
    snprintf(scene->folder, sizeof scene->folder, "/tmp/assay-command-XXXXXX");
    assert_non_null(mkdtemp(scene->folder)); /* for the tear-down */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, command_scene_open, command_scene_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(slurm_here_ends_with_its_command),
        TEST(a_night_with_a_kill_and_a_drained_node_is_that_of_one_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
