/* What a GPU's driver counts, and whether the row is valid, where everything is known: an emulated driver that takes so
 * many bytes for the context, for each kernel and for each handle (EMULATED_DRIVER), and an emulated NVML
 * (EMULATED_NVML). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/device/device.h"
#include "tests/run/run_scene.h"

/* Numbers that no sum of others makes. */
enum {
    MODULES_BYTES = 50000017,
    CONTEXT_BYTES = 300000007,
    KERNEL_BYTES = 10007,
    HANDLE_BYTES = 7000003,
    FOREIGN_BYTES = 1048577
};
enum { HANDLES = 2 /* cuBLAS and cublasLt */, KERNELS_OF_OPENING = 1 };

static void driver_set(int64_t kernel_bytes)
{
    char text[96];
    snprintf(text, sizeof text, "context:%d kernel:%lld handle:%d modules:%d", CONTEXT_BYTES, (long long)kernel_bytes,
             HANDLE_BYTES, MODULES_BYTES);
    assert_int_equal(setenv("EMULATED_DRIVER", text, 1), 0);
}

/* The record of one case of a model that multiplies with and without bias. nvml: NULL for none. */
static const struct json *case_measured(struct scene *scene, const char *nvml, const char *keys)
{
    char text[512];
    snprintf(text, sizeof text, "  - {model: tiny-gpt2, mode: infer, seq: 4, for: sm_75%s}\n", keys);
    cases_set(scene, text);
    assert_int_equal(nvml != NULL ? setenv("EMULATED_NVML", nvml, 1) : unsetenv("EMULATED_NVML"), 0);
    measure(scene, "cuda:0");
    assert_int_equal(unsetenv("EMULATED_NVML"), 0);
    const struct json *line = case_at(scene, 0);
    if (json_kind(json_get(line, "stages")) != JSON_KIND_OBJECT) {
        fail_msg("%s: %s", nvml != NULL ? nvml : "no NVML", text_at(line, "reason"));
    }
    return line;
}

static int64_t bytes_at(const struct json *object, const char *key)
{
    if (json_kind(json_get(object, key)) != JSON_KIND_INTEGER) {
        fail_msg("%s is not known", key);
    }
    return json_integer_or(json_get(object, key), 0);
}

static bool known_at(const struct json *object, const char *key)
{
    return json_kind(json_get(object, key)) != JSON_KIND_NULL;
}

static int64_t items_sum(const struct json *items)
{
    int64_t sum = 0;
    for (const char *key = json_key_after(items, NULL); key != NULL; key = json_key_after(items, key)) {
        sum += json_integer_or(json_get(items, key), 0);
    }
    return sum;
}

/* Everything but what is loaded later is known; kernel_bytes 0: then nothing is left over. */
static void stage_check(const struct json *stage, int64_t kernel_bytes, bool multiplied)
{
    const struct json *items = json_get(stage, "device_items");
    int64_t reserved = bytes_at(stage, "reserved_bytes"), workspace = bytes_at(items, "workspace_bytes");
    int64_t handles = multiplied ? (int64_t)HANDLES * HANDLE_BYTES : 0, remainder = bytes_at(items, "remainder_bytes");
    assert_int_equal(items_sum(items), bytes_at(stage, "device_bytes"));
    assert_int_equal(bytes_at(items, "baseline_bytes"), FOREIGN_BYTES);
    assert_int_equal(bytes_at(items, "context_bytes"), CONTEXT_BYTES + KERNELS_OF_OPENING * kernel_bytes);
    assert_int_equal(workspace + bytes_at(items, "segment_bytes"), reserved);
    assert_int_equal(multiplied, workspace > 0);
    if (kernel_bytes == 0) {
        assert_int_equal(bytes_at(items, "kernel_bytes"), 0);
        assert_int_equal(bytes_at(items, "library_bytes"), handles);
        assert_int_equal(remainder, 0);
    } else {
        assert_true(bytes_at(items, "kernel_bytes") > 0);
        assert_int_equal(bytes_at(items, "kernel_bytes") % kernel_bytes, 0);
        assert_int_equal((bytes_at(items, "library_bytes") - handles) % kernel_bytes, 0);
        assert_true(remainder >= 0 && remainder <= 2 * kernel_bytes); /* forms that load more for another shape */
        assert_int_equal(remainder % kernel_bytes, 0);
    }
    const struct json *own = json_get(stage, "process_items");
    assert_int_equal(bytes_at(stage, "process_bytes"), bytes_at(stage, "device_bytes") - FOREIGN_BYTES);
    assert_int_equal(items_sum(own), bytes_at(stage, "process_bytes"));
    assert_null(json_get(own, "baseline_bytes"));
    assert_int_equal(bytes_at(own, "context_bytes"), bytes_at(items, "context_bytes"));
    assert_int_equal(bytes_at(own, "remainder_bytes"), remainder);
}

