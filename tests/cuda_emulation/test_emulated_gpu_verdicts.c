/* Every way in which ci/gpu.sh can end on a GPU, the emulated one: what failed there is told apart from what failed on
 * the host, and both from what had no time, was disturbed, or had to make way for another run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/ci/gpu_scene.h"
#include "tests/cuda_emulation/gpus_need.h"

#define OPTIONS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define FIRST_UUID   "GPU-00000000-0000-0000-0000-000000000001"
#define SECOND_UUID  "GPU-00000000-0000-0000-0000-000000000002"

static const char failing_test[] = "echo '[  FAILED  ] 1 test(s), listed below:'; exit 1";
static const char failing_case[] = "  - {model: tiny-gpt2, mode: load, expect: {allocated_bytes_peak: 1B}}\n";

static const char *const small[] = {"--tier", "host", NULL};

static struct command_result run(const struct gpu_scene *scene, const char *const *options, const char *more)
{
    return gpu_scene_run_emulated(scene, options, more);
}

/* A stand-in in the place of a test program that opens no GPU: its source says so. */
static void host_test_write(const struct gpu_scene *scene, const char *body)
{
    mkdir(gpu_scene_path(scene, "build/tests/base"), 0700);
    script_write(gpu_scene_path(scene, "build/tests/base"), "test_json", body);
}

static void a_failure_says_where(void **state)
{
    const struct gpu_scene *scene = *state;
    host_test_write(scene, failing_test);
    struct command_result result = run(scene, small, "X=");
    gpu_scene_expect(scene, &result, 1, "FAIL on the host alone: host; exit code 1 after");
    assert_true(gpu_scene_part_is(scene, "tests", "ok"));
    gpu_scene_suite(scene, "adam-gpu", failing_case);
    result = run(scene, small, "X=");
    gpu_scene_expect(scene, &result, 1, "FAIL on the GPU: adam; on the host alone: host; exit code 1 after");
    script_write(gpu_scene_path(scene, "build/tests/area"), "test_it", failing_test);
    result = run(scene, OPTIONS("--slice", "tests"), "X=");
    gpu_scene_expect(scene, &result, 1, "FAIL on the GPU: tests; on the host alone: host; exit code 1 after");
}

/* One that does something else instead of a command with that first word behind it. */
static void stand_in_write(const struct gpu_scene *scene, const char *command, const char *instead)
{
    char program[PATH_MAX], body[PATH_MAX + 512];
    assert_non_null(realpath(program_path(), program));
    snprintf(body, sizeof body, "case $1,$2 in %s) %s ;; esac; exec '%s' \"$@\"", command, instead, program);
    assert_int_equal(unlink(gpu_scene_path(scene, "build/assay")), 0);
    script_write(gpu_scene_path(scene, "build"), "assay", body);
}

/* Which says how the assumptions are, instead of asking them, which takes the emulated GPU minutes. */
static void program_write(const struct gpu_scene *scene, const char *assumed)
{
    stand_in_write(scene, "assumptions,--device", assumed);
}

static void an_assumption_that_is_wrong_is_a_failure(void **state)
{
    const struct gpu_scene *scene = *state;
    gpu_scene_suite(scene, "assumptions", "  - {model: tiny-bert, mode: load}\n");
    program_write(scene, "echo 'holds: alone'; echo 'holds: start'; exit 0");
    struct command_result result = run(scene, OPTIONS("--tier", "host", "--slice", "suites"), "X=");
    gpu_scene_expect(scene, &result, 0, "pass; exit code 0 after");
    gpu_scene_says(scene, "timing.tsv", "\tassumptions\tok\t0\t");
    gpu_scene_says(scene, "timing.tsv", "\t2 of them hold\n");
    program_write(scene, "echo 'assay: assumptions: exit code 1: FAIL: 1 of 2 is otherwise' >&2; exit 1");
    result = run(scene, OPTIONS("--tier", "host", "--slice", "suites"), "X=");
    gpu_scene_expect(scene, &result, 1, "FAIL on the GPU: assumptions; exit code 1 after");
    gpu_scene_says(scene, "timing.tsv", "\texit code 1: FAIL: 1 of 2 is otherwise\n");
}

/* The host's programs come last; that they had no time takes nothing from what the GPU has shown. */
static void what_had_no_time_is_no_failure(void **state)
{
    const struct gpu_scene *scene = *state;
    host_test_write(scene, "exec sleep 60");
    struct command_result result = run(scene, OPTIONS("--slice", "tests", "--seconds", "12"), "X=");
    gpu_scene_expect(scene, &result, 0, "pass; had no time: host; exit code 0 after");
    result = run(scene, OPTIONS("--slice", "tests", "--seconds", "12", "--need-all"), "X=");
    gpu_scene_expect(scene, &result, 3, "inconclusive, had no time: host; exit code 3 after");
    script_write(gpu_scene_path(scene, "build/tests/area"), "test_it", "exec sleep 60");
    result = run(scene, OPTIONS("--slice", "tests", "--seconds", "12"), "X=");
    gpu_scene_expect(scene, &result, 3, "inconclusive, had no time: tests, host; exit code 3 after");
}

