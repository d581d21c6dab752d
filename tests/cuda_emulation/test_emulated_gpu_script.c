/* ci/gpu.sh where there is a GPU, the emulated one: the parts that are skipped elsewhere run, with stand-ins for the
 * sanitizer and for PyTorch. */
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

#define FIRST_GPU    "cuda:0 (GPU-00000000-0000-0000-0000-000000000001)"
#define OPTIONS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void sanitizer_write(const struct gpu_scene *scene, int error_count)
{
    char body[256];
    snprintf(body, sizeof body, "shift 2; \"$@\" || exit; echo '========= ERROR SUMMARY: %d errors'", error_count);
    script_write(scene->folder, "compute-sanitizer", body);
}

static void remark_contains(const struct gpu_scene *scene, const char *part)
{
    gpu_scene_says(scene, "timing.tsv", part);
}

static void the_parts_of_a_gpu_run(void **state)
{
    const struct gpu_scene *scene = *state;
    sanitizer_write(scene, 0);
    struct command_result result = gpu_scene_run_emulated(scene, OPTIONS("--tier", "host", "--need-gpu"), "X=");
    gpu_scene_expect(scene, &result, 0, "pass; exit code 0 after");
    static const char *const ok[] = {"device", "sanitizer", "adam", "generate", "calibrate", "repeat"};
    for (size_t i = 0; i < sizeof ok / sizeof ok[0]; i++) {
        assert_true(gpu_scene_part_is(scene, ok[i], "ok"));
    }
    assert_true(gpu_scene_part_is(scene, "pytorch", "skip"));
    remark_contains(scene, FIRST_GPU ": emulated sm_75; tier host on cuda:0");
    remark_contains(scene, "cannot import torch and transformers: No module named torch");
    sanitizer_write(scene, 2);
    result = gpu_scene_run_emulated(scene, OPTIONS("--tier", "host", "--slice", "tests"), "X=");
    gpu_scene_expect(scene, &result, 1, "FAIL on the GPU: sanitizer");
    remark_contains(scene, "one training case under memcheck: 2 errors");
    script_write(scene->folder, "compute-sanitizer", "shift 2; exec \"$@\"");
    result = gpu_scene_run_emulated(scene, OPTIONS("--tier", "host", "--slice", "tests"), "X=");
    gpu_scene_expect(scene, &result, 3, "inconclusive: sanitizer");
    remark_contains(scene, "compute-sanitizer came to no summary: ");
}

/* No suite of this scene judges what the driver counts, and nobody could say what was used before the context. */
static void what_the_driver_counts_is_judged_over_all_cases(void **state)
{
    const struct gpu_scene *scene = *state;
    struct command_result result =
        gpu_scene_run_emulated(scene, OPTIONS("--tier", "host", "--slice", "suites"), "EMULATED_NVML=memoryless");
    gpu_scene_expect(scene, &result, 1, "FAIL on the GPU: repeat");
    assert_true(gpu_scene_part_is(scene, "adam", "ok"));
    remark_contains(scene, "assumptions are wrong, the first: baseline: ");
    remark_contains(scene, "predictions take these, as there are no constants of emulated-sm-75");
}

/* The program's own answer. Its proofs fill the GPU, which is a small one of 44 MiB for that. */
static void the_assumptions_are_asked_of_this_gpu(void **state)
{
    const struct gpu_scene *scene = *state;
    gpu_scene_suite(scene, "assumptions",
                    "  - {model: tiny-gpt2, mode: load, for: sm_75, tags: quick}\n"
                    "  - {model: tiny-bert, mode: infer, seq: 4, for: sm_75, repeat: 2, tags: quick}\n");
    setenv("EMULATED_DRIVER", "context:1000000 kernel:100", 1);
    setenv("EMULATED_DEVICE_BYTES", "46137344", 1);
    struct command_result result =
        gpu_scene_run_emulated(scene, OPTIONS("--tier", "host", "--slice", "suites"), "EMULATED_NVML=ecc=0");
    gpu_scene_expect(scene, &result, 0, "pass; exit code 0 after");
    assert_true(gpu_scene_part_is(scene, "assumptions", "ok"));
    remark_contains(scene, "\t10 of them hold\n");
    result = gpu_scene_run_emulated(scene, OPTIONS("--tier", "host", "--slice", "suites"), "EMULATED_NVML=memoryless");
    unsetenv("EMULATED_DEVICE_BYTES");
    unsetenv("EMULATED_DRIVER");
    gpu_scene_expect(scene, &result, 1, "FAIL on the GPU: assumptions, repeat; exit code 1 after");
    remark_contains(scene, "exit code 1: FAIL: ");
}

