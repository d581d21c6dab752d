/* The analytic gradients of the reference against central finite differences of its forward, in double precision: what
 * the kernels are held against in tests/conformance is thereby held against the definition of a derivative. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/kernels/reference.h"
#include "tests/kernels/trial_plan.h"

/* Where an input of the backward comes from: the gradient of the forward's first output, or one of its tensors. */
enum { GRAD = -1 };

struct gradient_row {
    enum opcode forward, backward;
    int variant; /* of the forward's plan */
    int backward_inputs[7];
    int backward_input_count;
    int gradient_of[3]; /* the forward's input that each output of the backward belongs to */
    double epsilon_f0;  /* f[0] of the backward where it is not that of the forward; 0: the same */
};

/* Tensors of the forward count inputs first: LAYERNORM has a, weight, bias, out, mean, deviation = 0 .. 5. */
static const struct gradient_row gradient_rows[] = {
    {OPCODE_TANH, OPCODE_TANH_BACKWARD, 9, {GRAD, 1}, 2, {0}, 0},
    {OPCODE_RELU, OPCODE_RELU_BACKWARD, 9, {GRAD, 1}, 2, {0}, 0},
    {OPCODE_GELU, OPCODE_GELU_BACKWARD, 9, {GRAD, 0}, 2, {0}, 0},
    {OPCODE_GELU, OPCODE_GELU_BACKWARD, 24, {GRAD, 0}, 2, {0}, 0},
    {OPCODE_SILU, OPCODE_SILU_BACKWARD, 9, {GRAD, 0}, 2, {0}, 0},
    {OPCODE_SIGMOID, OPCODE_SIGMOID_BACKWARD, 9, {GRAD, 1}, 2, {0}, 0},
    {OPCODE_DROPOUT, OPCODE_DROPOUT_BACKWARD, 10, {GRAD, 2}, 2, {0}, 2.0},
    {OPCODE_SOFTMAX, OPCODE_SOFTMAX_BACKWARD, 3, {GRAD, 1}, 2, {0}, 0},
    {OPCODE_LOG_SOFTMAX, OPCODE_LOG_SOFTMAX_BACKWARD, 3, {GRAD, 1}, 2, {0}, 0},
    {OPCODE_NLL_LOSS, OPCODE_NLL_LOSS_BACKWARD, 3, {GRAD, 1, 3}, 3, {0}, 0},
    {OPCODE_LAYERNORM, OPCODE_LAYERNORM_BACKWARD, 3, {GRAD, 0, 4, 5, 1}, 5, {0, 1, 2}, 0},
    {OPCODE_LAYERNORM, OPCODE_LAYERNORM_BACKWARD_INPUT, 3, {GRAD, 0, 4, 5, 1}, 5, {0}, 0},
    {OPCODE_BATCHNORM, OPCODE_BATCHNORM_BACKWARD, 1, {GRAD, 0, 1, 6, 7}, 5, {0, 1, 2}, 0},
    {OPCODE_EMBEDDING, OPCODE_EMBEDDING_BACKWARD, 1, {GRAD, 1}, 2, {0}, 0},
    {OPCODE_ATTENTION, OPCODE_ATTENTION_BACKWARD, 1, {GRAD, 0, 1, 2, 3, 4}, 6, {0, 1, 2}, 0},
    {OPCODE_ATTENTION, OPCODE_ATTENTION_BACKWARD, 4, {GRAD, 0, 1, 2, 3, 4}, 6, {0, 1, 2}, 0},
    {OPCODE_ATTENTION, OPCODE_ATTENTION_BACKWARD, 7, {GRAD, 0, 1, 2, 3, 4}, 6, {0, 1, 2}, 0},
    {OPCODE_ATTENTION, OPCODE_ATTENTION_BACKWARD, 3, {GRAD, 0, 1, 2, 3, 4}, 6, {0, 1, 2}, 0},
    {OPCODE_ATTENTION, OPCODE_ATTENTION_BACKWARD, 20, {GRAD, 0, 1, 2, 3, 4}, 6, {0, 1, 2}, 0},
    {OPCODE_ATTENTION, OPCODE_ATTENTION_BACKWARD, 23, {GRAD, 0, 1, 2, 3, 4}, 6, {0, 1, 2}, 0},
    {OPCODE_ATTENTION, OPCODE_ATTENTION_BIAS_GRADIENT, 6, {GRAD, 0, 1, 2, 4, 5, 3}, 7, {3}, 0},
    {OPCODE_ATTENTION, OPCODE_ATTENTION_BIAS_GRADIENT, 8, {GRAD, 0, 1, 2, 4, 5, 3}, 7, {3}, 0},
    {OPCODE_CONVOLUTION, OPCODE_CONVOLUTION_BACKWARD_INPUT, 6, {GRAD, 1}, 2, {0}, 0},
    {OPCODE_CONVOLUTION, OPCODE_CONVOLUTION_BACKWARD_WEIGHT, 6, {GRAD, 0}, 2, {1}, 0},
    {OPCODE_CONVOLUTION, OPCODE_CONVOLUTION_BACKWARD_INPUT, 8, {GRAD, 1}, 2, {0}, 0},
    {OPCODE_CONVOLUTION, OPCODE_CONVOLUTION_BACKWARD_WEIGHT, 8, {GRAD, 0}, 2, {1}, 0},
    {OPCODE_GROUPED_CONVOLUTION, OPCODE_GROUPED_CONVOLUTION_BACKWARD_INPUT, 3, {GRAD, 1}, 2, {0}, 0},
    {OPCODE_GROUPED_CONVOLUTION, OPCODE_GROUPED_CONVOLUTION_BACKWARD_WEIGHT, 3, {GRAD, 0}, 2, {1}, 0},
    {OPCODE_GROUPED_CONVOLUTION, OPCODE_GROUPED_CONVOLUTION_BACKWARD_INPUT, 4, {GRAD, 1}, 2, {0}, 0},
    {OPCODE_GROUPED_CONVOLUTION, OPCODE_GROUPED_CONVOLUTION_BACKWARD_WEIGHT, 4, {GRAD, 0}, 2, {1}, 0},
};