/* Time that is up does not hide what failed before. */
static void a_failure_before_the_time_is_up_counts(void **state)
{
    const struct gpu_scene *scene = *state;
    gpu_scene_suite(scene, "adam-gpu",
                    "  - {model: tiny-gpt2, mode: load, expect: {allocated_bytes_peak: 1B}}\n"
                    "  - {model: gpt2-large, mode: train, seq: 512, batch: 8, repeat: 60}\n");
    struct command_result result = run(scene, OPTIONS("--tier", "host", "--slice", "suites", "--seconds", "16"),
                                       "EMULATED_DEVICE_BYTES=80000000000");
    gpu_scene_expect(scene, &result, 1, "FAIL on the GPU: adam; ");
    gpu_scene_says(scene, "timing.tsv", "\tadam\tFAIL\t1\t");
}

static void a_shared_gpu_judges_nobody(void **state)
{
    const struct gpu_scene *scene = *state;
    static const char other[] = "EMULATED_NVML=process=77:1073741824";
    struct command_result result = run(scene, small, other);
    gpu_scene_expect(scene, &result, 3,
                     "inconclusive, disturbed (another process (77) held 1073741824 bytes (1.00 GiB) of the GPU at the "
                     "end of stage context): calibrate, load, overhead, adam, generate, repeat; exit code 3 after");
    gpu_scene_says(scene, "timing.tsv", "no constants: disturbed: another process (77) held ");
    gpu_scene_suite(scene, "adam-gpu", failing_case); /* allocated bytes are our own, whoever else is there */
    result = run(scene, OPTIONS("--tier", "host", "--slice", "suites"), other);
    gpu_scene_expect(scene, &result, 1, "FAIL on the GPU: adam; disturbed (another process (77) held ");
}

