/* assay doctor on emulated GPUs: those that open, one that does not, one that another run has, one that others use. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/cuda_emulation/fault_plan.h"
#include "tests/cuda_emulation/gpus_need.h"
#include "tests/support/command_run.h"
#include "tests/support/scratch_folder.h"

/* Of a shell script that calls the program as "$assay"; nvidia-smi lists both GPUs. */
static struct command_result script_run(const struct scratch_scene *scene, const char *nvml, const char *body)
{
    char program[PATH_MAX] = "", plugins[PATH_MAX + 32], locks[96], assay[PATH_MAX], told[128], path[256];
    assert_true(readlink("/proc/self/exe", program, sizeof program - 1) > 0);
    *strrchr(program, '/') = '\0';
    snprintf(plugins, sizeof plugins, "ASSAY_PLUGIN_DIR=%s", program);
    snprintf(locks, sizeof locks, "ASSAY_LOCK_DIR=%s", scene->folder);
    snprintf(assay, sizeof assay, "assay=%s", program_path());
    snprintf(told, sizeof told, "EMULATED_NVML=%s", nvml);
    snprintf(path, sizeof path, "PATH=%s:/usr/bin:/bin", scene->folder);
    script_write(
        scene->folder, "nvidia-smi",
        "echo '0, GPU-00000000-0000-0000-0000-000000000002, two, 999.0, 9.0, Enabled, Default, Disabled, 3'\n"
        "echo '1, GPU-00000000-0000-0000-0000-000000000001, one, 999.0, 7.5, Disabled, Default, Disabled, 3'\n");
    return command_run(
        (const char *const[]){"sh", "-c", body, NULL},
        (const char *const[]){plugins, locks, assay, told, path, "EMULATED_DEVICE_BYTES=1073741824", NULL});
}

static int said_count(const struct json *document, const char *topic, const char *state, const char *words)
{
    const struct json *findings = json_get(document, "findings");
    int count = 0;
    for (size_t i = 0; i < json_count(findings); i++) {
        const struct json *one = json_at(findings, i);
        count += strcmp(json_string_or(json_get(one, "topic"), ""), topic) == 0 &&
                         strcmp(json_string_or(json_get(one, "state"), ""), state) == 0 &&
                         strstr(json_string_or(json_get(one, "seen"), ""), words) != NULL
                     ? 1
                     : 0;
    }
    return count;
}

static void says(const struct command_result *result, const struct json *document, const char *topic, const char *state,
                 const char *words)
{
    if (said_count(document, topic, state, words) != 1) {
        fail_msg("%s: %s: '%s' is not said once in %s", topic, state, words, text_string(&result->output));
    }
}

static int64_t usable(const struct json *document)
{
    return json_integer_or(json_get(json_get(document, "runs"), "gpu_count"), -1);
}

/* nvidia-smi and CUDA number them differently: modes are those of the UUID. */
static void all_gpus_are_found_and_open(void **state)
{
    struct command_result result = script_run(*state, "ecc=0", "exec \"$assay\" doctor --json");
    struct json *document = command_document(&result);
    assert_int_equal(result.exit_code, 0);
    const char *gpus = getenv("EMULATED_GPUS");
    assert_int_equal(usable(document), gpus != NULL ? strtol(gpus, NULL, 10) : 2);
    says(&result, document, "cuda:0", "ok", "sm_75");
    says(&result, document, "cuda:1", "ok", "sm_90");
    says(&result, document, "persistence", "note", "off on GPU 1");
    says(&result, document, "persistence", "ok", "on on GPU 0");
    says(&result, document, "NVML", "ok", "");
    says(&result, document, "plug-in", "ok", "of the sources of this program");
    says(&result, document, "cuBLAS", "ok", "cuBLAS");
    says(&result, document, "cuDNN", "note", "convolutions are computed without it");
    json_release(document);
    command_result_release(&result);
}

static void the_cudnn_that_is_there_is_told(void **state)
{
    const char *asks = "EMULATED_CUDNN=9.19.0 exec \"$assay\" doctor --json --device cuda:0";
    struct command_result result = script_run(*state, "ecc=0", asks);
    struct json *document = command_document(&result);
    says(&result, document, "cuDNN", "ok", "cuDNN 9.19.0");
    json_release(document);
    command_result_release(&result);
    result = script_run(*state, "ecc=0",
                        "EMULATED_CUDNN=9.19.0 ASSAY_CUDNN=no exec \"$assay\" doctor --json --device cuda:0");
    document = command_document(&result);
    assert_int_equal(result.exit_code, 0);
    says(&result, document, "cuDNN", "note", "left out");
    json_release(document);
    command_result_release(&result);
    result = script_run(*state, "ecc=0", "EMULATED_CUDNN=9.19.0,lone exec \"$assay\" doctor --json --device cuda:0");
    document = command_document(&result);
    says(&result, document, "cuDNN", "note", "cuDNN 9.19.0 is for CUDA 12, and libcublasLt.so.12 is not where");
    json_release(document);
    command_result_release(&result);
}

