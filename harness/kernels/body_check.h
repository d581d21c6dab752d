/* Check: whether a call fits the contract of its operation in operation.h, before anything is read or written. The same
 * for host and CUDA; looks at shapes and dtypes, never at data. */
#ifndef ASSAY_KERNELS_BODY_CHECK_H
#define ASSAY_KERNELS_BODY_CHECK_H

#include "harness/kernels/body_rows.h"

#include <stdbool.h>
#include <stddef.h>

/* call_pattern of operations that treat each element by itself; "" for the others. */
static inline const char *element_pattern(enum opcode opcode)
{
    switch (opcode) {
    case OPCODE_FILL:
        return "a";
    case OPCODE_RANDOM_NORMAL:
    case OPCODE_CAUSAL_MASK:
        return "F";
    case OPCODE_DYNAMIC_MAP:
        return "S";
    case OPCODE_RANDOM_INTEGER:
    case OPCODE_SEQUENCE:
    case OPCODE_POSITION_BUCKETS:
        return "I";
    case OPCODE_COPY:
        return "aa";
    case OPCODE_ABSOLUTE:
    case OPCODE_CLAMP:
    case OPCODE_AFFINE:
    case OPCODE_POWER:
    case OPCODE_SQUARE_ROOT:
    case OPCODE_RECIPROCAL_ROOT:
    case OPCODE_TANH:
    case OPCODE_COSINE:
    case OPCODE_SINE:
    case OPCODE_GELU:
    case OPCODE_SILU:
    case OPCODE_RELU:
    case OPCODE_SIGMOID:
    case OPCODE_SUM:
        return "ff";
    case OPCODE_MULTIPLY:
        return "fnf";
    case OPCODE_ADD:
    case OPCODE_DIVIDE:
    case OPCODE_COMPLEX_MULTIPLY:
    case OPCODE_BOUND:
    case OPCODE_WITHIN:
    case OPCODE_SIGMOID_BACKWARD:
    case OPCODE_TANH_BACKWARD:
    case OPCODE_RELU_BACKWARD:
    case OPCODE_GELU_BACKWARD:
    case OPCODE_SILU_BACKWARD:
        return "fff";
    case OPCODE_DROPOUT:
        return "ffb";
    case OPCODE_DROPOUT_BACKWARD:
        return "fbf";
    case OPCODE_TOKEN_POSITIONS:
        return "II";
    default:
        return "";
    }
}

/* Grouped rows, and what element_pattern has. */
static inline const char *grouped_pattern(enum opcode opcode)
{
    switch (opcode) {
    case OPCODE_SCATTER:
        return "FID";
    case OPCODE_GROUP_LIMIT:
        return "FB";
    case OPCODE_SORT_IDS:
    case OPCODE_PLACE_IDS:
        return "III";
    case OPCODE_GROUP_ENDS:
        return "IWWW";
    case OPCODE_GROUPED_MATMUL:
        return "ffWF";
    default:
        return element_pattern(opcode);
    }
}

/* Images, and what grouped_pattern has. */
static inline const char *image_pattern(enum opcode opcode)
{
    switch (opcode) {
    case OPCODE_BATCHNORM:
        return "FFFFFFSS";
    case OPCODE_BATCHNORM_INFERENCE:
        return "FFFFFF";
    case OPCODE_BATCHNORM_BACKWARD:
        return "FFFSSFFF";
    case OPCODE_GROUPED_CONVOLUTION:
        return "fF(F)f";
    case OPCODE_GROUPED_CONVOLUTION_BACKWARD_INPUT:
        return "fFf";
    case OPCODE_GROUPED_CONVOLUTION_BACKWARD_WEIGHT:
        return "ffF";
    default:
        return grouped_pattern(opcode);
    }
}

