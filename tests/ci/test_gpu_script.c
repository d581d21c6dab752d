/* ci/gpu.sh where there is no GPU: it runs to its end, says what it skipped, and a failure in any part is its exit
 * code. */
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

#include "tests/ci/gpu_scene.h"

#define OPTIONS(...) ((const char *const[]){__VA_ARGS__, NULL})

static const char no_plugin[] = "ASSAY_PLUGIN_DIR=/nowhere", no_gpu[] = "CUDA_VISIBLE_DEVICES=-1";

/* A driver that lists a GPU, beside whatever this machine has. */
static const char *driver_add(const struct gpu_scene *scene, char path[4096])
{
    script_write(scene->folder, "nvidia-smi", "echo 'GPU 0: a GPU (UUID: GPU-0)'");
    snprintf(path, 4096, "PATH=%s:%s", scene->folder, getenv("PATH"));
    return path;
}

/* With a GPU, which is hidden: what is expected holds on machines that have one. */
static struct command_result run(const struct gpu_scene *scene, const char *const *options)
{
    char path[4096];
    const char *const environment[] = {no_plugin, no_gpu, "COLUMNS=60", driver_add(scene, path), NULL};
    return gpu_scene_run(scene, options, environment);
}

static int count_in(const struct gpu_scene *scene, const char *name, const char *part)
{
    struct text text = gpu_scene_read(scene, name);
    int count = 0;
    for (const char *at = text_string(&text); (at = strstr(at, part)) != NULL; at += strlen(part)) {
        count++;
    }
    text_release(&text);
    return count;
}

static void without_a_gpu_it_runs_to_its_end(void **state)
{
    const struct gpu_scene *scene = *state;
    struct command_result result = run(scene, NULL);
    for (const char *line = text_string(&result.output); *line != '\0'; line = strchr(line, '\n') + 1) {
        assert_true(strcspn(line, "\n") <= 60 || strncmp(line, "pass on", 7) == 0); /* the last line is one line */
    }
    assert_null(strchr(text_string(&result.output), '\033'));
    gpu_scene_expect(scene, &result, 0, "pass on the host, there is no GPU; exit code 0 after");
    static const char *const ok[] = {"build", "tests", "load", "overhead", "adam", "generate", "calibrate", "repeat"};
    static const char *const skipped[] = {"device", "conformance", "sanitizer", "pytorch", "compare"};
    for (size_t i = 0; i < sizeof ok / sizeof ok[0]; i++) {
        assert_true(gpu_scene_part_is(scene, ok[i], "ok"));
    }
    for (size_t i = 0; i < sizeof skipped / sizeof skipped[0]; i++) {
        assert_true(gpu_scene_part_is(scene, skipped[i], "skip"));
    }
    assert_int_equal(count_in(scene, "timing.tsv", "no GPU: cuda: "),
                     4); /* device, assumptions, sanitizer, pytorch: each says why */
    assert_int_equal(count_in(scene, "timing.tsv", "3 passed, 0 failed, 0 skipped"), 1);
    assert_int_equal(count_in(scene, "summary.txt", "2 attempts"), 1);
    assert_int_equal(count_in(scene, "records.jsonl", "\"type\": \"run\""), 6);
}

/* Beside the program, and where a torch that came without a toolkit has its cuBLAS and, of that CUDA, its cuDNN. */
static void carried_libraries_are_found(void **state)
{
    const struct gpu_scene *scene = *state;
    script_write(gpu_scene_path(scene, "build"), "libassay_cuda.so", "libcublas.so.97");
    script_write(scene->folder, "python",
                 "case \"$3 $4\" in 'libcublas.so.97 ' | 'libcudnn_graph.so.9 /nvidia_cudnn_cu97-*') "
                 "echo \"/of torch/${3%%.*}/$3\" ;; *) exit 1 ;; esac");
    script_write(scene->folder, "ldconfig", "exit 0");
    assert_int_equal(mkdir(gpu_scene_path(scene, "build/lib"), 0700), 0);
    assert_int_equal(mkdir(gpu_scene_path(scene, "build/cuda"), 0700), 0);
    script_write(gpu_scene_path(scene, "build/cuda"), "make", "echo 75 90 >\"${0%/*}/architectures\"");
    struct command_result made = command_run((const char *[]){gpu_scene_path(scene, "build/cuda/make"), NULL}, NULL);
    command_result_release(&made);
    assert_int_equal(setenv("CUDA_HOME", scene->folder, 1), 0);
    struct command_result result = run(scene, OPTIONS("--slice", "tests"));
    unsetenv("CUDA_HOME");
    gpu_scene_expect(scene, &result, 0, "pass");
    assert_int_equal(count_in(scene, "environment.txt", "build/lib:/of torch/libcublas:/of torch/libcudnn_graph\n"), 1);
    assert_int_equal(count_in(scene, "timing.tsv", "the CUDA plug-in is there, for sm_75 sm_90\n"), 1);
}

