/* Padded batches: what stands at padded places changes nothing, and every form of attention sees the same mask. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <math.h>

#include "tests/models/tape_machine.h"

enum { BATCH = 3, SEQ = 7, KEPT = 4 };

static const char *const names[] = {"bert", "gpt2", "llama-gqa"};

/* The loss of one step, after the token at (row, column) was replaced; row -1: none. */
static double loss_of(const char *name, const char *target, enum attention attention, bool padding, int row, int column)
{
    char path[256];
    struct tape_machine machine;
    struct workload workload = workload_default(MODE_TRAIN);
    workload.batch = BATCH;
    workload.seq = SEQ;
    workload.attention = attention;
    workload.padding = padding;
    snprintf(path, sizeof path, "peers/pytorch/tiny/%s/config.json", name);
    machine_open_for(&machine, target, path, &workload, 1, 1e-4);
    assert_true(machine_run_until(&machine, STAGE_FORWARD, 2)); /* the inputs are there */
    if (row >= 0) {
        int64_t *ids =
            (int64_t *)(void *)machine_floats(&machine, machine_find(&machine, CATEGORY_INPUTS, "input_ids"));
        ids[row * SEQ + column] = ids[row * SEQ + column] == 5 ? 6 : 5;
    }
    assert_true(machine_run_until(&machine, STAGE_STEP, 1));
    double loss = machine_loss(&machine);
    machine_close(&machine);
    return loss;
}

static void padded_tokens_change_nothing(void **state)
{
    (void)state;
    static const enum attention forms[] = {ATTENTION_SDPA, ATTENTION_EAGER};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        for (size_t k = 0; k < sizeof forms / sizeof forms[0]; k++) {
            double loss = loss_of(names[i], "host", forms[k], true, -1, 0);
            assert_true(isfinite(loss));
            assert_true(loss_of(names[i], "host", forms[k], true, 1, KEPT) == loss);
            assert_true(loss_of(names[i], "host", forms[k], true, 2, SEQ - 1) == loss);
            assert_true(loss_of(names[i], "host", forms[k], true, 0, SEQ - 2) != loss);
            assert_true(loss_of(names[i], "host", forms[k], true, 2, KEPT - 2) != loss);
        }
    }
}

/* "sm_90": memory-efficient with its padded rows of masks; "sm_75" in float32: likewise; "host": our own. */
static void all_forms_see_the_same_mask(void **state)
{
    (void)state;
    static const char *const targets[] = {"host", "sm_90", "sm_75"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        double eager = loss_of(names[i], "host", ATTENTION_EAGER, true, -1, 0);
        for (size_t k = 0; k < sizeof targets / sizeof targets[0]; k++) {
            double loss = loss_of(names[i], targets[k], ATTENTION_SDPA, true, -1, 0);
            if (fabs(loss - eager) > 1e-5 * eager) {
                fail_msg("%s, %s: loss %.9g, eager %.9g", names[i], targets[k], loss, eager);
            }
        }
        assert_true(fabs(loss_of(names[i], "host", ATTENTION_SDPA, false, -1, 0) - eager) > 1e-5 * eager);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(padded_tokens_change_nothing),
        cmocka_unit_test(all_forms_see_the_same_mask),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
