/* The mathematics of training: gradients against finite differences, against real PyTorch, with and without
 * checkpointing and accumulation, and a loss that falls. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>

#include "harness/base/json.h"
#include "models/config/family.h"
#include "tests/models/tiny_weights.h"
#include "tests/support/sanitized.h"

static const char *const families[] = {"bert",
                                       "gpt2",
                                       "llama-gqa",
                                       "vit",
                                       "tiny-resnet",
                                       "tiny-vgg",
                                       "tiny-convnext",
                                       "tiny-roberta",
                                       "tiny-distilbert",
                                       "tiny-bloom",
                                       "tiny-t5",
                                       "tiny-falcon",
                                       "tiny-falcon-alibi",
                                       "tiny-gpt-neo",
                                       "tiny-timm-vit"};

enum { FAMILY_TESTS = sizeof families / sizeof families[0] };

static struct workload training(enum attention attention)
{
    struct workload workload = tiny_workload(MODE_TRAIN);
    workload.attention = attention;
    workload.optimizer = OPTIMIZER_ADAM_FOREACH;
    return workload;
}

/* Smaller ones would vanish from layer to layer of a VGG, larger ones bend a ResNet's loss too much. */
static double parameter_size(const struct family *family)
{
    return strcmp(family->name, "resnet") == 0 ? 0.1 : strcmp(family->name, "vgg") == 0 ? 0.4 : 0.7;
}

/* Weights of ordinary size and without a pattern: where layers of sinusoids of 0.02 are normalised, the loss bends so
 * much that no step is both small enough for the derivative and large enough for float32. */
static void parameters_fill_large(struct tape_machine *machine)
{
    const struct skeleton *skeleton = &machine->skeleton;
    for (int i = 0; i < skeleton->tensor_count; i++) {
        const struct skeleton_tensor *tensor = &skeleton->tensors[i];
        int storage = machine_find(machine, CATEGORY_WEIGHTS, tensor->path);
        double size = parameter_size(machine->config.family);
        for (int64_t k = 0; storage >= 0 && k < tensor->element_count; k++) {
            double value = size * mix((uint64_t)k + 1000003u * (uint64_t)i + 2777u);
            machine_floats(machine, storage)[k] = (float)(is_norm_weight(skeleton, tensor) ? 1.0 + value : value);
        }
    }
}

/* -- against real PyTorch */

