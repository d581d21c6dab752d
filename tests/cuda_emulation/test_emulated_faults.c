/* Faults of a GPU, each once: what the device says of it and of everything after it, and that in a run it costs one
 * row. The emulated runtime makes them (EMULATED_FAULT). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/device/device.h"
#include "tests/conformance/conform_worker.h"
#include "tests/cuda_emulation/fault_plan.h"
#include "tests/run/run_scene.h"

/* A GPU so small that want of memory is a reason for what cuBLAS says of it. */
static int small_gpu_open(void **state)
{
    return setenv("EMULATED_DEVICE_BYTES", "67108864", 1) == 0 ? scene_open(state) : 1;
}

static int small_gpu_close(void **state)
{
    unsetenv("EMULATED_DEVICE_BYTES");
    return scene_close(state);
}

static const char *reason_of_first(struct scene *scene, const char *call, const char *status)
{
    fault_plan(scene->folder, call);
    enum run_outcome outcome = measure(scene, "cuda:0");
    fault_unplan();
    if (strcmp(text_at(case_at(scene, 0), "status"), status) != 0) {
        fail_msg("%s: %s: %s", call, text_at(case_at(scene, 0), "status"), text_at(case_at(scene, 0), "reason"));
    }
    assert_string_equal(text_at(case_at(scene, 1), "status"), "ok");
    assert_int_equal(outcome, RUN_INCONCLUSIVE);
    return text_at(case_at(scene, 0), "reason");
}

/* Each line: the call that fails, how the case ends, and two pieces of what is said. The second case is measured. */
static void a_fault_costs_one_row(void **state)
{
    struct scene *scene = *state;
    static const struct {
        const char *call, *status, *cause, *where;
    } rows[] = {
        {"cudaMalloc:2:700", "error", "cudaMalloc of 2", "cudaErrorIllegalAddress); the context is lost"},
        {"launch:40:9", "error", "invalid configuration argument", "cuda:0: "},
        {"launch:40:700", "error", "an illegal memory access was encountered", "operations queued since the last"},
        {"launch:40:214", "error", "uncorrectable ECC error", "of which the last is "},
        {"cudaDeviceSynchronize:3:719", "error", "cuda:0: synchronisation: ", "of which the last is "},
        {"cudaMemcpy:1:700", "error", "copy of 4 bytes to the host", "the context is lost"},
        {"cudaMemGetInfo:1:999", "error", "cuda:0: cudaMemGetInfo", "the context is lost"},
        {"cublasGemm:2:7", "error", "CUBLAS_STATUS_INVALID_VALUE", "cuda:0: MATMUL float32 ["},
        {"cublasGemm:2:3", "oom", "CUBLAS_STATUS_ALLOC_FAILED", "cuda:0: MATMUL float32 ["},
        {"cublasLtMatmul:2:700", "error", "CUBLAS_STATUS_EXECUTION_FAILED", "the context is lost"},
    };
    cases_set(scene, "  - {model: tiny-bert, mode: train, seq: [4, 8], for: sm_75}\n");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *reason = reason_of_first(scene, rows[i].call, rows[i].status);
        if (strstr(reason, rows[i].cause) == NULL || strstr(reason, rows[i].where) == NULL) {
            fail_msg("%s: \"%s\" does not say \"%s\" and \"%s\"", rows[i].call, reason, rows[i].cause, rows[i].where);
        }
    }
}

/* The same call fails first soon, then ever later, until the case has no so many of them. Every time one row, of the
 * kind that is expected, and a second case that is what it is without a fault. */
static void a_fault_is_one_row_wherever_it_falls(void **state)
{
    struct scene *scene = *state;
    static const struct {
        const char *name;
        int code;
        const char *status;
    } rows[] = {{"launch", 2, "oom"},         {"launch", 700, "error"},     {"cublasGemm", 3, "oom"},
                {"cublasLtMatmul", 3, "oom"}, {"cublasGemm", 719, "error"}, {"cudaDeviceSynchronize", 2, "oom"}};
    cases_set(scene, "  - {model: tiny-bert, mode: train, seq: [4, 8], for: sm_75}\n");
    assert_int_equal(measure(scene, "cuda:0"), RUN_PASS);
    char hash[32];
    double loss = json_real_or(json_get(case_at(scene, 1), "loss"), -1);
    snprintf(hash, sizeof hash, "%s", text_at(case_at(scene, 1), "sequence_hash"));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int reached = 0;
        for (int position = 1, next = 2; position > 0; next = position + next, position = next - position) {
            char call[64];
            snprintf(call, sizeof call, "%s:%d:%d", rows[i].name, position, rows[i].code);
            fault_plan(scene->folder, call);
            measure(scene, "cuda:0");
            if (!fault_withdraw()) { /* neither case has so many */
                break;
            }
            const char *status = text_at(case_at(scene, 0), "status");
            bool in_first = strcmp(status, "ok") != 0;
            const struct json *broken = case_at(scene, in_first ? 0 : 1), *whole = case_at(scene, in_first ? 1 : 0);
            if (strcmp(text_at(broken, "status"), rows[i].status) != 0) {
                fail_msg("%s: %s: %s", call, text_at(broken, "status"), text_at(broken, "reason"));
            }
            assert_string_equal(text_at(whole, "status"), "ok");
            assert_true(!in_first || (strcmp(text_at(whole, "sequence_hash"), hash) == 0 &&
                                      json_real_or(json_get(whole, "loss"), -2) == loss));
            reached++;
        }
        assert_true(reached >= 3);
    }
}

