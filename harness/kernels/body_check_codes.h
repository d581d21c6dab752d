/* Check of shapes and attributes of quantised storage and of what it is made of. A part of body_check.h, as
 * body_check_shape.h is, whose functions it uses. */
#ifndef ASSAY_KERNELS_BODY_CHECK_CODES_H
#define ASSAY_KERNELS_BODY_CHECK_CODES_H

static inline const char *extreme_check(const struct operation_call *call)
{
    const struct tensor *t = call->tensors;
    return shapes_verdict(t[0].rank >= 1 && count_of(&t[1]) == rows_of(&t[0]).count);
}

static inline const char *bits_check(const struct operation_call *call)
{
    const struct tensor *t = call->tensors;
    int64_t bits = call->attributes.i[0], place = call->attributes.i[1];
    if ((bits != 2 && bits != 4) || place < 0 || place >= 8 / bits) {
        return attributes_wrong;
    }
    return shapes_verdict(call->opcode == OPCODE_PACK_BITS ? all_agree(call)
                                                           : count_of(&t[1]) == 8 / bits * count_of(&t[0]));
}

/* codes and scales of `count` elements in blocks of `block`. A byte of two codes must not belong to two blocks. */
static inline const char *quantized_check(const struct tensor *codes, const struct tensor *scales, int64_t count,
                                          int64_t block)
{
    if (block < 1 || (codes->dtype == DTYPE_NF4X2 && block % 2 != 0)) {
        return attributes_wrong;
    }
    bool fit = count_of(codes) == code_elements(codes->dtype, count) && count_of(scales) == (count + block - 1) / block;
    return shapes_verdict(fit);
}

static inline const char *dequantize_check(const struct operation_call *call)
{
    const struct tensor *t = call->tensors;
    const struct tensor *out = &t[call->input_count];
    int64_t rows = call->attributes.i[1];
    if (call->input_count == 2) {
        return quantized_check(&t[0], &t[1], count_of(out), call->attributes.i[0]);
    }
    struct rows gathered = rows_of(out);
    if (rows < 0 || out->rank < 1 || gathered.count != count_of(&t[2])) {
        return rows < 0 ? attributes_wrong : shapes_wrong;
    }
    return quantized_check(&t[0], &t[1], rows * gathered.columns, call->attributes.i[0]);
}

static inline const char *quantized_linear_check(const struct operation_call *call)
{
    const struct tensor *t = call->tensors;
    const struct tensor *out = &t[call->input_count];
    if (t[0].rank < 1 || out->rank < 1) {
        return shapes_wrong;
    }
    struct rows a = rows_of(&t[0]), to = rows_of(out);
    bool fit = a.count == to.count && (call->input_count == 3 || count_of(&t[3]) == to.columns);
    return fit ? quantized_check(&t[1], &t[2], to.columns * a.columns, call->attributes.i[0]) : shapes_wrong;
}

static inline const char *sums_check(const struct operation_call *call)
{
    const struct tensor *t = call->tensors;
    struct rows rows = rows_of(&t[0]);
    bool fit = t[0].rank >= 1 && shapes_agree(&t[0], &t[3]) && rows_of(&t[3]).columns == rows.columns;
    return shapes_verdict(fit && count_of(&t[1]) == rows.count && count_of(&t[2]) == rows.columns);
}

/* Quantised storage, and what image_check has. */
static inline const char *quantized_storage_check(const struct operation_call *call)
{
    const struct tensor *t = call->tensors;
    switch (call->opcode) {
    case OPCODE_EXTREME:
        return extreme_check(call);
    case OPCODE_PACK_BITS:
    case OPCODE_UNPACK_BITS:
        return bits_check(call);
    case OPCODE_QUANTIZE:
        return quantized_check(&t[1], &t[2], count_of(&t[0]), call->attributes.i[0]);
    case OPCODE_DEQUANTIZE:
        return dequantize_check(call);
    case OPCODE_QUANTIZED_LINEAR:
        return quantized_linear_check(call);
    case OPCODE_DEQUANTIZE_SUMS:
        return sums_check(call);
    default:
        return image_check(call);
    }
}

#endif