/* Of a library that computes convolutions, our own kernels are tried a second time; of none, once. */
static void convolutions_are_tried_without_cudnn_too(void **state)
{
    const struct gpu_scene *scene = *state;
    static const struct {
        const char *cudnn, *body, *words, *verdict;
        int exit_code;
    } rows[] = {
        {"EMULATED_CUDNN=9.19.0", "",
         "devices: 1. cuda:0: stand-in. Largest error; without cuDNN convolutions conform too", "pass; exit code 0", 0},
        {"X=", "[ -z \"$ASSAY_CUDNN\" ] || exit 1; ", "devices: 1. cuda:0: stand-in. Largest error\n",
         "pass; exit code 0", 0},
        {"EMULATED_CUDNN=9.19.0",
         "case $ASSAY_CUDNN,$ASSAY_CONFORMANCE_OPERATION in no,CONVOLUTION_BACKWARD_INPUT) echo it is wrong; exit 1 ;; "
         "esac; ",
         "without cuDNN: it is wrong\n", "FAIL on the GPU: conformance", 1},
        {"EMULATED_CUDNN=9.19.0", "[ -z \"$ASSAY_CUDNN\" ] || exec sleep 60; ",
         "Largest error; no time for convolutions without cuDNN\n", "pass; exit code 0", 0},
    };
    mkdir(gpu_scene_path(scene, "build/tests/conformance"), 0700);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char body[512];
        snprintf(body, sizeof body, "%secho 'cuda:0: stand-in. Largest error'", rows[i].body);
        script_write(gpu_scene_path(scene, "build/tests/conformance"), "test_conformance", body);
        struct command_result result = gpu_scene_run_emulated(
            scene, OPTIONS("--tier", "host", "--slice", "tests", "--seconds", "30"), rows[i].cudnn);
        gpu_scene_expect(scene, &result, rows[i].exit_code, rows[i].verdict);
        remark_contains(scene, rows[i].words);
    }
}

#define CALIBRATED                                                                                                     \
    "  - {model: tiny-llama, mode: infer, seq: 4, precision: bfloat16, tolerances: "                                   \
    "{calibrated-gpu: {device_bytes: 0, process_bytes: 0}}}\n"

/* A driver that takes 3 MB for each kernel: the constants of a BERT in float32 are off for a Llama in bfloat16, which
 * has other kernels, by nobody's fault. */
static void a_gpu_that_nobody_measured_is_not_failed_by_its_bytes(void **state)
{
    const struct gpu_scene *scene = *state;
    gpu_scene_suite(scene, "adam-gpu", CALIBRATED);
    setenv("EMULATED_DRIVER", "context:300000007 kernel:3000001 handle:7000003", 1);
    struct command_result result =
        gpu_scene_run_emulated(scene, OPTIONS("--tier", "host", "--slice", "suites"), "EMULATED_NVML=older");
    gpu_scene_expect(scene, &result, 0, "pass; not judged: adam; exit code 0 after");
    remark_contains(scene, "1 ok; not judged in 1 of them: bytes beyond those of other GPUs");
    remark_contains(scene, "; no GPU of this class is in results/reference yet, so the folder is worth sending");
    gpu_scene_says(scene, "log.txt", "1 case: 1 ok; beyond calibrated-gpu, and not judged, in 1 case");
    setenv("EMULATED_NAME", "NVIDIA H200", 1);
    result = gpu_scene_run_emulated(scene, OPTIONS("--tier", "host", "--slice", "suites"), "EMULATED_NVML=older");
    unsetenv("EMULATED_NAME");
    unsetenv("EMULATED_DRIVER");
    gpu_scene_expect(scene, &result, 1, "FAIL on the GPU: adam");
}

/* A Python whose torch is a stand-in. */
static void stand_in_write(const struct gpu_scene *scene)
{
    script_write(
        scene->folder, "python",
        "case \"$1\" in */truth.py) shift; set -- tests/cuda_emulation/stand_in/stand_in_truth.py \"$@\" ;; esac\n"
        "PYTHONPATH=tests/cuda_emulation/stand_in exec python3 \"$@\"");
}

/* On a GPU of 80 GB two tags are measured: one that a suite has no case of is no fault, unless it has none of
 * either. */
static void a_tag_without_cases_is_left_out(void **state)
{
    const struct gpu_scene *scene = *state;
    command_needed("python3");
    static const char *const small[] = {"inference-overhead-gpu", "adam-gpu", "generate-gpu", "repeat-gpu"};
    for (size_t i = 0; i < sizeof small / sizeof small[0]; i++) {
        gpu_scene_suite(scene, small[i], "  - {model: tiny-bert, mode: load, tags: gpu}\n");
    }
    gpu_scene_suite(scene, "load-gpu",
                    "  - {model: tiny-bert, mode: load, tags: gpu}\n"
                    "  - {model: tiny-gpt2, mode: load, tags: gpu-large}\n");
    gpu_scene_suite(scene, "generate-gpu", "  - {model: tiny-gpt2, mode: load, tags: gpu-large}\n");
    struct command_result result =
        gpu_scene_run_emulated(scene, OPTIONS("--slice", "suites"), "EMULATED_DEVICE_BYTES=85899345920");
    gpu_scene_expect(scene, &result, 0, "pass");
    remark_contains(scene, FIRST_GPU ": emulated sm_75; tier gpu on cuda:0");
    remark_contains(scene, "gpu: 1 case: 1 ok; gpu-large: 1 case: 1 ok\n");
    remark_contains(scene, "\tgpu: 1 case: 1 ok\n");
    remark_contains(scene, "\tgpu-large: 1 case: 1 ok\n");
    setenv("STAND_IN_FACTOR", "1.00", 1);
    stand_in_write(scene);
    result = gpu_scene_run_emulated(scene, OPTIONS("--slice", "peers"), "EMULATED_DEVICE_BYTES=85899345920");
    gpu_scene_expect(scene, &result, 0, "pass");
    remark_contains(scene, "2 of 2 cases: 2 ok");
    gpu_scene_suite(scene, "repeat-gpu", "  - {model: tiny-bert, mode: load}\n");
    result = gpu_scene_run_emulated(scene, OPTIONS("--slice", "suites"), "EMULATED_DEVICE_BYTES=85899345920");
    gpu_scene_expect(scene, &result, 2, "FAIL: usage: repeat");
    remark_contains(scene, "matches 'gpu'");
}

