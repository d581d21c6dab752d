/* Check of shapes and attributes, one function for each family of operations. A part of body_check.h, which includes
 * it: dtypes, density and the number of tensors are right already. */
#ifndef ASSAY_KERNELS_BODY_CHECK_SHAPE_H
#define ASSAY_KERNELS_BODY_CHECK_SHAPE_H

static const char shapes_wrong[] = "the shapes of the tensors do not fit each other";
static const char attributes_wrong[] = "an attribute of the operation is out of range";

static inline const char *shapes_verdict(bool fit)
{
    return fit ? NULL : shapes_wrong;
}

static inline bool all_agree(const struct operation_call *call)
{
    bool agree = true;
    for (int t = 1; t < call->tensor_count; t++) {
        agree = agree && shapes_agree(&call->tensors[0], &call->tensors[t]);
    }
    return agree;
}

static inline bool all_rows_agree(const struct operation_call *call)
{
    struct rows first = rows_of(&call->tensors[0]);
    bool agree = true;
    for (int t = 1; t < call->tensor_count; t++) {
        struct rows rows = rows_of(&call->tensors[t]);
        agree = agree && rows.count == first.count && rows.columns == first.columns;
    }
    return agree;
}

#include "harness/kernels/body_check_grouped.h"

static inline const char *copy_check(const struct operation_call *call)
{
    enum dtype from = call->tensors[0].dtype, to = call->tensors[1].dtype;
    bool from_floating = from == DTYPE_FLOAT32 || from == DTYPE_FLOAT16 || from == DTYPE_BFLOAT16;
    bool to_floating = to == DTYPE_FLOAT32 || to == DTYPE_FLOAT16 || to == DTYPE_BFLOAT16;
    bool to_codes = from_floating && (to == DTYPE_FLOAT8_E4M3FN || to == DTYPE_UINT8);
    if (from != to && ((!to_floating && !to_codes) || from == DTYPE_NF4X2)) {
        return "COPY converts to floating dtypes, of those to float8_e4m3fn and uint8, and not from nf4x2";
    }
    return shapes_verdict(all_agree(call));
}

static inline const char *sum_check(const struct operation_call *call)
{
    const struct tensor *a = &call->tensors[0], *out = &call->tensors[1];
    bool fit = a->rank == out->rank;
    for (int d = 0; fit && d < a->rank; d++) {
        fit = out->size[d] == 1 || out->size[d] == a->size[d];
    }
    return shapes_verdict(fit);
}

static inline const char *nll_loss_check(const struct operation_call *call)
{
    bool backward = call->opcode == OPCODE_NLL_LOSS_BACKWARD;
    const struct tensor *wide = &call->tensors[backward ? 3 : 0];
    const struct tensor *scalar = &call->tensors[backward ? 0 : 2];
    const struct tensor *weight = &call->tensors[backward ? 2 : 3];
    bool fit = wide->rank >= 1 && rows_of(wide).count == count_of(&call->tensors[1]);
    return shapes_verdict(fit && count_of(scalar) == 1 && count_of(weight) == 1);
}

static inline const char *loss_check(const struct operation_call *call)
{
    const struct tensor *t = call->tensors;
    if (call->opcode == OPCODE_TARGET_MASK) {
        return shapes_verdict(shapes_agree(&t[0], &t[1]) && shapes_agree(&t[0], &t[2]) && count_of(&t[3]) == 1);
    }
    if (call->opcode != OPCODE_CROSS_ENTROPY) {
        return nll_loss_check(call);
    }
    bool fit = t[2].rank >= 1 && rows_of(&t[2]).count == count_of(&t[0]);
    return shapes_verdict(fit && count_of(&t[3]) == count_of(&t[0]) && count_of(&t[1]) == 1);
}

