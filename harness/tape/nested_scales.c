/* Nested scales: made once, when a weight is loaded, and read before each dequantisation. Not the product that reads
 * them as codes: op_quantized.c. */
#include "harness/tape/nested_scales.h"

#include "harness/tape/graph.h"

enum { MAP_CODES = 256 };

/* The map that those of all weights are copied from; held for good (name2qmap in bitsandbytes). */
static struct value *map_first(struct tape *tape)
{
    if (tape->scale_map == NULL) {
        struct shape shape = {.rank = 1, .size = {MAP_CODES}};
        struct operation_attributes attributes = attributes_i(1, 0);
        struct value *map = value_new_in(tape, CATEGORY_WEIGHTS, DTYPE_FLOAT32, &shape, "map of scales");
        tape_run(tape, OPCODE_DYNAMIC_MAP, &attributes, 0, 1, &map);
        tape->scale_map = tape_hold(tape, map);
    }
    return tape->scale_map;
}

static struct value *map_own(struct tape *tape, struct value *first, const char *label)
{
    if (first == NULL || tape->bitsandbytes.map_shared) {
        return first;
    }
    struct value *map = value_new_in(tape, CATEGORY_WEIGHTS, DTYPE_FLOAT32, &first->shape, label);
    struct value *values[] = {first, map};
    tape_run(tape, OPCODE_COPY, NULL, 1, 2, values);
    return map;
}

/* The scales less their mean: in a place of their own, or in theirs. */
static struct value *scales_center(struct tape *tape, struct value *scales, struct value *mean)
{
    struct value *centered = scales;
    if (!tape->bitsandbytes.map_shared) {
        centered = value_new_in(tape, CATEGORY_TEMPORARIES, DTYPE_FLOAT32, &scales->shape, "scales less their mean");
    }
    struct operation_attributes attributes = attributes_f(-1.0, 0.0);
    struct value *values[] = {scales, value_broadcast(tape, mean, &scales->shape), centered};
    tape_run(tape, OPCODE_ADD, &attributes, 2, 3, values);
    return centered;
}

void nested_scales_make(struct tape *tape, struct quantized *tensor, const char *label)
{
    struct value *scales = tensor->scales;
    if (scales == NULL || tape_failed(tape)) {
        return;
    }
    struct shape one = {.rank = 1, .size = {1}};
    struct shape blocks = {.rank = 1, .size = {(value_count(scales) + NESTED_BLOCK - 1) / NESTED_BLOCK}};
    tensor->mean = value_new_in(tape, CATEGORY_WEIGHTS, DTYPE_FLOAT32, &one, label);
    sum_run(tape, scales, tensor->mean, value_count(scales) > 0 ? 1.0 / (double)value_count(scales) : 0.0);
    struct value *centered = scales_center(tape, scales, tensor->mean);
    struct value *map = map_first(tape);
    tensor->nested = value_new_in(tape, CATEGORY_WEIGHTS, DTYPE_FLOAT32, &blocks, label);
    tensor->scales = value_new_in(tape, CATEGORY_WEIGHTS, DTYPE_UINT8, &scales->shape, label);
    struct operation_attributes attributes = attributes_i(NESTED_BLOCK, 0);
    struct value *values[] = {centered, map, tensor->scales, tensor->nested};
    tape_run(tape, OPCODE_MAP_QUANTIZE, &attributes, 2, 4, values);
    tensor->map = map_own(tape, map, label);
    if (centered != scales) {
        tape_drop(tape, centered);
    }
    tape_drop(tape, scales);
}

struct value *nested_scales_read(struct tape *tape, const struct quantized *tensor, bool in_place,
                                 struct value **codes_worth)
{
    *codes_worth = NULL;
    if (tensor->scales == NULL || tape_failed(tape)) {
        return NULL;
    }
    const struct shape *shape = &tensor->scales->shape;
    struct value *worth = value_new_in(tape, CATEGORY_TEMPORARIES, DTYPE_FLOAT32, shape, "scales less their mean");
    struct operation_attributes attributes = attributes_i(NESTED_BLOCK, 0);
    struct value *values[] = {tensor->scales, tensor->nested, tensor->map, worth};
    tape_run(tape, OPCODE_MAP_DEQUANTIZE, &attributes, 3, 4, values);
    struct value *scales = worth;
    if (!in_place) {
        scales = value_new_in(tape, CATEGORY_TEMPORARIES, DTYPE_FLOAT32, shape, "scales");
        *codes_worth = worth;
    }
    struct operation_attributes sum = attributes_f(1.0, 0.0);
    struct value *added[] = {worth, value_broadcast(tape, tensor->mean, shape), scales};
    tape_run(tape, OPCODE_ADD, &sum, 2, 3, added);
    return scales;
}
