/* What kernels and libraries take when they are loaded, told apart from everything else, and what becomes of it where a
 * question fails. Each body in a process of its own, because the emulated driver never unloads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/device/device.h"
#include "tests/cuda_emulation/fault_plan.h"
#include "tests/run/run_scene.h"

enum { KERNEL_BYTES = 10007, HANDLE_BYTES = 7000003 };

static enum status_code elementwise_run(struct device *device, enum opcode opcode)
{
    static float numbers[2];
    const struct tensor tensor = {.data = numbers, .dtype = DTYPE_FLOAT32, .rank = 1, .size = {1}, .stride = {1}};
    const struct operation_call call = {
        .opcode = opcode, .input_count = 1, .tensor_count = 2, .tensors = {tensor, tensor}};
    return device->table->run(device, &call, NULL);
}

/* 8 x 16 times 16 x 32 and a bias; skewed: the first matrix does not begin at 16 bytes, which cublasLt does not take;
 * beta: what was in the result is added, likewise. */
static enum status_code product_run(struct device *device, bool skewed, double beta)
{
    static _Alignas(16) float a[8 * 16 + 1], b[16 * 32], bias[32], out[8 * 32];
    const struct operation_call call = {
        .opcode = OPCODE_MATMUL,
        .input_count = 3,
        .tensor_count = 4,
        .tensors = {{.data = a + (skewed ? 1 : 0), .rank = 2, .size = {8, 16}, .stride = {16, 1}},
                    {.data = b, .rank = 2, .size = {16, 32}, .stride = {32, 1}},
                    {.data = bias, .rank = 1, .size = {32}, .stride = {1}},
                    {.data = out, .rank = 2, .size = {8, 32}, .stride = {32, 1}}},
        .attributes = {.f = {1.0, beta}}};
    return device->table->run(device, &call, NULL);
}

static bool loads_are(struct device *device, int64_t kernel_bytes, int64_t library_bytes)
{
    struct device_reading reading;
    return device->table->read_memory(device, &reading, NULL) == STATUS_OK && reading.kernel_valid &&
           reading.kernel_bytes == kernel_bytes && reading.library_valid && reading.library_bytes == library_bytes;
}

/* Loaded once, seen once; another operation is another kernel. */
static int kernels_are_counted(struct device *device)
{
    static const struct {
        enum opcode opcode;
        int64_t kernels;
    } rows[] = {{OPCODE_RELU, 1}, {OPCODE_RELU, 1}, {OPCODE_TANH, 2}, {OPCODE_RELU, 2}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (elementwise_run(device, rows[i].opcode) != STATUS_OK ||
            !loads_are(device, rows[i].kernels * KERNEL_BYTES, 0)) {
            return 2;
        }
    }
    return 0;
}

/* cublasLt brings cuBLAS with it, as PyTorch's handle of the one is that of the other; not the other way round. */
static int libraries_are_counted(struct device *device)
{
    bool done = product_run(device, false, 0.0) == STATUS_OK && loads_are(device, 0, 2 * HANDLE_BYTES) &&
                product_run(device, true, 0.0) == STATUS_OK && loads_are(device, 0, 2 * HANDLE_BYTES);
    return done ? 0 : 2;
}

/* A library that is opened by a later call of a form is counted too. */
static int the_other_library_is_counted(struct device *device)
{
    bool done = product_run(device, false, 1.0) == STATUS_OK && loads_are(device, 0, HANDLE_BYTES) &&
                product_run(device, false, 0.0) == STATUS_OK && loads_are(device, 0, 2 * HANDLE_BYTES);
    return done ? 0 : 2;
}

/* A reading, a kernel that is loaded, the same once more, a reading. */
static int questions_fail(struct device *device, bool kernel_known, bool device_known)
{
    struct device_reading reading;
    if (device->table->read_memory(device, &reading, NULL) != STATUS_OK || !reading.device_valid ||
        elementwise_run(device, OPCODE_RELU) != STATUS_OK || elementwise_run(device, OPCODE_RELU) != STATUS_OK ||
        device->table->synchronize(device, NULL) != STATUS_OK ||
        device->table->read_memory(device, &reading, NULL) != STATUS_OK) {
        return 2;
    }
    return reading.kernel_valid == kernel_known && reading.device_valid == device_known ? 0 : 3;
}

static int a_load_is_unknown(struct device *device)
{
    return questions_fail(device, false, true);
}

static int a_reading_is_unknown(struct device *device)
{
    return questions_fail(device, true, false);
}

static int body_run(int (*body)(struct device *device))
{
    struct device *device = NULL;
    if (device_open("cuda:0", &device, NULL) != STATUS_OK) {
        return 1;
    }
    int answer = body(device);
    device_close(device);
    return answer;
}

/* Questions are counted from 1: a reading, before and after the load, a reading. None that fails is an error. */
static void loads_are_told_apart(void **state)
{
    struct scene *scene = *state;
    static const struct {
        const char *driver, *fault;
        int (*body)(struct device *device);
    } rows[] = {{"kernel:10007", NULL, kernels_are_counted},
                {"handle:7000003", NULL, libraries_are_counted},
                {"handle:7000003", NULL, the_other_library_is_counted},
                {"kernel:10007", "cudaMemGetInfo:2:1", a_load_is_unknown},
                {"kernel:10007", "cudaMemGetInfo:3:1", a_load_is_unknown},
                {"kernel:10007", "cudaMemGetInfo:4:1", a_reading_is_unknown}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int wait_status = 0;
        assert_int_equal(setenv("EMULATED_DRIVER", rows[i].driver, 1), 0);
        if (rows[i].fault != NULL) {
            fault_plan(scene->folder, rows[i].fault);
        }
        pid_t child = fork();
        if (child == 0) {
            _exit(body_run(rows[i].body));
        }
        assert_true(child > 0 && waitpid(child, &wait_status, 0) == child);
        if (!WIFEXITED(wait_status) || WEXITSTATUS(wait_status) != 0) {
            fail_msg("row %zu ended with %d", i, wait_status);
        }
        if (rows[i].fault != NULL) {
            fault_unplan();
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(loads_are_told_apart, scene_open, scene_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