/* Quantised storage, and what image_pattern has. */
static inline const char *quantized_pattern(enum opcode opcode)
{
    switch (opcode) {
    case OPCODE_EXTREME:
        return "FF";
    case OPCODE_QUANTIZE:
        return "FQS";
    case OPCODE_DEQUANTIZE:
        return "QS(I)F";
    case OPCODE_PACK_BITS:
        return "UUU";
    case OPCODE_UNPACK_BITS:
        return "UU";
    case OPCODE_QUANTIZED_LINEAR:
        return "FQS(F)F";
    case OPCODE_DEQUANTIZE_SUMS:
        return "WSSF";
    default:
        return image_pattern(opcode);
    }
}

/* Tensors of a call, inputs then outputs, one letter each: f floating, n floating or uint8, s float32, i int64, b bool,
 * u uint8, a any, d that of the first tensor (the shape's check sees to it), q codes of quantised storage (int8,
 * float8_e4m3fn, nf4x2), k int8, e float8_e4m3fn, w int32. Capital letters: dense. In brackets: may be left out. "" for
 * an opcode that is not known here. */
static inline const char *call_pattern(enum opcode opcode)
{
    switch (opcode) {
    case OPCODE_SOFTMAX:
    case OPCODE_LOG_SOFTMAX:
        return "FF";
    case OPCODE_SOFTMAX_BACKWARD:
    case OPCODE_LOG_SOFTMAX_BACKWARD:
        return "FFF";
    case OPCODE_ATTENTION_MASK:
        return "(I)B";
    case OPCODE_NLL_LOSS:
    case OPCODE_NLL_LOSS_BACKWARD:
        return "FIFF";
    case OPCODE_TARGET_MASK:
        return "IBII";
    case OPCODE_CROSS_ENTROPY:
        return "IIFF";
    case OPCODE_LAYERNORM:
        return "FFFFSS";
    case OPCODE_LAYERNORM_BACKWARD:
        return "FFSSFFFF";
    case OPCODE_LAYERNORM_BACKWARD_INPUT:
        return "FFSSFF";
    case OPCODE_EMBEDDING:
    case OPCODE_EMBEDDING_BACKWARD:
    case OPCODE_MAX_POOL_BACKWARD:
        return "FIF";
    case OPCODE_MAX_POOL:
    case OPCODE_TOP_K:
        return "FFI";
    case OPCODE_ARGMAX:
        return "FI";
    case OPCODE_GATHER:
        return "AiD";
    case OPCODE_QUOTIENT:
    case OPCODE_REMAINDER:
        return "ii";
    case OPCODE_ATTENTION:
        return "fff(f)fS";
    case OPCODE_ATTENTION_BACKWARD:
        return "fffffS(f)fff";
    case OPCODE_ATTENTION_BIAS_GRADIENT:
        return "fffffSff";
    case OPCODE_ADAM_MOMENTS:
    case OPCODE_SGD_MOMENTUM:
        return "F(S)FF";
    case OPCODE_ADAM_APPLY:
        return "FF(S)F";
    case OPCODE_ADAM:
        return "F(S)FFF";
    case OPCODE_ADAM_8BIT:
        return "FSS(S)FUUSS";
    case OPCODE_UNSCALE:
        return "FS";
    default:
        return quantized_pattern(opcode);
    }
}

static inline int64_t count_of(const struct tensor *tensor)
{
    int64_t count = 1;
    for (int d = 0; d < tensor->rank; d++) {
        count *= tensor->size[d];
    }
    return count;
}

static inline bool is_dense(const struct tensor *tensor)
{
    int64_t expected = 1;
    for (int d = tensor->rank - 1; d >= 0; d--) {
        if (tensor->size[d] != 1 && tensor->stride[d] != expected) {
            return false;
        }
        expected *= tensor->size[d];
    }
    return true;
}

static inline bool shapes_equal(const struct tensor *a, const struct tensor *b)
{
    bool equal = a->rank == b->rank;
    for (int d = 0; equal && d < a->rank; d++) {
        equal = a->size[d] == b->size[d];
    }
    return equal;
}

/* Equal shapes, or dense tensors of equal length that may be read as one line. */
static inline bool shapes_agree(const struct tensor *a, const struct tensor *b)
{
    return shapes_equal(a, b) || (count_of(a) == count_of(b) && is_dense(a) && is_dense(b));
}

