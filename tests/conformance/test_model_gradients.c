/* Loss and every gradient of a tiny model of each family on the GPU of the tests, held against those of the host. What
 * the host computes is held against PyTorch by peers/pytorch/model_check.py and tests/models/test_gradients.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/models/model_step.h"
#include "tests/support/device_use.h"

/* tests/cuda_emulation runs the same on both GPUs that it emulates. */
#ifndef TEST_GPUS
#define TEST_GPUS test_gpu()
#endif

static const char *const models[] = {
    "bert", "gpt2", "llama", "mistral", "qwen2", "vit", "resnet", "resnet-bottleneck", "convnext"};

enum { MODEL_COUNT = sizeof models / sizeof models[0] };

static struct workload training(enum precision precision, enum attention attention, bool images)
{
    struct workload workload = workload_default(MODE_TRAIN);
    workload.precision = precision;
    workload.attention = attention;
    workload.optimizer = OPTIMIZER_ADAMW_FUSED;
    workload.batch = images ? 8 : 3;
    workload.seq = images ? 0 : 13;
    return workload;
}

/* Euclidean. NaN where either has one. */
static double distance(const float *a, const float *b, int64_t count)
{
    double sum = 0.0;
    for (int64_t k = 0; k < count; k++) {
        sum += pow((double)a[k] - (b != NULL ? (double)b[k] : 0.0), 2.0);
    }
    return sqrt(sum);
}

/* One model on a GPU, the same on the host, and on the host in float32: what the rounding of the host comes to. */
struct comparison {
    struct tape_machine gpu, host, exact;
    enum precision precision;
    char label[160];
};

static double longest_gradient(const struct comparison *c)
{
    double longest = 0.0;
    for (int i = 0; i < c->exact.skeleton.tensor_count; i++) {
        const struct skeleton_tensor *tensor = &c->exact.skeleton.tensors[i];
        float *gradient = model_step_gradient(&c->exact, tensor, PRECISION_FLOAT32);
        longest = gradient != NULL ? fmax(longest, distance(gradient, NULL, tensor->element_count)) : longest;
        free(gradient);
    }
    return longest;
}

/* float32: 1e-4 of the gradient, where one cancels (of a bias before a normalisation) 1e-7 of the longest. 16 bits: a
 * step of bfloat16, and twice what the host is off. What is off is told by float32 on the host: where a gradient is
 * zero but for rounding (of a key's bias), host and GPU are apart by what both are off, each in its own direction. */
static void gradients_compare(const struct comparison *c)
{
    double longest = longest_gradient(c), step = c->precision == PRECISION_FLOAT32 ? 1e-4 : 0x1p-7;
    int compared = 0;
    for (int i = 0; i < c->host.skeleton.tensor_count; i++) {
        const struct skeleton_tensor *tensor = &c->host.skeleton.tensors[i];
        float *gpu = model_step_gradient(&c->gpu, tensor, c->precision);
        float *host = model_step_gradient(&c->host, tensor, c->precision);
        float *exact = model_step_gradient(&c->exact, tensor, PRECISION_FLOAT32);
        assert_true((gpu != NULL) == (host != NULL) && (exact != NULL) == (host != NULL));
        if (host != NULL) {
            double off = distance(gpu, exact, tensor->element_count);
            double length = distance(exact, NULL, tensor->element_count);
            double rounding = distance(host, exact, tensor->element_count);
            if (!(off <= step * length + 1e-7 * longest + 2.0 * rounding)) {
                fail_msg("%s: the gradient of %s is %.3g off; its length is %.3g, the host's rounding %.3g", c->label,
                         tensor->path, off, length, rounding);
            }
            compared++;
        }
        free(gpu);
        free(host);
        free(exact);
    }
    assert_true(compared > 10 && longest > 0.0);
}

static void model_compare(const char *device_spec, const char *model, enum precision precision,
                          enum attention attention)
{
    char path[128];
    struct comparison c = {.precision = precision};
    struct workload workload = training(precision, attention, model[0] == 'v' || model[0] == 'r');
    enum dtype rounded = precision == PRECISION_BFLOAT16 ? DTYPE_BFLOAT16 : DTYPE_FLOAT32;
    snprintf(path, sizeof path, "models/catalogue/tiny-%s/config.json", model);
    snprintf(c.label, sizeof c.label, "tiny-%s, %s, %s on %s", model, precision_name(precision),
             attention_name(attention), device_spec);
    model_step_begin(&c.gpu, device_spec, path, &workload, rounded, 1);
    model_step_begin(&c.host, "host", path, &workload, rounded, 1);
    workload.precision = PRECISION_FLOAT32;
    model_step_begin(&c.exact, "host", path, &workload, rounded, 1);
    model_step_finish(&c.gpu);
    model_step_finish(&c.host);
    model_step_finish(&c.exact);
    double loss = machine_loss(&c.gpu), expected = machine_loss(&c.host);
    double step = precision == PRECISION_BFLOAT16 ? 0x1p-7 * fabs(expected) : 0.0; /* the loss is a bfloat16 too */
    double rounding = step + fabs(expected - machine_loss(&c.exact));
    if (!(fabs(loss - expected) <= 1e-5 * fabs(expected) + 2.0 * rounding)) {
        fail_msg("%s: the loss is %.9g instead of %.9g", c.label, loss, expected);
    }
    gradients_compare(&c);
    machine_close(&c.gpu);
    machine_close(&c.host);
    machine_close(&c.exact);
}

static void models_compare(enum precision precision)
{
    const char *const gpus[] = {TEST_GPUS};
    for (size_t g = 0; g < sizeof gpus / sizeof gpus[0]; g++) {
        device_close(device_open_or_skip(gpus[g]));
        for (int m = 0; m < MODEL_COUNT; m++) {
            model_compare(gpus[g], models[m], precision, ATTENTION_SDPA);
            if (models[m][0] != 'r') {
                model_compare(gpus[g], models[m], precision, ATTENTION_EAGER);
            }
        }
    }
}

static void float32_gradients_are_those_of_the_host(void **state)
{
    (void)state;
    models_compare(PRECISION_FLOAT32);
}

static void bfloat16_gradients_are_those_of_the_host(void **state)
{
    (void)state;
    models_compare(PRECISION_BFLOAT16);
}

static void amp_gradients_are_those_of_the_host(void **state)
{
    (void)state;
    models_compare(PRECISION_AMP_BFLOAT16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(float32_gradients_are_those_of_the_host),
        cmocka_unit_test(bfloat16_gradients_are_those_of_the_host),
        cmocka_unit_test(amp_gradients_are_those_of_the_host),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
