/* The words that make the emulated driver as strict as a GPU: each catches a fault that the emulation lets pass without
 * it. Every body runs in a process of its own, because the words are read once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/device/device.h"
#include "tests/cuda_emulation/fault_plan.h"
#include "tests/cuda_emulation/gpus_need.h"
#include "tests/run/run_scene.h"

enum { NUMBERS = 1000, SEGMENT_BYTES = NUMBERS * 4, GRANULE = 2 << 20 };

struct scene_of_device {
    struct device *device;
    float *segment; /* of NUMBERS numbers, -1 each */
};

static int device_take(const char *spec, struct scene_of_device *scene)
{
    float numbers[NUMBERS];
    void *segment = NULL;
    for (int i = 0; i < NUMBERS; i++) {
        numbers[i] = -1.0f;
    }
    if (device_open(spec, &scene->device, NULL) != STATUS_OK ||
        scene->device->table->segment_alloc(scene->device, SEGMENT_BYTES, &segment, NULL) != STATUS_OK ||
        scene->device->table->copy_from_host(scene->device, segment, numbers, sizeof numbers, NULL) != STATUS_OK) {
        return 9;
    }
    scene->segment = segment;
    return 0;
}

/* Of `count` numbers, in place: what is negative becomes 0. */
static enum status_code relu_run(struct device *device, float *numbers, int64_t count, struct status *error)
{
    const struct tensor tensor = {.data = numbers, .dtype = DTYPE_FLOAT32, .rank = 1, .size = {count}, .stride = {1}};
    const struct operation_call call = {
        .opcode = OPCODE_RELU, .input_count = 1, .tensor_count = 2, .tensors = {tensor, tensor}};
    return device->table->run(device, &call, error);
}

static bool first_is(const struct scene_of_device *scene, float wanted)
{
    float first = 7.0f;
    return scene->device->table->copy_to_host(scene->device, &first, scene->segment, sizeof first, NULL) == STATUS_OK &&
           first == wanted;
}

/* What the process with this body ended with: its answer, or 128 and the signal. word: NULL, or "NAME=VALUE". */
static int answer_of(int (*body)(void), const char *word)
{
    char name[64] = "";
    int wait_status = 0;
    if (word != NULL) {
        const char *value = strchr(word, '=') + 1;
        snprintf(name, sizeof name, "%.*s", (int)(value - word - 1), word);
        assert_int_equal(setenv(name, value, 1), 0);
    }
    pid_t child = fork();
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL);
        alarm(250);
        _exit(body());
    }
    assert_true(child > 0 && waitpid(child, &wait_status, 0) == child);
    unsetenv(name);
    return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
}

/* -- EMULATED_FORK -- */

static int child_opens(void)
{
    struct scene_of_device scene;
    struct device *second = NULL;
    struct status error = {0};
    int wait_status = 0, code = device_take("cuda:0", &scene);
    pid_t child = code == 0 ? fork() : -1;
    if (child == 0) {
        code = device_open("cuda:0", &second, &error) == STATUS_OK ? 0 : 4;
        _exit(code == 0 || strstr(error.text, "initialization error") != NULL ? code : 8);
    }
    if (child < 0 || waitpid(child, &wait_status, 0) != child || !first_is(&scene, -1.0f)) {
        return 9;
    }
    return WEXITSTATUS(wait_status);
}

static void a_child_of_a_started_parent_has_no_runtime(void **state)
{
    (void)state;
    assert_int_equal(answer_of(child_opens, NULL), 0);
    assert_int_equal(answer_of(child_opens, "EMULATED_FORK=1"), 4);
}

/* -- EMULATED_GRANULES -- */

