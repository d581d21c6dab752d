/* The program itself on the emulated GPU: what follows a fault is what a clean run measures, and two runs on one
 * GPU. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/cuda_emulation/fault_plan.h"
#include "tests/cuda_emulation/gpus_need.h"
#include "tests/run/command_scene.h"

#define FIRST         "  - {model: tiny-bert, mode: train, seq: 4, for: sm_75}\n"
#define FIRST_IN_TIME "  - {model: tiny-bert, mode: train, seq: 4, for: sm_75, timeout_seconds: 5}\n"
#define REST          SCENE_REST(", for: sm_75")

static const char FIRST_ID[] = "tiny-bert/train/float32/b1/s4/adamw-fused";

/* The emulated plug-in lies beside this program. */
static int plugin_choose(void **state)
{
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    (void)state;
    assert_true(length > 0);
    path[length] = '\0';
    *strrchr(path, '/') = '\0';
    return setenv("ASSAY_PLUGIN_DIR", path, 1);
}

static struct run_words words_for(struct command_scene *scene, const char *name, const char *cases, const char *device,
                                  const char *option, const char *value)
{
    char suite[64];
    snprintf(suite, sizeof suite, "%s.yaml", name);
    return run_words_of(scene_suite(scene, suite, cases), device, scene_path(scene, name), option, value);
}

static void what_follows_a_fault_is_what_a_clean_run_measures(void **state)
{
    struct command_scene *scene = *state;
    static const struct {
        const char *call, *status, *reason;
    } faults[] = {
        {"launch:40:700", "error", "an illegal memory access was encountered"},
        {"cublasGemm:2:3", "oom", "CUBLAS_STATUS_ALLOC_FAILED"},
        {"cudaFree:1:2", "oom", "making a context: out of memory"},
        {"cudaDeviceSynchronize:3:719", "error", "the context is lost"},
        {"launch:40:-11", "error", "Segmentation fault"},
        {"launch:40:-9", NULL, "the child was killed (SIGKILL)"},
        {"launch:40:-19", "timeout", "not done after 5 s"},
    };
    struct run_words words = words_for(scene, "clean", REST, "cuda:0", NULL, NULL);
    assert_int_equal(setenv("EMULATED_DEVICE_BYTES", "67108864", 1), 0); /* so few that cuBLAS may have none */
    assert_int_equal(run_do(scene, &words), 0);
    struct record_file clean = records_of(scene_path(scene, "clean"));
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        char name[32];
        snprintf(name, sizeof name, "fault-%zu", i);
        bool hangs = faults[i].status != NULL && strcmp(faults[i].status, "timeout") == 0;
        words = words_for(scene, name, hangs ? FIRST_IN_TIME REST : FIRST REST, "cuda:0", NULL, NULL);
        fault_plan(scene->folder, faults[i].call);
        assert_int_equal(run_do(scene, &words), 3);
        fault_unplan();
        struct record_file records = records_of(scene_path(scene, name));
        const struct json *first = case_of(&records, FIRST_ID);
        const char *status = json_string_or(json_get(first, "status"), "");
        const char *reason = json_string_or(json_get(first, "reason"), "");
        bool suits = faults[i].status == NULL || strcmp(status, faults[i].status) == 0;
        if (!suits || strstr(reason, faults[i].reason) == NULL) {
            fail_msg("%s: %s: %s", faults[i].call, status, reason);
        }
        for (int k = 0; k < SCENE_REST_COUNT; k++) {
            same_case_check(case_of(&clean, scene_rest_ids[k]), case_of(&records, scene_rest_ids[k]));
        }
        record_file_release(&records);
    }
    unsetenv("EMULATED_DEVICE_BYTES");
    record_file_release(&clean);
}

/* A run whose first case hangs: it has the GPU until it is killed. */
static pid_t hanging_start(struct command_scene *scene, const struct run_words *words)
{
    fault_plan(scene->folder, "launch:10:-19");
    pid_t run = run_start(scene, words);
    for (int tries = 0; tries < 6000 && access(scene_path(scene, "fault"), F_OK) == 0; tries++) {
        usleep(5000); /* the fault takes its file away */
    }
    fault_unplan();
    return run;
}

#define HANGING "  - {model: tiny-bert, mode: train, seq: 4, for: sm_75, timeout_seconds: 3600}\n"

