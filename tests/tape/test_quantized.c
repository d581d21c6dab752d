/* Linear layers with quantised weights: what each form allocates on the way, and the gradient of the input against the
 * definition, in double precision. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <math.h>

#include "harness/device/device.h"
#include "harness/tape/quantized.h"

enum { ROWS = 6, INPUTS = 64, OUTPUTS = 16 };

/* A tape of one layer and a loss over its outputs. */
struct layer {
    struct tape *tape;
    struct quantized weight;
    struct value *a, *out;
};

static void layer_make(struct layer *layer, const char *target_name, enum quantized_form form, int64_t rows, bool train)
{
    struct status error = {0};
    const struct target *target = NULL;
    const int64_t weight_size[] = {OUTPUTS, INPUTS}, a_size[] = {rows, INPUTS};
    assert_int_equal(target_find(target_name, &target, &error), STATUS_OK);
    assert_int_equal(tape_new(target, &layer->tape, &error), STATUS_OK);
    struct tape *tape = layer->tape;
    struct value *whole = tape_leaf(tape, CATEGORY_TEMPORARIES, DTYPE_BFLOAT16, 2, weight_size, false, "whole");
    tape_init_normal(tape, whole, 0.0, 0.5);
    layer->weight = tape_quantize(tape, form, whole, "weight");
    tape_drop(tape, whole);
    layer->a = tape_leaf(tape, CATEGORY_INPUTS, train ? DTYPE_FLOAT32 : DTYPE_BFLOAT16, 2, a_size, train, "input");
    tape_init_normal(tape, layer->a, 0.0, 1.0);
    tape_stage(tape, STAGE_FORWARD);
    tape_gradients(tape, train);
    layer->out = tape_linear_quantized(tape, layer->a, &layer->weight, NULL);
    if (train) {
        struct value *targets = tape_leaf(tape, CATEGORY_INPUTS, DTYPE_INT64, 1, &rows, false, "targets");
        tape_sequence(tape, targets, 0);
        struct value *loss = tape_cross_entropy(tape, layer->out, targets);
        tape_stage(tape, STAGE_BACKWARD);
        tape_backward(tape, loss);
    }
    if (tape_finish(tape, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
}

/* The highest sum of temporaries and results that live at once during the forward pass. */
static int64_t forward_peak(const struct tape *tape)
{
    struct tape_view view = tape_view(tape);
    int64_t live = 0, peak = 0;
    bool forward = false;
    for (int i = 0; i < view.event_count; i++) {
        struct event event = view.events[i];
        bool memory = event.kind == EVENT_ALLOC || event.kind == EVENT_FREE;
        forward = forward || (event.kind == EVENT_STAGE && event.index == STAGE_FORWARD);
        if (forward && memory && view.storages[event.index].category != CATEGORY_WORKSPACE) {
            live += event.kind == EVENT_ALLOC ? view.storages[event.index].bytes : -view.storages[event.index].bytes;
            peak = live > peak ? live : peak;
        }
    }
    return peak;
}

/* docs/NUMBERS.md, 12. */
static void products_take_what_the_libraries_take(void **state)
{
    (void)state;
    static const struct {
        const char *target;
        enum quantized_form form;
        int64_t rows, bytes;
    } cases[] = {
        {"sm_90", QUANTIZED_INT8, 6, 8 * 6 * OUTPUTS + 6 * INPUTS + 4 * 6},
        {"sm_90", QUANTIZED_NF4, 6, 2 * OUTPUTS * INPUTS + 2 * 6 * OUTPUTS},
        {"sm_90", QUANTIZED_NF4, 4, 2 * 4 * OUTPUTS},
        {"sm_90", QUANTIZED_FLOAT8, 6, 6 * INPUTS + 4 + 2 * 6 * OUTPUTS},
        {"sm_80", QUANTIZED_FLOAT8, 6, 2 * OUTPUTS * INPUTS + 2 * 6 * OUTPUTS},
        {"host", QUANTIZED_FLOAT8, 6, 2 * OUTPUTS * INPUTS + 2 * 6 * OUTPUTS},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct layer layer = {0};
        layer_make(&layer, cases[i].target, cases[i].form, cases[i].rows, false);
        assert_int_equal(forward_peak(layer.tape), cases[i].bytes);
        tape_release(layer.tape);
    }
}

/* Runs a tape with a block of memory for each storage; nothing is given back before the end. */
static void **tape_execute(const struct tape_view *view)
{
    struct status error = {0};
    struct device *device = NULL;
    void **memory = calloc((size_t)view->storage_count, sizeof *memory);
    assert_non_null(memory);
    assert_int_equal(device_open("host", &device, &error), STATUS_OK);
    for (int i = 0; i < view->event_count; i++) {
        struct event event = view->events[i];
        if (event.kind == EVENT_ALLOC) {
            memory[event.index] = calloc(1, (size_t)view->storages[event.index].bytes + 1);
            assert_non_null(memory[event.index]);
        } else if (event.kind == EVENT_RUN) {
            const struct op *op = &view->ops[event.index];
            struct operation_call call = {.opcode = op->opcode,
                                          .input_count = op->input_count,
                                          .tensor_count = op->operand_count,
                                          .attributes = op->attributes};
            for (int t = 0; t < op->operand_count; t++) {
                const struct operand *operand = &view->operands[op->first_operand + t];
                struct tensor *tensor = &call.tensors[t];
                *tensor = (struct tensor){.dtype = operand->dtype, .rank = operand->rank};
                tensor->data = (char *)memory[operand->storage] + operand->offset * dtype_bytes(operand->dtype);
                memcpy(tensor->size, operand->size, sizeof tensor->size);
                memcpy(tensor->stride, operand->stride, sizeof tensor->stride);
            }
            if (device->table->run(device, &call, &error) != STATUS_OK) {
                fail_msg("%s", error.text);
            }
        }
    }
    device_close(device);
    return memory;
}

/* The storage of the last operand, input or output number `operand`, of the first operation of that kind. */
static int storage_of(const struct tape_view *view, enum opcode opcode, int operand)
{
    for (int i = 0; i < view->op_count; i++) {
        if (view->ops[i].opcode == opcode) {
            return view->operands[view->ops[i].first_operand + operand].storage;
        }
    }
    fail_msg("the tape has no %s", opcode_name(opcode));
    return -1;
}

static int storage_labelled(const struct tape_view *view, enum category category, const char *label)
{
    for (int i = 0; i < view->storage_count; i++) {
        if (view->storages[i].category == category && strcmp(view->storages[i].label, label) == 0) {
            return i;
        }
    }
    fail_msg("the tape has no storage %s", label);
    return -1;
}

/* dL/da = dL/dy W with W as it is dequantised; dL/dy = (softmax(y) - target) / rows. */
static void gradient_check(enum quantized_form form)
{
    struct layer layer = {0};
    layer_make(&layer, "host", form, ROWS, true);
    struct tape_view view = tape_view(layer.tape);
    void **memory = tape_execute(&view);
    const float *weight = memory[storage_of(&view, OPCODE_DEQUANTIZE, 2)];
    const float *log_softmax = memory[storage_of(&view, OPCODE_LOG_SOFTMAX, 1)];
    const float *gradient = memory[storage_labelled(&view, CATEGORY_GRADIENTS, "input")];
    for (int row = 0; row < ROWS; row++) {
        for (int k = 0; k < INPUTS; k++) {
            double expected = 0.0;
            for (int n = 0; n < OUTPUTS; n++) {
                double slope = exp((double)log_softmax[row * OUTPUTS + n]) - (n == row ? 1.0 : 0.0);
                expected += slope / ROWS * (double)weight[n * INPUTS + k];
            }
            assert_true(fabs((double)gradient[row * INPUTS + k] - expected) < 1e-5);
        }
    }
    for (int i = 0; i < view.storage_count; i++) {
        free(memory[i]);
    }
    free(memory);
    tape_release(layer.tape);
}

static void the_gradient_of_the_input_is_that_of_the_dequantised_weight(void **state)
{
    (void)state;
    gradient_check(QUANTIZED_INT8);
    gradient_check(QUANTIZED_NF4);
    gradient_check(QUANTIZED_FLOAT8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_take_what_the_libraries_take),
        cmocka_unit_test(the_gradient_of_the_input_is_that_of_the_dequantised_weight),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