static inline const char *tensor_check(const struct tensor *tensor, char letter)
{
    char lower = (char)(letter | 0x20);
    enum dtype dtype = tensor->dtype;
    bool floating = dtype == DTYPE_FLOAT32 || dtype == DTYPE_FLOAT16 || dtype == DTYPE_BFLOAT16;
    bool codes = dtype == DTYPE_INT8 || dtype == DTYPE_FLOAT8_E4M3FN || dtype == DTYPE_NF4X2;
    if ((unsigned)dtype >= DTYPE_COUNT || (lower == 'f' && !floating) ||
        (lower == 'n' && !floating && dtype != DTYPE_UINT8) || (lower == 's' && dtype != DTYPE_FLOAT32) ||
        (lower == 'i' && dtype != DTYPE_INT64) || (lower == 'b' && dtype != DTYPE_BOOL) || (lower == 'q' && !codes) ||
        (lower == 'u' && dtype != DTYPE_UINT8) || (lower == 'w' && dtype != DTYPE_INT32) ||
        (lower == 'k' && dtype != DTYPE_INT8) || (lower == 'e' && dtype != DTYPE_FLOAT8_E4M3FN)) {
        return "a tensor has a dtype that the operation does not take";
    }
    if (tensor->rank < 0 || tensor->rank > TENSOR_RANK_MAXIMUM) {
        return "a tensor has a rank beyond the maximum";
    }
    for (int d = 0; d < tensor->rank; d++) {
        if (tensor->size[d] < 0) {
            return "a tensor has a negative size";
        }
    }
    if (letter != lower && count_of(tensor) > 0 && !is_dense(tensor)) {
        return "a tensor is not dense";
    }
    if (tensor->data == NULL && count_of(tensor) > 0) {
        return "a tensor has no memory";
    }
    return NULL;
}

/* An output in which two elements share memory would be written twice. */
static inline bool is_broadcast(const struct tensor *tensor)
{
    for (int d = 0; d < tensor->rank && count_of(tensor) > 0; d++) {
        if (tensor->size[d] > 1 && tensor->stride[d] == 0) {
            return true;
        }
    }
    return false;
}

/* Outputs that the table of operation.h says. */
static inline int outputs_of(enum opcode opcode)
{
    static const signed char outputs[OPCODE_COUNT] = {
#define CHECK_OUTPUTS(name, inputs, outputs) outputs,
        OPERATION_TABLE(CHECK_OUTPUTS)
#undef CHECK_OUTPUTS
    };
    return outputs[opcode];
}

static inline const char *pattern_check(const struct operation_call *call)
{
    const char *pattern = call_pattern(call->opcode);
    int required = 0, optional = 0;
    for (const char *c = pattern; *c != '\0'; c++) {
        optional += *c == '(';
        required += *c != '(' && *c != ')';
    }
    required -= optional;
    bool with_optional = optional > 0 && call->tensor_count == required + optional;
    if (required == 0) {
        return "the operation is not one of the kernels";
    }
    bool counts_fit = call->input_count == call->tensor_count - outputs_of(call->opcode);
    if (!counts_fit || (call->tensor_count != required && !with_optional)) {
        return "the operation has a wrong number of tensors";
    }
    int t = 0;
    for (const char *c = pattern; *c != '\0'; c++) {
        if (*c == '(' && !with_optional) {
            c += 2;
        }
        if (*c == '(' || *c == ')') {
            continue;
        }
        const char *wrong = tensor_check(&call->tensors[t], *c);
        if (wrong == NULL && t >= call->input_count && is_broadcast(&call->tensors[t])) {
            wrong = "an output is a broadcast view";
        }
        if (wrong != NULL) {
            return wrong;
        }
        t++;
    }
    return NULL;
}

#include "harness/kernels/body_check_shape.h"

/* NULL, or a static text that says what does not fit. */
static inline const char *call_check(const struct operation_call *call)
{
    if ((unsigned)call->opcode >= OPCODE_COUNT) {
        return "the operation is not one of the kernels";
    }
    const char *wrong = pattern_check(call);
    return wrong != NULL ? wrong : shape_check(call);
}

#endif
