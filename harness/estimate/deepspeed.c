/* deepspeed-zero2, deepspeed-zero2-docs, deepspeed-zero3: DeepSpeed's estimates of parameters, gradients and optimizer
 * states, for 16-bit training with Adam on one node. Left out: activations ("to be completed"), buffers of
 * communication, allocator, context; float32 training, ZeRO 1 and adapters, for which it has no function. total_bytes
 * is without offloading; what is offloaded stands beside it in JSON, one object for each line that DeepSpeed prints. */
#include "harness/estimate/deepspeed.h"

#include <stdio.h>

#include "harness/base/size.h"
#include "harness/estimate/rule_terms.h"

/* count * bytes * 1.5 */
static bool host_bytes_of(int64_t count, int64_t bytes, int64_t *result)
{
    int64_t product = 0;
    bool fits = size_multiply(count, bytes, &product) && size_multiply(product, 3, &product);
    *result = product / 2;
    return fits;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

bool deepspeed_zero2_needs(const struct deepspeed_setup *setup, struct deepspeed_needs *needs)
{
    int64_t count = setup->parameter_count;
    int64_t whole = setup->documented ? 4 : 2;
    int64_t divided = setup->documented ? 16 : 18;
    bool offloads = setup->offload != DEEPSPEED_OFFLOAD_NONE;
    needs->device_bytes = offloads ? 2 * count : whole * count + divided * count / setup->devices;
    return host_bytes_of(count, offloads ? larger(4 * setup->devices, 16) : 4 * setup->devices, &needs->host_bytes);
}

bool deepspeed_zero3_needs(const struct deepspeed_setup *setup, struct deepspeed_needs *needs)
{
    static const int device_bytes[DEEPSPEED_OFFLOAD_COUNT] = {18, 2, 0};
    static const int host_bytes[DEEPSPEED_OFFLOAD_COUNT] = {0, 16, 18};
    int64_t count = setup->parameter_count;
    int64_t each = 4 * setup->devices;
    needs->device_bytes = 4 * setup->largest_count + device_bytes[setup->offload] * count / setup->devices;
    if (setup->zero_init && setup->offload == DEEPSPEED_OFFLOAD_NONE) {
        return host_bytes_of(setup->largest_count, each, &needs->host_bytes);
    }
    return host_bytes_of(count,
                         setup->zero_init ? host_bytes[setup->offload] : larger(each, host_bytes[setup->offload]),
                         &needs->host_bytes);
}

static bool trains_in_16bit(const struct estimate_input *input)
{
    const struct workload *workload = input->workload;
    const struct parallel *parallel = input->parallel;
    bool data_alone = parallel == NULL || (parallel->tensor * parallel->pipeline == 1 && !parallel->fsdp);
    return workload->mode == MODE_TRAIN && (rule_is_amp(workload->precision) || rule_is_16bit(workload->precision)) &&
           rule_optimizer_is_adam(workload->optimizer) && workload->lora_rank == 0 && data_alone;
}

/* On one device all stages are the same, and their functions differ. */
static bool stage_is(const struct estimate_input *input, int64_t stage)
{
    return trains_in_16bit(input) && (!parallel_divides(input->parallel) || input->parallel->zero == stage);
}

static bool zero2_applies(const struct estimate_input *input)
{
    return stage_is(input, 2);
}

static bool zero3_applies(const struct estimate_input *input)
{
    return stage_is(input, 3);
}

/* Parameters that the largest module owns itself, tied ones included: named_parameters(recurse=False) of each. */
static int64_t largest_count_of(const struct skeleton *skeleton)
{
    int64_t largest = 0;
    int64_t sum = 0;
    for (int i = 0; i < skeleton->tensor_count; i++) {
        const struct skeleton_tensor *tensor = &skeleton->tensors[i];
        sum = i > 0 && skeleton->tensors[i - 1].module == tensor->module ? sum : 0;
        sum += tensor->is_buffer ? 0 : tensor->element_count;
        largest = larger(largest, sum);
    }
    return largest;
}

static struct deepspeed_setup setup_of(const struct estimate_input *input)
{
    return (struct deepspeed_setup){.parameter_count = input->skeleton->parameter_count,
                                    .largest_count = largest_count_of(input->skeleton),
                                    .devices = input->parallel != NULL ? input->parallel->data : 1,
                                    .zero_init = true};
}

static enum status_code too_large(struct status *error)
{
    return status_set(error, STATUS_OVERFLOW, "the bytes of the host do not fit 63 bits; write fewer devices");
}

static void needs_add(struct estimate *estimate, const char *object, const struct deepspeed_needs *needs)
{
    char name[ESTIMATE_NAME_BYTES];
    snprintf(name, sizeof name, "%s.device_bytes", object);
    estimate_add(estimate, name, needs->device_bytes);
    snprintf(name, sizeof name, "%s.host_bytes", object);
    estimate_add(estimate, name, needs->host_bytes);
}

static enum status_code zero2_add(const struct estimate_input *input, bool documented, struct estimate *estimate,
                                  struct status *error)
{
    struct deepspeed_setup setup = setup_of(input);
    struct deepspeed_needs kept;
    struct deepspeed_needs offloaded;
    setup.documented = documented;
    bool fits = deepspeed_zero2_needs(&setup, &kept);
    setup.offload = DEEPSPEED_OFFLOAD_OPTIMIZER;
    if (!fits || !deepspeed_zero2_needs(&setup, &offloaded)) {
        return too_large(error);
    }
    estimate_add(estimate, "host_bytes", kept.host_bytes);
    estimate_add(estimate, "total_bytes", kept.device_bytes);
    needs_add(estimate, "offload_optimizer", &offloaded);
    return STATUS_OK;
}

static enum status_code zero2_compute(const struct estimate_input *input, struct estimate *estimate,
                                      struct status *error)
{
    return zero2_add(input, false, estimate, error);
}

static enum status_code zero2_docs_compute(const struct estimate_input *input, struct estimate *estimate,
                                           struct status *error)
{
    return zero2_add(input, true, estimate, error);
}

static enum status_code zero3_compute(const struct estimate_input *input, struct estimate *estimate,
                                      struct status *error)
{
    static const char *const objects[DEEPSPEED_OFFLOAD_COUNT] = {NULL, "offload_optimizer", "offload_parameters"};
    struct deepspeed_setup setup = setup_of(input);
    struct deepspeed_needs rows[DEEPSPEED_OFFLOAD_COUNT];
    for (int i = 0; i < DEEPSPEED_OFFLOAD_COUNT; i++) {
        setup.offload = (enum deepspeed_offload)i;
        if (!deepspeed_zero3_needs(&setup, &rows[i])) {
            return too_large(error);
        }
    }
    estimate_add(estimate, "largest_layer_bytes", 4 * setup.largest_count);
    estimate_add(estimate, "host_bytes", rows[0].host_bytes);
    estimate_add(estimate, "total_bytes", rows[0].device_bytes);
    for (int i = 1; i < DEEPSPEED_OFFLOAD_COUNT; i++) {
        needs_add(estimate, objects[i], &rows[i]);
    }
    return STATUS_OK;
}

const struct estimator estimator_deepspeed_zero2 = {
    .name = "deepspeed-zero2",
    .what = "DeepSpeed's function for ZeRO 2: 2 P + 18 P / N; no activations",
    .source = "DeepSpeed 0.19, zero/stage_1_and_2.py",
    .divides = true,
    .applies = zero2_applies,
    .compute = zero2_compute,
};

const struct estimator estimator_deepspeed_zero2_docs = {
    .name = "deepspeed-zero2-docs",
    .what = "DeepSpeed's ZeRO 2 as its documentation still has it: 4 P + 16 P / N (code before 0.14.3)",
    .source = "DeepSpeed documentation, Memory Requirements",
    .divides = true,
    .applies = zero2_applies,
    .compute = zero2_docs_compute,
};

const struct estimator estimator_deepspeed_zero3 = {
    .name = "deepspeed-zero3",
    .what = "DeepSpeed's function for ZeRO 3: 4 x the largest layer + 18 P / N; no activations",
    .source = "DeepSpeed 0.19, zero/stage3.py",
    .divides = true,
    .applies = zero3_applies,
    .compute = zero3_compute,
};
