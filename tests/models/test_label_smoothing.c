/* Smoothed labels on the host: torch's form and the Trainer's are two ways to one number, so their losses and all
 * gradients agree; and that number is what a share of the loss spread over all classes makes of the plain one. What is
 * taken for it is held by test_step_shadow.c. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/models/tiny_weights.h"

static const char *const families[] = {"bert", "gpt2", "llama-gqa", "qwen2"};

static void machine_step(struct tape_machine *machine, const char *family, enum label_smoothing form, bool padding)
{
    struct workload workload = tiny_workload(MODE_TRAIN);
    workload.label_smoothing = form;
    workload.padding = padding;
    machine_open_tiny(machine, family, &workload, 1, 1e-4);
    machine_prepare(machine);
    assert_true(machine_run_until(machine, STAGE_STEP, 1));
}

static void gradients_compare(const char *family, const struct tape_machine *one, const struct tape_machine *two)
{
    int count = 0;
    for (int i = 0; i < one->skeleton.tensor_count; i++) {
        const char *path = one->skeleton.tensors[i].path;
        int first = machine_find(one, CATEGORY_GRADIENTS, path), second = machine_find(two, CATEGORY_GRADIENTS, path);
        assert_int_equal(first >= 0, second >= 0);
        if (first < 0) {
            continue;
        }
        double a = norm_of(one, first), b = norm_of(two, second);
        if (fabs(a - b) > 1e-4 * a + 1e-7) {
            fail_msg("%s: the gradient of %s: %.9g and %.9g", family, path, a, b);
        }
        count++;
    }
    assert_true(count > 5);
}

static void both_forms_are_one_number(void **state)
{
    (void)state;
    for (int variant = 0; variant < 8; variant++) {
        const char *family = families[variant / 2];
        struct tape_machine plain, torch, trainer;
        machine_step(&plain, family, LABEL_SMOOTHING_NONE, variant % 2 == 1);
        machine_step(&torch, family, LABEL_SMOOTHING_CROSS_ENTROPY, variant % 2 == 1);
        machine_step(&trainer, family, LABEL_SMOOTHING_TRAINER, variant % 2 == 1);
        double loss = machine_loss(&torch), other = machine_loss(&trainer);
        if (fabs(loss - other) > 1e-5 * loss) {
            fail_msg("%s, variant %d: %.9g by torch, %.9g by the Trainer", family, variant, loss, other);
        }
        /* 0.9 of the loss, and 0.1 of the mean over classes, which is at least that of equal chances. */
        double spread = (loss - 0.9 * machine_loss(&plain)) / 0.1, even = log((double)plain.config.vocab);
        if (!(spread >= even && spread < 2.0 * even)) {
            fail_msg("%s, variant %d: a share of %g is spread; of equal chances it were %g", family, variant, spread,
                     even);
        }
        gradients_compare(family, &torch, &trainer);
        machine_close(&plain);
        machine_close(&torch);
        machine_close(&trainer);
    }
}

static void liger_and_smoothed_labels_exclude_each_other(void **state)
{
    (void)state;
    struct status error = {0};
    struct workload workload = workload_default(MODE_TRAIN);
    workload.label_smoothing = LABEL_SMOOTHING_TRAINER;
    assert_int_equal(workload_check(&workload, &error), STATUS_OK);
    workload.loss = LOSS_FUSED;
    assert_int_equal(workload_check(&workload, &error), STATUS_INVALID);
    assert_non_null(strstr(error.text, "write loss composed, or leave one of them out"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_forms_are_one_number),
        cmocka_unit_test(liger_and_smoothed_labels_exclude_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