/* What earlier runs measured stays beside the folder: so many runs in all. */
static void measured_before_expect(const struct gpu_scene *scene, int run_count)
{
    const char *const words[] = {
        "sh", "-c",          "cat \"$1\"/out.20*/records.jsonl 2>/dev/null | grep -c '\"type\": \"run\"'",
        "sh", scene->folder, NULL};
    struct command_result result = command_run(words, NULL);
    assert_int_equal(strtol(text_string(&result.output), NULL, 10), run_count);
    command_result_release(&result);
}

static void a_second_run_takes_the_place_of_the_first(void **state)
{
    const struct gpu_scene *scene = *state;
    for (int turn = 0; turn < 2; turn++) {
        struct command_result result = run(scene, OPTIONS("--slice", "suites"));
        gpu_scene_expect(scene, &result, 0, "pass");
        assert_int_equal(count_in(scene, "records.jsonl", "\"type\": \"run\""), 6);
        measured_before_expect(scene, 6 * turn);
    }
    struct command_result result = run(scene, OPTIONS("--slice", "tests"));
    gpu_scene_expect(scene, &result, 0, "pass");
    assert_true(gpu_scene_part_is(scene, "adam", "ok")); /* of the slice before */
    assert_int_equal(count_in(scene, "records.jsonl", "\"type\": \"run\""), 6);
    assert_int_equal(count_in(scene, "timing.tsv", "\n"), 13);
}

/* Copies of two devices, made by the script's own function: eight of the second, one of which somebody has written
 * into, one has a file more, one has lost a file, and one lies elsewhere, behind a link. They stay, with all that is in
 * them, as do those of the other device and what has no mark. */
static void the_newest_copies_stay_and_what_is_touched(void **state)
{
    const struct gpu_scene *scene = *state;
    static const char script[] =
        "cd \"$1\" && out=\"$1/a b\" && . \"$2/ci/gpu-folder.sh\" && mkdir \"$out\" && "
        "copy() { echo \"$1, assay\" >\"$out/environment.txt\"; echo \"$2\" >\"$out/records.jsonl\"; measured_keep "
        "2>>said; "
        "mv \"$aside\" \"$out.2019112${2}T000000Z\" 2>/dev/null; }; "
        "copies_maximum=3; copy GPU 0; mkdir \"$out.20180101T000000Z\"; echo x "
        ">\"$out.20180101T000000Z/records.jsonl\"; "
        "for n in 1 2 3; do copy none $n; done; echo mine >>\"$out.20191121T000000Z/records.jsonl\"; "
        "echo mine >\"$out.20191122T000000Z/notes\"; rm \"$out.20191123T000000Z/environment.txt\"; "
        "copy none 4; mv \"$out.20191124T000000Z\" elsewhere; ln -s elsewhere \"$out.20191124T000000Z\"; "
        "for n in 5 6 7 8; do copy none $n; done; ls -d \"$out\".* | sed 's/.*2019112//; s/T0.*//'; grep -c 'is "
        "removed' said; cat \"$out\".2019112[0-4]*/records.jsonl elsewhere/records.jsonl; ls elsewhere";
    char here[4096];
    assert_non_null(getcwd(here, sizeof here));
    const char *const words[] = {"sh", "-c", script, "sh", scene->folder, here, NULL};
    struct command_result result = command_run(words, NULL);
    const char *said = text_string(&result.output);
    const char *first = strchr(said, '\n') + 1; /* behind the one without a mark */
    assert_string_equal(first, "0\n1\n2\n3\n4\n6\n7\n8\n1\n0\n1\nmine\n2\n3\n4\n4\n"
                               "COPY\nenvironment.txt\nrecords.jsonl\n");
    command_result_release(&result);
}