static void every_byte_has_its_item(void **state)
{
    static const int64_t kernel_bytes[] = {0, KERNEL_BYTES};
    char nvml[64];
    snprintf(nvml, sizeof nvml, "process=4242:%d", FOREIGN_BYTES);
    for (int i = 0; i < 2; i++) {
        driver_set(kernel_bytes[i]);
        const struct json *line = case_measured(*state, nvml, "");
        const struct json *context = json_get(line, "context"), *stages = json_get(line, "stages");
        int64_t own = CONTEXT_BYTES + KERNELS_OF_OPENING * kernel_bytes[i];
        assert_int_equal(bytes_at(context, "baseline_bytes"), FOREIGN_BYTES);
        assert_int_equal(bytes_at(context, "device_bytes"), FOREIGN_BYTES + own);
        assert_int_equal(bytes_at(context, "process_bytes"), own);
        stage_check(json_get(stages, "load"), kernel_bytes[i], false);
        stage_check(json_get(stages, "forward"), kernel_bytes[i], true);
    }
}

/* Each line: what NVML tells, whether baseline and process are known at the end of forward, and the reason; NULL:
 * valid. The lists: one before the context, one at the end of context, one of load, one of forward. */
static const struct {
    const char *nvml;
    bool baseline, process;
    const char *reason;
} disturbed_rows[] = {
    {"ecc=1 mig=0", true, true, NULL},
    {"older", true, true, NULL},
    {"busless", true, true, NULL},
    {"busless uuidless", false, false, NULL},
    {"memoryless", false, true, NULL},
    {"hidden", true, false, NULL},
    {"mig=1", true, true, NULL},
    {"mig=1 uuidless", false, false, NULL},
    {"mig=1 uuidless instances=1", true, true, NULL},
    {"mig=1 uuidless instances=2", false, false, NULL},
    {"own=31337", true, true, NULL},
    {"layout=32", true, true, NULL},
    {"layout=16", true, true, NULL},
    {"layout=32 process=4242:4096 process=5:512", true, true,
     "2 other processes (4242 is one) held 4608 bytes (4.50 KiB) of the GPU at the end of stage context"},
    {"layout=16 process=4242:4096 process=5:512", true, true,
     "2 other processes (4242 is one) held 4608 bytes (4.50 KiB) of the GPU at the end of stage context"},
    {"ownless", true, false, NULL},
    {"own=31337 ownless", true, false, NULL},
    {"ownless process=4242:4096", true, false,
     "another process (4242) held 4096 bytes (4.00 KiB) of the GPU at the end of stage context"},
    {"process=4242:1048577", true, true,
     "another process (4242) held 1048577 bytes (1.00 MiB) of the GPU at the end of stage context"},
    {"process=4242:1048577@4", true, true,
     "another process (4242) held 1048577 bytes (1.00 MiB) of the GPU at the end of stage forward"},
    {"process=4242:1048577@0-1", true, true,
     "1 of the processes that were on the GPU before the context was made had left at the end of stage context"},
    {"process=4242:1048577@3-3", true, true,
     "another process (4242) held 1048577 bytes (1.00 MiB) of the GPU at the end of stage load"},
    {"graphics=77:4096", true, true,
     "another process (77) held 4096 bytes (4.00 KiB) of the GPU at the end of stage context"},
    {"process=4242:4096 graphics=4242:0 graphics=77:4096@3 process=5:512", true, true,
     "2 other processes (4242 is one) held 4608 bytes (4.50 KiB) of the GPU at the end of stage context"},
    {"untold=5@3", true, true,
     "another process (5) held bytes of the GPU, how many is not told, at the end of stage load"},
    {"own=31337 process=4242:1048577", true, true,
     "another process (4242) held 1048577 bytes (1.00 MiB) of the GPU at the end of stage context"},
    {"own=31337 process=4242:900000000@4", true, true,
     "another process (4242) held 900000000 bytes (858.31 MiB) of the GPU at the end of stage forward"},
    {"own=31337 process=4242:4096@2", true, true, /* once more is held than that one has, ours is told */
     "another process held bytes of the GPU, how many is not told, at the end of stage context"},
    {"own=31337 process=4242:900000000@2", true, false,
     "another process held bytes of the GPU, how many is not told, at the end of stage context"},
    {"failing@4", true, false,
     "the bytes of the process could not be read at the end of stage forward, as they were "
     "before"},
    {"ecc=1 ecc=0@3", true, true, "ECC was switched off before the end of stage load"},
    {"mig=0 mig=1@4", true, true, "MIG was switched on before the end of stage forward"},
};

