/* Kernel cases: the tables, and what the tensors of a call look like and hold. Nothing here measures. */
#include "tests/bench/kernel_case.h"

#include <string.h>

#include "harness/kernels/body_adam_8bit.h"

enum { COLUMNS = KERNEL_COLUMNS, CHANNELS = 64, HEADS = 16, CACHED = 128, WIDTH = 64, PICKED = 8 };

/* A block of all elements, whatever their number. */
#define ONE_BLOCK (INT64_C(1) << 40)

const struct kernel_case kernel_cases[] = {
    {"COPY float32 to float32", OPCODE_COPY, "ff", {.f = {0}}},
    {"COPY float32 to bfloat16", OPCODE_COPY, "fh", {.f = {0}}},
    {"COPY float32, heads side by side", OPCODE_COPY, "vw", {.f = {0}}},
    {"COPY float32, cache into a longer one", OPCODE_COPY, "KV", {.f = {0}}},
    {"ADD", OPCODE_ADD, "fff", {.f = {1.0}}},
    {"MULTIPLY", OPCODE_MULTIPLY, "fff", {.f = {0}}},
    {"DIVIDE", OPCODE_DIVIDE, "fff", {.f = {0}}},
    {"BOUND", OPCODE_BOUND, "fff", {.f = {0}}},
    {"WITHIN", OPCODE_WITHIN, "fff", {.f = {0}}},
    {"SIGMOID", OPCODE_SIGMOID, "ff", {.f = {0}}},
    {"SIGMOID_BACKWARD", OPCODE_SIGMOID_BACKWARD, "fff", {.f = {0}}},
    {"ABSOLUTE", OPCODE_ABSOLUTE, "ff", {.f = {0}}},
    {"CLAMP, rounded", OPCODE_CLAMP, "ff", {.f = {0.0, 15.0}, .i = {1}}},
    {"AFFINE", OPCODE_AFFINE, "ff", {.f = {0.5, 1.0}}},
    {"POWER, exponent 2", OPCODE_POWER, "ff", {.f = {2.0}}},
    {"SQUARE_ROOT", OPCODE_SQUARE_ROOT, "ff", {.f = {0}}},
    {"RECIPROCAL_ROOT", OPCODE_RECIPROCAL_ROOT, "ff", {.f = {0}}},
    {"TANH", OPCODE_TANH, "ff", {.f = {0}}},
    {"TANH_BACKWARD", OPCODE_TANH_BACKWARD, "fff", {.f = {0}}},
    {"COSINE", OPCODE_COSINE, "ff", {.f = {1.0}}},
    {"SINE", OPCODE_SINE, "ff", {.f = {1.0}}},
    {"RELU", OPCODE_RELU, "ff", {.f = {0}}},
    {"RELU_BACKWARD", OPCODE_RELU_BACKWARD, "fff", {.f = {0}}},
    {"GELU", OPCODE_GELU, "ff", {.f = {0}}},
    {"GELU, tanh form", OPCODE_GELU, "ff", {.i = {1}}},
    {"GELU_BACKWARD", OPCODE_GELU_BACKWARD, "fff", {.f = {0}}},
    {"GELU_BACKWARD, tanh form", OPCODE_GELU_BACKWARD, "fff", {.i = {1}}},
    {"SILU", OPCODE_SILU, "ff", {.f = {0}}},
    {"SILU_BACKWARD", OPCODE_SILU_BACKWARD, "fff", {.f = {0}}},
    {"DROPOUT", OPCODE_DROPOUT, "ffb", {.f = {0.1}, .i = {1}}},
    {"DROPOUT_BACKWARD", OPCODE_DROPOUT_BACKWARD, "fbf", {.f = {1.1}}},
    {"SUM, gradient of a bias", OPCODE_SUM, "fl", {.f = {1.0}}},
    {"EXTREME", OPCODE_EXTREME, "fr", {.i = {1}}},
    {"SOFTMAX", OPCODE_SOFTMAX, "ff", {.f = {0}}},
    {"SOFTMAX_BACKWARD", OPCODE_SOFTMAX_BACKWARD, "fff", {.f = {0}}},
    {"LOG_SOFTMAX", OPCODE_LOG_SOFTMAX, "ff", {.f = {0}}},
    {"LOG_SOFTMAX_BACKWARD", OPCODE_LOG_SOFTMAX_BACKWARD, "fff", {.f = {0}}},
    {"NLL_LOSS_BACKWARD", OPCODE_NLL_LOSS_BACKWARD, "stsf", {.f = {0}}},
    {"CROSS_ENTROPY", OPCODE_CROSS_ENTROPY, "tjFr", {.f = {0}}},
    {"LAYERNORM", OPCODE_LAYERNORM, "fccfrr", {.f = {1e-5}}},
    {"LAYERNORM_BACKWARD", OPCODE_LAYERNORM_BACKWARD, "ffrrcfcc", {.f = {0}}},
    {"LAYERNORM_BACKWARD_INPUT", OPCODE_LAYERNORM_BACKWARD_INPUT, "ffrrcf", {.f = {0}}},
    {"BATCHNORM, training", OPCODE_BATCHNORM, "nkkkknkk", {.f = {1e-5, 0.1}, .i = {1}}},
    {"BATCHNORM_INFERENCE", OPCODE_BATCHNORM_INFERENCE, "nkkkkn", {.f = {1e-5}}},
    {"BATCHNORM_BACKWARD", OPCODE_BATCHNORM_BACKWARD, "nnkkknkk", {.f = {0}}},
    {"EMBEDDING", OPCODE_EMBEDDING, "fif", {.f = {0}}},
    {"EMBEDDING_BACKWARD", OPCODE_EMBEDDING_BACKWARD, "fif", {.i = {-1}}},
    {"TOP_K, 8 of 1024", OPCODE_TOP_K, "fxX", {.f = {0}}},
    {"ARGMAX", OPCODE_ARGMAX, "fi", {.f = {0}}},
    {"GATHER, whole rows", OPCODE_GATHER, "gGg", {.f = {0}}},
    {"MAX_POOL", OPCODE_MAX_POOL, "npq", {.i = {3, 2, 1}}},
    {"MAX_POOL_BACKWARD", OPCODE_MAX_POOL_BACKWARD, "pqn", {.i = {3, 2, 1}}},
    {"QUANTIZE float32 to int8, a scale a row", OPCODE_QUANTIZE, "fIr", {.i = {COLUMNS}}},
    {"QUANTIZE float32 to nf4, blocks of 64", OPCODE_QUANTIZE, "fNd", {.i = {64}}},
    {"QUANTIZE float32 to float8, one scale", OPCODE_QUANTIZE, "fEs", {.i = {ONE_BLOCK}}},
    {"DEQUANTIZE int8 to float32", OPCODE_DEQUANTIZE, "Irf", {.i = {COLUMNS}}},
    {"DEQUANTIZE nf4 to float32", OPCODE_DEQUANTIZE, "Ndf", {.i = {64}}},
    {"DEQUANTIZE nf4 to bfloat16", OPCODE_DEQUANTIZE, "Ndh", {.i = {64}}},
    {"DEQUANTIZE float8 to float32", OPCODE_DEQUANTIZE, "Esf", {.i = {ONE_BLOCK}}},
    {"PACK_BITS, 4 bits", OPCODE_PACK_BITS, "aaa", {.i = {4, 1}}},
    {"QUANTIZED_LINEAR int8, one row", OPCODE_QUANTIZED_LINEAR, "lIrR", {.i = {COLUMNS}}},
    {"QUANTIZED_LINEAR nf4, one row", OPCODE_QUANTIZED_LINEAR, "lNdR", {.i = {64}}},
    {"QUANTIZED_LINEAR float8, one row", OPCODE_QUANTIZED_LINEAR, "lEsR", {.i = {ONE_BLOCK}}},
    {"DEQUANTIZE_SUMS", OPCODE_DEQUANTIZE_SUMS, "orcf", {.f = {0}}},
    {"ADAM", OPCODE_ADAM, "fFFF", {.f = {1e-4, 0.9, 0.999, 1e-8, 0.01}, .i = {1, 1}}},
    {"ADAM_8BIT", OPCODE_ADAM_8BIT, "fMUFaaee", {.f = {1e-4, 0.9, 0.999, 1e-8, 0.01}, .i = {1, 1}}},
    {"ADAM_MOMENTS", OPCODE_ADAM_MOMENTS, "fFF", {.f = {0.9, 0.999}}},
    {"ADAM_APPLY", OPCODE_ADAM_APPLY, "ffF", {.f = {1e-4}}},
    {"SGD", OPCODE_SGD, "fF", {.f = {1e-4}}},
    {"SGD_MOMENTUM", OPCODE_SGD_MOMENTUM, "fFF", {.f = {1e-4, 0.9}}},
    {"UNSCALE", OPCODE_UNSCALE, "Fs", {.f = {1.0}}},
    {"FILL", OPCODE_FILL, "f", {.f = {0}}},
    {"CAUSAL_MASK", OPCODE_CAUSAL_MASK, "f", {.f = {0}}},
    {"ATTENTION_MASK", OPCODE_ATTENTION_MASK, "zm", {.i = {COLUMNS - CACHED}}},
    {"RANDOM_NORMAL", OPCODE_RANDOM_NORMAL, "f", {.f = {0.0, 1.0}, .i = {1}}},
};