/* sum of grad * out, the scalar that is differentiated. Updates are put back, so that it can be asked again. */
static double objective(struct trial *trial, const double *grad)
{
    int out = trial->call.input_count;
    double *saved[2] = {NULL, NULL};
    bool running = trial->call.opcode == OPCODE_BATCHNORM;
    size_t channels = running ? (size_t)tensor_element_count(&trial->call.tensors[3]) : 0;
    for (int t = 0; running && t < 2; t++) {
        saved[t] = malloc(channels * sizeof(double));
        assert_non_null(saved[t]);
        for (size_t k = 0; k < channels; k++) {
            saved[t][k] = trial->value[3 + t][k];
        }
    }
    reference_run(&trial->call, trial->value);
    for (int t = 0; running && t < 2; t++) {
        for (size_t k = 0; k < channels; k++) {
            trial->value[3 + t][k] = saved[t][k];
        }
        free(saved[t]);
    }
    double sum = 0.0;
    for (int64_t k = 0; k < tensor_element_count(&trial->call.tensors[out]); k++) {
        sum += grad[k] * trial->value[out][k];
    }
    return sum;
}

static void differences_compare(struct trial *trial, const double *grad, int input, const double *analytic)
{
    const double step = 1e-5;
    int64_t count = tensor_element_count(&trial->call.tensors[input]);
    int64_t stride = count > 200 ? count / 100 : 1;
    for (int64_t k = 0; k < count; k += stride) {
        double *at = &trial->value[input][k];
        double middle = *at;
        *at = middle + step;
        double above = objective(trial, grad);
        *at = middle - step;
        double below = objective(trial, grad);
        *at = middle;
        double numeric = (above - below) / (2.0 * step);
        double allowed = 1e-6 + 1e-5 * fabs(analytic[k]);
        if (!(fabs(numeric - analytic[k]) <= allowed)) { /* what is no number is wrong too */
            fail_msg("%s input %d element %lld: %.9g, by differences %.9g", opcode_name(trial->call.opcode), input,
                     (long long)k, analytic[k], numeric);
        }
    }
}

static double *random_values(struct trial *trial, int64_t count)
{
    double *values = malloc(((size_t)count + 1) * sizeof(double));
    assert_non_null(values);
    for (int64_t k = 0; k < count; k++) {
        values[k] = trial_real(trial, -1.0, 1.0);
    }
    return values;
}