/* By how much the device's bytes grow with segments of these sizes and shrink without them. */
static int granules_are_counted(void)
{
    static const struct {
        int64_t bytes, growth, growth_of_granules;
    } rows[] = {{512, 512, GRANULE},
                {512, 512, 0},
                {GRANULE / 2, GRANULE / 2, 0},
                {GRANULE / 2, GRANULE / 2, GRANULE},
                {GRANULE / 2 + 1, GRANULE / 2 + 1, GRANULE},
                {3 * (int64_t)GRANULE, 3 * (int64_t)GRANULE, 3 * (int64_t)GRANULE},
                {3 * (int64_t)GRANULE + 1, 3 * (int64_t)GRANULE + 1, 4 * (int64_t)GRANULE}};
    enum { ROWS = sizeof rows / sizeof rows[0] };
    const bool granules = getenv("EMULATED_GRANULES") != NULL;
    struct device *device = NULL;
    struct device_reading begun, before, after;
    void *segments[ROWS];
    bool right = device_open("cuda:0", &device, NULL) == STATUS_OK &&
                 device->table->read_memory(device, &begun, NULL) == STATUS_OK;
    for (int i = 0; right && i < ROWS; i++) {
        right = device->table->read_memory(device, &before, NULL) == STATUS_OK &&
                device->table->segment_alloc(device, rows[i].bytes, &segments[i], NULL) == STATUS_OK &&
                device->table->read_memory(device, &after, NULL) == STATUS_OK &&
                after.device_bytes - before.device_bytes == (granules ? rows[i].growth_of_granules : rows[i].growth);
    }
    for (int i = 0; right && i < ROWS; i++) {
        right = device->table->segment_free(device, segments[i], rows[i].bytes, NULL) == STATUS_OK;
    }
    right = right && device->table->read_memory(device, &after, NULL) == STATUS_OK &&
            after.device_bytes == begun.device_bytes;
    return right ? 0 : 1;
}

static void memory_is_counted_by_granules(void **state)
{
    (void)state;
    assert_int_equal(answer_of(granules_are_counted, NULL), 0);
    assert_int_equal(answer_of(granules_are_counted, "EMULATED_GRANULES=1"), 0);
}

/* -- EMULATED_ALIGNMENT -- */

static int alignment_is_256(void)
{
    struct scene_of_device scene;
    void *more[8];
    int code = device_take("cuda:0", &scene);
    for (int i = 0; code == 0 && i < 8; i++) {
        code = scene.device->table->segment_alloc(scene.device, 1000 * (int64_t)i + 1, &more[i], NULL) == STATUS_OK &&
                       (uintptr_t)more[i] % 512 == 256
                   ? 0
                   : 1;
    }
    return code == 0 && first_is(&scene, -1.0f) ? 0 : 1;
}

static void memory_is_aligned_to_no_more_than_is_promised(void **state)
{
    (void)state;
    assert_int_equal(answer_of(alignment_is_256, "EMULATED_ALIGNMENT=256"), 0);
    assert_int_equal(setenv("EMULATED_ARENA", "1", 1), 0);
    assert_int_equal(answer_of(alignment_is_256, "EMULATED_ALIGNMENT=256"), 0);
    assert_int_equal(unsetenv("EMULATED_ARENA"), 0);
}

/* -- EMULATED_ARENA -- */

/* What is allowed: a kernel on its device's memory, copies, a second device beside it. */
static int memory_is_used_rightly(void)
{
    struct scene_of_device first, second;
    bool right = device_take("cuda:0", &first) == 0 && device_take("cuda:1", &second) == 0 &&
                 relu_run(first.device, first.segment, NUMBERS, NULL) == STATUS_OK &&
                 relu_run(second.device, second.segment, NUMBERS, NULL) == STATUS_OK && first_is(&first, 0.0f) &&
                 first_is(&second, 0.0f);
    return right ? 0 : 9;
}

static int host_reads_memory_of_the_device(void)
{
    struct scene_of_device scene;
    int code = device_take("cuda:0", &scene);
    return code != 0 ? code : *(volatile float *)scene.segment == -1.0f ? 0 : 1;
}

static int host_writes_memory_of_the_device(void)
{
    struct scene_of_device scene;
    int code = device_take("cuda:0", &scene);
    if (code == 0) {
        scene.segment[NUMBERS - 1] = 1.0f;
    }
    return code;
}

static int kernel_runs_on(struct device *device, float *numbers, int64_t count)
{
    struct status error;
    return relu_run(device, numbers, count, &error) == STATUS_OK &&
                   device->table->synchronize(device, &error) == STATUS_OK
               ? 0
               : 1;
}

static int kernel_runs_on_another_device(void)
{
    struct scene_of_device first, second;
    int code = device_take("cuda:0", &first) + device_take("cuda:1", &second);
    return code != 0 ? code : kernel_runs_on(first.device, second.segment, NUMBERS);
}

