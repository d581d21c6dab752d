/* One training step of a model: see model_step.h. */
#include "tests/models/model_step.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <math.h>

#include "harness/kernels/convert.h"

/* The first forward pass is the third such stage: inputs are made in the first, and nothing is dropped in the
 * second. */
enum { FIRST_PASS = 3 };

/* Uniform in [-1, 1): the finalizer of SplitMix64. */
static double uniform_at(uint64_t seed, uint64_t tensor, uint64_t k)
{
    uint64_t z = seed * 0x9e3779b97f4a7c15u + tensor * 0xd1b54a32d192ed03u + k;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-52 - 1.0;
}

enum dtype model_step_dtype(const struct tape_machine *machine, int storage, int64_t element_count,
                            enum precision precision)
{
    int64_t element_bytes = element_count > 0 ? machine_bytes(machine, storage) / element_count : 0;
    enum dtype half = precision == PRECISION_FLOAT16 ? DTYPE_FLOAT16 : DTYPE_BFLOAT16;
    return element_bytes == 8 ? DTYPE_INT64 : element_bytes == 2 ? half : DTYPE_FLOAT32;
}

/* What a tensor is filled with: its number among all that seed fills, and the range. */
struct filling {
    enum dtype rounded;
    uint64_t seed, tensor;
    double middle, reach;
};

static void storage_fill(const struct tape_machine *machine, int storage, int64_t count, enum dtype dtype,
                         const struct filling *filling)
{
    unsigned char *elements = malloc((size_t)machine_bytes(machine, storage) + 1);
    assert_non_null(elements);
    for (int64_t k = 0; k < count; k++) {
        unsigned char rounded[sizeof(int64_t)];
        double value = filling->middle + filling->reach * uniform_at(filling->seed, filling->tensor, (uint64_t)k);
        float_store(rounded, filling->rounded, 0, (float)value);
        float_store(elements, dtype, k, float_load(rounded, filling->rounded, 0));
    }
    machine_write(machine, storage, elements);
    free(elements);
}

static void weights_fill(const struct tape_machine *machine, enum precision precision, enum dtype rounded,
                         uint64_t seed)
{
    const struct skeleton *skeleton = &machine->skeleton;
    for (int i = 0; i < skeleton->tensor_count; i++) {
        const struct skeleton_tensor *tensor = &skeleton->tensors[i];
        int storage = machine_find(machine, CATEGORY_WEIGHTS, tensor->path);
        if (tensor->is_buffer || tensor->tied_to >= 0) {
            continue;
        }
        assert_true(storage >= 0);
        bool norm = tensor->rank == 1 && strstr(skeleton->modules[tensor->module].class_name, "Norm") != NULL &&
                    strstr(tensor->path, "weight") != NULL;
        double fan_in = tensor->rank > 1 ? (double)tensor->element_count / (double)tensor->size[0] : 12.0;
        enum dtype dtype = model_step_dtype(machine, storage, tensor->element_count, precision);
        struct filling filling = {rounded, seed, (uint64_t)i + 1, norm ? 1.0 : 0.0, sqrt(3.0 / fan_in)};
        storage_fill(machine, storage, tensor->element_count, dtype, &filling);
    }
}

/* Token ids and labels are whole numbers, which every device draws alike. */
static void pixels_fill(const struct tape_machine *machine, const struct workload *workload, enum dtype rounded,
                        uint64_t seed)
{
    int pixels = machine_find(machine, CATEGORY_INPUTS, "pixel_values");
    if (pixels >= 0) {
        const struct config *config = &machine->config;
        int64_t count = workload->batch * config->channels * config->image * config->image;
        enum dtype dtype = model_step_dtype(machine, pixels, count, workload->precision);
        struct filling filling = {rounded, seed, 0, 0.0, 1.7};
        storage_fill(machine, pixels, count, dtype, &filling);
    }
}

void model_step_begin(struct tape_machine *machine, const char *device_spec, const char *path,
                      const struct workload *workload, enum dtype rounded, uint64_t seed)
{
    machine_open_on(machine, device_spec, "host", path, workload, 1, 1e-4);
    assert_true(machine_run_until(machine, STAGE_FORWARD, FIRST_PASS));
    weights_fill(machine, workload->precision, rounded, seed);
    pixels_fill(machine, workload, rounded, seed);
}

void model_step_finish(struct tape_machine *machine)
{
    assert_true(machine_run_until(machine, STAGE_STEP, 1));
}

float *model_step_gradient(const struct tape_machine *machine, const struct skeleton_tensor *tensor,
                           enum precision precision)
{
    int storage = machine_find(machine, CATEGORY_GRADIENTS, tensor->path);
    if (storage < 0) {
        return NULL;
    }
    unsigned char *elements = malloc((size_t)machine_bytes(machine, storage) + 1);
    float *values = malloc(((size_t)tensor->element_count + 1) * sizeof *values);
    assert_non_null(elements);
    assert_non_null(values);
    enum dtype dtype = model_step_dtype(machine, storage, tensor->element_count, precision);
    machine_read(machine, storage, elements);
    for (int64_t k = 0; k < tensor->element_count; k++) {
        values[k] = float_load(elements, dtype, k);
    }
    free(elements);
    return values;
}