const int kernel_case_count = sizeof kernel_cases / sizeof kernel_cases[0];

const struct unmeasured_operation unmeasured_operations[] = {
    {OPCODE_RANDOM_INTEGER, "the token ids of a batch, once for a case"},
    {OPCODE_SEQUENCE, "one number for each token"},
    {OPCODE_POSITION_BUCKETS, "one number for each pair of tokens, once for a stack of layers"},
    {OPCODE_ATTENTION_IN_PARTS, "on a host the loop of ATTENTION; on a GPU in the model"},
    {OPCODE_ATTENTION_BIAS_GRADIENT, "a plain loop whose speed is not its purpose"},
    {OPCODE_DYNAMIC_MAP, "256 numbers, once for a case"},
    {OPCODE_NLL_LOSS, "one number of each row is read"},
    {OPCODE_TARGET_MASK, "three numbers for each token"},
    {OPCODE_TOKEN_POSITIONS, "one number for each token"},
    {OPCODE_SORT_IDS, "one number for each row of an expert"},
    {OPCODE_GROUP_ENDS, "one number for each row of an expert"},
    {OPCODE_PLACE_IDS, "one number for each row of an expert"},
    {OPCODE_GROUP_LIMIT, "one number for each expert that a token may use"},
    {OPCODE_COMPLEX_MULTIPLY, "a plain loop over the turned part of a head"},
    {OPCODE_SCATTER, "one number for each expert of a token"},
    {OPCODE_GROUPED_MATMUL, "a product whose speed is not its purpose"},
    {OPCODE_GROUPED_CONVOLUTION, "a plain loop whose speed is not its purpose"},
    {OPCODE_GROUPED_CONVOLUTION_BACKWARD_INPUT, "a plain loop whose speed is not its purpose"},
    {OPCODE_GROUPED_CONVOLUTION_BACKWARD_WEIGHT, "a plain loop whose speed is not its purpose"},
    {OPCODE_UNPACK_BITS, "a plain loop whose speed is not its purpose"},
    {OPCODE_MAP_QUANTIZE, "scales of weights, one for each 64 elements, once for a case"},
    {OPCODE_MAP_DEQUANTIZE, "scales of weights, one for each 64 elements"},
    {OPCODE_NESTED_LINEAR, "the loop of QUANTIZED_LINEAR, and a scale more for each block"},
    {OPCODE_QUOTIENT, "a few numbers for each beam"},
    {OPCODE_REMAINDER, "a few numbers for each beam"},
};

