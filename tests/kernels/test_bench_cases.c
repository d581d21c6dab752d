/* `make bench` measures every operation, or says why not; and each of its calls is one that the contracts allow. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/kernels/kernel_host.h"
#include "tests/bench/kernel_case.h"
#include "tests/bench/product_case.h"

enum { ROWS = KERNEL_ROWS_DIVISOR, AREA_BYTES = ROWS * KERNEL_COLUMNS * 8, GUARD = 0x5a };

static void test_every_operation_has_a_row_or_a_reason(void **state)
{
    (void)state;
    int rows[OPCODE_COUNT] = {0}, reasons[OPCODE_COUNT] = {0};
    for (int i = 0; i < kernel_case_count; i++) {
        rows[kernel_cases[i].opcode]++;
    }
    for (int i = 0; i < product_case_count; i++) {
        rows[product_cases[i].opcode]++;
    }
    for (int i = 0; i < unmeasured_operation_count; i++) {
        assert_true(strlen(unmeasured_operations[i].reason) > 0);
        reasons[unmeasured_operations[i].opcode]++;
    }
    for (int opcode = 0; opcode < OPCODE_COUNT; opcode++) {
        if (rows[opcode] == 0 && reasons[opcode] == 0) {
            fail_msg("%s has no row in make bench: add one to tests/bench/kernel_case.c or product_case.c, or a reason",
                     opcode_name((enum opcode)opcode));
        }
        if (reasons[opcode] > 1 || (rows[opcode] > 0 && reasons[opcode] > 0)) {
            fail_msg("%s is measured and said not to be, or said so twice", opcode_name((enum opcode)opcode));
        }
    }
}

/* Stages every tensor of a case, and runs it. */
static void case_run(const struct kernel_case *kernel, unsigned char *areas)
{
    struct operation_call call = {.opcode = kernel->opcode,
                                  .input_count = (int)strlen(kernel->tensors) -
                                                 opcode_output_count(kernel->opcode), /* optional ones included */
                                  .attributes = kernel->attributes};
    for (const char *kind = kernel->tensors; *kind != '\0'; kind++) {
        unsigned char *data = areas + (size_t)call.tensor_count * AREA_BYTES;
        int64_t bytes = 0;
        memset(data, GUARD, AREA_BYTES);
        kernel_tensor_stage(*kind, ROWS, 1, data, &bytes);
        assert_true(bytes > 0 && bytes <= ROWS * KERNEL_COLUMNS * (int64_t)sizeof(float));
        assert_true(!kernel_tensor_is_short(*kind) || bytes <= ROWS * 64);
        assert_true(kernel_tensor_traffic(*kind, ROWS) == bytes || kernel_tensor_traffic(*kind, ROWS) == 2 * bytes);
        assert_int_equal(data[bytes], GUARD);
        call.tensors[call.tensor_count++] = kernel_tensor(*kind, ROWS, data);
    }
    const char *error = kernel_host_run(&call);
    if (error != NULL) {
        fail_msg("%s: %s", kernel->what, error);
    }
}

static void test_every_call_of_the_row_kernels_is_a_right_one(void **state)
{
    (void)state;
    unsigned char *areas = malloc((size_t)OPERATION_TENSORS_MAXIMUM * AREA_BYTES);
    assert_non_null(areas);
    for (int i = 0; i < kernel_case_count; i++) {
        case_run(&kernel_cases[i], areas);
    }
    free(areas);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_operation_has_a_row_or_a_reason),
        cmocka_unit_test(test_every_call_of_the_row_kernels_is_a_right_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
