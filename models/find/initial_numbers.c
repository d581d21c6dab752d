/* Initial numbers: by the skeleton's words for how a tensor starts. Not their names or places in files. */
#include "models/find/initial_numbers.h"

#include <math.h>
#include <string.h>

#include "harness/base/hash.h"
#include "harness/kernels/convert.h"
#include "harness/kernels/normal_fill.h"

/* The last step of a mixer of 64 bits (xor-shift and multiply): neighbouring seeds give unlike ones. */
static uint64_t bits_mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static int64_t tensor_seed(int64_t seed, const char *name)
{
    uint64_t mixed = bits_mix(hash_text(HASH_START, name) ^ bits_mix((uint64_t)seed + 0x9e3779b97f4a7c15u));
    int64_t result;
    memcpy(&result, &mixed, sizeof result);
    return result;
}

static void number_store(void *out, enum dtype dtype, int64_t index, double value)
{
    if (dtype == DTYPE_INT64) {
        ((int64_t *)out)[index] = (int64_t)value;
    } else {
        float_store(out, dtype, index, (float)value);
    }
}

/* Copies of the first element. */
static void constant_fill(void *out, enum dtype dtype, int64_t count, double value)
{
    size_t filled = (size_t)dtype_bytes(dtype), bytes = (size_t)count * filled;
    number_store(out, dtype, 0, value);
    while (filled < bytes) {
        size_t piece = filled < bytes - filled ? filled : bytes - filled;
        memcpy((char *)out + filled, out, piece);
        filled += piece;
    }
}

void initial_numbers_fill(const void *numbers, int index, int64_t first, int64_t count, void *out)
{
    const struct initial_numbers *initial = numbers;
    const struct planned_tensor *planned = &initial->layout->tensors[index];
    const struct skeleton_tensor *tensor = &initial->skeleton->tensors[initial->layout->sources[index]];
    enum dtype dtype = planned->type->dtype;
    int64_t columns = tensor->rank > 0 ? tensor->size[tensor->rank - 1] : 1;
    switch (count > 0 ? tensor->initial : INITIAL_SEQUENCE) {
    case INITIAL_CONSTANT:
        constant_fill(out, dtype, count, tensor->init_constant);
        break;
    case INITIAL_NORMAL: {
        struct normal_numbers normal = {.seed = tensor_seed(initial->seed, planned->name),
                                        .deviation = (float)tensor->init_deviation};
        normal_fill(&normal, first, count, dtype, out);
        break;
    }
    case INITIAL_SEQUENCE:
        for (int64_t k = 0; k < count; k++) {
            number_store(out, dtype, k, (double)((first + k) % columns));
        }
        break;
    case INITIAL_INVERSE_FREQUENCY:
        for (int64_t k = 0; k < count; k++) {
            double exponent = -(double)(first + k) / (double)tensor->element_count;
            number_store(out, dtype, k, pow(tensor->init_constant, exponent));
        }
        break;
    case INITIAL_WINDOW:
        for (int64_t k = 0; k < count; k++) {
            int64_t distance = (first + k) / columns % tensor->size[tensor->rank - 2] - (first + k) % columns;
            ((unsigned char *)out)[k] = distance >= 0 && (double)distance < tensor->init_constant ? 1 : 0;
        }
        break;
    }
}
