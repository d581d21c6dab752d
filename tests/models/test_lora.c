/* Adapters of LoRA: their mathematics against real PEFT, what is frozen stays as it is, and together with what else
 * training has: checkpointing, micro-batches, 8-bit states, 16-bit models. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/base/json.h"
#include "harness/case/share.h"
#include "models/find/config_file.h"
#include "tests/models/tiny_weights.h"

static const char peer_path[] = "peers/pytorch/tiny_lora.json";
static const char *const families[] = {"bert", "gpt2", "llama-gqa", "qwen2"};

enum { FAMILY_TESTS = sizeof families / sizeof families[0] };

static struct workload adapting(enum lora_targets targets)
{
    struct workload workload = tiny_workload(MODE_TRAIN);
    workload.lora_rank = 4;
    workload.lora_targets = targets;
    return workload;
}

/* -- against PEFT */

static void row_check(const struct json *row, enum attention attention)
{
    struct tape_machine machine;
    const char *model = json_string_or(json_get(row, "model"), "");
    struct workload workload = adapting(LORA_TARGETS_ATTENTION);
    assert_int_equal(workload_set(&workload, "lora_targets", json_string_or(json_get(row, "lora_targets"), ""), NULL),
                     STATUS_OK);
    workload.attention = attention;
    machine_open_tiny(&machine, model + strlen("tiny/"), &workload, 1, 1e-4);
    machine_prepare(&machine);
    assert_true(machine_run_until(&machine, STAGE_STEP, 1));
    double expected = json_real_or(json_get(row, "loss"), 0.0);
    if (fabs(machine_loss(&machine) - expected) > 1e-5 * expected) {
        fail_msg("%s: loss %.9g, PEFT %.9g", model, machine_loss(&machine), expected);
    }
    const struct json *norms = json_get(row, "gradients");
    int gradient_count = 0;
    double total = 0.0;
    for (size_t i = 0; i < json_count(norms); i++) {
        total += pow(json_real_or(json_get(norms, json_key_at(norms, i)), 0.0), 2.0);
    }
    for (size_t i = 0; i < json_count(norms); i++) {
        const char *key = json_key_at(norms, i);
        int storage = machine_find(&machine, CATEGORY_GRADIENTS, key);
        double wanted = json_real_or(json_get(norms, key), 0.0), got = storage < 0 ? NAN : norm_of(&machine, storage);
        if (!(fabs(got - wanted) <= 1e-4 * wanted + 1e-6 * sqrt(total))) {
            fail_msg("%s: gradient of %s: %.9g, PEFT %.9g", model, key, got, wanted);
        }
    }
    for (int i = 0; i < machine.skeleton.tensor_count; i++) {
        gradient_count += machine_find(&machine, CATEGORY_GRADIENTS, machine.skeleton.tensors[i].path) >= 0;
    }
    assert_int_equal(gradient_count, json_count(norms));
    machine_close(&machine);
}