static void backward_run(const struct gradient_row *row, const struct trial *trial, double *grad, double **gradients)
{
    struct operation_call call = {.opcode = row->backward, .attributes = trial->call.attributes};
    double *values[OPERATION_TENSORS_MAXIMUM];
    call.input_count = row->backward_input_count;
    call.tensor_count = call.input_count + opcode_output_count(row->backward);
    if (row->epsilon_f0 != 0.0) {
        call.attributes.f[0] = row->epsilon_f0;
    }
    call.attributes.i[0] = row->backward == OPCODE_EMBEDDING_BACKWARD ? -1 : call.attributes.i[0];
    for (int t = 0; t < call.tensor_count; t++) {
        bool input = t < call.input_count;
        int from = input ? row->backward_inputs[t] : row->gradient_of[t - call.input_count];
        call.tensors[t] = trial->call.tensors[from == GRAD ? trial->call.input_count : from];
        values[t] = !input ? gradients[t - call.input_count] : from == GRAD ? grad : trial->value[from];
    }
    reference_run(&call, values);
}

static void test_gradient(void **state)
{
    const struct gradient_row *row = *state;
    struct trial trial;
    double *gradients[3] = {NULL, NULL, NULL};
    trial_open(&trial, row->forward, MIX_FLOAT32, 77);
    assert_true(trial_plan_for(row->forward)(&trial, row->variant));
    double *grad = random_values(&trial, tensor_element_count(&trial.call.tensors[trial.call.input_count]));
    (void)objective(&trial, grad); /* fills the outputs that the backward reads */
    int outputs = opcode_output_count(row->backward);
    for (int out = 0; out < outputs; out++) {
        gradients[out] = random_values(&trial, tensor_element_count(&trial.call.tensors[row->gradient_of[out]]));
    }
    backward_run(row, &trial, grad, gradients);
    for (int out = 0; out < outputs; out++) {
        differences_compare(&trial, grad, row->gradient_of[out], gradients[out]);
        free(gradients[out]);
    }
    free(grad);
    trial_close(&trial);
}

/* Its indices are an output of the forward, its plan has NaN: a case of its own. */
static void test_gradient_of_max_pool(void **state)
{
    (void)state;
    struct trial trial;
    trial_open(&trial, OPCODE_MAX_POOL, MIX_FLOAT32, 5);
    trial.call.attributes.i[0] = 3;
    trial.call.attributes.i[1] = 2;
    trial.call.attributes.i[2] = 1;
    trial_input(&trial, DTYPE_FLOAT32, LAYOUT_DENSE, 4, (const int64_t[]){1, 2, 7, 5}, -1.0, 1.0);
    trial_output(&trial, DTYPE_FLOAT32, LAYOUT_DENSE, 4, (const int64_t[]){1, 2, 4, 3});
    trial_output(&trial, DTYPE_INT64, LAYOUT_DENSE, 4, (const int64_t[]){1, 2, 4, 3});
    double *grad = random_values(&trial, 24), *gradient = random_values(&trial, 70);
    (void)objective(&trial, grad);
    struct operation_call backward = {.opcode = OPCODE_MAX_POOL_BACKWARD, .input_count = 2, .tensor_count = 3};
    backward.attributes = trial.call.attributes;
    backward.tensors[0] = trial.call.tensors[1];
    backward.tensors[1] = trial.call.tensors[2];
    backward.tensors[2] = trial.call.tensors[0];
    double *values[3] = {grad, trial.value[2], gradient};
    reference_run(&backward, values);
    differences_compare(&trial, grad, 0, gradient);
    free(grad);
    free(gradient);
    trial_close(&trial);
}

enum { ROWS = sizeof gradient_rows / sizeof gradient_rows[0] };

static void test_every_gradient_has_a_row(void **state)
{
    (void)state;
    for (int opcode = 0; opcode < OPCODE_COUNT; opcode++) {
        const char *name = opcode_name((enum opcode)opcode);
        bool held = opcode == OPCODE_MAX_POOL_BACKWARD;
        for (int i = 0; i < ROWS; i++) {
            held = held || gradient_rows[i].backward == (enum opcode)opcode;
        }
        if (!held && (strstr(name, "BACKWARD") != NULL || strstr(name, "GRADIENT") != NULL)) {
            fail_msg("%s is held against no differences: add a row to gradient_rows", name);
        }
    }
}

int main(void)
{
    struct CMUnitTest tests[ROWS + 2];
    for (size_t i = 0; i < ROWS; i++) {
        union {
            const void *read;
            void *state;
        } row = {&gradient_rows[i]};
        tests[i] = (struct CMUnitTest){opcode_name(gradient_rows[i].backward), test_gradient, NULL, NULL, row.state};
    }
    tests[ROWS] = (struct CMUnitTest)cmocka_unit_test(test_gradient_of_max_pool);
    tests[ROWS + 1] = (struct CMUnitTest)cmocka_unit_test(test_every_gradient_has_a_row);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