static inline const char *layernorm_check(const struct operation_call *call)
{
    const struct tensor *t = call->tensors;
    bool backward = call->opcode != OPCODE_LAYERNORM, sloped = call->opcode == OPCODE_LAYERNORM_BACKWARD;
    struct rows rows = rows_of(&t[0]);
    int same = backward ? 5 : 3, other_same = backward ? 1 : 0;
    int mean = backward ? 2 : 4, weight = backward ? 4 : 1;
    bool fit = t[0].rank >= 1 && count_of(&t[same]) == rows.count * rows.columns &&
               rows_of(&t[same]).columns == rows.columns && rows_of(&t[other_same]).columns == rows.columns &&
               count_of(&t[other_same]) == rows.count * rows.columns;
    fit = fit && count_of(&t[mean]) == rows.count && count_of(&t[mean + 1]) == rows.count;
    fit = fit && count_of(&t[weight]) == rows.columns && (backward || count_of(&t[2]) == rows.columns);
    return shapes_verdict(fit && (!sloped || (count_of(&t[6]) == rows.columns && count_of(&t[7]) == rows.columns)));
}

static inline const char *batchnorm_check(const struct operation_call *call)
{
    const struct tensor *t = call->tensors;
    bool backward = call->opcode == OPCODE_BATCHNORM_BACKWARD;
    bool fit = t[0].rank >= 2 && shapes_equal(&t[0], &t[5]) && (!backward || shapes_equal(&t[0], &t[1]));
    int64_t channels = fit ? t[0].size[1] : 0;
    for (int i = 1; fit && i < call->tensor_count; i++) {
        bool wide = i == 5 || (backward && i == 1);
        fit = wide || count_of(&t[i]) == channels;
    }
    return shapes_verdict(fit);
}

static inline const char *embedding_check(const struct operation_call *call)
{
    bool backward = call->opcode == OPCODE_EMBEDDING_BACKWARD;
    const struct tensor *table = &call->tensors[backward ? 2 : 0];
    const struct tensor *wide = &call->tensors[backward ? 0 : 2];
    struct rows rows = rows_of(wide);
    bool fit = table->rank == 2 && wide->rank >= 1 && rows.columns == table->size[1];
    return shapes_verdict(fit && rows.count == count_of(&call->tensors[1]));
}

static inline const char *top_k_check(const struct operation_call *call)
{
    const struct tensor *a = &call->tensors[0], *values = &call->tensors[1];
    struct rows rows = rows_of(a), picked = rows_of(values);
    if (call->opcode == OPCODE_ARGMAX) {
        return shapes_verdict(a->rank >= 1 && (rows.columns > 0 || rows.count == 0) && count_of(values) == rows.count);
    }
    bool fit = a->rank >= 1 && values->rank >= 1 && shapes_equal(values, &call->tensors[2]);
    return shapes_verdict(fit && picked.count == rows.count && picked.columns >= 1 && picked.columns <= rows.columns);
}

static inline const char *gather_check(const struct operation_call *call)
{
    const struct tensor *a = &call->tensors[0], *ids = &call->tensors[1], *out = &call->tensors[2];
    bool fit = a->rank == 3 && shapes_equal(ids, out) && a->dtype == out->dtype;
    return shapes_verdict(fit && a->size[0] == out->size[0] && a->size[2] == out->size[2]);
}

static inline const char *divide_check(const struct operation_call *call)
{
    return call->attributes.i[0] > 0 ? shapes_verdict(all_agree(call)) : attributes_wrong;
}

static inline const char *pool_check(const struct operation_call *call)
{
    const int64_t *i = call->attributes.i;
    bool backward = call->opcode == OPCODE_MAX_POOL_BACKWARD;
    const struct tensor *wide = &call->tensors[backward ? 2 : 0];
    const struct tensor *pooled = &call->tensors[backward ? 0 : 1];
    const struct tensor *indices = &call->tensors[backward ? 1 : 2];
    if (i[0] < 1 || i[1] < 1 || i[2] < 0 || i[2] > i[0] / 2) {
        return attributes_wrong;
    }
    bool fit = wide->rank == 4 && pooled->rank == 4 && shapes_equal(pooled, indices);
    for (int d = 0; fit && d < 4; d++) {
        int64_t reach = wide->size[d] + 2 * i[2] - i[0];
        int64_t expected = d < 2 ? wide->size[d] : reach < 0 ? 0 : reach / i[1] + 1;
        fit = pooled->size[d] == expected;
    }
    return shapes_verdict(fit);
}

