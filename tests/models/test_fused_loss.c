/* Training with the fused cross entropy, or one in chunks, beside the composed one: the same loss and gradients,
 * fewer bytes. Its bytes are held against Liger-Kernel's own function in test_pytorch_shadow.c. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "harness/base/json.h"
#include "harness/kernels/convert.h"
#include "harness/kernels/kernel_host.h"
#include "models/find/catalogue.h"
#include "tests/models/shadow_lines.h"
#include "tests/models/tiny_weights.h"

static const char *const families[] = {"bert", "gpt2", "llama-gqa", "qwen2", "vit", "tiny-resnet"};

enum { FAMILY_TESTS = sizeof families / sizeof families[0], TEXT_FAMILIES = 4 };

static struct workload training(enum loss loss)
{
    struct workload workload = tiny_workload(MODE_TRAIN);
    workload.optimizer = OPTIMIZER_ADAM_FOREACH;
    workload.loss = loss;
    return workload;
}

static double gradients_length(const struct tape_machine *machine)
{
    double sum = 0.0;
    for (int i = 0; i < machine->skeleton.tensor_count; i++) {
        int storage = machine_find(machine, CATEGORY_GRADIENTS, machine->skeleton.tensors[i].path);
        sum += storage >= 0 ? pow(norm_of(machine, storage), 2.0) : 0.0;
    }
    return sqrt(sum);
}

/* Element by element, to 1e-5 of the gradient's length; of a tenth of all lengths, where it cancels (a bias before a
 * normalisation) and is rounding alone. */
static void gradients_compare(const char *name, const struct tape_machine *composed, const struct tape_machine *fused)
{
    double whole = gradients_length(composed);
    int compared = 0;
    for (int i = 0; i < composed->skeleton.tensor_count; i++) {
        const char *path = composed->skeleton.tensors[i].path;
        int one = machine_find(composed, CATEGORY_GRADIENTS, path), two = machine_find(fused, CATEGORY_GRADIENTS, path);
        assert_int_equal(one >= 0, two >= 0);
        double allowed = one >= 0 ? 1e-5 * (norm_of(composed, one) + 0.1 * whole) : 0.0;
        for (int64_t k = 0; one >= 0 && k < machine_bytes(composed, one) / 4; k++) {
            double wanted = (double)machine_floats(composed, one)[k], got = (double)machine_floats(fused, two)[k];
            if (!(fabs(got - wanted) <= allowed)) {
                fail_msg("%s: gradient of %s, element %lld: %.9g, composed %.9g", name, path, (long long)k, got,
                         wanted);
            }
        }
        compared += one >= 0;
    }
    assert_true(compared > 10);
}

/* One step in the workload's form and in the composed one: loss and gradients. */
static void forms_compare(const char *name, struct workload workload)
{
    struct tape_machine composed, fused;
    machine_open_tiny(&fused, name, &workload, 1, 1e-4);
    workload.loss = LOSS_COMPOSED;
    machine_open_tiny(&composed, name, &workload, 1, 1e-4);
    machine_prepare(&composed);
    machine_prepare(&fused);
    assert_true(machine_run_until(&composed, STAGE_STEP, 1));
    assert_true(machine_run_until(&fused, STAGE_STEP, 1));
    double wanted = machine_loss(&composed), loss = machine_loss(&fused);
    if (!(fabs(loss - wanted) <= 1e-5 * wanted)) {
        fail_msg("%s: loss %.9g, composed %.9g", name, loss, wanted);
    }
    gradients_compare(name, &composed, &fused);
    machine_close(&composed);
    machine_close(&fused);
}

static void loss_and_gradients_are_those_of_the_composed_form(void **state)
{
    (void)state;
    for (int i = 0; i < FAMILY_TESTS; i++) {
        forms_compare(families[i], training(LOSS_FUSED));
    }
}

/* Gradients of half a loss and of half a loss: each is multiplied in place of the logits. */
static void micro_batches_take_their_share(void **state)
{
    (void)state;
    for (int i = 0; i < FAMILY_TESTS; i++) {
        struct workload workload = training(LOSS_FUSED);
        workload.accumulate = 2;
        forms_compare(families[i], workload);
    }
}