static struct json *reference_read(const char *path)
{
    struct status error = {0};
    struct json *document = NULL;
    if (json_parse_file(path, 1 << 22, &document, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    return document;
}

static struct json *reference_of(const char *name, struct json *document)
{
    char model[64];
    snprintf(model, sizeof model, "tiny/%s", name);
    struct json *models = json_get(document, "models");
    for (size_t i = 0; i < json_count(models); i++) {
        if (strcmp(json_string_or(json_get(json_at(models, i), "model"), ""), model) == 0) {
            return json_at(models, i);
        }
    }
    fail_msg("no reference of %s", model);
    return NULL;
}

static void torch_check(const char *name, const char *target, enum attention attention, enum loss form,
                        struct json *document)
{
    char path[256];
    struct tape_machine machine;
    struct workload workload = training(attention);
    struct status error = {0};
    const char *head = strchr(name, '#');
    char bare[64];
    workload.loss = form;
    snprintf(bare, sizeof bare, "%.*s", (int)strcspn(name, "#"), name);
    assert_int_equal(head != NULL ? workload_set(&workload, "head", head + 1, &error) : STATUS_OK, STATUS_OK);
    machine_open_for(&machine, target, config_path(bare, path), &workload, 1, 1e-4);
    struct json *reference = reference_of(name, document);
    machine_prepare(&machine);
    assert_true(machine_run_until(&machine, STAGE_STEP, 1));
    const char *key_of_loss = form == LOSS_FUSED ? "loss" : "loss_float64"; /* Liger's has no float64 */
    double expected = json_real_or(json_get(reference, key_of_loss), 0.0);
    double loss = machine_loss(&machine);
    if (!(fabs(loss - expected) <= 1e-5 * expected)) {
        fail_msg("%s: loss %.9g, PyTorch %.9g", name, loss, expected);
    }
    struct json *norms = json_get(reference, "gradients"), *exact = json_get(reference, "gradients_float64");
    double total = 0.0;
    for (size_t i = 0; i < json_count(norms); i++) {
        total += pow(json_real_or(json_get(norms, json_key_at(norms, i)), 0.0), 2.0);
    }
    assert_true(json_count(norms) > 10);
    for (size_t i = 0; i < json_count(norms); i++) {
        const char *key = json_key_at(norms, i);
        int storage = machine_find(&machine, CATEGORY_GRADIENTS, key);
        if (storage < 0) {
            fail_msg("%s: %s has no gradient", name, key);
        }
        double wanted = json_real_or(json_get(norms, key), 0.0);
        double got = norm_of(&machine, storage);
        /* Gradients that cancel (a bias before a normalisation) are rounding alone: measured against the whole. What
         * rounding does to the others is what it does in PyTorch itself, twice, because ours may go the other way; or
         * the most that it did in many runs, where rectifiers let a gradient jump. */
        double rounding = 2 * fabs(wanted - json_real_or(json_get(exact, key), wanted));
        rounding = fmax(rounding, json_real_or(json_get(json_get(reference, "gradients_rounding"), key), 0.0));
        if (!(fabs(got - wanted) <= 1e-4 * wanted + 1e-6 * sqrt(total) + rounding)) {
            fail_msg("%s: gradient of %s: %.9g, PyTorch %.9g", name, key, got, wanted);
        }
    }
    machine_close(&machine);
}

static void losses_and_gradients_are_those_of_pytorch(void **state)
{
    (void)state;
    static const char *const names[] = {"bert", "gpt2", "llama", "llama-gqa", "qwen2", "vit", "resnet18"};
    struct json *document = reference_read("peers/pytorch/tiny_losses.json");
    struct json *liger = reference_read("peers/pytorch/tiny_liger.json");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        torch_check(names[i], "host", ATTENTION_EAGER, LOSS_COMPOSED, document);
        torch_check(names[i], "host", ATTENTION_SDPA, LOSS_COMPOSED, document);
        torch_check(names[i], "sm_90", ATTENTION_SDPA, LOSS_COMPOSED, document); /* memory-efficient, or math */
        torch_check(names[i], "host", ATTENTION_EAGER, LOSS_FUSED, liger);
    }
    json_release(document);
    json_release(liger);
}

static void heads_are_pytorchs(void **state)
{
    (void)state;
    static const char *const names[] = {"bert#sequence",  "bert#token",         "bert#question", "roberta#sequence",
                                        "roberta#token",  "gpt2#sequence",      "gpt2#question", "llama#sequence",
                                        "llama#question", "llama-gqa#sequence", "qwen2#sequence"};
    struct json *document = reference_read("peers/pytorch/tiny_losses_heads.json");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        torch_check(names[i], "host", ATTENTION_EAGER, LOSS_COMPOSED, document);
        torch_check(names[i], "sm_90", ATTENTION_SDPA, LOSS_COMPOSED, document);
    }
    json_release(document);
}

/* The loss of a RegNet bends too much between the kinks of its rectifiers for a difference to tell its slope. */
static void regnet_is_pytorchs(void **state)
{
    (void)state;
    struct json *document = reference_read("peers/pytorch/tiny_losses_regnet.json");
    torch_check("tiny-regnet", "host", ATTENTION_SDPA, LOSS_COMPOSED, document);
    torch_check("tiny-regnet", "sm_90", ATTENTION_SDPA, LOSS_COMPOSED, document);
    json_release(document);
}

/* -- against finite differences */

static double loss_along(struct tape_machine *machine, const char *path, const float *direction, double step)
{
    machine_prepare(machine);
    parameters_fill_large(machine);
    int storage = machine_find(machine, CATEGORY_WEIGHTS, path);
    float *values = machine_floats(machine, storage);
    for (int64_t k = 0; k < machine_bytes(machine, storage) / 4; k++) {
        values[k] = (float)((double)values[k] + step * (double)direction[k]);
    }
    assert_true(machine_run_until(machine, STAGE_BACKWARD, 1));
    return machine_loss(machine);
}

/* The derivative along a tensor's own gradient is the gradient's length; fourth order central differences. */
static double difference_along(struct tape_machine *machine, const char *path, const float *direction, double step)
{
    double near = loss_along(machine, path, direction, step) - loss_along(machine, path, direction, -step);
    double far = loss_along(machine, path, direction, 2 * step) - loss_along(machine, path, direction, -2 * step);
    return (8.0 * near - far) / (12.0 * step);
}

/* The difference nearest to length over a few steps: a large one crosses the kinks of rectifiers and pools, a small one
 * drowns in the rounding of a float32 loss; which is best depends on the tensor. */