static void a_row_says_what_disturbed_it(void **state)
{
    driver_set(0);
    for (size_t i = 0; i < sizeof disturbed_rows / sizeof disturbed_rows[0]; i++) {
        const struct json *line = case_measured(*state, disturbed_rows[i].nvml, "");
        const struct json *validity = json_get(line, "validity"), *reasons = json_get(validity, "reasons");
        const struct json *stage = json_get(json_get(line, "stages"), "forward");
        const char *reason = json_string_or(json_at(reasons, 0), "");
        if (known_at(stage, "process_bytes") != disturbed_rows[i].process ||
            known_at(json_get(line, "context"), "baseline_bytes") != disturbed_rows[i].baseline ||
            json_boolean_or(json_get(validity, "valid"), false) != (disturbed_rows[i].reason == NULL) ||
            strcmp(reason, disturbed_rows[i].reason != NULL ? disturbed_rows[i].reason : "") != 0) {
            fail_msg("%s: process %d, baseline %d, \"%s\"", disturbed_rows[i].nvml, known_at(stage, "process_bytes"),
                     known_at(json_get(line, "context"), "baseline_bytes"), reason);
        }
        assert_int_equal(items_sum(json_get(stage, "device_items")), bytes_at(stage, "device_bytes"));
        assert_int_equal(known_at(json_get(stage, "device_items"), "context_bytes"), disturbed_rows[i].baseline);
    }
}