static void targets_that_do_not_count_give_nothing(void **state)
{
    (void)state;
    for (int i = 0; i < TEXT_FAMILIES; i++) {
        struct workload workload = training(LOSS_FUSED);
        workload.padding = true;
        forms_compare(families[i], workload);
        workload.checkpointing = true;
        forms_compare(families[i], workload);
    }
}

static void adapters_take_the_same_gradients(void **state)
{
    (void)state;
    struct workload workload = training(LOSS_FUSED);
    workload.lora_rank = 4;
    workload.lora_targets = LORA_TARGETS_LINEAR;
    forms_compare("llama-gqa", workload);
}

/* Chunks that divide the tokens and chunks that do not, one for each token, and one for all; and of a padded batch some
 * in which no label counts. */
static void chunks_take_the_same_gradients(void **state)
{
    (void)state;
    static const char *const decoders[] = {"gpt2", "llama-gqa"};
    static const int64_t sizes[] = {0, 1, 3, 4, 100};
    for (enum loss loss = LOSS_CHUNKED; loss < LOSS_COUNT; loss++) {
        for (size_t i = 0; i < 2 * sizeof sizes / sizeof sizes[0]; i++) {
            struct workload workload = training(loss);
            workload.loss_chunk_size = sizes[i / 2];
            forms_compare(decoders[i % 2], workload);
            workload.padding = true;
            workload.checkpointing = true;
            forms_compare(decoders[i % 2], workload);
        }
    }
}

/* The scaler of amp-float16 multiplies the gradients by 1024 before they are rounded. */
static void every_precision_trains(void **state)
{
    (void)state;
    static const enum precision precisions[] = {PRECISION_FLOAT32, PRECISION_FLOAT16, PRECISION_BFLOAT16,
                                                PRECISION_AMP_BFLOAT16, PRECISION_AMP_FLOAT16};
    for (int i = 0; i < FAMILY_TESTS; i++) {
        for (size_t k = 0; k < sizeof precisions / sizeof precisions[0]; k++) {
            struct workload workload = training(LOSS_COMPOSED);
            workload.optimizer = OPTIMIZER_ADAMW_FUSED;
            workload.precision = precisions[k];
            double composed = tiny_loss_after(families[i], &workload, 1, 1e-3);
            workload.loss = LOSS_FUSED;
            double first = tiny_loss_after(families[i], &workload, 1, 1e-3);
            if (fabs(first - composed) > 0.02 * composed) {
                fail_msg("%s, %s: loss %g, composed %g", families[i], precision_name(precisions[k]), first, composed);
            }
            double last = precisions[k] == PRECISION_FLOAT16 ? 0.0 : tiny_loss_after(families[i], &workload, 11, 1e-3);
            if (!(last < 0.97 * first)) {
                fail_msg("%s, %s: loss %g, after ten steps %g", families[i], precision_name(precisions[k]), first,
                         last);
            }
        }
    }
}

/* -- the operations beside Liger's own kernels: peers/pytorch/tiny_liger.py */

enum { CALL_ROWS = 8, CALL_ELEMENTS = 1024 };

static struct tensor tensor_over(void *data, enum dtype dtype, int rank, int64_t rows, int64_t columns)
{
    return (struct tensor){
        .data = data, .dtype = dtype, .rank = rank, .size = {rows, columns}, .stride = {rank == 2 ? columns : 1, 1}};
}

static void operation_run(enum opcode opcode, int input_count, int count, const struct tensor *const *tensors,
                          struct operation_attributes attributes)
{
    struct operation_call call = {
        .opcode = opcode, .input_count = input_count, .tensor_count = count, .attributes = attributes};
    for (int t = 0; t < count; t++) {
        call.tensors[t] = *tensors[t];
    }
    assert_null(kernel_host_run(&call));
}