static double difference_nearest(struct tape_machine *machine, const char *path, const float *direction, double length)
{
    static const double changes[] = {0.005, 0.001, 0.0005, 0.0002}; /* of the loss */
    double nearest = 0.0;
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        double difference = difference_along(machine, path, direction, changes[i] / length);
        if (fabs(difference - length) < fabs(nearest - length)) {
            nearest = difference;
        }
        if (fabs(nearest - length) <= 1e-3 * length) {
            break;
        }
    }
    return nearest;
}

/* Checks the larger gradients of a family; the loss is float32, so smaller ones drown in its rounding. What the tape
 * runs is the same for each of them, so that sanitizers see one in three. */
static void differences_check(const char *name, struct workload workload)
{
    enum { STEP = IS_SANITIZED ? 3 : 1 };
    struct tape_machine machine;
    workload.batch = 8; /* batch normalisation over two samples of one pixel bends too much */
    machine_open_tiny(&machine, name, &workload, 1, 1e-4);
    int checked = 0;
    for (int i = 0; i < machine.skeleton.tensor_count; i++) {
        const struct skeleton_tensor *tensor = &machine.skeleton.tensors[i];
        if (tensor->is_buffer || tensor->tied_to >= 0 || i % STEP != 0) {
            continue;
        }
        machine_prepare(&machine);
        parameters_fill_large(&machine);
        assert_true(machine_run_until(&machine, STAGE_STEP, 1));
        int storage = machine_find(&machine, CATEGORY_GRADIENTS, tensor->path);
        double length = norm_of(&machine, storage);
        if (length < (parameter_size(machine.config.family) < 0.7 ? 1.0 : 0.1)) {
            continue;
        }
        size_t bytes = (size_t)machine_bytes(&machine, storage);
        float *direction = malloc(bytes);
        assert_non_null(direction);
        memcpy(direction, machine_floats(&machine, storage), bytes);
        for (size_t k = 0; k < bytes / 4; k++) {
            direction[k] = (float)((double)direction[k] / length);
        }
        double difference = difference_nearest(&machine, tensor->path, direction, length);
        if (!(fabs(difference - length) <= 1e-3 * length)) {
            fail_msg("%s: %s: gradient %.7g, finite differences %.7g", name, tensor->path, length, difference);
        }
        free(direction);
        checked++;
    }
    machine_close(&machine);
    assert_true(checked >= 6 / STEP);
}

static void gradients_are_those_of_finite_differences(void **state)
{
    (void)state;
    struct workload workload = training(ATTENTION_SDPA);
    for (int i = 0; i < FAMILY_TESTS; i++) {
        differences_check(families[i], workload);
    }
    workload.loss = LOSS_FUSED;
    differences_check("gpt2", workload);
    differences_check("vit", workload);
}