static void the_slice_of_peers_measures_what_is_not_there(void **state)
{
    const struct gpu_scene *scene = *state;
    struct command_result result = run(scene, OPTIONS("--slice", "peers"));
    gpu_scene_expect(scene, &result, 0, "pass");
    assert_true(gpu_scene_part_is(scene, "generate", "ok"));
    assert_int_equal(count_in(scene, "timing.tsv", "\tcalibrate\t"), 0);
    result = run(scene, OPTIONS("--slice", "peers"));
    gpu_scene_expect(scene, &result, 0, "pass");
    assert_int_equal(count_in(scene, "records.jsonl", "\"type\": \"run\""), 4);
}

static void a_failure_is_the_exit_code_and_is_listed(void **state)
{
    const struct gpu_scene *scene = *state;
    gpu_scene_suite(scene, "adam-gpu", "  - {model: tiny-gpt2, mode: load, expect: {allocated_bytes_peak: 1B}}\n");
    struct command_result result = run(scene, OPTIONS("--slice", "suites"));
    assert_non_null(strstr(text_string(&result.output), "expected: allocated peak 1 B predicted"));
    gpu_scene_expect(scene, &result, 1, "FAIL: adam");
    assert_true(gpu_scene_part_is(scene, "generate", "ok")); /* the parts after it ran */
    script_write(gpu_scene_path(scene, "build/tests/area"), "test_it",
                 "echo '[  FAILED  ] 1 test(s), listed below:'; exit 1");
    result = run(scene, OPTIONS("--slice", "tests"));
    assert_non_null(strstr(text_string(&result.output), "FAIL area/test_it"));
    gpu_scene_expect(scene, &result, 1, "FAIL: tests");
    gpu_scene_suite(scene, "load-gpu", "  - {model: tiny-gpt2, mode: lode}\n");
    result = run(scene, OPTIONS("--slice", "suites"));
    gpu_scene_expect(scene, &result, 2, "FAIL: usage: load");
}

static void a_gpu_that_is_asked_for_must_be_there(void **state)
{
    const struct gpu_scene *scene = *state;
    struct command_result result = run(scene, OPTIONS("--slice", "tests", "--need-gpu"));
    gpu_scene_expect(scene, &result, 3, "inconclusive, there is no GPU: device; exit code 3");
    unlink(gpu_scene_path(scene, "build/assay"));
    result = run(scene, OPTIONS("--slice", "tests"));
    gpu_scene_expect(scene, &result, 99, "FAIL: a fault of the program: build");
}

/* One that a driver lists, and that assay then cannot open. */
static void a_gpu_that_cannot_be_used_is_no_reason_to_skip(void **state)
{
    const struct gpu_scene *scene = *state;
    char path[4096];
    const char *const environment[] = {no_plugin, "CUDA_VISIBLE_DEVICES=0", driver_add(scene, path), NULL};
    struct command_result result = gpu_scene_run(scene, OPTIONS("--slice", "suites"), environment);
    gpu_scene_expect(scene, &result, 3, "inconclusive, the GPU cannot be used (cuda: ");
    assert_int_equal(count_in(scene, "timing.tsv", "the GPU cannot be used: cuda: "), 1);
}

/* Stand-ins in the places of real test programs, whose sources say which of them open a GPU. Those take a lock that
 * only one can have; of the others two wait for one another. */