/* Up to a page further than the segment goes; with malloc there is enough behind it. */
static int kernel_runs_beyond_the_end(void)
{
    struct scene_of_device scene;
    void *behind = NULL;
    int code = device_take("cuda:0", &scene);
    code = code != 0 ? code : (int)scene.device->table->segment_alloc(scene.device, 1 << 20, &behind, NULL);
    return code != 0 ? code : kernel_runs_on(scene.device, scene.segment, NUMBERS + 128);
}

static int kernel_runs_on_what_was_freed(void)
{
    struct scene_of_device scene;
    int code = device_take("cuda:0", &scene);
    code = code != 0 ? code : (int)scene.device->table->segment_free(scene.device, scene.segment, SEGMENT_BYTES, NULL);
    return code != 0 ? code : kernel_runs_on(scene.device, scene.segment, 1);
}

static int copy_of(bool from_the_host, int64_t bytes)
{
    struct scene_of_device scene;
    static float numbers[2 * NUMBERS], others[2 * NUMBERS];
    int code = device_take("cuda:0", &scene);
    void *segment = bytes < SEGMENT_BYTES ? others : (void *)scene.segment;
    if (code != 0) {
        return code;
    }
    enum status_code copied = from_the_host
                                  ? scene.device->table->copy_from_host(scene.device, segment, numbers, bytes, NULL)
                                  : scene.device->table->copy_to_host(scene.device, numbers, segment, bytes, NULL);
    return copied == STATUS_OK ? 0 : 5;
}

static int copy_goes_beyond_the_end(void)
{
    return copy_of(true, SEGMENT_BYTES + 1);
}

static int copy_comes_from_beyond_the_end(void)
{
    return copy_of(false, SEGMENT_BYTES + 1);
}

static int copy_is_within_the_host(void)
{
    return copy_of(false, 16);
}

static void memory_of_a_device_is_not_the_hosts(void **state)
{
    (void)state;
    static const struct {
        int (*body)(void);
        int answer; /* with the word; any is possible without it */
    } rows[] = {{memory_is_used_rightly, 0},
                {host_reads_memory_of_the_device, 128 + SIGSEGV},
                {host_writes_memory_of_the_device, 128 + SIGSEGV},
                {kernel_runs_on_another_device, 128 + SIGSEGV},
                {kernel_runs_beyond_the_end, 128 + SIGSEGV},
                {kernel_runs_on_what_was_freed, 128 + SIGSEGV},
                {copy_goes_beyond_the_end, 5},
                {copy_comes_from_beyond_the_end, 5},
                {copy_is_within_the_host, 5}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int answer = answer_of(rows[i].body, "EMULATED_ARENA=1");
        if (answer != rows[i].answer) {
            fail_msg("row %zu ended with %d", i, answer);
        }
    }
    assert_int_equal(answer_of(memory_is_used_rightly, NULL), 0);
    assert_int_equal(answer_of(host_reads_memory_of_the_device, NULL), 0);
}

/* -- EMULATED_QUEUE -- */

/* The host looks at what a kernel has to write before it waits, and after. */
static int result_is_looked_at_early(void)
{
    struct scene_of_device scene;
    int code = device_take("cuda:0", &scene);
    if (code != 0 || relu_run(scene.device, scene.segment, NUMBERS, NULL) != STATUS_OK) {
        return 9;
    }
    float early = scene.segment[0];
    bool late = scene.device->table->synchronize(scene.device, NULL) == STATUS_OK && scene.segment[0] == 0.0f;
    return !late ? 9 : early == 0.0f ? 0 : 6;
}

/* What a copy brings is always the result. */
static int result_is_copied(void)
{
    struct scene_of_device scene;
    int code = device_take("cuda:0", &scene);
    return code == 0 && relu_run(scene.device, scene.segment, NUMBERS, NULL) == STATUS_OK && first_is(&scene, 0.0f) ? 0
                                                                                                                    : 9;
}

/* One device waits for its own work alone. */
static int the_other_device_is_waited_for(void)
{
    struct scene_of_device first, second;
    bool run = device_take("cuda:0", &first) == 0 && device_take("cuda:1", &second) == 0 &&
               relu_run(first.device, first.segment, NUMBERS, NULL) == STATUS_OK &&
               second.device->table->synchronize(second.device, NULL) == STATUS_OK;
    return !run ? 9 : first.segment[0] == 0.0f ? 0 : 6;
}