static inline const char *grouped_convolution_check(const struct operation_call *call)
{
    const int64_t *i = call->attributes.i;
    bool forward = call->opcode == OPCODE_GROUPED_CONVOLUTION;
    bool to_weight = call->opcode == OPCODE_GROUPED_CONVOLUTION_BACKWARD_WEIGHT;
    const struct tensor *out = &call->tensors[call->input_count];
    const struct tensor *image = forward ? &call->tensors[0] : to_weight ? &call->tensors[1] : out;
    const struct tensor *weight = to_weight ? out : &call->tensors[1];
    const struct tensor *result = forward ? out : &call->tensors[0];
    if (i[0] < 1 || i[1] < 0 || i[2] < 1) {
        return attributes_wrong;
    }
    bool fit = image->rank == 4 && weight->rank == 4 && result->rank == 4 && image->size[0] == result->size[0] &&
               weight->size[0] == result->size[1] && weight->size[0] % i[2] == 0 && weight->size[2] >= 1 &&
               image->size[1] == weight->size[1] * i[2] && weight->size[2] == weight->size[3];
    for (int d = 2; fit && d < 4; d++) {
        int64_t reach = image->size[d] + 2 * i[1] - weight->size[d];
        fit = reach >= 0 && result->size[d] == reach / i[0] + 1;
    }
    if (fit && forward && call->input_count > 2) {
        fit = call->tensors[2].rank == 1 && call->tensors[2].size[0] == weight->size[0];
    }
    return shapes_verdict(fit);
}

static inline const char *complex_check(const struct operation_call *call)
{
    const struct tensor *t = call->tensors;
    bool fit = t[0].rank >= 1 && shapes_equal(&t[0], &t[1]) && shapes_equal(&t[0], &t[2]);
    return shapes_verdict(fit && t[0].size[t[0].rank - 1] == 2);
}

/* Equal but for the last size: keys and values, queries and the output. */
static inline bool heads_agree(const struct tensor *a, const struct tensor *b, int64_t width)
{
    return b->rank == 4 && a->size[0] == b->size[0] && a->size[1] == b->size[1] && a->size[2] == b->size[2] &&
           b->size[3] == width;
}

static inline bool attention_fits(const struct tensor *q, const struct tensor *k, const struct tensor *v)
{
    bool fit = q->rank == 4 && k->rank == 4 && heads_agree(k, v, v->size[3]) && q->size[0] == k->size[0];
    fit = fit && q->size[3] == k->size[3] && k->size[1] > 0 && q->size[1] % k->size[1] == 0;
    return fit && (q->stride[3] == 1 || q->size[3] < 2) && (k->stride[3] == 1 || k->size[3] < 2) &&
           (v->stride[3] == 1 || v->size[3] < 2);
}

static inline bool mask_fits(const struct tensor *mask, const struct tensor *q, const struct tensor *k)
{
    return mask->rank == 4 && mask->size[0] == q->size[0] && (mask->size[1] == 1 || mask->size[1] == q->size[1]) &&
           mask->size[2] == q->size[2] && mask->size[3] == k->size[2];
}