/* The loss; the gradient takes the place of the logits. */
static float loss_make(struct tensor *logits, const struct tensor *targets, float scale)
{
    unsigned char mask_data[CALL_ROWS];
    int64_t masked_data[CALL_ROWS], count_data = 0, rows = logits->size[0], columns = logits->size[1];
    float losses_data[CALL_ROWS], loss_data[2] = {0.0f}, factor_data = scale;
    struct tensor mask = tensor_over(mask_data, DTYPE_BOOL, 1, rows, 1);
    struct tensor masked = tensor_over(masked_data, DTYPE_INT64, 1, rows, 1);
    struct tensor count = tensor_over(&count_data, DTYPE_INT64, 1, 1, 1);
    struct tensor losses = tensor_over(losses_data, logits->dtype, 1, rows, 1);
    struct tensor loss = tensor_over(loss_data, logits->dtype, 1, 1, 1);
    struct tensor factor = tensor_over(&factor_data, DTYPE_FLOAT32, 2, rows, columns);
    factor.stride[0] = factor.stride[1] = 0;
    operation_run(OPCODE_TARGET_MASK, 1, 4, (const struct tensor *[]){targets, &mask, &masked, &count},
                  (struct operation_attributes){.i = {columns}});
    operation_run(OPCODE_CROSS_ENTROPY, 2, 4, (const struct tensor *[]){targets, &count, logits, &losses},
                  (struct operation_attributes){{0}, {0}});
    operation_run(OPCODE_SUM, 1, 2, (const struct tensor *[]){&losses, &loss},
                  (struct operation_attributes){.f = {1.0}});
    if (scale != 1.0f) {
        operation_run(OPCODE_MULTIPLY, 2, 3, (const struct tensor *[]){logits, &factor, logits},
                      (struct operation_attributes){{0}, {0}});
    }
    return float_load(loss_data, loss.dtype, 0);
}

static void call_check(const struct json *reference)
{
    float memory[CALL_ELEMENTS];
    int64_t targets_data[CALL_ROWS];
    const char *name = json_string_or(json_get(reference, "dtype"), "");
    enum dtype dtype = strcmp(name, "float16") == 0    ? DTYPE_FLOAT16
                       : strcmp(name, "bfloat16") == 0 ? DTYPE_BFLOAT16
                                                       : DTYPE_FLOAT32;
    int64_t rows = json_integer_or(json_get(reference, "rows"), 0);
    int64_t columns = json_integer_or(json_get(reference, "classes"), 0);
    assert_true(rows <= CALL_ROWS && rows * columns <= CALL_ELEMENTS);
    struct tensor logits = tensor_over(memory, dtype, 2, rows, columns);
    struct tensor targets = tensor_over(targets_data, DTYPE_INT64, 1, rows, 1);
    for (int64_t k = 0; k < rows * columns; k++) {
        float_store(memory, dtype, k, (float)(16.0 * mix((uint64_t)k)));
    }
    for (int64_t row = 0; row < rows; row++) {
        targets_data[row] = row % 3 == 1 ? -100 : (7 * row + 3) % columns;
    }
    double scale = json_real_or(json_get(reference, "scale"), 0.0);
    double loss = (double)loss_make(&logits, &targets, (float)scale);
    /* Two roundings of each number, two more of the sum; 2^-24 is the smallest number of float16. */
    double step = dtype == DTYPE_FLOAT32 ? 0x1p-20 : dtype == DTYPE_FLOAT16 ? 0x1p-10 : 0x1p-7;
    double wanted = json_real_or(json_get(reference, "loss"), -1.0);
    assert_true(fabs(loss - wanted) <= 2.0 * step * wanted);
    const struct json *gradient = json_get(reference, "gradient");
    assert_int_equal(json_count(gradient), rows * columns);
    for (int64_t k = 0; k < rows * columns; k++) {
        double slope = json_real_or(json_at(gradient, (size_t)k), NAN);
        double got = (double)float_load(memory, dtype, k);
        if (!(fabs(got - slope) <= step * fabs(slope) + 0x1p-24 * fmax(scale, 1.0))) {
            fail_msg("%s [%lld, %lld], element %lld: %.9g, Liger's %.9g", name, (long long)rows, (long long)columns,
                     (long long)k, got, slope);
        }
    }
}

