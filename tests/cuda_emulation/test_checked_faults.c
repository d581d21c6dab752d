/* Kernels that touch what they may not are found, with their name, where they stand and how far off they are
 * (EMULATED_PLANT, tests/cuda_emulation/checked/planted.cu); the same kernel without the fault is not. That the kernels
 * of the plug-in touch nothing else is for test_checked_conformance.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cuda_emulation/checked_plugin.h"

/* Two tensors of a segment, with room behind each. */
enum { SEGMENT_BYTES = 4096, FIRST = 512, SECOND = 1024, COUNT = 40 };

static struct {
    struct device *device;
    unsigned char *segment;
} checked;

static int set_up(void **state)
{
    (void)state;
    checked_open("cuda:0", SEGMENT_BYTES, &checked.device, &checked.segment);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    unsetenv("EMULATED_PLANT");
    checked_close(checked.device, checked.segment, SEGMENT_BYTES);
    return 0;
}

static struct tensor line_of_floats(void *data, int64_t count)
{
    return (struct tensor){.data = data, .dtype = DTYPE_FLOAT32, .rank = 1, .size = {count}, .stride = {1}};
}

static enum status_code relu_run(struct tensor from, struct tensor to, struct status *error)
{
    struct operation_call call = {.opcode = OPCODE_RELU, .input_count = 1, .tensor_count = 2, .tensors = {from, to}};
    enum status_code code = checked.device->table->run(checked.device, &call, error);
    return code == STATUS_OK ? checked.device->table->synchronize(checked.device, error) : code;
}

static enum status_code planted_run(const char *fault, struct status *error)
{
    assert_int_equal(setenv("EMULATED_PLANT", fault, 1), 0);
    return relu_run(line_of_floats(checked.segment + FIRST, COUNT), line_of_floats(checked.segment + SECOND, COUNT),
                    error);
}

static void planted_is_found(const char *fault, const char *const *words, int word_count)
{
    struct status error = {0};
    enum status_code code = planted_run(fault, &error);
    for (int k = 0; k < word_count; k++) {
        if (code == STATUS_OK || strstr(error.text, words[k]) == NULL) {
            fail_msg("%s: \"%s\" does not say \"%s\"", fault, error.text, words[k]);
        }
    }
}

#define FOUND(fault, ...)                                                                                              \
    planted_is_found(fault, (const char *const[]){__VA_ARGS__}, sizeof(const char *[]){__VA_ARGS__} / sizeof(char *))

static void right_kernels_run(void **state)
{
    (void)state;
    struct status error = {0};
    if (planted_run("none", &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
}

static void one_element_beyond_the_end_is_found(void **state)
{
    (void)state;
    FOUND("read-beyond", "planted_read_beyond reads 4 bytes", "end 4 beyond the end of tensor 0", "planted.cu:");
    FOUND("write-beyond", "planted_write_beyond writes 4 bytes", "end 4 beyond the end of tensor 1", "thread 40");
}

static void misaligned_vectors_are_found(void **state)
{
    (void)state;
    FOUND("misaligned", "planted_misaligned reads 16 bytes off their boundary", "thread 0");
    FOUND("misaligned-store", "planted_misaligned_store writes 16 bytes off their boundary", "thread 0");
}

static void shared_memory_is_written_before_it_is_read(void **state)
{
    (void)state;
    FOUND("unwritten", "planted_unwritten reads 4 bytes of shared memory that no thread of the block has written");
}

static void shared_memory_ends_where_the_launch_says(void **state)
{
    (void)state;
    FOUND("shared-beyond", "planted_shared_beyond writes 4 bytes");
}

static void variables_of_another_thread_are_not_read(void **state)
{
    (void)state;
    FOUND("local", "planted_local reads 4 bytes where the launch has no memory");
}

/* The tensor itself lies half outside of the segment. */
static void memory_ends_where_it_was_allocated(void **state)
{
    (void)state;
    struct status error = {0};
    unsetenv("EMULATED_PLANT");
    struct tensor from = line_of_floats(checked.segment + SEGMENT_BYTES - 4 * COUNT / 2, COUNT);
    assert_int_not_equal(relu_run(from, line_of_floats(checked.segment, COUNT), &error), STATUS_OK);
    assert_non_null(strstr(error.text, "where the launch has no memory"));
}

/* Rows of 5 with 3 behind each that are nobody's; only planted kernels touch those. */
static void gaps_between_rows_are_nobodys(void **state)
{
    (void)state;
    struct status error = {0};
    struct tensor rows = {
        .data = checked.segment + FIRST, .dtype = DTYPE_FLOAT32, .rank = 2, .size = {5, 8}, .stride = {11, 1}};
    struct tensor to = line_of_floats(checked.segment + SECOND, COUNT);
    struct operation_call call = {.opcode = OPCODE_COPY, .input_count = 1, .tensor_count = 2, .tensors = {rows, to}};
    to.rank = call.tensors[1].rank = 2;
    memcpy(call.tensors[1].size, rows.size, sizeof rows.size);
    call.tensors[1].stride[0] = 8;
    call.tensors[1].stride[1] = 1;
    unsetenv("EMULATED_PLANT");
    if (checked.device->table->run(checked.device, &call, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    assert_int_equal(setenv("EMULATED_PLANT", "none", 1), 0); /* reads 40 floats in a row */
    assert_int_not_equal(checked.device->table->run(checked.device, &call, &error), STATUS_OK);
    assert_non_null(strstr(error.text, "between the elements of tensor 0"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_kernels_run),
        cmocka_unit_test(one_element_beyond_the_end_is_found),
        cmocka_unit_test(misaligned_vectors_are_found),
        cmocka_unit_test(shared_memory_is_written_before_it_is_read),
        cmocka_unit_test(shared_memory_ends_where_the_launch_says),
        cmocka_unit_test(variables_of_another_thread_are_not_read),
        cmocka_unit_test(memory_ends_where_it_was_allocated),
        cmocka_unit_test(gaps_between_rows_are_nobodys),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