/* The driver is not what is said to have done it, and the GPU is told all the same. */
static void a_cudnn_that_ends_the_process_is_named(void **state)
{
    struct command_result result =
        script_run(*state, "ecc=0", "EMULATED_CUDNN=9.19.0,dies exec \"$assay\" doctor --json --device cuda:0");
    struct json *document = command_document(&result);
    assert_int_equal(result.exit_code, 3);
    says(&result, document, "cuDNN", "missing", "asking cuDNN ended the process");
    assert_int_equal(said_count(document, "cuda:0", "missing", ""), 0);
    assert_int_equal(usable(document), 1);
    json_release(document);
    command_result_release(&result);
}

static void a_gpu_that_others_use_is_noted(void **state)
{
    struct command_result result =
        script_run(*state, "process=7:536870912", "exec \"$assay\" doctor --json --device cuda:1");
    struct json *document = command_document(&result);
    assert_int_equal(result.exit_code, 0);
    assert_int_equal(usable(document), 1);
    says(&result, document, "cuda:1", "note", "others hold 512.00 MiB of it");
    assert_int_equal(said_count(document, "cuda:0", "ok", ""), 0);
    json_release(document);
    command_result_release(&result);
}

/* A context is refused, as a GPU does that is for one process alone. */
static void a_gpu_that_does_not_open_is_missing(void **state)
{
    struct scratch_scene *scene = *state;
    fault_plan(scene->folder, "cudaFree:1:46");
    struct command_result result = script_run(scene, "ecc=0", "exec \"$assay\" doctor --json --device cuda:0");
    fault_unplan();
    struct json *document = command_document(&result);
    assert_int_equal(result.exit_code, 4);
    assert_int_equal(usable(document), 0);
    says(&result, document, "cuda:0", "missing", "in use by another process alone");
    json_release(document);
    command_result_release(&result);
}

/* A driver that ends the process costs the doctor a child. */
static void a_driver_that_crashes_is_survived(void **state)
{
    struct scratch_scene *scene = *state;
    fault_plan(scene->folder, "cudaFree:1:-11");
    struct command_result result = script_run(scene, "ecc=0", "exec \"$assay\" doctor --json --device cuda:0");
    fault_unplan();
    struct json *document = command_document(&result);
    assert_int_equal(result.exit_code, 4);
    says(&result, document, "cuda:0", "missing", "asking the driver ended the process");
    json_release(document);
    command_result_release(&result);
}

/* It is not opened, which would disturb that run, and it could be used. */
static void who_has_a_lock_is_told(void **state)
{
    struct command_result result = script_run(*state, "ecc=0",
                                              "lock=$(\"$assay\" lock --device cuda:0) && exec 9<\"$lock\" &&\n"
                                              "    \"$assay\" lock --device cuda:0 --fd 9 --out /somewhere &&\n"
                                              "    \"$assay\" doctor --json --device cuda:0 9<&-");
    struct json *document = command_document(&result);
    assert_int_equal(result.exit_code, 0);
    assert_int_equal(usable(document), 1);
    says(&result, document, "lock", "note", "is taken by process ");
    assert_non_null(strstr(text_string(&result.output), "wait for it: assay run --wait-device 10m"));
    json_release(document);
    command_result_release(&result);
}

/* The lock is given back: a run after it has the GPU. */
static void the_doctor_leaves_nothing_locked(void **state)
{
    struct command_result result =
        script_run(*state, "ecc=0",
                   "\"$assay\" doctor >/dev/null && lock=$(\"$assay\" lock --device cuda:0) &&\n"
                   "    exec 9<\"$lock\" && \"$assay\" lock --device cuda:0 --fd 9");
    assert_int_equal(result.exit_code, 0);
    command_result_release(&result);
}

static void without_nvml_it_is_said_what_is_lost(void **state)
{
    struct command_result result =
        script_run(*state, "memoryless", "unset EMULATED_NVML; exec \"$assay\" doctor --json --device cuda:0");
    struct json *document = command_document(&result);
    assert_int_equal(result.exit_code, 0);
    says(&result, document, "NVML", "note", "bytes of the process, and who disturbs, stay unknown");
    json_release(document);
    command_result_release(&result);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_scene_open, scratch_scene_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(all_gpus_are_found_and_open),
        TEST(the_cudnn_that_is_there_is_told),
        TEST(a_cudnn_that_ends_the_process_is_named),
        TEST(a_gpu_that_others_use_is_noted),
        TEST(a_gpu_that_does_not_open_is_missing),
        TEST(a_driver_that_crashes_is_survived),
        TEST(who_has_a_lock_is_told),
        TEST(the_doctor_leaves_nothing_locked),
        TEST(without_nvml_it_is_said_what_is_lost),
    };
    gpus_need_two();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
