/* A trial's run and the comparison with the reference. Nothing here knows what an operation computes. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/kernels/kernel_host.h"
#include "harness/kernels/operation.h"
#include "tests/kernels/reference.h"
#include "tests/kernels/trial_condition.h"
#include "tests/kernels/trial_site.h"

/* Only the first fault is kept. */
__attribute__((format(printf, 3, 4))) static void fault_set(struct trial_outcome *outcome, const struct trial *trial,
                                                            const char *format, ...)
{
    char call[CALL_TEXT_BYTES], what[160];
    va_list arguments;
    if (outcome->fault[0] != '\0') {
        return;
    }
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    snprintf(outcome->fault, sizeof outcome->fault, "%s: %s", call_describe(&trial->call, call), what);
}

/* What rounding to the dtype may add to a relative error. */
static double dtype_error(enum dtype dtype)
{
    return dtype == DTYPE_FLOAT16 ? 0x1p-11 * 1.01 : dtype == DTYPE_BFLOAT16 ? 0x1p-8 * 1.01 : 1e-6;
}

static double largest(const double *values, int64_t count)
{
    double maximum = 0.0;
    for (int64_t k = 0; k < count; k++) {
        double size = fabs(values[k]);
        maximum = size > maximum && isfinite(size) ? size : maximum;
    }
    return maximum;
}

/* How far two values are apart; infinite where one is not finite and the other is not the same. */
static double distance(double got, double expected)
{
    if (isnan(expected) || isinf(expected)) {
        return (isnan(expected) && isnan(got)) || got == expected ? 0.0 : INFINITY;
    }
    return isnan(got) ? INFINITY : fabs(got - expected);
}

/* How far element k of output t may be from the reference. bound: for each element, instead of the trial's tolerance;
 * NULL: that. scale: of the output's largest element. */
static double element_allowed(const struct trial *trial, int t, int64_t k, const double *bound, double scale)
{
    const struct tensor *tensor = &trial->call.tensors[t];
    double expected = trial->value[t][k];
    if (!dtype_is_floating(tensor->dtype) || !isfinite(expected)) {
        return tensor->dtype == DTYPE_UINT8 ? trial->code_slack : 0.0;
    }
    double computed = bound != NULL ? bound[k] + 0x1p-25 : trial->tolerance * scale + trial->allowance;
    return fabs(expected) * dtype_error(tensor->dtype) + computed;
}

static void output_compare(const struct trial *trial, const struct trial_values *inputs, int t, const double *bound,
                           struct trial_outcome *outcome)
{
    int64_t count = tensor_element_count(&trial->call.tensors[t]);
    double scale = largest(trial->value[t], count);
    double *condition = NULL;
    for (int64_t k = 0; k < count; k++) {
        double expected = trial->value[t][k], got = trial_get(trial, t, k);
        double allowed = element_allowed(trial, t, k, bound, scale);
        double apart = distance(got, expected);
        if (apart > allowed && allowed > 0.0) { /* perhaps its terms cancel */
            condition = condition != NULL ? condition : trial_condition(trial, inputs, t);
            allowed += trial->roundings * condition[k];
        }
        if (apart > allowed) {
            fault_set(outcome, trial, "output %d, element %lld of %lld is %.9g instead of %.9g; %.3g is allowed",
                      t - trial->call.input_count, (long long)k, (long long)count, got, expected, allowed);
        }
        if (apart > 0.0) {
            outcome->error = fmax(outcome->error, apart / fmax(scale, trial->allowance));
            outcome->share = fmax(outcome->share, allowed > 0.0 ? apart / allowed : INFINITY);
        }
    }
    free(condition);
}

/* Every byte of memory that no element of the tensor covers is as it was. */
static void memory_compare(const struct trial *trial, int t, const unsigned char *before, struct trial_outcome *outcome)
{
    const struct tensor *tensor = &trial->call.tensors[t];
    size_t bytes = (size_t)dtype_bytes(tensor->dtype);
    unsigned char *after = malloc(trial->memory_bytes[t]);
    assert_non_null(after);
    memcpy(after, trial->memory[t], trial->memory_bytes[t]);
    if (t >= trial->call.input_count || trial->updated[t] || trial->scratch[t]) {
        size_t start = (size_t)((unsigned char *)tensor->data - trial->memory[t]);
        int64_t count = tensor_element_count(tensor);
        if (tensor_is_dense(tensor)) {
            memcpy(after + start, before + start, (size_t)count * bytes);
        }
        for (int64_t k = 0; k < count && !tensor_is_dense(tensor); k++) {
            size_t at = start + (size_t)tensor_element_offset(tensor, k) * bytes;
            memcpy(after + at, before + at, bytes);
        }
    }
    if (memcmp(before, after, trial->memory_bytes[t]) != 0) {
        fault_set(outcome, trial, "tensor %d was written where %s", t,
                  t < trial->call.input_count && !trial->scratch[t] ? "it is only read" : "none of its elements lies");
    }
    free(after);
}

