/* The PTX that nvcc is given for tensor cores, interpreted, does what its stand-ins do, on which all other tests of
 * attention rely. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cuda_emulation/checked/planted.h"
#include "tests/cuda_emulation/checked_plugin.h"

enum { LANES = 64, COUNT = PTX_FUNCTIONS * LANES, BYTES = COUNT * 4 };

static const char *const functions[PTX_FUNCTIONS] = {"tensor_core_multiply of float16",
                                                     "tensor_core_multiply of bfloat16",
                                                     "pair_of float16",
                                                     "pair_of bfloat16",
                                                     "matrices_load",
                                                     "matrices_load_transposed",
                                                     "copies",
                                                     "value_here"};

static void instructions_do_what_their_stand_ins_do(void **state)
{
    (void)state;
    struct device *device = NULL;
    unsigned char *segment = NULL;
    struct status error = {0};
    float counts[COUNT];
    struct operation_call call = {.opcode = OPCODE_RELU, .input_count = 1, .tensor_count = 2};
    checked_open("cuda:0", 2 * BYTES, &device, &segment);
    for (int k = 0; k < COUNT; k++) {
        counts[k] = (float)k + 0.5f;
    }
    for (int t = 0; t < 2; t++) {
        call.tensors[t] = (struct tensor){
            .data = segment + t * BYTES, .dtype = DTYPE_FLOAT32, .rank = 1, .size = {COUNT}, .stride = {1}};
    }
    assert_int_equal(device->table->copy_from_host(device, segment, counts, BYTES, &error), STATUS_OK);
    assert_int_equal(setenv("EMULATED_PLANT", "ptx", 1), 0);
    if (device->table->run(device, &call, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    assert_int_equal(device->table->copy_to_host(device, counts, segment + BYTES, BYTES, &error), STATUS_OK);
    for (int k = 0; k < COUNT; k++) {
        if (counts[k] != 0.0f) {
            fail_msg("%s: lane %d differs from its stand-in %g times", functions[k / LANES], k % LANES,
                     (double)counts[k]);
        }
    }
    unsetenv("EMULATED_PLANT");
    checked_close(device, segment, 2 * BYTES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(instructions_do_what_their_stand_ins_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