static void losses_and_gradients_are_those_of_peft(void **state)
{
    (void)state;
    struct status error = {0};
    struct json *document = NULL;
    if (json_parse_file(peer_path, 1 << 22, &document, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    const struct json *rows = json_get(document, "models");
    assert_int_equal(json_count(rows), 15);
    for (size_t i = 0; i < json_count(rows); i++) {
        row_check(json_at(rows, i), ATTENTION_EAGER);
        row_check(json_at(rows, i), ATTENTION_SDPA);
    }
    json_release(document);
}

/* -- what is frozen */

static void only_adapters_are_changed(void **state)
{
    (void)state;
    for (int family = 0; family < FAMILY_TESTS; family++) {
        struct tape_machine machine;
        struct workload workload = adapting(LORA_TARGETS_LINEAR);
        machine_open_tiny(&machine, families[family], &workload, 2, 1e-2);
        const struct skeleton *skeleton = &machine.skeleton;
        machine_prepare(&machine);
        double *before = calloc((size_t)skeleton->tensor_count, sizeof *before);
        assert_non_null(before);
        for (int i = 0; i < skeleton->tensor_count; i++) {
            int storage = machine_find(&machine, CATEGORY_WEIGHTS, skeleton->tensors[i].path);
            before[i] = storage >= 0 ? norm_of(&machine, storage) : 0.0;
        }
        machine_run_until(&machine, STAGE_GENERATE, 1); /* there is none: to the end */
        int adapter_count = 0;
        for (int i = 0; i < skeleton->tensor_count; i++) {
            const struct skeleton_tensor *tensor = &skeleton->tensors[i];
            int storage = machine_find(&machine, CATEGORY_WEIGHTS, tensor->path);
            bool changed = storage >= 0 && norm_of(&machine, storage) != before[i];
            if (changed != tensor->is_adapter) {
                fail_msg("%s: %s is %s", families[family], tensor->path, changed ? "changed" : "not changed");
            }
            adapter_count += tensor->is_adapter;
        }
        assert_true(adapter_count >= 8);
        free(before);
        machine_close(&machine);
    }
}

/* -- with what else training has */

static void ten_steps_lower_the_loss(void **state)
{
    (void)state;
    for (int family = 0; family < FAMILY_TESTS; family++) {
        for (int variant = 0; variant < 4; variant++) {
            struct workload workload = adapting(LORA_TARGETS_LINEAR);
            workload.optimizer = variant % 2 == 0 ? OPTIMIZER_ADAMW_FUSED : OPTIMIZER_ADAM_8BIT;
            workload.precision = variant == 0   ? PRECISION_FLOAT32
                                 : variant == 3 ? PRECISION_AMP_BFLOAT16
                                                : PRECISION_BFLOAT16;
            workload.checkpointing = variant > 1;
            workload.accumulate = variant == 3 ? 2 : 1;
            double first = tiny_loss_after(families[family], &workload, 1, 1e-2);
            double last = tiny_loss_after(families[family], &workload, 11, 1e-2);
            if (!(last < 0.99 * first)) {
                fail_msg("%s, variant %d: loss %g, after ten steps %g", families[family], variant, first, last);
            }
        }
    }
}

static void checkpointing_changes_no_gradient(void **state)
{
    (void)state;
    for (int variant = 0; variant < 2 * FAMILY_TESTS; variant++) {
        int family = variant / 2;
        struct tape_machine plain, checkpointed;
        struct workload workload = adapting(LORA_TARGETS_ATTENTION);
        workload.lora_dropout = variant % 2 == 0 ? 0 : share_millionths(0.3); /* drawn again, as it was drawn */
        machine_open_tiny(&plain, families[family], &workload, 1, 1e-4);
        workload.checkpointing = true;
        machine_open_tiny(&checkpointed, families[family], &workload, 1, 1e-4);
        machine_prepare(&plain);
        machine_prepare(&checkpointed);
        assert_true(machine_run_until(&plain, STAGE_STEP, 1));
        assert_true(machine_run_until(&checkpointed, STAGE_STEP, 1));
        assert_true(machine_loss(&plain) == machine_loss(&checkpointed));
        for (int i = 0; i < plain.skeleton.tensor_count; i++) {
            const char *path = plain.skeleton.tensors[i].path;
            int one = machine_find(&plain, CATEGORY_GRADIENTS, path);
            int two = machine_find(&checkpointed, CATEGORY_GRADIENTS, path);
            assert_int_equal(one >= 0, two >= 0);
            assert_true(one < 0 || norm_of(&plain, one) == norm_of(&checkpointed, two));
        }
        machine_close(&plain);
        machine_close(&checkpointed);
    }
}

/* Dropout of what the first factors see: other losses and gradients, unless nearly nothing is dropped. */
static void a_dropout_acts_before_the_adapters(void **state)
{
    (void)state;
    static const double shares[] = {0.0, 0.000001, 0.5};
    for (int family = 0; family < FAMILY_TESTS; family++) {
        double losses[3];
        for (int i = 0; i < 3; i++) {
            struct workload workload = adapting(LORA_TARGETS_LINEAR);
            workload.lora_dropout = share_millionths(shares[i]);
            losses[i] = tiny_loss_after(families[family], &workload, 3, 1e-2);
        }
        double near = fabs(losses[1] - losses[0]), far = fabs(losses[2] - losses[0]);
        if (!(near < 1e-5 * losses[0] && far > 1e-4 * losses[0])) {
            fail_msg("%s: losses %g, %g, %g", families[family], losses[0], losses[1], losses[2]);
        }
    }
}

static void models_without_targets_are_refused(void **state)
{
    (void)state;
    static const char *const names[] = {"vit", "tiny-resnet"};
    for (size_t i = 0; i < 2; i++) {
        char path[256];
        struct status error = {0};
        struct config config;
        struct skeleton skeleton;
        struct workload workload = adapting(LORA_TARGETS_ATTENTION);
        assert_int_equal(config_read(config_path(names[i], path), names[i], &config, &error), STATUS_OK);
        assert_int_equal(workload_skeleton(&config, &workload, &skeleton, &error), STATUS_INVALID);
        assert_non_null(strstr(error.text, "lora_rank: PEFT has no targets for models of images"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses_and_gradients_are_those_of_peft),
        cmocka_unit_test(only_adapters_are_changed),
        cmocka_unit_test(ten_steps_lower_the_loss),
        cmocka_unit_test(checkpointing_changes_no_gradient),
        cmocka_unit_test(a_dropout_acts_before_the_adapters),
        cmocka_unit_test(models_without_targets_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
