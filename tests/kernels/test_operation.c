/* Every operation, every class of shapes, every mix of dtypes, against the double-precision reference. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/kernels/host.h"
#include "tests/kernels/reference.h"
#include "tests/kernels/trial_plan.h"

/* Products go to a BLAS; the device that has it tests them. */
static bool opcode_is_product(enum opcode opcode)
{
    return opcode == OPCODE_MATMUL || opcode == OPCODE_CONVOLUTION || opcode == OPCODE_CONVOLUTION_BACKWARD_INPUT ||
           opcode == OPCODE_CONVOLUTION_BACKWARD_WEIGHT;
}

static void test_every_operation_is_covered(void **state)
{
    (void)state;
    for (int opcode = 0; opcode < OPCODE_COUNT; opcode++) {
        enum opcode each = (enum opcode)opcode;
        bool covered = kernel_host_has(each) && reference_has(each) && trial_plan_for(each) != NULL;
        if (covered == opcode_is_product(each)) {
            fail_msg("%s: host %d, reference %d, plan %d", opcode_name(each), kernel_host_has(each),
                     reference_has(each), trial_plan_for(each) != NULL);
        }
    }
}

static void test_operation(void **state)
{
    enum opcode opcode = *(const enum opcode *)*state;
    trial_plan *plan = trial_plan_for(opcode);
    assert_non_null(plan);
    for (int mix = 0; mix < MIX_COUNT; mix++) {
        bool more = true;
        for (int variant = 0; more; variant++) {
            struct trial trial;
            trial_open(&trial, opcode, (enum mix)mix, (uint64_t)((int)opcode * 10000 + mix * 1000 + variant));
            more = plan(&trial, variant);
            if (more) {
                trial_run(&trial);
            }
            trial_close(&trial);
            assert_true(more || variant > 0);
        }
    }
}

int main(void)
{
    static enum opcode opcodes[OPCODE_COUNT];
    struct CMUnitTest tests[OPCODE_COUNT] = {cmocka_unit_test(test_every_operation_is_covered)};
    size_t count = 1;
    for (int opcode = 0; opcode < OPCODE_COUNT; opcode++) {
        opcodes[opcode] = (enum opcode)opcode;
        if (!opcode_is_product(opcodes[opcode])) {
            tests[count++] =
                (struct CMUnitTest){opcode_name(opcodes[opcode]), test_operation, NULL, NULL, &opcodes[opcode]};
        }
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