static inline const char *attention_check(const struct operation_call *call)
{
    const struct tensor *t = call->tensors;
    bool gradient_of_bias = call->opcode == OPCODE_ATTENTION_BIAS_GRADIENT;
    bool backward = call->opcode == OPCODE_ATTENTION_BACKWARD || gradient_of_bias;
    int first = backward ? 1 : 0; /* q, k, v */
    int base = backward ? 6 : 3;  /* inputs without the mask */
    const struct tensor *q = &t[first], *k = &t[first + 1], *v = &t[first + 2];
    const struct tensor *lse = &t[backward ? 5 : call->input_count + 1];
    bool fit = attention_fits(q, k, v);
    bool left_out = !backward && lse->size[2] == 0;
    fit = fit && lse->rank == 3 && lse->size[0] == q->size[0] && lse->size[1] == q->size[1] &&
          (left_out || lse->size[2] >= q->size[2]);
    fit = fit && (call->input_count == base || mask_fits(&t[base], q, k));
    int outs = call->input_count;
    fit =
        fit && heads_agree(q, &t[backward ? 0 : outs], v->size[3]) && (!backward || heads_agree(q, &t[4], v->size[3]));
    if (gradient_of_bias) {
        fit = fit && mask_fits(&t[outs], q, k) && t[outs].size[1] == q->size[1];
    } else if (backward) {
        fit = fit && shapes_equal(&t[outs], q) && shapes_equal(&t[outs + 1], k) && shapes_equal(&t[outs + 2], v);
    }
    double probability = call->attributes.f[1];
    if (fit && probability > 0.0 && k->size[2] >= (int64_t)1 << 26) {
        return "attention drops out of fewer than 2^26 columns"; /* its counters step within 32 bits in a tile */
    }
    return !fit ? shapes_wrong : probability >= 0.0 && probability <= 1.0 ? NULL : attributes_wrong;
}

static inline const char *optimizer_check(const struct operation_call *call, int required_inputs)
{
    bool fit = true;
    int64_t elements = count_of(&call->tensors[call->input_count]);
    for (int t = 0; t < call->tensor_count; t++) {
        bool found = t >= required_inputs && t < call->input_count;
        fit = fit && count_of(&call->tensors[t]) == (found ? 1 : elements);
    }
    return shapes_verdict(fit);
}

static inline const char *adam_8bit_check(const struct operation_call *call)
{
    const struct tensor *t = call->tensors, *out = &call->tensors[call->input_count];
    int64_t elements = count_of(&t[0]);
    int64_t blocks = elements / 256 + (elements % 256 != 0);
    bool fit = count_of(&t[1]) == 256 && count_of(&t[2]) == 256 && (call->input_count == 3 || count_of(&t[3]) == 1);
    for (int i = 0; i < 5; i++) {
        fit = fit && count_of(&out[i]) == (i < 3 ? elements : blocks);
    }
    return shapes_verdict(fit);
}

/* Bytes that hold `count` codes. */
static inline int64_t code_elements(enum dtype dtype, int64_t count)
{
    return dtype == DTYPE_NF4X2 ? (count + 1) / 2 : count;
}

static inline const char *creation_check(const struct operation_call *call)
{
    const struct tensor *out = &call->tensors[0];
    if (call->opcode == OPCODE_DYNAMIC_MAP) {
        return shapes_verdict(count_of(out) == 256);
    }
    if (call->opcode == OPCODE_RANDOM_INTEGER) {
        return call->attributes.i[1] > 0 ? NULL : attributes_wrong;
    }
    return shapes_verdict(call->opcode != OPCODE_CAUSAL_MASK || out->rank >= 2);
}

static inline const char *update_check(const struct operation_call *call)
{
    if (call->opcode == OPCODE_ADAM_8BIT) {
        return adam_8bit_check(call);
    }
    if (call->opcode == OPCODE_UNSCALE) {
        return shapes_verdict(count_of(&call->tensors[1]) == 1);
    }
    return optimizer_check(call, call->opcode == OPCODE_ADAM_APPLY ? 2 : 1);
}

static inline const char *attention_mask_check(const struct operation_call *call)
{
    const struct tensor *seen = call->input_count > 0 ? &call->tensors[0] : NULL;
    const struct tensor *out = &call->tensors[call->input_count];
    return shapes_verdict(
        out->rank == 4 && out->size[1] == 1 &&
        (seen == NULL || (seen->rank == 2 && out->size[0] == seen->size[0] && out->size[3] == seen->size[1])));
}

/* At least one exact bucket in each direction, and distances beyond it. */
static inline const char *position_buckets_check(const struct operation_call *call)
{
    const int64_t *i = call->attributes.i;
    int64_t exact = i[3] == 1 ? i[1] / 4 : i[1] / 2;
    bool fit = call->tensors[0].rank == 2;
    return !fit ? shapes_wrong : exact >= 1 && i[2] > exact && i[0] >= 0 ? NULL : attributes_wrong;
}

