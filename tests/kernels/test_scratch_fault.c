/* Host operations whose scratch space cannot be had: each allocation of each operation fails once. The linker leads
 * this program's own calls of malloc and its like here (Makefile: --wrap), and nobody else's: OpenMP ends a process
 * that has no memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "harness/device/refusal.h"
#include "harness/kernels/kernel_host.h"
#include "tests/kernels/trial_plan.h"
#include "tests/support/device_use.h"

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_aligned_alloc(size_t alignment, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);

static int failing_call; /* 1: the next one; 0: none */

static bool fails(void)
{
    return failing_call > 0 && --failing_call == 0;
}

void *__wrap_malloc(size_t bytes)
{
    return fails() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return fails() ? NULL : __real_calloc(count, bytes);
}

void *__wrap_aligned_alloc(size_t alignment, size_t bytes)
{
    return fails() ? NULL : __real_aligned_alloc(alignment, bytes);
}

/* Runs one call again and again, with one allocation more before the one that fails, until it needs no more of them.
 * What is said is host_no_memory and nothing else, and nothing is written. Returns how many allocations there are. */
static int allocations_fail(const struct trial *trial)
{
    size_t bytes;
    unsigned char *before = trial_outputs_copy(trial, &bytes);
    for (int call = 1;; call++) {
        failing_call = call;
        const char *said = kernel_host_run(&trial->call);
        bool was_reached = failing_call == 0;
        failing_call = 0;
        if (!was_reached) {
            assert_null(said);
            free(before);
            return call - 1;
        }
        unsigned char *after = trial_outputs_copy(trial, &bytes);
        if (said != host_no_memory) {
            fail_msg("%s: %s", opcode_name(trial->call.opcode), said != NULL ? said : "it ran");
        }
        assert_memory_equal(before, after, bytes);
        free(after);
    }
}

static void every_allocation_that_fails_is_told_as_such(void **state)
{
    (void)state;
    int asking_count = 0;
    for (int opcode = 0; opcode < OPCODE_COUNT; opcode++) {
        int most = 0;
        for (int variant = 0; kernel_host_has((enum opcode)opcode); variant++) {
            struct trial trial;
            trial_open(&trial, (enum opcode)opcode, MIX_FLOAT16, 3000 + (uint64_t)variant);
            bool is_planned = trial_plan_for((enum opcode)opcode)(&trial, variant);
            int count = is_planned ? allocations_fail(&trial) : 0;
            most = count > most ? count : most;
            trial_close(&trial);
            if (!is_planned) {
                break;
            }
        }
        asking_count += most > 0;
    }
    assert_in_range(asking_count, 20, OPCODE_COUNT); /* or the calls are not led here */
}

/* The case does not fit, and the device is not broken. */
static void the_device_is_out_of_memory(void **state)
{
    (void)state;
    struct device *device = device_open_or_skip("host");
    struct status error = {0};
    uint16_t in[4] = {0}, out[4] = {1, 2, 3, 4};
    struct operation_call call = {.opcode = OPCODE_SOFTMAX, .tensor_count = 2, .input_count = 1};
    call.tensors[0] = (struct tensor){.data = in, .dtype = DTYPE_FLOAT16, .rank = 1, .size = {4}, .stride = {1}};
    call.tensors[1] = call.tensors[0];
    call.tensors[1].data = out;
    failing_call = 1;
    enum status_code code = device->table->run(device, &call, &error);
    failing_call = 0;
    assert_int_equal(code, STATUS_OUT_OF_MEMORY);
    assert_string_equal(error.text,
                        "host: out of memory: SOFTMAX float16 [4] -> float16 [4]: scratch space wanted, and "
                        "the kernel maps no more; choose a smaller case or raise ulimit");
    assert_int_equal(refusal_source_of(error.text), REFUSAL_LIMIT);
    assert_int_equal(out[3], 4);
    assert_int_equal(device->table->run(device, &call, &error), STATUS_OK);
    assert_int_equal(out[3], 0x3400); /* a quarter */
    device_close(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_that_fails_is_told_as_such),
        cmocka_unit_test(the_device_is_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
