/* Adapters of LoRA on quantised weights: their gradients beside those of a model that holds the dequantised values,
 * what is frozen stays as it is, and together with checkpointing and micro-batches. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "models/skeleton/quantization.h"
#include "tests/models/tiny_weights.h"

/* What adapters are trained beside: linear and all, not what comes packed. */
enum { FORM_COUNT = QUANTIZE_GPTQ };

static const char *const families[] = {"bert", "gpt2", "llama-gqa", "qwen2"};

enum { FAMILY_TESTS = sizeof families / sizeof families[0], FIRST_PASS = 3 };

static struct workload adapting(enum precision precision)
{
    struct workload workload = tiny_workload(MODE_TRAIN);
    workload.precision = precision;
    workload.lora_rank = 4;
    workload.lora_targets = LORA_TARGETS_LINEAR;
    return workload;
}

/* Up to the first forward pass. B, which begins at 0, is written, so that A has gradients. */
static void adapters_prepare(struct tape_machine *machine)
{
    const struct skeleton *skeleton = &machine->skeleton;
    assert_true(machine_run_until(machine, STAGE_FORWARD, FIRST_PASS));
    for (int i = 0; i < skeleton->tensor_count; i++) {
        const struct skeleton_tensor *tensor = &skeleton->tensors[i];
        if (tensor->is_adapter) {
            float *values = machine_floats(machine, machine_find(machine, CATEGORY_WEIGHTS, tensor->path));
            for (int64_t k = 0; k < tensor->element_count; k++) {
                values[k] = (float)(0.2 * mix((uint64_t)k + 1000003u * (uint64_t)i));
            }
        }
    }
}

/* -- beside the dequantised values */

/* The operation that made the codes of that tensor, or NULL where it is not quantised. */
static const struct op *quantize_op_find(const struct tape_machine *machine, const char *path)
{
    for (int i = 0; i < machine->view.op_count; i++) {
        const struct op *op = &machine->view.ops[i];
        const struct storage *codes = &machine->view.storages[machine->view.operands[op->first_operand + 1].storage];
        if (op->opcode == OPCODE_QUANTIZE && codes->category == CATEGORY_WEIGHTS && strcmp(codes->label, path) == 0) {
            return op;
        }
    }
    return NULL;
}

static struct tensor tensor_of(const struct tape_machine *machine, const struct operand *operand)
{
    struct tensor tensor = {.data = machine->memory[operand->storage], .dtype = operand->dtype, .rank = operand->rank};
    assert_non_null(tensor.data);
    assert_int_equal(operand->offset, 0);
    memcpy(tensor.size, operand->size, sizeof tensor.size);
    memcpy(tensor.stride, operand->stride, sizeof tensor.stride);
    return tensor;
}