/* The lock of the first GPU, as another run would hold it. */
static int lock_take(const struct gpu_scene *scene)
{
    int file = open(gpu_scene_path(scene, "assay-" FIRST_UUID ".lock"), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    assert_true(file >= 0);
    assert_int_equal(flock(file, LOCK_EX | LOCK_NB), 0);
    return file;
}

static void another_run_is_not_disturbed(void **state)
{
    const struct gpu_scene *scene = *state;
    script_write(gpu_scene_path(scene, "build/tests/area"), "test_it", ": >\"${0%/build/*}/was-here\"; exit 1");
    int file = lock_take(scene);
    struct command_result result = run(scene, small, "X=");
    assert_null(strstr(text_string(&result.output), "--share-device")); /* which the script does not have */
    command_says(&result.output, "; wait for it (--wait-device SECONDS)");
    gpu_scene_expect(scene, &result, 3, "inconclusive, the GPU is busy (" FIRST_UUID " is taken by ");
    assert_int_not_equal(access(gpu_scene_path(scene, "was-here"), F_OK), 0);
    result = run(scene, OPTIONS("--tier", "host", "--slice", "suites", "--device", "cuda:1"), "X=");
    gpu_scene_expect(scene, &result, 0, "pass; exit code 0 after");
    pid_t child = fork();
    if (child == 0) { /* it goes while the script waits, or before */
        sleep(2);
        _exit(0);
    }
    close(file);
    result = run(scene, OPTIONS("--tier", "host", "--slice", "suites", "--wait-device", "60"), "X=");
    gpu_scene_expect(scene, &result, 0, "pass; exit code 0 after");
    assert_int_equal(waitpid(child, NULL, 0), child);
}

static void a_small_gpu_measures_what_fits(void **state)
{
    const struct gpu_scene *scene = *state;
    gpu_scene_suite(scene, "load-gpu", "  - {model: [tiny-bert, gpt2-large], mode: load}\n");
    struct command_result result =
        run(scene, OPTIONS("--tier", "host", "--slice", "suites"), "EMULATED_DEVICE_BYTES=1073741824");
    gpu_scene_expect(scene, &result, 0, "pass; exit code 0 after");
    gpu_scene_says(scene, "timing.tsv", "\thost: 2 cases: 1 ok, 1 skip");
}

/* Nobody comes between two parts; all that the script starts has the lock. */
static void the_gpu_is_locked_from_the_first_part_to_the_last(void **state)
{
    const struct gpu_scene *scene = *state;
    static const char body[] =
        "cd \"${0%/build/*}\"; if flock -n assay-" FIRST_UUID ".lock true; then " /* as another run would */
        "echo '[  FAILED  ] 1 test(s), listed below:'; exit 1; fi; echo '[  PASSED  ] 1 test(s).'";
    script_write(gpu_scene_path(scene, "build/tests/area"), "test_it", body);
    host_test_write(scene, body);
    command_needed("flock");
    struct command_result result = run(scene, small, "X=");
    gpu_scene_expect(scene, &result, 0, "pass; exit code 0 after");
    close(lock_take(scene)); /* and nobody has it afterwards */
}

/* Whatever a program takes for its GPU, it is the one that was asked for. */
static void only_the_gpu_that_was_asked_for_is_seen(void **state)
{
    const struct gpu_scene *scene = *state;
    script_write(gpu_scene_path(scene, "build/tests/area"), "test_it",
                 "[ \"$CUDA_VISIBLE_DEVICES\" = " SECOND_UUID " ] || exit 1; echo '[  PASSED  ] 1 test(s).'");
    struct command_result result = run(scene, OPTIONS("--tier", "host", "--device", "cuda:1"), "EMULATED_GPUS=4");
    gpu_scene_expect(scene, &result, 0, "pass; exit code 0 after");
    gpu_scene_says(scene, "timing.tsv", "cuda:1 (" SECOND_UUID "): emulated sm_90; tier host on cuda:0");
    gpu_scene_says(scene, "records.jsonl", "\"uuid\": \"" SECOND_UUID "\"");
    struct text records = gpu_scene_read(scene, "records.jsonl");
    assert_null(strstr(text_string(&records), FIRST_UUID));
    text_release(&records);
    result = run(scene, OPTIONS("--slice", "suites", "--device", "cuda:1", "--need-gpu"), "EMULATED_GPUS=1");
    gpu_scene_expect(scene, &result, 3, "inconclusive, there is no GPU: device");
}

/* There is no folder that everybody may write into; which GPU it is needs none. */
static void without_a_folder_for_locks_one_gpu_is_seen(void **state)
{
    const struct gpu_scene *scene = *state;
    script_write(gpu_scene_path(scene, "build/tests/area"), "test_it",
                 "[ \"$CUDA_VISIBLE_DEVICES\" = " SECOND_UUID " ] || exit 1; echo '[  PASSED  ] 1 test(s).'");
    stand_in_write(scene, "lock,--device",
                   "[ \"$4\" = --name ] || { echo 'assay: lock: neither folder' >&2; exit 77; }");
    struct command_result result =
        run(scene, OPTIONS("--tier", "host", "--slice", "tests", "--device", "cuda:1"), "EMULATED_GPUS=2");
    gpu_scene_expect(scene, &result, 0, "pass; exit code 0 after");
    gpu_scene_says(scene, "log.txt", "no lock is held: lock: neither folder");
    gpu_scene_says(scene, "timing.tsv", "cuda:1 (" SECOND_UUID "): emulated sm_90; tier host on cuda:0");
}

/* A case that its own limit ends, on a GPU that is too slow for it, and time to spare. */
static void a_case_that_is_too_slow_had_no_time(void **state)
{
    const struct gpu_scene *scene = *state;
    gpu_scene_suite(scene, "adam-gpu",
                    "  - {model: tiny-gpt2, mode: load}\n"
                    "  - {model: gpt2-large, mode: train, seq: 512, batch: 8}\ntimeout_seconds: 2\n");
    struct command_result result =
        run(scene, OPTIONS("--tier", "host", "--slice", "suites"), "EMULATED_DEVICE_BYTES=80000000000");
    gpu_scene_expect(scene, &result, 0, "pass; had no time: adam; exit code 0 after");
    gpu_scene_says(scene, "timing.tsv", "\thost: 2 cases: 1 ok, 1 timeout");
}

/* As CUDA's libraries may, from a slow disk: nothing is known of the GPU, and the line says what to do. */
static void a_gpu_that_begins_slowly_is_not_called_unusable(void **state)
{
    const struct gpu_scene *scene = *state;
    stand_in_write(scene, "run,suites/selftest.yaml", "exec sleep 60");
    struct command_result result = run(scene, OPTIONS("--slice", "suites", "--seconds", "12"), "X=");
    gpu_scene_expect(scene, &result, 3, "inconclusive, had no time (its first case was not over after ");
    gpu_scene_says(scene, "timing.tsv", "start it again, or with --seconds 312; ");
    gpu_scene_says(scene, "timing.tsv", "\tnot measured: the GPU had no time\n");
}

#define SCENE_TEST(test) cmocka_unit_test_setup_teardown(test, gpu_scene_make, gpu_scene_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(a_failure_says_where),
        SCENE_TEST(an_assumption_that_is_wrong_is_a_failure),
        SCENE_TEST(what_had_no_time_is_no_failure),
        SCENE_TEST(a_failure_before_the_time_is_up_counts),
        SCENE_TEST(a_shared_gpu_judges_nobody),
        SCENE_TEST(another_run_is_not_disturbed),
        SCENE_TEST(a_small_gpu_measures_what_fits),
        SCENE_TEST(the_gpu_is_locked_from_the_first_part_to_the_last),
        SCENE_TEST(only_the_gpu_that_was_asked_for_is_seen),
        SCENE_TEST(without_a_folder_for_locks_one_gpu_is_seen),
        SCENE_TEST(a_case_that_is_too_slow_had_no_time),
        SCENE_TEST(a_gpu_that_begins_slowly_is_not_called_unusable),
    };
    gpus_need_two();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