/* Whether an output shares the memory of tensor t, an input. */
static bool memory_is_output(const struct trial *trial, int t)
{
    bool shared = false;
    for (int out = trial->call.input_count; out < trial->call.tensor_count; out++) {
        shared = shared || (t < trial->call.input_count && trial->memory[out] == trial->memory[t]);
    }
    return shared;
}

/* Attention whose heads are all of one dtype of 16 bits, where tensor cores may take it. */
static bool trial_rounds_weights(const struct trial *trial)
{
    const struct operation_call *call = &trial->call;
    bool backward = call->opcode == OPCODE_ATTENTION_BACKWARD;
    bool forward = call->opcode == OPCODE_ATTENTION || call->opcode == OPCODE_ATTENTION_IN_PARTS;
    if (trial->site == NULL || !trial->site->rounds_weights || (!backward && !forward)) {
        return false;
    }
    enum dtype dtype = call->tensors[0].dtype;
    int inputs = backward ? 5 : 3, outputs = backward ? 3 : 1; /* those that are heads, from the first on */
    bool alike = dtype == DTYPE_FLOAT16 || dtype == DTYPE_BFLOAT16;
    for (int t = 0; t < inputs + outputs; t++) {
        alike = alike && call->tensors[t < inputs ? t : call->input_count + t - inputs].dtype == dtype;
    }
    return alike;
}

static bool tensor_aligns(const struct trial *trial, int t)
{
    return ((unsigned char *)trial->call.tensors[t].data - trial->memory[t]) % 16 == 0;
}

/* A float8 product that tensor cores may take: both factors along k, all at multiples of 16, a bias of the output's 16
 * bits. */
static bool trial_cuts_float8(const struct trial *trial)
{
    const struct operation_call *call = &trial->call;
    if (trial->site == NULL || trial->site->float8_terms == 0 || call->opcode != OPCODE_SCALED_MATMUL) {
        return false;
    }
    const struct tensor *a = &call->tensors[0], *b = &call->tensors[1], *out = &call->tensors[call->input_count];
    bool biased = call->input_count > 4 && call->tensors[4].dtype != DTYPE_BOOL;
    bool alike = !biased || (call->tensors[4].dtype == out->dtype && out->dtype != DTYPE_FLOAT32);
    return alike && a->stride[1] == 1 && b->stride[0] == 1 && a->size[1] % 16 == 0 && b->size[1] % 16 == 0 &&
           tensor_aligns(trial, 0) && tensor_aligns(trial, 1);
}

static void float8_bounds_add(const struct trial *trial, double *bounds)
{
    reference_scaled_matmul_bound(&trial->call, trial->value, trial->site->float8_terms, bounds);
    for (int64_t k = 0; k < tensor_element_count(&trial->call.tensors[trial->call.input_count]); k++) {
        bounds[k] += trial->allowance; /* of what is added in float32 */
    }
}

static bool trial_has_bias(const struct trial *trial)
{
    const struct operation_call *call = &trial->call;
    return call->input_count > 2 && call->tensors[2].dtype != DTYPE_BOOL;
}

/* A bias that cublasLt does not add: of a batch, or of an output whose rows are not dense, along which it would run. */
static bool trial_lays_bias(const struct trial *trial)
{
    const struct tensor *out = &trial->call.tensors[trial->call.input_count];
    return trial_has_bias(trial) && (out->rank > 2 || out->stride[out->rank - 1] != 1);
}

/* A product that cuBLAS adds to what the output holds: a bias that was laid there, or the output before. PyTorch's
 * convolution rounds both too, because it adds the bias to what cuDNN has stored. */