/* The same figures with and without a disturbance; only the verdicts on readings are not judged. */
static void an_invalid_row_is_not_judged_by_its_readings(void **state)
{
    static const char keys[] =
        ", tolerances: {replay: {allocated_bytes_peak: 0, device_bytes: 99%, process_bytes: 99%}}";
    struct scene *scene = *state;
    char nvml[64];
    driver_set(0);
    snprintf(nvml, sizeof nvml, "process=4242:%d", FOREIGN_BYTES);
    for (int disturbed = 0; disturbed < 2; disturbed++) {
        const struct json *line = case_measured(scene, disturbed ? nvml : "ecc=1", keys);
        assert_string_equal(text_at(line, "status"), "ok");
        assert_int_equal(scene->result.outcome, disturbed ? RUN_INCONCLUSIVE : RUN_PASS);
        static const char *const readings[] = {"device_bytes", "process_bytes"};
        for (int i = 0; i < 2; i++) {
            const struct json *verdict = verdict_at(line, "replay", readings[i]);
            assert_int_equal(json_kind(json_get(verdict, "pass")), disturbed ? JSON_KIND_NULL : JSON_KIND_BOOLEAN);
            assert_string_equal(text_at(verdict, "note"), disturbed ? "the row is invalid" : "(null)");
            assert_true(known_at(verdict, "measured"));
        }
        assert_true(json_boolean_or(json_get(verdict_at(line, "replay", "allocated_bytes_peak"), "pass"), false));
        int64_t device = bytes_at(json_get(json_get(line, "stages"), "load"), "device_bytes");
        assert_int_equal(device - bytes_at(json_get(line, "context"), "device_bytes"),
                         bytes_at(json_get(json_get(line, "stages"), "load"), "reserved_bytes"));
    }
}

/* An instance has a UUID of its own. */
static void an_instance_is_named_as_one(void **state)
{
    driver_set(0);
    const struct json *line = case_measured(*state, "mig=1", "");
    assert_memory_equal(text_at(json_get(line, "device"), "uuid"), "MIG-", 4);
    line = case_measured(*state, "mig=0", "");
    assert_memory_equal(text_at(json_get(line, "device"), "uuid"), "GPU-", 4);
}

/* Cases that use a GPU at a time: of the whole device nothing is known, nor who loaded what; the others are no
 * foreigners. */
static void who_shares_a_gpu_is_told_of_itself_alone(void **state)
{
    struct scene *scene = *state;
    driver_set(KERNEL_BYTES);
    cases_set(scene, "  - {model: [tiny-gpt2, tiny-llama], mode: infer, seq: 4, for: sm_75}\n");
    struct run_options options = options_of(scene);
    options.runner = &case_runner_measure;
    options.device = "cuda:0";
    options.jobs = 2;
    assert_int_equal(setenv("EMULATED_NVML", "process=4242:1048577", 1), 0);
    run_with(scene, &options);
    assert_int_equal(unsetenv("EMULATED_NVML"), 0);
    for (int i = 0; i < 2; i++) {
        const struct json *line = case_at(scene, i), *stage = json_get(json_get(line, "stages"), "forward");
        const struct json *items = json_get(stage, "process_items");
        assert_true(json_boolean_or(json_get(json_get(line, "validity"), "valid"), false));
        assert_false(known_at(stage, "device_bytes") || known_at(stage, "device_items"));
        assert_false(known_at(json_get(line, "context"), "baseline_bytes"));
        assert_false(known_at(items, "kernel_bytes") || known_at(items, "library_bytes"));
        assert_int_equal(bytes_at(items, "context_bytes"), CONTEXT_BYTES + KERNELS_OF_OPENING * KERNEL_BYTES);
        assert_int_equal(items_sum(items), bytes_at(stage, "process_bytes"));
    }
}

/* A convolution's workspace is gone when it has run; the products' stay, that of cuBLAS and that of cublasLt. */
static void a_workspace_that_is_gone_is_no_item(void **state)
{
    struct scene *scene = *state;
    driver_set(0);
    cases_set(scene, "  - {model: tiny-resnet, mode: infer, for: sm_75}\n");
    measure(scene, "cuda:0");
    const struct json *line = case_at(scene, 0);
    const struct json *categories = json_get(line, "categories_at_peak");
    const struct json *items = json_get(json_get(json_get(line, "stages"), "forward"), "device_items");
    assert_true(bytes_at(categories, "workspace") > bytes_at(items, "workspace_bytes"));
    assert_int_equal(bytes_at(items, "workspace_bytes"), 8519680 + 1048576);
}

