/* Targets that are no class, on the emulated GPU: not an error there, because the host would have to wait for it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "harness/device/device.h"
#include "tests/kernels/trial_plan.h"

enum { COLUMNS = 5, ROWS = 6, WRONG_ROW = 2 };

/* The loss of the row is NaN and its gradient 0; every other row is what it is without it. */
static void a_wrong_target_spoils_its_own_row(void **state)
{
    (void)state;
    static const double wrong[] = {-1.0, COLUMNS, 1e15, -9e18};
    struct device *gpu = NULL;
    struct status error = {0};
    struct device_properties properties;
    if (device_open("cuda:0", &gpu, &error) != STATUS_OK ||
        gpu->table->properties(gpu, &properties, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    assert_string_equal(properties.name, "emulated sm_75"); /* a real GPU cannot read the trials' memory */
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct trial right, spoilt;
        trial_open(&right, OPCODE_CROSS_ENTROPY, MIX_FLOAT32, 3);
        trial_open(&spoilt, OPCODE_CROSS_ENTROPY, MIX_FLOAT32, 3);
        assert_true(plan_cross_entropy(&right, 1) && plan_cross_entropy(&spoilt, 1));
        assert_int_equal(tensor_element_count(&right.call.tensors[2]), ROWS * COLUMNS);
        trial_set(&spoilt, 0, WRONG_ROW, wrong[i]);
        assert_int_equal(gpu->table->run(gpu, &right.call, &error), STATUS_OK);
        assert_int_equal(gpu->table->run(gpu, &spoilt.call, &error), STATUS_OK);
        assert_int_equal(gpu->table->synchronize(gpu, &error), STATUS_OK);
        for (int64_t row = 0; row < ROWS; row++) {
            double loss = trial_get(&spoilt, 3, row);
            assert_true(row == WRONG_ROW ? isnan(loss) : loss == trial_get(&right, 3, row));
            for (int64_t k = row * COLUMNS; k < (row + 1) * COLUMNS; k++) {
                double wanted = row == WRONG_ROW ? 0.0 : trial_get(&right, 2, k);
                assert_true(trial_get(&spoilt, 2, k) == wanted);
            }
        }
        trial_close(&right);
        trial_close(&spoilt);
    }
    device_close(gpu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wrong_target_spoils_its_own_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