static bool trial_adds_product(const struct trial *trial)
{
    const struct operation_call *call = &trial->call;
    bool library = trial->site != NULL && trial->site->adds_stored_products;
    return library && ((call->opcode == OPCODE_CONVOLUTION && trial_has_bias(trial)) ||
                       (call->opcode == OPCODE_MATMUL && (call->attributes.f[1] != 0.0 || trial_lays_bias(trial))));
}

/* The step of the stored product is allowed besides that of the result. */
static void product_bounds_set(const struct trial *trial, const struct trial_values *inputs, double *bounds)
{
    const struct operation_call *call = &trial->call;
    const struct tensor *out = &call->tensors[call->input_count];
    const bool convolves = call->opcode == OPCODE_CONVOLUTION;
    const int64_t run = convolves ? out->size[2] * out->size[3] : 1;
    const int64_t channels = convolves ? out->size[1] : out->size[out->rank - 1];
    for (int64_t k = 0; k < tensor_element_count(out); k++) {
        double product = trial->value[call->input_count][k];
        product -= trial_has_bias(trial) ? trial->value[2][k / run % channels] : 0.0;
        product -=
            !convolves && call->attributes.f[1] != 0.0 ? call->attributes.f[1] * inputs->of[call->input_count][k] : 0.0;
        bounds[k] = trial->allowance + fabs(product) * dtype_error(out->dtype);
    }
}

/* A bound for each element of each output, released with free; NULL everywhere where the trial's tolerance holds. */
static void trial_bounds(const struct trial *trial, const struct trial_values *inputs,
                         double *bounds[OPERATION_TENSORS_MAXIMUM])
{
    bool attends = trial_rounds_weights(trial), multiplies = trial_cuts_float8(trial);
    bool adds = trial_adds_product(trial);
    bool bounded = attends || multiplies || adds;
    for (int t = 0; t < OPERATION_TENSORS_MAXIMUM; t++) {
        bounds[t] = NULL;
        if (bounded && t >= trial->call.input_count && t < trial->call.tensor_count) {
            bounds[t] = calloc((size_t)tensor_element_count(&trial->call.tensors[t]) + 1, sizeof(double));
            assert_non_null(bounds[t]);
        }
    }
    if (attends) {
        reference_attention_bound(&trial->call, trial->value, bounds);
    } else if (multiplies) {
        float8_bounds_add(trial, bounds[trial->call.input_count]);
    } else if (adds) {
        product_bounds_set(trial, inputs, bounds[trial->call.input_count]);
    }
}

static bool trial_start(struct trial *trial, struct trial_outcome *outcome)
{
    struct status error = {0};
    const char *wrong = NULL;
    if (trial->site == NULL) {
        wrong = kernel_host_run(&trial->call);
    } else if (trial_site_run(trial->site, trial, &error) != STATUS_OK) {
        wrong = error.text;
    }
    if (wrong != NULL) {
        fault_set(outcome, trial, "%s", wrong);
    }
    return wrong == NULL;
}

void trial_measure(struct trial *trial, struct trial_outcome *outcome)
{
    unsigned char *before[OPERATION_TENSORS_MAXIMUM];
    double *bounds[OPERATION_TENSORS_MAXIMUM] = {NULL};
    struct trial_values inputs;
    *outcome = (struct trial_outcome){0};
    for (int t = 0; t < trial->call.tensor_count; t++) {
        before[t] = malloc(trial->memory_bytes[t]);
        assert_non_null(before[t]);
        memcpy(before[t], trial->memory[t], trial->memory_bytes[t]);
    }
    values_copy(trial, &inputs);
    bool ran = trial_start(trial, outcome);
    if (ran) {
        reference_run(&trial->call, trial->value);
        trial_bounds(trial, &inputs, bounds);
    }
    for (int t = 0; t < trial->call.tensor_count; t++) {
        if (ran && (t >= trial->call.input_count || trial->updated[t])) {
            output_compare(trial, &inputs, t, bounds[t], outcome);
        }
        if (ran && !memory_is_output(trial, t)) {
            memory_compare(trial, t, before[t], outcome);
        }
        free(before[t]);
        free(bounds[t]);
    }
    values_release(&inputs);
}

void trial_execute(struct trial *trial)
{
    struct trial_outcome outcome;
    trial_measure(trial, &outcome);
    if (outcome.fault[0] != '\0') {
        fail_msg("%s", outcome.fault);
    }
}