/* The driver is told what the case says before it makes the context, whatever the user's own environment has. */
static void modules_are_loaded_as_the_case_says(void **state)
{
    static const struct {
        const char *keys, *environment;
        int64_t bytes;
    } rows[] = {{"", NULL, CONTEXT_BYTES},
                {", module_loading: eager", NULL, CONTEXT_BYTES + MODULES_BYTES},
                {", module_loading: eager", "LAZY", CONTEXT_BYTES + MODULES_BYTES},
                {"", "EAGER", CONTEXT_BYTES}};
    driver_set(0);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *environment = rows[i].environment;
        assert_int_equal(
            environment != NULL ? setenv("CUDA_MODULE_LOADING", environment, 1) : unsetenv("CUDA_MODULE_LOADING"), 0);
        const struct json *line = case_measured(*state, NULL, rows[i].keys);
        assert_int_equal(bytes_at(json_get(line, "context"), "device_bytes"), rows[i].bytes);
    }
    unsetenv("CUDA_MODULE_LOADING");
}

/* NVML and the runtime need not count what is free to the same byte: what is a little above the total is a GPU that was
 * empty, and what is far above it counts something else. */
static void a_gpu_that_is_a_little_more_than_free_was_empty(void **state)
{
    static const struct {
        const char *nvml;
        int64_t baseline; /* -1: unknown */
    } rows[] = {{"offset=0", 0},
                {"offset=1", 0},
                {"offset=16777216", 0},
                {"offset=16777217", -1},
                {"offset=-3407872", 3407872}};
    driver_set(0);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct json *context = json_get(case_measured(*state, rows[i].nvml, ""), "context");
        assert_int_equal(json_integer_or(json_get(context, "baseline_bytes"), -1), rows[i].baseline);
    }
}

/* In this process: who opens a GPU twice is no stranger to itself. What was there before is not known any more. */
static void a_gpu_that_is_opened_twice_has_no_stranger(void **state)
{
    static const char *const nvml[] = {"ecc=1", "own=31337"};
    struct device *devices[2];
    struct device_reading reading;
    (void)state;
    driver_set(0);
    for (int turn = 0; turn < 2; turn++) {
        assert_int_equal(setenv("EMULATED_NVML", nvml[turn], 1), 0);
        for (int i = 0; i < 2; i++) {
            assert_int_equal(device_open("cuda:0", &devices[i], NULL), STATUS_OK);
            assert_int_equal(devices[i]->table->read_memory(devices[i], &reading, NULL), STATUS_OK);
            assert_int_equal(reading.disturbance.foreign_count, 0);
            assert_int_equal(reading.disturbance.foreign_gone_count, 0);
            assert_int_equal(reading.baseline_valid, turn == 0 && i == 0);
            assert_int_equal(reading.process_valid, turn == 0);
        }
        device_close(devices[0]);
        device_close(devices[1]);
    }
    unsetenv("EMULATED_NVML");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_byte_has_its_item, scene_open, scene_close),
        cmocka_unit_test_setup_teardown(a_row_says_what_disturbed_it, scene_open, scene_close),
        cmocka_unit_test_setup_teardown(an_invalid_row_is_not_judged_by_its_readings, scene_open, scene_close),
        cmocka_unit_test_setup_teardown(an_instance_is_named_as_one, scene_open, scene_close),
        cmocka_unit_test_setup_teardown(who_shares_a_gpu_is_told_of_itself_alone, scene_open, scene_close),
        cmocka_unit_test_setup_teardown(a_workspace_that_is_gone_is_no_item, scene_open, scene_close),
        cmocka_unit_test_setup_teardown(modules_are_loaded_as_the_case_says, scene_open, scene_close),
        cmocka_unit_test_setup_teardown(a_gpu_that_is_a_little_more_than_free_was_empty, scene_open, scene_close),
        /* The last: from here on this process has a context. */
        cmocka_unit_test(a_gpu_that_is_opened_twice_has_no_stranger),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