const int unmeasured_operation_count = sizeof unmeasured_operations / sizeof unmeasured_operations[0];

/* How the elements lie: side by side; [batch, tokens, heads, width] seen as [batch, heads, tokens, width]; as the front
 * of a cache of CACHED tokens; one element for a whole last dimension. */
enum lay { LAY_DENSE, LAY_HEADS, LAY_CACHE, LAY_EXPANDED };

/* A size below 0 stands for the rows, divided by -size. */
struct tensor_kind {
    char letter;
    enum dtype dtype;
    int rank;
    int64_t size[4];
    bool is_short, is_updated;
    enum lay lay;
};

static const struct tensor_kind kinds[] = {
    {'f', DTYPE_FLOAT32, 2, {-1, COLUMNS}, false, false, LAY_DENSE},
    {'F', DTYPE_FLOAT32, 2, {-1, COLUMNS}, false, true, LAY_DENSE},
    {'h', DTYPE_BFLOAT16, 2, {-1, COLUMNS}, false, false, LAY_DENSE},
    {'b', DTYPE_BOOL, 2, {-1, COLUMNS}, false, false, LAY_DENSE},
    {'o', DTYPE_INT32, 2, {-1, COLUMNS}, false, false, LAY_DENSE},
    {'I', DTYPE_INT8, 2, {-1, COLUMNS}, false, false, LAY_DENSE},
    {'E', DTYPE_FLOAT8_E4M3FN, 2, {-1, COLUMNS}, false, false, LAY_DENSE},
    {'N', DTYPE_NF4X2, 2, {-1, COLUMNS / 2}, false, false, LAY_DENSE},
    {'a', DTYPE_UINT8, 2, {-1, COLUMNS}, false, true, LAY_DENSE}, /* codes of moments */
    {'g', DTYPE_FLOAT32, 3, {1, -1, COLUMNS}, false, false, LAY_DENSE},
    {'v', DTYPE_FLOAT32, 4, {-128, HEADS, CACHED, WIDTH}, false, false, LAY_HEADS},
    {'w', DTYPE_FLOAT32, 4, {-128, HEADS, CACHED, WIDTH}, false, false, LAY_DENSE},
    {'K', DTYPE_FLOAT32, 4, {-128, HEADS, CACHED - 1, WIDTH}, false, false, LAY_DENSE},
    {'V', DTYPE_FLOAT32, 4, {-128, HEADS, CACHED - 1, WIDTH}, false, false, LAY_CACHE},
    {'m', DTYPE_BOOL, 4, {-128, 1, CACHED, COLUMNS}, false, false, LAY_DENSE},
    {'n', DTYPE_FLOAT32, 4, {-256, CHANNELS, 64, 64}, false, false, LAY_DENSE}, /* images */
    {'p', DTYPE_FLOAT32, 4, {-256, CHANNELS, 32, 32}, false, false, LAY_DENSE}, /* and pooled */
    {'q', DTYPE_INT64, 4, {-256, CHANNELS, 32, 32}, false, false, LAY_DENSE},   /* places in a plane */
    {'r', DTYPE_FLOAT32, 1, {-1}, true, false, LAY_DENSE},
    {'R', DTYPE_FLOAT32, 2, {1, -1}, true, false, LAY_DENSE},
    {'c', DTYPE_FLOAT32, 1, {COLUMNS}, true, false, LAY_DENSE},
    {'l', DTYPE_FLOAT32, 2, {1, COLUMNS}, true, false, LAY_DENSE},
    {'k', DTYPE_FLOAT32, 1, {CHANNELS}, true, false, LAY_DENSE},
    {'s', DTYPE_FLOAT32, 1, {1}, true, false, LAY_DENSE},
    {'d', DTYPE_FLOAT32, 2, {-1, COLUMNS / 64}, true, false, LAY_DENSE},        /* scales of blocks of 64 */
    {'e', DTYPE_FLOAT32, 2, {-1, COLUMNS / CODE_BLOCK}, true, true, LAY_DENSE}, /* scales of moments */
    {'M', DTYPE_FLOAT32, 1, {MAP_CODES}, true, false, LAY_DENSE},               /* the signed map of ADAM_8BIT */
    {'U', DTYPE_FLOAT32, 1, {MAP_CODES}, true, false, LAY_DENSE},               /* and the unsigned one */
    {'i', DTYPE_INT64, 1, {-1}, true, false, LAY_DENSE},                        /* ids below the number of rows */
    {'G', DTYPE_INT64, 3, {1, -1, COLUMNS}, true, false, LAY_EXPANDED},         /* the same, each for a whole row */
    {'t', DTYPE_INT64, 1, {-1}, true, false, LAY_DENSE},                        /* ids below COLUMNS */
    {'j', DTYPE_INT64, 1, {1}, true, false, LAY_DENSE},                         /* the number of rows */
    {'z', DTYPE_INT64, 2, {-128, COLUMNS}, true, false, LAY_DENSE},             /* an attention mask's ones and zeros */
    {'x', DTYPE_FLOAT32, 2, {-1, PICKED}, true, false, LAY_DENSE},
    {'X', DTYPE_INT64, 2, {-1, PICKED}, true, false, LAY_DENSE},
};