static void the_operations_compute_what_ligers_kernels_do(void **state)
{
    (void)state;
    struct status error = {0};
    struct json *document = NULL;
    if (json_parse_file("peers/pytorch/tiny_liger.json", 1 << 22, &document, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    const struct json *calls = json_get(document, "calls");
    assert_true(json_count(calls) >= 10);
    for (size_t i = 0; i < json_count(calls); i++) {
        call_check(json_at(calls, i));
    }
    json_release(document);
}

/* -- bytes, as docs/NUMBERS.md derives them */

struct figures {
    int64_t saved_bytes;
    struct stage_figures stages;
};

static struct figures figures_of(const char *model, enum precision precision, enum loss loss)
{
    struct status error = {0};
    struct config config;
    struct skeleton skeleton;
    struct tape *tape = NULL;
    const struct target *target = NULL;
    struct figures figures;
    struct workload workload = training(loss);
    workload.batch = 8;
    workload.seq = 512;
    workload.precision = precision;
    workload.optimizer = OPTIMIZER_ADAMW_FUSED;
    if (config_find("models/catalogue", model, &config, &error) != STATUS_OK ||
        target_find("sm_90", &target, &error) != STATUS_OK ||
        workload_skeleton(&config, &workload, &skeleton, &error) != STATUS_OK ||
        workload_tape(&config, &skeleton, &workload, target, &tape, &error) != STATUS_OK) {
        fail_msg("%s: %s", model, error.text);
    }
    struct tape_view view = tape_view(tape);
    figures.saved_bytes = view.saved_for_backward_bytes;
    stage_figures_take(&view, &figures.stages);
    tape_release(tape);
    skeleton_release(&skeleton);
    return figures;
}

/* What the fused form keeps and takes less: N rows of V logits, each of whose elements has so many bytes in the
 * loss. */
static void bytes_are_those_derived(void **state)
{
    (void)state;
    const int64_t n = 8 * 512;
    static const struct {
        const char *model;
        enum precision precision;
        int64_t vocab, element_bytes;
        bool causal; /* the shifted labels are a copy, which the composed form saves */
    } rows[] = {
        {"gpt2", PRECISION_FLOAT32, 50257, 4, true},
        {"gpt2", PRECISION_BFLOAT16, 50257, 4, true},
        {"gpt2", PRECISION_AMP_BFLOAT16, 50257, 4, true},
        {"bert-base-cased", PRECISION_FLOAT32, 28996, 4, false},
        {"bert-base-cased", PRECISION_BFLOAT16, 28996, 2, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct figures composed = figures_of(rows[i].model, rows[i].precision, LOSS_COMPOSED);
        struct figures fused = figures_of(rows[i].model, rows[i].precision, LOSS_FUSED);
        int64_t e = rows[i].element_bytes;
        assert_int_equal(composed.saved_bytes - fused.saved_bytes, (rows[i].causal ? 8 * n : 0) + e);
        /* Log-probabilities, loss and weight; against losses, mask, masked targets and the largest of them. */
        int64_t less = e * n * rows[i].vocab + 2 * e - (e * n + n + 8 * n + 8);
        assert_int_equal(composed.stages.peak[STAGE_FORWARD] - fused.stages.peak[STAGE_FORWARD], less);
        assert_true(composed.stages.peak[STAGE_BACKWARD] - fused.stages.peak[STAGE_BACKWARD] > less);
    }
    assert_int_equal(figures_of("gpt2", PRECISION_FLOAT32, LOSS_FUSED).stages.peak[STAGE_FORWARD], 6651690652);
}

/* Under autocast BertForMaskedLM's scores are in 16 bits; the composed form keeps a copy of its log-probabilities in
 * float32 besides. */
static void autocast_keeps_no_copy(void **state)
{
    (void)state;
    int64_t composed = figures_of("bert-base-cased", PRECISION_AMP_BFLOAT16, LOSS_COMPOSED).saved_bytes;
    int64_t fused = figures_of("bert-base-cased", PRECISION_AMP_BFLOAT16, LOSS_FUSED).saved_bytes;
    assert_int_equal(composed - fused, 4 * 8 * 512 * 28996 + 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loss_and_gradients_are_those_of_the_composed_form),
        cmocka_unit_test(micro_batches_take_their_share),
        cmocka_unit_test(targets_that_do_not_count_give_nothing),
        cmocka_unit_test(adapters_take_the_same_gradients),
        cmocka_unit_test(every_precision_trains),
        cmocka_unit_test(chunks_take_the_same_gradients),
        cmocka_unit_test(the_operations_compute_what_ligers_kernels_do),
        cmocka_unit_test(bytes_are_those_derived),
        cmocka_unit_test(autocast_keeps_no_copy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
