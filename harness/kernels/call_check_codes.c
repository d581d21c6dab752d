/* Checks of shapes: quantised storage, what it is made of, and the optimizer that keeps its moments in it. */
#include <stddef.h>

#include "harness/kernels/body_rows.h"
#include "harness/kernels/call_check_shape.h"

const char *dynamic_map_check(const struct operation_call *call)
{
    return shapes_verdict(tensor_element_count(&call->tensors[0]) == 256);
}

static bool bits_fit(const struct operation_attributes *attributes)
{
    int64_t bits = attributes->i[0], place = attributes->i[1];
    return (bits == 2 || bits == 4) && place >= 0 && place < 8 / bits;
}

const char *pack_bits_check(const struct operation_call *call)
{
    return bits_fit(&call->attributes) ? shapes_verdict(all_agree(call)) : attributes_wrong;
}

const char *unpack_bits_check(const struct operation_call *call)
{
    if (!bits_fit(&call->attributes)) {
        return attributes_wrong;
    }
    int64_t packed = tensor_element_count(&call->tensors[0]), shared = 8 / call->attributes.i[0];
    return shapes_verdict(tensor_element_count(&call->tensors[1]) == shared * packed);
}

/* Bytes that hold `count` codes. */
static int64_t code_elements(enum dtype dtype, int64_t count)
{
    return dtype == DTYPE_NF4X2 ? (count + 1) / 2 : count;
}

/* codes and scales of `count` elements in blocks of `block`. A byte of two codes must not belong to two blocks. */
static const char *quantized_check(const struct tensor *codes, const struct tensor *scales, int64_t count,
                                   int64_t block)
{
    if (block < 1 || (codes->dtype == DTYPE_NF4X2 && block % 2 != 0)) {
        return attributes_wrong;
    }
    bool fit = tensor_element_count(codes) == code_elements(codes->dtype, count) &&
               tensor_element_count(scales) == (count + block - 1) / block;
    return shapes_verdict(fit);
}

const char *quantize_check(const struct operation_call *call)
{
    const struct tensor *t = call->tensors;
    return quantized_check(&t[1], &t[2], tensor_element_count(&t[0]), call->attributes.i[0]);
}

const char *dequantize_check(const struct operation_call *call)
{
    const struct tensor *t = call->tensors;
    const struct tensor *out = &t[call->input_count];
    int64_t rows = call->attributes.i[1];
    if (call->input_count == 2) {
        return quantized_check(&t[0], &t[1], tensor_element_count(out), call->attributes.i[0]);
    }
    struct rows gathered = rows_of(out);
    if (rows < 0 || out->rank < 1 || gathered.count != tensor_element_count(&t[2])) {
        return rows < 0 ? attributes_wrong : shapes_wrong;
    }
    return quantized_check(&t[0], &t[1], rows * gathered.columns, call->attributes.i[0]);
}

const char *quantized_linear_check(const struct operation_call *call)
{
    const struct tensor *t = call->tensors;
    const struct tensor *out = &t[call->input_count];
    if (t[0].rank < 1 || out->rank < 1) {
        return shapes_wrong;
    }
    struct rows a = rows_of(&t[0]), to = rows_of(out);
    bool fit = a.count == to.count && (call->input_count == 3 || tensor_element_count(&t[3]) == to.columns);
    return fit ? quantized_check(&t[1], &t[2], to.columns * a.columns, call->attributes.i[0]) : shapes_wrong;
}

static const char *map_codes_check(const struct tensor *codes, const struct tensor *scales, const struct tensor *map,
                                   int64_t block)
{
    if (block < 1) {
        return attributes_wrong;
    }
    int64_t count = tensor_element_count(codes);
    return shapes_verdict(tensor_element_count(map) == 256 &&
                          tensor_element_count(scales) == count / block + (count % block != 0));
}

const char *map_quantize_check(const struct operation_call *call)
{
    const struct tensor *t = call->tensors;
    const char *wrong = map_codes_check(&t[2], &t[3], &t[1], call->attributes.i[0]);
    return wrong != NULL ? wrong : shapes_verdict(tensor_element_count(&t[0]) == tensor_element_count(&t[2]));
}

const char *map_dequantize_check(const struct operation_call *call)
{
    const struct tensor *t = call->tensors;
    const char *wrong = map_codes_check(&t[0], &t[1], &t[2], call->attributes.i[0]);
    return wrong != NULL ? wrong : shapes_verdict(tensor_element_count(&t[0]) == tensor_element_count(&t[3]));
}

const char *nested_linear_check(const struct operation_call *call)
{
    const struct tensor *t = call->tensors;
    const struct tensor *out = &t[call->input_count];
    if (t[0].rank < 1 || out->rank < 1) {
        return shapes_wrong;
    }
    struct rows a = rows_of(&t[0]), to = rows_of(out);
    bool fit = a.count == to.count && tensor_element_count(&t[5]) == 1 &&
               (call->input_count == 6 || tensor_element_count(&t[6]) == to.columns);
    const char *wrong = fit ? map_codes_check(&t[2], &t[3], &t[4], call->attributes.i[1]) : shapes_wrong;
    return wrong != NULL ? wrong : quantized_check(&t[1], &t[2], to.columns * a.columns, call->attributes.i[0]);
}

const char *dequantize_sums_check(const struct operation_call *call)
{
    const struct tensor *t = call->tensors;
    struct rows rows = rows_of(&t[0]);
    bool fit = t[0].rank >= 1 && shapes_agree(&t[0], &t[3]) && rows_of(&t[3]).columns == rows.columns;
    return shapes_verdict(fit && tensor_element_count(&t[1]) == rows.count &&
                          tensor_element_count(&t[2]) == rows.columns);
}

const char *adam_8bit_check(const struct operation_call *call)
{
    const struct tensor *t = call->tensors, *out = &call->tensors[call->input_count];
    int64_t elements = tensor_element_count(&t[0]);
    int64_t blocks = elements / 256 + (elements % 256 != 0);
    bool fit = tensor_element_count(&t[1]) == 256 && tensor_element_count(&t[2]) == 256 &&
               (call->input_count == 3 || tensor_element_count(&t[3]) == 1);
    for (int i = 0; i < 5; i++) {
        fit = fit && tensor_element_count(&out[i]) == (i < 3 ? elements : blocks);
    }
    return shapes_verdict(fit);
}