/* A fault of the second of three launches is told 7: by the next call that asks, 6: by one that waits. */
static int fault_is_told(void)
{
    struct scene_of_device scene;
    struct status error = {0};
    void *more = NULL;
    float first;
    int code = device_take("cuda:0", &scene);
    for (int i = 0; code == 0 && i < 3; i++) {
        code = relu_run(scene.device, scene.segment, NUMBERS, &error) == STATUS_OK ? 0 : 9;
    }
    if (code == 0 && scene.device->table->segment_alloc(scene.device, 4, &more, &error) != STATUS_OK) {
        code = 7;
    } else if (code == 0 && scene.device->table->synchronize(scene.device, &error) != STATUS_OK) {
        code = 6;
    }
    bool is_lost = scene.device->table->copy_to_host(scene.device, &first, scene.segment, 4, NULL) == STATUS_DEVICE;
    bool told = strstr(error.text, "one of the 3 operations queued since the last synchronisation") != NULL;
    return is_lost && told ? code : 9;
}

static void work_is_done_when_it_is_waited_for(void **state)
{
    struct scene *scene = *state;
    static int (*const bodies[])(void) = {result_is_looked_at_early, the_other_device_is_waited_for};
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        assert_int_equal(answer_of(bodies[i], NULL), 0);
        assert_int_equal(answer_of(bodies[i], "EMULATED_QUEUE=1"), 6);
    }
    assert_int_equal(answer_of(result_is_copied, "EMULATED_QUEUE=1"), 0);
    fault_plan(scene->folder, "launch:3:700"); /* the first is that of opening */
    assert_int_equal(answer_of(fault_is_told, NULL), 7);
    fault_unplan();
    fault_plan(scene->folder, "launch:3:700");
    assert_int_equal(answer_of(fault_is_told, "EMULATED_QUEUE=1"), 6);
    fault_unplan();
}

/* -- EMULATED_LATENCY -- */

/* A driver that needs longer for its first answer, a context or a kernel than the case has. */
static void a_slow_driver_ends_in_the_budget(void **state)
{
    struct scene *scene = *state;
    static const char *const words[] = {"init:3600000", "context:3600000", "module:3600000"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        assert_int_equal(setenv("EMULATED_LATENCY", words[i], 1), 0);
        cases_set(scene, "  - {model: tiny-gpt2, mode: infer, seq: 4, for: sm_75, timeout_seconds: 1}\n");
        measure(scene, "cuda:0");
        assert_int_equal(unsetenv("EMULATED_LATENCY"), 0);
        if (strstr(text_at(case_at(scene, 0), "reason"), "timeout") == NULL) {
            fail_msg("%s: %s, %s", words[i], text_at(case_at(scene, 0), "status"),
                     text_at(case_at(scene, 0), "reason"));
        }
    }
}

/* -- EMULATED_FIRST -- */

static int first_gpu_is_a_hopper(void)
{
    struct scene_of_device scene;
    struct device_properties properties;
    if (device_take("cuda:0", &scene) != 0 ||
        scene.device->table->properties(scene.device, &properties, NULL) != STATUS_OK) {
        return 9;
    }
    return strcmp(properties.target, "sm_90") == 0;
}

static void another_architecture_may_come_first(void **state)
{
    (void)state;
    assert_int_equal(answer_of(first_gpu_is_a_hopper, NULL), 0);
    assert_int_equal(answer_of(first_gpu_is_a_hopper, "EMULATED_FIRST=1"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_architecture_may_come_first),
        cmocka_unit_test(a_child_of_a_started_parent_has_no_runtime),
        cmocka_unit_test(memory_is_counted_by_granules),
        cmocka_unit_test(memory_is_aligned_to_no_more_than_is_promised),
        cmocka_unit_test(memory_of_a_device_is_not_the_hosts),
        cmocka_unit_test_setup_teardown(work_is_done_when_it_is_waited_for, scene_open, scene_close),
        cmocka_unit_test_setup_teardown(a_slow_driver_ends_in_the_budget, scene_open, scene_close),
    };
    gpus_need_two();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