/* In a process of its own, because the emulated context is lost for good. */
static int fault_stays(void)
{
    struct device *device = NULL;
    struct status first, again;
    struct device_reading reading;
    struct device_properties properties;
    void *address = NULL;
    float numbers[2] = {1.0f, 0.0f};
    struct operation_call call = {
        .opcode = OPCODE_RELU,
        .input_count = 1,
        .tensor_count = 2,
        .tensors = {{.data = numbers, .dtype = DTYPE_FLOAT32, .rank = 1, .size = {1}, .stride = {1}},
                    {.data = numbers + 1, .dtype = DTYPE_FLOAT32, .rank = 1, .size = {1}, .stride = {1}}}};
    if (device_open("cuda:0", &device, &first) != STATUS_OK) {
        return 1;
    }
    const struct device_table *table = device->table;
    if (table->run(device, &call, &first) != STATUS_OK || table->synchronize(device, &first) != STATUS_DEVICE ||
        strcmp(
            first.text,
            "cuda:0: synchronisation: an illegal memory access was encountered (cudaErrorIllegalAddress); the context "
            "is lost. The fault lies in one of the 1 operations queued since the last synchronisation, of which the "
            "last is RELU float32 [1] -> float32 [1]") != 0) {
        return 2;
    }
    enum status_code codes[] = {
        table->run(device, &call, &again),
        table->synchronize(device, &again),
        table->segment_alloc(device, 512, &address, &again),
        table->copy_to_host(device, numbers, numbers + 1, 4, &again),
        table->copy_from_host(device, numbers, numbers + 1, 4, &again),
        table->properties(device, &properties, &again),
        table->read_memory(device, &reading, &again),
    };
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        if (codes[i] != STATUS_DEVICE) {
            return 3;
        }
    }
    int code = strcmp(again.text, first.text) == 0 ? 0 : 4;
    device_close(device);
    return code;
}

/* cuBLAS refuses for want of a workspace: the product is made all the same, by a kernel that needs none. */
static int product_is_made(void)
{
    struct device *device = NULL;
    struct status error;
    float numbers[3] = {3.0f, 5.0f, 0.0f};
    struct operation_call call = {
        .opcode = OPCODE_MATMUL, .input_count = 2, .tensor_count = 3, .attributes = {.f = {2.0}}};
    for (int t = 0; t < 3; t++) {
        call.tensors[t] =
            (struct tensor){.data = &numbers[t], .dtype = DTYPE_FLOAT32, .rank = 2, .size = {1, 1}, .stride = {1, 1}};
    }
    if (device_open("cuda:0", &device, &error) != STATUS_OK || device->table->run(device, &call, &error) != STATUS_OK ||
        device->table->synchronize(device, &error) != STATUS_OK) {
        return 1;
    }
    int code = numbers[2] == 30.0f ? 0 : 2;
    device_close(device);
    return code;
}

static int answer_of_child(struct scene *scene, const char *fault, int (*run)(void))
{
    int wait_status = 0;
    fault_plan(scene->folder, fault);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        _exit(run());
    }
    assert_int_equal(waitpid(pid, &wait_status, 0), pid);
    fault_unplan();
    assert_true(WIFEXITED(wait_status));
    return WEXITSTATUS(wait_status);
}

static void the_first_fault_is_the_answer_to_everything_after_it(void **state)
{
    /* The first launch is that of opening. */
    assert_int_equal(answer_of_child(*state, "launch:2:700", fault_stays), 0);
}

static void a_product_without_workspace_that_cublas_refuses_is_made(void **state)
{
    assert_int_equal(answer_of_child(*state, "cublasGemm:1:3", product_is_made), 0);
}

/* The device of a process is lost with the first trial that makes an illegal address; the next operation has another
 * process. */
static void an_illegal_address_costs_one_operation(void **state)
{
    struct scene *scene = *state;
    enum { MINUTE = 60 };
    static const struct tape_calls no_calls;
    struct conform_worker worker;
    struct conformance conformance;
    struct conformance_request request = {.plan = plan_element, .calls = &no_calls, .seed = 1};
    fault_plan(scene->folder, "launch:5:700");
    assert_int_equal(conform_worker_open(&worker, "cuda:0", NULL), STATUS_OK);
    request.opcode = OPCODE_RELU;
    worker_conform(&worker, &request, MINUTE, &conformance);
    fault_unplan();
    assert_true(conformance.lost);
    assert_non_null(strstr(text_string(&conformance.report), "the rest of it is untried, the device is lost: cuda:0"));
    conformance_release(&conformance);
    request.opcode = OPCODE_GELU;
    worker_conform(&worker, &request, MINUTE, &conformance);
    assert_true(conformance_is_whole(&conformance) && conformance.cells[DTYPE_FLOAT32].trial_count > 0);
    conformance_release(&conformance);
    conform_worker_close(&worker);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_fault_costs_one_row, small_gpu_open, small_gpu_close),
        cmocka_unit_test_setup_teardown(a_fault_is_one_row_wherever_it_falls, small_gpu_open, small_gpu_close),
        cmocka_unit_test_setup_teardown(the_first_fault_is_the_answer_to_everything_after_it, scene_open, scene_close),
        cmocka_unit_test_setup_teardown(a_product_without_workspace_that_cublas_refuses_is_made, scene_open,
                                        scene_close),
        cmocka_unit_test_setup_teardown(an_illegal_address_costs_one_operation, scene_open, scene_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