/* Images; the rest are element-wise. */
static inline const char *image_check(const struct operation_call *call)
{
    switch (call->opcode) {
    case OPCODE_BATCHNORM:
    case OPCODE_BATCHNORM_INFERENCE:
    case OPCODE_BATCHNORM_BACKWARD:
        return batchnorm_check(call);
    case OPCODE_MAX_POOL:
    case OPCODE_MAX_POOL_BACKWARD:
        return pool_check(call);
    case OPCODE_GROUPED_CONVOLUTION:
    case OPCODE_GROUPED_CONVOLUTION_BACKWARD_INPUT:
    case OPCODE_GROUPED_CONVOLUTION_BACKWARD_WEIGHT:
        return grouped_convolution_check(call);
    case OPCODE_COMPLEX_MULTIPLY:
        return complex_check(call);
    default:
        return grouped_check(call);
    }
}

#include "harness/kernels/body_check_codes.h"

static inline const char *dropout_check(const struct operation_call *call)
{
    double probability = call->attributes.f[0];
    return probability >= 0.0 && probability <= 1.0 ? shapes_verdict(all_agree(call)) : attributes_wrong;
}

/* Attention, its masks and biases; else as quantized_storage_check. */
static inline const char *heads_check(const struct operation_call *call)
{
    switch (call->opcode) {
    case OPCODE_ATTENTION_MASK:
        return attention_mask_check(call);
    case OPCODE_POSITION_BUCKETS:
        return position_buckets_check(call);
    case OPCODE_ATTENTION:
    case OPCODE_ATTENTION_BACKWARD:
    case OPCODE_ATTENTION_BIAS_GRADIENT:
        return attention_check(call);
    default:
        return quantized_storage_check(call);
    }
}

static inline const char *shape_check(const struct operation_call *call)
{
    switch (call->opcode) {
    case OPCODE_FILL:
    case OPCODE_RANDOM_NORMAL:
    case OPCODE_RANDOM_INTEGER:
    case OPCODE_SEQUENCE:
    case OPCODE_CAUSAL_MASK:
    case OPCODE_DYNAMIC_MAP:
        return creation_check(call);
    case OPCODE_COPY:
        return copy_check(call);
    case OPCODE_SUM:
        return sum_check(call);
    case OPCODE_SOFTMAX:
    case OPCODE_LOG_SOFTMAX:
    case OPCODE_SOFTMAX_BACKWARD:
    case OPCODE_LOG_SOFTMAX_BACKWARD:
        return shapes_verdict(all_rows_agree(call));
    case OPCODE_NLL_LOSS:
    case OPCODE_NLL_LOSS_BACKWARD:
    case OPCODE_TARGET_MASK:
    case OPCODE_CROSS_ENTROPY:
        return loss_check(call);
    case OPCODE_LAYERNORM:
    case OPCODE_LAYERNORM_BACKWARD:
    case OPCODE_LAYERNORM_BACKWARD_INPUT:
        return layernorm_check(call);
    case OPCODE_EMBEDDING:
    case OPCODE_EMBEDDING_BACKWARD:
        return embedding_check(call);
    case OPCODE_TOP_K:
    case OPCODE_ARGMAX:
        return top_k_check(call);
    case OPCODE_GATHER:
        return gather_check(call);
    case OPCODE_QUOTIENT:
    case OPCODE_REMAINDER:
        return divide_check(call);
    case OPCODE_ADAM_MOMENTS:
    case OPCODE_ADAM_APPLY:
    case OPCODE_ADAM:
    case OPCODE_ADAM_8BIT:
    case OPCODE_SGD_MOMENTUM:
    case OPCODE_UNSCALE:
        return update_check(call);
    case OPCODE_DROPOUT:
        return dropout_check(call);
    default:
        return heads_check(call);
    }
}

#endif