static const struct tensor_kind *kind_find(char letter)
{
    const struct tensor_kind *kind = kinds;
    while (kind->letter != letter) { /* the letters are those of the table above */
        kind++;
    }
    return kind;
}

struct tensor kernel_tensor(char letter, int64_t rows, void *data)
{
    const struct tensor_kind *kind = kind_find(letter);
    struct tensor tensor = {.data = data, .dtype = kind->dtype, .rank = kind->rank};
    int64_t stride = 1;
    for (int d = kind->rank - 1; d >= 0; d--) {
        tensor.size[d] = kind->size[d] < 0 ? rows / -kind->size[d] : kind->size[d];
        tensor.stride[d] = stride;
        stride *= kind->lay == LAY_CACHE && d == 2 ? CACHED : tensor.size[d];
    }
    if (kind->lay == LAY_HEADS) {
        tensor.stride[1] = WIDTH;
        tensor.stride[2] = HEADS * WIDTH;
    }
    if (kind->lay == LAY_EXPANDED) {
        tensor.stride[0] = rows;
        tensor.stride[1] = 1;
        tensor.stride[2] = 0;
    }
    return tensor;
}

bool kernel_tensor_is_short(char letter)
{
    return kind_find(letter)->is_short;
}

static int64_t memory_elements(char letter, int64_t rows)
{
    struct tensor tensor = kernel_tensor(letter, rows, NULL);
    int64_t count = tensor_element_count(&tensor);
    return kind_find(letter)->lay == LAY_EXPANDED ? count / COLUMNS : count;
}