static void what_opens_a_gpu_is_tested_first_and_alone(void **state)
{
    const struct gpu_scene *scene = *state;
    static const char alone[] =
        "cd \"${0%/build/*}\"; mkdir lock || exit 1; sleep 0.2; rmdir lock; ls waiting* 2>/dev/null\n"
        "[ ! -e waiting-test_json ] || exit 1; echo '[  PASSED  ] 1 test(s).'";
    static const char together[] = "cd \"${0%/build/*}\"; : >\"waiting-${0##*/}\"\n"
                                   "until [ -e waiting-test_json ] && [ -e waiting-test_size ]; do sleep 0.05; done; "
                                   "echo '[  PASSED  ] 1 test(s).'";
    static const struct {
        const char *folder, *name, *body;
    } programs[] = {
        {"base", "test_json", together},
        {"base", "test_size", together},
        {"cli", "test_run_command", alone},
        {"conformance", "test_conformance", "[ \"$1\" = --table ] && echo 'cuda:0: stand-in. Largest error'"},
        {"conformance", "test_model_gradients", alone},
        {"cuda_emulation", "test_emulated_loads", "echo '[  PASSED  ] 1 test(s).'"},
        {"models", "test_sequence_on_gpu", alone},
        {"replay", "test_device_memory", alone},
    };
    static const char *const order[] = {"ok   conformance/test_model_gradients: ",
                                        "ok   models/test_sequence_on_gpu: ",
                                        "ok   replay/test_device_memory: ",
                                        "ok   area/test_it: ",
                                        "ok   cli/test_run_command: ",
                                        "ok   base/test_json: ",
                                        "ok   base/test_size: ",
                                        "ok   cuda_emulation/test_emulated_loads: "};
    char below[64];
    script_write(scene->folder, "nproc", "echo 4");
    for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++) {
        snprintf(below, sizeof below, "build/tests/%s", programs[i].folder);
        mkdir(gpu_scene_path(scene, below), 0700);
        script_write(gpu_scene_path(scene, below), programs[i].name, programs[i].body);
    }
    struct command_result result = run(scene, OPTIONS("--slice", "tests"));
    gpu_scene_expect(scene, &result, 0, "pass");
    struct text log = gpu_scene_read(scene, "log.txt");
    const char *at = text_string(&log);
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        const char *next = strstr(at, order[i]);
        if (next == NULL) {
            fail_msg("%s is not in its place:\n%s", order[i], text_string(&log));
        }
        at = next;
    }
    assert_null(strstr(text_string(&log), "conformance/test_conformance: "));
    text_release(&log);
    assert_true(gpu_scene_part_is(scene, "conformance", "ok"));
    assert_int_equal(count_in(scene, "timing.tsv", "\t7 passed, 0 failed, 0 skipped\n"), 1);
    assert_int_equal(count_in(scene, "timing.tsv", "\t3 passed, 0 failed, 0 skipped\n"), 1);
}

static void what_has_no_time_is_said(void **state)
{
    const struct gpu_scene *scene = *state;
    script_write(gpu_scene_path(scene, "build/tests/area"), "test_a", "exec sleep 60");
    struct command_result result = run(scene, OPTIONS("--slice", "tests", "--seconds", "12"));
    gpu_scene_expect(scene, &result, 3, "inconclusive, had no time: tests");
    assert_int_equal(count_in(scene, "timing.tsv", "ended after its"), 1);
}

/* Whether the processes whose numbers a program of the scene has written are gone, after a moment: what is ended by a
 * signal to its group ends on its own. */
static void processes_are_gone(const struct gpu_scene *scene)
{
    static const char script[] = "[ -s \"$1/pids\" ] || exit 9\n"
                                 "for pid in $(cat \"$1/pids\"); do tries=0; while grep -qs . /proc/$pid/cmdline; do\n"
                                 "[ $tries -lt 20 ] || { tr '\\0' ' ' </proc/$pid/cmdline; exit 1; }\n"
                                 "tries=$((tries + 1)); sleep 0.1; done; done";
    const char *const words[] = {"sh", "-c", script, "sh", scene->folder, NULL};
    struct command_result result = command_run(words, NULL);
    if (result.exit_code != 0) {
        fail_msg("exit code %d, alive: %s", result.exit_code, text_string(&result.output));
    }
    command_result_release(&result);
    unlink(gpu_scene_path(scene, "pids"));
}

#define PIDS ">\"${0%/build/*}/pids\"; "

/* One that heeds signals, one that does not, and one that has left somebody behind in a session of its own. */
static void no_process_outlives_its_part(void **state)
{
    const struct gpu_scene *scene = *state;
    static const struct {
        const char *body, *last_line;
        int exit_code;
    } rows[] = {
        {"sleep 60 & echo $$ $! " PIDS "wait", "inconclusive, had no time: tests", 3},
        {"trap '' TERM; sleep 60 & echo $$ $! " PIDS "wait", "inconclusive, had no time: tests", 3},
        {"setsid sh -c 'sleep 60 & echo $$ $! " PIDS "wait' \"$0\" >/dev/null 2>&1 &\n"
         "until [ -s \"${0%/build/*}/pids\" ]; do sleep 0.05; done; echo '[  PASSED  ] 3 test(s).'",
         "pass", 0},
    };
    command_needed("setsid");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        script_write(gpu_scene_path(scene, "build/tests/area"), "test_it", rows[i].body);
        struct command_result result =
            run(scene, OPTIONS("--slice", "tests", "--seconds", rows[i].exit_code == 3 ? "12" : "60"));
        gpu_scene_expect(scene, &result, rows[i].exit_code, rows[i].last_line);
        processes_are_gone(scene);
    }
    assert_int_equal(count_in(scene, "log.txt", "left behind, and sent SIGTERM: "), 2);
}