/* What the tool cannot do is neither a fault of the program nor a pass. */
static void a_sanitizer_that_does_not_look_finds_nothing(void **state)
{
    const struct gpu_scene *scene = *state;
    static const struct {
        const char *body, *result, *remark;
    } rows[] = {
        {"echo '========= Error: Device not supported'; echo '========= ERROR SUMMARY: 1 error'; exit 1", "skip",
         "compute-sanitizer does not know this device"},
        {"echo '========= Error: No attachable process found.'; exit 255", "open",
         "compute-sanitizer came to no summary: ========= Error: No attachable process found."},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        script_write(scene->folder, "compute-sanitizer", rows[i].body);
        struct command_result result =
            gpu_scene_run_emulated(scene, OPTIONS("--tier", "host", "--slice", "tests"), "X=");
        command_result_release(&result);
        assert_true(gpu_scene_part_is(scene, "sanitizer", rows[i].result));
        remark_contains(scene, rows[i].remark);
    }
}

static void a_gpu_that_fails_is_no_reason_to_measure_the_host(void **state)
{
    const struct gpu_scene *scene = *state;
    char fault[128], file[] = "/tmp/assay-fault-XXXXXX"; /* the emulated runtime takes no name with blanks */
    int made = mkstemp(file);
    assert_true(made >= 0);
    close(made);
    snprintf(fault, sizeof fault, "EMULATED_FAULT=cudaMalloc:1:700:%s", file);
    struct command_result result = gpu_scene_run_emulated(scene, OPTIONS("--slice", "suites"), fault);
    gpu_scene_expect(scene, &result, 3, "inconclusive, the GPU cannot be used (stage load: ");
    remark_contains(scene, "the GPU cannot be used: stage load: ");
    assert_int_not_equal(access(file, F_OK), 0); /* the fault happened */
}

/* The bytes of the stand-in are ours divided by a factor: 1.01 is within 2 %, 1.03 beyond. */
static void peers_are_held_against_each_other(void **state)
{
    const struct gpu_scene *scene = *state;
    static const struct {
        const char *factor;
        int exit_code;
        const char *last_line;
    } rows[] = {{"STAND_IN_FACTOR=1.01", 0, "pass"}, {"STAND_IN_FACTOR=1.03", 1, "FAIL on the GPU: compare"}};
    command_needed("python3");
    stand_in_write(scene);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct command_result result =
            gpu_scene_run_emulated(scene, OPTIONS("--tier", "host", "--slice", "peers"), rows[i].factor);
        assert_non_null(strstr(text_string(&result.output), "over all cases"));
        gpu_scene_expect(scene, &result, rows[i].exit_code, rows[i].last_line);
        remark_contains(scene, "4 of 4 cases: 3 ok, 1 that PyTorch has not, 0 not measured");
    }
    remark_contains(scene, "3 allocated peaks beyond 2 %, 0 not measured");
    setenv("STAND_IN_TORCH", "2.12.1", 1);
    struct command_result result =
        gpu_scene_run_emulated(scene, OPTIONS("--tier", "host", "--slice", "peers"), rows[1].factor);
    unsetenv("STAND_IN_TORCH");
    gpu_scene_expect(scene, &result, 0, "pass; not judged: compare; exit code 0 after");
    remark_contains(scene, "; not judged: the torch is 2.12, and torch 2.11 is what is followed");
}

#define SCENE_TEST(test) cmocka_unit_test_setup_teardown(test, gpu_scene_make, gpu_scene_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(the_parts_of_a_gpu_run),
        SCENE_TEST(what_the_driver_counts_is_judged_over_all_cases),
        SCENE_TEST(the_assumptions_are_asked_of_this_gpu),
        SCENE_TEST(convolutions_are_tried_without_cudnn_too),
        SCENE_TEST(a_gpu_that_nobody_measured_is_not_failed_by_its_bytes),
        SCENE_TEST(a_tag_without_cases_is_left_out),
        SCENE_TEST(a_sanitizer_that_does_not_look_finds_nothing),
        SCENE_TEST(a_gpu_that_fails_is_no_reason_to_measure_the_host),
        SCENE_TEST(peers_are_held_against_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