int64_t kernel_tensor_traffic(char letter, int64_t rows)
{
    const struct tensor_kind *kind = kind_find(letter);
    return memory_elements(letter, rows) * dtype_bytes(kind->dtype) * (kind->is_updated ? 2 : 1);
}

/* Uniform in [0.5, 1.5): no subnormal numbers, no negative second moments. */
static void floats_fill(float *numbers, int64_t count, unsigned seed)
{
    uint32_t state = seed;
    for (int64_t i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        numbers[i] = 0.5f + (float)(state >> 8) / 16777216.0f;
    }
}

/* The middle of a window of kernel 3, stride 2, padding 1; a mask that hides the start of a row; or an id. */
static int64_t integer_of(char letter, int64_t rows, int64_t k)
{
    switch (letter) {
    case 'q':
        return k / 32 % 32 * 2 * 64 + k % 32 * 2;
    case 'z':
        return k % COLUMNS >= 16;
    case 'j':
        return rows;
    case 't':
        return k * 4241 % COLUMNS;
    default:
        return k * 4241 % rows;
    }
}

void kernel_tensor_stage(char letter, int64_t rows, unsigned seed, void *memory, int64_t *bytes)
{
    const struct tensor_kind *kind = kind_find(letter);
    int64_t count = memory_elements(letter, rows);
    unsigned char *codes = memory;
    float *numbers = memory;
    int64_t *integers = memory;
    *bytes = count * dtype_bytes(kind->dtype);
    if (kind->dtype == DTYPE_FLOAT32 && (letter == 'M' || letter == 'U')) {
        for (int k = 0; k < MAP_CODES; k++) {
            numbers[k] = dynamic_map_number(k, letter == 'M');
        }
    } else if (kind->dtype == DTYPE_FLOAT32) {
        floats_fill(numbers, count, seed);
    } else if (kind->dtype == DTYPE_INT64) {
        for (int64_t k = 0; k < count; k++) {
            integers[k] = integer_of(letter, rows, k);
        }
    } else { /* bools, and codes and halves that are ordinary numbers in each dtype */
        for (int64_t k = 0; k < *bytes; k++) {
            codes[k] = (unsigned char)(kind->dtype == DTYPE_BOOL ? k % 7 != 0 : k * 29 % 0x38);
        }
    }
}