/* Sent as soon as the sleeping test has begun; the parts that were not reached are named. */
static void a_signal_ends_it_in_order(void **state)
{
    const struct gpu_scene *scene = *state;
    static const char command[] =
        "ci/gpu.sh --out \"$1/out\" --build \"$1/build\" --suites \"$1/suites\" --python \"$1/python\" & pid=$!\n"
        "while [ ! -e \"$1/begun\" ]; do sleep 0.1; done; kill -TERM $pid; wait $pid";
    script_write(gpu_scene_path(scene, "build/tests/area"), "test_a", ": >\"${0%/build/*}/begun\"; exec sleep 60");
    const char *const words[] = {"sh", "-c", command, "sh", scene->folder, NULL};
    const char *const environment[] = {no_plugin, no_gpu, NULL};
    struct command_result result = command_run(words, environment);
    gpu_scene_expect(scene, &result, 3, "inconclusive, interrupted: tests, calibrate, load");
    assert_int_equal(count_in(scene, "timing.tsv", "interrupted"), 11);
}

/* A log of megabytes is kept without its middle; a folder that something else has filled is a fault. */
static void the_folder_stays_small(void **state)
{
    const struct gpu_scene *scene = *state;
    script_write(gpu_scene_path(scene, "build/tests/area"), "test_it",
                 "yes a line of a log | head -n 200000; echo '[  FAILED  ] 1 test(s), listed below:'; exit 1");
    struct command_result result = run(scene, OPTIONS("--slice", "tests"));
    gpu_scene_expect(scene, &result, 1, "FAIL: tests");
    struct text log = gpu_scene_read(scene, "log.txt");
    assert_in_range(log.length, 1 << 20, (2 << 20) + 200);
    assert_non_null(strstr(text_string(&log), "==== tests, "));
    assert_non_null(strstr(text_string(&log), "the middle of the log is left out"));
    assert_non_null(strstr(text_string(&log), "==== tests: FAIL"));
    text_release(&log);
    script_write(gpu_scene_path(scene, "build/tests/area"), "test_it",
                 "for i in 1 2 3 4 5; do : >\"${0%/build/*}/out/$i\"; done; echo '[  PASSED  ] 3 test(s).'");
    result = run(scene, OPTIONS("--slice", "tests"));
    assert_int_equal(result.exit_code, 99);
    assert_non_null(strstr(text_string(&result.error), "8 of 6291456 are the most"));
    command_result_release(&result);
}

static void wrong_words_touch_nothing(void **state)
{
    const struct gpu_scene *scene = *state;
    static const char *const wrong[][3] = {
        {"--slice", "all-of-it", "is none of tests, suites, peers"},
        {"--slices", "tests", "unknown option '--slices'"},
        {"--seconds", "1e3", "is no number of seconds"},
        {"--device", "cuda:", "is not cuda:N"},
        {"--tier", "meta", "is neither host nor gpu"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct command_result result = run(scene, OPTIONS(wrong[i][0], wrong[i][1]));
        assert_int_equal(result.exit_code, 2);
        assert_non_null(strstr(text_string(&result.error), wrong[i][2]));
        command_result_release(&result);
        assert_int_not_equal(access(gpu_scene_path(scene, "out"), F_OK), 0);
    }
    struct command_result result = gpu_scene_run(scene, OPTIONS("--out", scene->folder), NULL);
    assert_int_equal(result.exit_code, 2);
    assert_non_null(strstr(text_string(&result.error), "is none of this script's files"));
    command_result_release(&result);
}

#define SCENE_TEST(test) cmocka_unit_test_setup_teardown(test, gpu_scene_make, gpu_scene_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(without_a_gpu_it_runs_to_its_end),
        SCENE_TEST(carried_libraries_are_found),
        SCENE_TEST(a_second_run_takes_the_place_of_the_first),
        SCENE_TEST(the_newest_copies_stay_and_what_is_touched),
        SCENE_TEST(the_slice_of_peers_measures_what_is_not_there),
        SCENE_TEST(a_failure_is_the_exit_code_and_is_listed),
        SCENE_TEST(a_gpu_that_is_asked_for_must_be_there),
        SCENE_TEST(a_gpu_that_cannot_be_used_is_no_reason_to_skip),
        SCENE_TEST(what_opens_a_gpu_is_tested_first_and_alone),
        SCENE_TEST(what_has_no_time_is_said),
        SCENE_TEST(no_process_outlives_its_part),
        SCENE_TEST(a_signal_ends_it_in_order),
        SCENE_TEST(the_folder_stays_small),
        SCENE_TEST(wrong_words_touch_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