/* Classes of torchtune and litgpt; the former turn neighbours in Llama and halves in Qwen2. */
static void gradients_of_own_classes_are_those_of_finite_differences(void **state)
{
    (void)state;
    static const struct {
        enum model_code code;
        enum loss loss;
        const char *model;
    } rows[] = {{MODEL_CODE_TORCHTUNE, LOSS_CHUNKED_OUTPUT, "llama-gqa"},
                {MODEL_CODE_TORCHTUNE, LOSS_COMPOSED, "qwen2"},
                {MODEL_CODE_LITGPT, LOSS_CHUNKED, "qwen2"},
                {MODEL_CODE_LITGPT, LOSS_COMPOSED, "llama-gqa"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct workload workload = training(ATTENTION_SDPA);
        workload.model_code = rows[i].code;
        workload.loss = rows[i].loss;
        differences_check(rows[i].model, workload);
    }
}

/* -- ten steps lower the loss, in every family and precision */

static void ten_steps_of_adam_lower_the_loss(void **state)
{
    (void)state;
    static const enum optimizer optimizers[] = {OPTIMIZER_ADAM_FOREACH, OPTIMIZER_ADAMW_FUSED, OPTIMIZER_ADAM_SINGLE,
                                                OPTIMIZER_ADAM_8BIT};
    for (int i = 0; i < FAMILY_TESTS; i++) {
        for (size_t k = 0; k < sizeof optimizers / sizeof optimizers[0]; k++) {
            struct workload workload = training(ATTENTION_SDPA);
            workload.optimizer = optimizers[k];
            double first = tiny_loss_after(families[i], &workload, 1, 1e-3);
            double last = tiny_loss_after(families[i], &workload, 11, 1e-3);
            if (!(last < 0.97 * first)) {
                fail_msg("%s, %s: loss %g, after ten steps %g", families[i], optimizer_name(optimizers[k]), first,
                         last);
            }
        }
    }
}

static void momentum_lowers_the_loss(void **state)
{
    (void)state;
    struct workload workload = training(ATTENTION_SDPA);
    workload.optimizer = OPTIMIZER_SGD_MOMENTUM;
    double first = tiny_loss_after("gpt2", &workload, 1, 0.05);
    double last = tiny_loss_after("gpt2", &workload, 11, 0.05);
    assert_true(last < 0.97 * first);
}

static void every_precision_trains(void **state)
{
    (void)state;
    static const enum precision precisions[] = {PRECISION_BFLOAT16, PRECISION_AMP_BFLOAT16, PRECISION_AMP_FLOAT16};
    for (int i = 0; i < FAMILY_TESTS; i++) {
        struct workload workload = training(ATTENTION_SDPA);
        workload.optimizer = OPTIMIZER_ADAMW_FUSED;
        double exact = tiny_loss_after(families[i], &workload, 1, 1e-3);
        for (size_t k = 0; k < sizeof precisions / sizeof precisions[0]; k++) {
            workload.precision = precisions[k];
            double first = tiny_loss_after(families[i], &workload, 1, 1e-3);
            double last = tiny_loss_after(families[i], &workload, 11, 1e-3);
            if (!(fabs(first - exact) <= 0.03 * exact) || !(last < 0.97 * first)) {
                fail_msg("%s, %s: loss %g (float32: %g), after ten steps %g", families[i],
                         precision_name(precisions[k]), first, exact, last);
            }
        }
    }
}

/* -- transformations of the tape leave the mathematics alone */

static double gradient_difference(struct tape_machine *a, struct tape_machine *b)
{
    double worst = 0.0;
    for (int i = 0; i < a->skeleton.tensor_count; i++) {
        const struct skeleton_tensor *tensor = &a->skeleton.tensors[i];
        int one = machine_find(a, CATEGORY_GRADIENTS, tensor->path);
        int two = machine_find(b, CATEGORY_GRADIENTS, tensor->path);
        assert_int_equal(one >= 0, two >= 0);
        for (int64_t k = 0; one >= 0 && k < machine_bytes(a, one) / 4; k++) {
            double left = (double)machine_floats(a, one)[k], right = (double)machine_floats(b, two)[k];
            double error = fabs(left - right) / (norm_of(a, one) + 1e-12);
            worst = isnan(error) ? INFINITY : fmax(worst, error);
        }
    }
    return worst;
}

static void checkpointing_changes_no_gradient(void **state)
{
    (void)state;
    static const char *const names[] = {"bert-dropout", "gpt2-dropout", "llama-gqa", "vit"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct tape_machine plain, checkpointed;
        struct workload workload = training(ATTENTION_SDPA);
        machine_open_tiny(&plain, names[i], &workload, 1, 1e-4);
        workload.checkpointing = true;
        machine_open_tiny(&checkpointed, names[i], &workload, 1, 1e-4);
        assert_true(checkpointed.view.saved_for_backward_bytes < plain.view.saved_for_backward_bytes);
        machine_prepare(&plain);
        machine_prepare(&checkpointed);
        assert_true(machine_run_until(&plain, STAGE_STEP, 1));
        assert_true(machine_run_until(&checkpointed, STAGE_STEP, 1));
        assert_true(machine_loss(&plain) == machine_loss(&checkpointed));
        assert_true(gradient_difference(&plain, &checkpointed) == 0.0);
        machine_close(&plain);
        machine_close(&checkpointed);
    }
}

static void accumulation_sums_micro_batches(void **state)
{
    (void)state;
    struct tape_machine once, twice;
    struct workload workload = training(ATTENTION_SDPA);
    machine_open_tiny(&once, "gpt2", &workload, 1, 1e-4);
    workload.accumulate = 2; /* the same batch twice, each half: the same gradients */
    machine_open_tiny(&twice, "gpt2", &workload, 1, 1e-4);
    machine_prepare(&once);
    machine_prepare(&twice);
    assert_true(machine_run_until(&once, STAGE_STEP, 1));
    assert_true(machine_run_until(&twice, STAGE_STEP, 1));
    assert_true(gradient_difference(&once, &twice) < 1e-6);
    machine_close(&once);
    machine_close(&twice);
}

/* The step's gradients are unscaled, whoever scaled the loss; a loss that is not divided has twice the gradients. */
static void scalers_and_division_change_gradients_as_they_say(void **state)
{
    (void)state;
    static const enum optimizer optimizers[] = {OPTIMIZER_ADAMW_FUSED, OPTIMIZER_ADAMW_FOREACH, OPTIMIZER_SGD};
    for (size_t i = 0; i < 2 * sizeof optimizers / sizeof optimizers[0]; i++) {
        struct workload workload = training(ATTENTION_SDPA);
        workload.precision = PRECISION_AMP_FLOAT16;
        workload.optimizer = optimizers[i / 2];
        workload.clip_grad = i % 2 == 0 ? CLIP_GRAD_NONE : CLIP_GRAD_FOREACH;
        double lean = tiny_loss_after("gpt2", &workload, 5, 1e-2);
        workload.grad_scaler = GRAD_SCALER_TORCH;
        assert_true(tiny_loss_after("gpt2", &workload, 5, 1e-2) == lean);
    }
    struct workload workload = training(ATTENTION_SDPA);
    workload.optimizer = OPTIMIZER_SGD;
    workload.accumulate = 2;
    double divided = tiny_loss_after("gpt2", &workload, 2, 2e-2);
    workload.accumulated_loss = ACCUMULATED_LOSS_WHOLE;
    double whole = tiny_loss_after("gpt2", &workload, 2, 1e-2);
    assert_true(fabs(divided - whole) < 1e-6 && tiny_loss_after("gpt2", &workload, 2, 2e-2) < whole - 1e-4);
}

enum { AVERAGED_NUMBERS = 64 };

static void numbers_copy(const struct tape_machine *machine, enum category category, const char *label,
                         float numbers[AVERAGED_NUMBERS])
{
    int storage = machine_find(machine, category, label);
    assert_true(storage >= 0);
    memcpy(numbers, machine_floats(machine, storage), AVERAGED_NUMBERS * sizeof numbers[0]);
}

static double averaged(double average, double weight, int times)
{
    for (int i = 0; i < times; i++) {
        average = 0.999 * average + 0.001 * weight;
    }
    return average;
}

/* AveragedModel's first update copies. timm's averages a tied weight twice, because the state dict has it twice. */
static void averages_follow_the_weights(void **state)
{
    (void)state;
    for (int kind = WEIGHT_AVERAGE_AVERAGED_MODEL; kind < WEIGHT_AVERAGE_COUNT; kind++) {
        struct tape_machine machine;
        float weights[3][AVERAGED_NUMBERS], average[AVERAGED_NUMBERS];
        struct workload workload = training(ATTENTION_SDPA);
        workload.weight_average = (enum weight_average)kind;
        machine_open_tiny(&machine, "gpt2", &workload, 3, 0.5);
        for (int step = 0; step < 3; step++) {
            assert_true(machine_run_until(&machine, STAGE_BACKWARD, step == 0 ? 1 : 2));
            numbers_copy(&machine, CATEGORY_WEIGHTS, "transformer.wte.weight", weights[step]);
        }
        numbers_copy(&machine, CATEGORY_OPTIMIZER, "average", average);
        for (int i = 0; i < AVERAGED_NUMBERS; i++) {
            bool copies = kind == WEIGHT_AVERAGE_AVERAGED_MODEL;
            double first = copies ? weights[1][i] : averaged(weights[0][i], weights[1][i], 2);
            double expected = averaged(first, weights[2][i], copies ? 1 : 2);
            if (fabs(average[i] - expected) > 1e-6 || weights[1][i] == weights[2][i]) {
                fail_msg("%s, %d: %.8g, not %.8g; weights %g, %g, %g", weight_average_name(workload.weight_average), i,
                         (double)average[i], expected, (double)weights[0][i], (double)weights[1][i],
                         (double)weights[2][i]);
            }
        }
        machine_close(&machine);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses_and_gradients_are_those_of_pytorch),
        cmocka_unit_test(heads_are_pytorchs),
        cmocka_unit_test(regnet_is_pytorchs),
        cmocka_unit_test(gradients_are_those_of_finite_differences),
        cmocka_unit_test(gradients_of_own_classes_are_those_of_finite_differences),
        cmocka_unit_test(ten_steps_of_adam_lower_the_loss),
        cmocka_unit_test(momentum_lowers_the_loss),
        cmocka_unit_test(every_precision_trains),
        cmocka_unit_test(checkpointing_changes_no_gradient),
        cmocka_unit_test(accumulation_sums_micro_batches),
        cmocka_unit_test(scalers_and_division_change_gradients_as_they_say),
        cmocka_unit_test(averages_follow_the_weights),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