static void a_second_run_on_a_gpu_is_refused_until_the_first_is_gone(void **state)
{
    struct command_scene *scene = *state;
    struct run_words first = words_for(scene, "first", HANGING, "cuda:0", NULL, NULL);
    struct run_words second = words_for(scene, "second", REST, "cuda:0", NULL, NULL);
    struct run_words other = words_for(scene, "other", REST, "cuda:1", NULL, NULL);
    struct run_words asking = words_for(scene, "asking", REST, "auto", "--share-device", NULL);
    char holder[64];
    pid_t run = hanging_start(scene, &first);
    assert_int_equal(run_do(scene, &second), 5);
    snprintf(holder, sizeof holder, "is taken by process %d since ", (int)run);
    said_check(scene_path(scene, "second"), "error", holder);
    said_check(scene_path(scene, "second"), "error", "wait for it (--wait-device SECONDS), or start both");
    assert_int_equal(access(scene_path(scene, "second/records.jsonl"), F_OK), -1); /* nothing was written */
    assert_int_equal(run_do(scene, &other), 0);                                    /* the other GPU is free */
    assert_int_equal(run_do(scene, &asking), 5); /* the first did not ask to share; auto is the same GPU */
    pid_t child = run_child(run);
    assert_int_equal(kill(run, SIGKILL), 0);
    assert_int_equal(run_wait(run), 128 + SIGKILL);
    end_wait(child);
    second = words_for(scene, "second", REST, "cuda:0", "--wait-device", "600");
    assert_int_equal(run_do(scene, &second), 0);
}

static void runs_that_share_go_together_and_say_so(void **state)
{
    struct command_scene *scene = *state;
    struct run_words first = words_for(scene, "first", HANGING, "cuda:0", "--share-device", NULL);
    struct run_words second = words_for(scene, "second", REST, "cuda:0", "--share-device", NULL);
    struct run_words alone = words_for(scene, "alone", REST, "cuda:0", NULL, NULL);
    pid_t run = hanging_start(scene, &first);
    assert_int_equal(run_do(scene, &second), 0);
    assert_int_equal(run_do(scene, &alone), 5);
    assert_int_equal(kill(run, SIGTERM), 0);
    assert_int_equal(run_wait(run), 7);
    assert_int_equal(run_do(scene, &alone), 0);
    struct record_file shared = records_of(scene_path(scene, "second")),
                       single = records_of(scene_path(scene, "alone"));
    for (int i = 0; i < SCENE_REST_COUNT; i++) {
        const struct json *a = case_of(&shared, scene_rest_ids[i]), *b = case_of(&single, scene_rest_ids[i]);
        assert_true(json_boolean_or(json_get(json_get(a, "device"), "shared"), false));
        assert_false(json_boolean_or(json_get(json_get(b, "device"), "shared"), true));
        assert_int_equal(json_kind(json_get(json_get(a, "context"), "device_bytes")), JSON_KIND_NULL);
        assert_int_equal(json_kind(json_get(json_get(b, "context"), "device_bytes")), JSON_KIND_INTEGER);
        assert_string_equal(json_string_or(json_get(a, "sequence_hash"), "a"),
                            json_string_or(json_get(b, "sequence_hash"), "b"));
    }
    record_file_release(&single);
    record_file_release(&shared);
}

/* Known before the first case, without a context on the GPU. */
static void a_run_says_what_its_gpu_is_and_runs_under(void **state)
{
    struct command_scene *scene = *state;
    struct run_words words = words_for(scene, "told", REST, "cuda:1", NULL, NULL);
    assert_int_equal(setenv("EMULATED_CUDNN", "9.19.0", 1), 0);
    assert_int_equal(run_do(scene, &words), 0);
    unsetenv("EMULATED_CUDNN");
    struct record_file told = records_of(scene_path(scene, "told"));
    const struct json *gpu = json_at(json_get(told.runs[0].run, "devices"), 0);
    const struct json *device = json_get(told.runs[0].cases[0], "device");
    static const char *const members[] = {"kind", "name", "driver", "runtime", "uuid", "pci_bus_id"};
    assert_string_equal(json_string_or(json_get(gpu, "spec"), ""), "cuda:1");
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        assert_string_equal(json_string_or(json_get(gpu, members[i]), "(none)"),
                            json_string_or(json_get(device, members[i]), "(no case)"));
    }
    assert_string_equal(json_string_or(json_at(json_get(gpu, "libraries"), 0), ""), "cuBLAS 13.1.2");
    assert_string_equal(json_string_or(json_at(json_get(gpu, "libraries"), 1), ""), "cuDNN 9.19.0");
    record_file_release(&told);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, command_scene_open, command_scene_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_follows_a_fault_is_what_a_clean_run_measures),
        TEST(a_second_run_on_a_gpu_is_refused_until_the_first_is_gone),
        TEST(runs_that_share_go_together_and_say_so),
        TEST(a_run_says_what_its_gpu_is_and_runs_under),
    };
    gpus_need_two();
    return cmocka_run_group_tests(tests, plugin_choose, NULL);
}