/* Writes the values of codes in dtype, in the order of the parameter that they were made from. */
static void codes_read(const struct tape_machine *machine, const struct op *op, int tensor, enum dtype dtype,
                       char *values)
{
    struct status error = {0};
    const struct skeleton_tensor *row = &machine->skeleton.tensors[tensor];
    const struct operand *operands = &machine->view.operands[op->first_operand];
    bool turned = tensor_is_turned(&machine->skeleton, tensor);
    int64_t rows = row->size[0], columns = row->rank > 1 ? row->size[1] : 1;
    size_t bytes = (size_t)dtype_bytes(dtype);
    char *dense = calloc((size_t)row->element_count, bytes);
    assert_non_null(dense);
    struct operation_call call = {
        .opcode = OPCODE_DEQUANTIZE, .input_count = 2, .tensor_count = 3, .attributes = op->attributes};
    call.tensors[0] = tensor_of(machine, &operands[1]);
    call.tensors[1] = tensor_of(machine, &operands[2]);
    call.tensors[2] =
        (struct tensor){.data = dense, .dtype = dtype, .rank = 1, .size = {row->element_count}, .stride = {1}};
    if (machine->device->table->run(machine->device, &call, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    for (int64_t k = 0; k < row->element_count; k++) {
        int64_t place = turned ? k % columns * rows + k / columns : k;
        memcpy(values + (size_t)k * bytes, dense + (size_t)place * bytes, bytes);
    }
    free(dense);
}

/* Gives a model that is not quantised the values and the inputs of one that is. */
static void model_copy(const struct tape_machine *from, struct tape_machine *to)
{
    const struct skeleton *skeleton = &from->skeleton;
    int quantized_count = 0;
    for (int i = 0; i < skeleton->tensor_count; i++) {
        const struct skeleton_tensor *tensor = &skeleton->tensors[i];
        if (tensor->is_buffer || tensor->tied_to >= 0) {
            continue;
        }
        int place = machine_find(to, CATEGORY_WEIGHTS, tensor->path);
        const struct op *op = quantize_op_find(from, tensor->path);
        assert_true(place >= 0);
        if (op != NULL) {
            enum dtype dtype = machine_bytes(to, place) == 4 * tensor->element_count ? DTYPE_FLOAT32 : DTYPE_BFLOAT16;
            codes_read(from, op, i, dtype, to->memory[place]);
            quantized_count++;
        } else {
            int source = machine_find(from, CATEGORY_WEIGHTS, tensor->path);
            assert_int_equal(machine_bytes(to, place), machine_bytes(from, source));
            memcpy(to->memory[place], from->memory[source], (size_t)machine_bytes(to, place));
        }
    }
    assert_true(quantized_count >= 8);
    int source = machine_find(from, CATEGORY_INPUTS, "input_ids"),
        place = machine_find(to, CATEGORY_INPUTS, "input_ids");
    memcpy(to->memory[place], from->memory[source], (size_t)machine_bytes(to, place));
}

/* The largest distance of an adapter's gradients, as a part of the norm of those of the second. */
static double gradients_distance(const struct tape_machine *one, const struct tape_machine *two)
{
    double largest = 0.0;
    for (int i = 0; i < one->skeleton.tensor_count; i++) {
        const struct skeleton_tensor *tensor = &one->skeleton.tensors[i];
        int a = machine_find(one, CATEGORY_GRADIENTS, tensor->path);
        int b = machine_find(two, CATEGORY_GRADIENTS, tensor->path);
        assert_int_equal(a >= 0, tensor->is_adapter);
        assert_int_equal(b >= 0, tensor->is_adapter);
        double sum = 0.0, norm = a >= 0 ? norm_of(two, b) : 1.0;
        assert_true(norm > 0.0);
        for (int64_t k = 0; a >= 0 && k < tensor->element_count; k++) {
            sum += pow((double)machine_floats(one, a)[k] - (double)machine_floats(two, b)[k], 2.0);
        }
        largest = fmax(largest, sqrt(sum) / norm);
    }
    return largest;
}

/* gradients_distance of a model's first training step under either workload, with the values that the first stores. */
static double step_distance(const char *model, const struct workload *one, const struct workload *two)
{
    struct tape_machine first, second;
    machine_open_tiny(&first, model, one, 1, 1e-4);
    machine_open_tiny(&second, model, two, 1, 1e-4);
    adapters_prepare(&first);
    adapters_prepare(&second);
    model_copy(&first, &second);
    assert_true(machine_run_until(&first, STAGE_STEP, 1));
    assert_true(machine_run_until(&second, STAGE_STEP, 1));
    double distance = gradients_distance(&first, &second);
    machine_close(&first);
    machine_close(&second);
    return distance;
}

/* The dequantised values are the very factors of fp8 and int4 on the host. fp8: nothing differs. int4: the update and
 * the sum are both rounded to bfloat16, by up to 2^-9, in each adapted layer. int8: activations are rounded to 1/127 of
 * a row's largest; of 32 values that is 2.1 deviations, so 2.1 / 127 / sqrt(12) = 0.5 % in each product. Roundings add
 * up as the root of their number, 2 * 14 and 14 for the layers on the way, in each of the two passes. */
static double tolerance_of(enum precision precision)
{
    return precision == PRECISION_FP8 ? 0.0 : precision == PRECISION_INT4 ? 2.0 * 5.3 / 512.0 : 2.0 * 3.7 * 0.005;
}

static void gradients_are_those_of_the_dequantised_model(void **state)
{
    (void)state;
    for (int family = 0; family < FAMILY_TESTS; family++) {
        for (int precision = PRECISION_INT8; precision <= PRECISION_FP8; precision++) {
            for (int quantize = 0; quantize < FORM_COUNT; quantize++) {
                struct workload quantized = adapting((enum precision)precision);
                quantized.quantize = (enum quantize)quantize;
                struct workload plain = quantized;
                plain.precision = PRECISION_BFLOAT16;
                double distance = step_distance(families[family], &quantized, &plain);
                if (!(distance <= tolerance_of((enum precision)precision))) {
                    fail_msg("%s, %s, %s: gradients differ by %g", families[family],
                             precision_name((enum precision)precision), quantize_name((enum quantize)quantize),
                             distance);
                }
            }
        }
    }
}

/* Around the quantised layers everything is float32 then, so what is left is the rounding of the layers themselves:
 * int4's inputs, weights' products and gradients to bfloat16, int8's activations and its float16 results. */
static void a_prepared_model_has_the_gradients_of_float32(void **state)
{
    (void)state;
    for (int family = 0; family < FAMILY_TESTS; family++) {
        for (int precision = PRECISION_INT8; precision <= PRECISION_INT4; precision++) {
            struct workload prepared = adapting((enum precision)precision);
            prepared.prepare_kbit = true;
            struct workload plain = adapting(PRECISION_FLOAT32);
            double distance = step_distance(families[family], &prepared, &plain);
            if (!(distance > 0.0 && distance <= tolerance_of((enum precision)precision))) {
                fail_msg("%s, %s: gradients differ by %g", families[family], precision_name((enum precision)precision),
                         distance);
            }
        }
    }
}

/* -- what is frozen */

static void *storage_copy(const struct tape_machine *machine, int storage)
{
    size_t bytes = (size_t)machine_bytes(machine, storage);
    void *copy = malloc(bytes + 1);
    assert_non_null(copy);
    memcpy(copy, machine->memory[storage], bytes);
    return copy;
}

static void only_adapters_are_changed(void **state)
{
    (void)state;
    for (int family = 0; family < FAMILY_TESTS; family++) {
        for (int precision = PRECISION_INT8; precision <= PRECISION_FP8; precision++) {
            struct tape_machine machine;
            struct workload workload = adapting((enum precision)precision);
            machine_open_tiny(&machine, families[family], &workload, 2, 1e-2);
            assert_true(machine_run_until(&machine, STAGE_FORWARD, FIRST_PASS));
            void **before = calloc((size_t)machine.view.storage_count, sizeof *before);
            assert_non_null(before);
            for (int i = 0; i < machine.view.storage_count; i++) {
                bool weight = machine.view.storages[i].category == CATEGORY_WEIGHTS && machine.memory[i] != NULL;
                before[i] = weight ? storage_copy(&machine, i) : NULL;
            }
            machine_run_until(&machine, STAGE_GENERATE, 1); /* there is none: to the end */
            int changed_count = 0, codes_count = 0;
            for (int i = 0; i < machine.view.storage_count; i++) {
                const char *label = machine.view.storages[i].label;
                if (before[i] != NULL) {
                    bool changed = memcmp(before[i], machine.memory[i], (size_t)machine_bytes(&machine, i)) != 0;
                    assert_int_equal(changed, strstr(label, ".lora_") != NULL);
                    changed_count += changed;
                    codes_count += quantize_op_find(&machine, label) != NULL;
                }
                free(before[i]);
            }
            assert_true(changed_count >= 8 && codes_count >= 16);
            free(before);
            machine_close(&machine);
        }
    }
}

/* -- with what else training has */

static void ten_steps_lower_the_loss(void **state)
{
    (void)state;
    for (int variant = 0; variant < FAMILY_TESTS * 3 * FORM_COUNT * LORA_TARGETS_COUNT; variant++) {
        const char *name = families[variant % FAMILY_TESTS];
        int rest = variant / FAMILY_TESTS;
        struct workload workload = adapting((enum precision)(PRECISION_INT8 + rest % 3));
        workload.quantize = (enum quantize)(rest / 3 % FORM_COUNT);
        workload.lora_targets = (enum lora_targets)(rest / 3 / FORM_COUNT);
        double first = tiny_loss_after(name, &workload, 1, 3e-2);
        double last = tiny_loss_after(name, &workload, 11, 3e-2);
        if (!(last < 0.99 * first)) {
            fail_msg("%s, %s, %s, %s: loss %g, after ten steps %g", name, precision_name(workload.precision),
                     quantize_name(workload.quantize), lora_targets_name(workload.lora_targets), first, last);
        }
    }
}

/* Two micro-batches of the same inputs give two halves of the same gradient. */
static void checkpointing_and_micro_batches_change_no_gradient(void **state)
{
    (void)state;
    for (int family = 0; family < FAMILY_TESTS; family++) {
        for (int precision = PRECISION_INT8; precision <= PRECISION_FP8; precision++) {
            struct tape_machine plain, other;
            struct workload workload = adapting((enum precision)precision);
            machine_open_tiny(&plain, families[family], &workload, 1, 1e-4);
            workload.checkpointing = true;
            workload.accumulate = 2;
            machine_open_tiny(&other, families[family], &workload, 1, 1e-4);
            adapters_prepare(&plain);
            adapters_prepare(&other);
            assert_true(machine_run_until(&plain, STAGE_STEP, 1));
            assert_true(machine_run_until(&other, STAGE_STEP, 1));
            assert_true(machine_loss(&plain) == machine_loss(&other));
            assert_true(gradients_distance(&other, &plain) == 0.0);
            machine_close(&plain);
            machine_close(&other);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_are_those_of_the_dequantised_model),
        cmocka_unit_test(a_prepared_model_has_the_gradients_of_float32),
        cmocka_unit_test(only_adapters_are_changed),
        cmocka_unit_test(ten_steps_lower_the_loss),
        cmocka_unit_test(checkpointing_and_micro_batches_change_no_gradient),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
