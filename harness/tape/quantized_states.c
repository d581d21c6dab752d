/* Quantised keys and values: scales, codes and back, as float8 for a whole tensor and as packed integers for groups.
 * Not when that happens: that is a cache's affair (models/forward/quantized_cache.c). */
#include "harness/tape/quantized_states.h"

#include <float.h>

#include "harness/base/size.h"
#include "harness/tape/graph.h"

#define FLOAT8_LARGEST 448.0

static int code_bits(enum states_form form)
{
    return form == STATES_INT4 ? 4 : form == STATES_INT2 ? 2 : 8;
}

bool states_stored_bytes(enum states_form form, int64_t elements, int64_t element_bytes, int64_t *bytes)
{
    if (form == STATES_FLOAT8) {
        return size_add(elements, (int64_t)sizeof(float), bytes);
    }
    int64_t groups = elements / STATES_GROUP, per_byte = 8 / code_bits(form), beside = 0;
    int64_t packed = (groups + per_byte - 1) / per_byte * STATES_GROUP;
    return size_multiply(2 * groups, element_bytes, &beside) && size_add(packed, beside, bytes);
}

/* A tensor that the cache keeps. */
static struct value *stored_new(struct tape *tape, enum dtype dtype, const struct shape *shape, const char *label)
{
    return value_new_in(tape, CATEGORY_KV_CACHE, dtype, shape, label);
}

static void run_into(struct tape *tape, enum opcode opcode, struct operation_attributes attributes, struct value *from,
                     struct value *to)
{
    struct value *values[] = {from, to};
    if (from != NULL && to != NULL) {
        tape_run(tape, opcode, &attributes, 1, 2, values);
    }
}

static struct operation_attributes clamp_attributes(double low, double high, bool rounds)
{
    return (struct operation_attributes){.f = {low, high}, .i = {rounds ? 1 : 0}};
}

/* -- float8 */

/* The same elements as one row, in the order in which they lie: value_new's, or a permutation of it. */
static struct value *value_flat(struct tape *tape, struct value *a)
{
    struct value *flat = value_alias(tape, a);
    if (flat != NULL) {
        flat->shape = (struct shape){.rank = 2, .size = {1, value_count(a)}};
        flat->stride[0] = flat->shape.size[1];
        flat->stride[1] = 1;
    }
    return flat;
}

/* states.abs().amax() */
static struct value *magnitude_make(struct tape *tape, struct value *states)
{
    struct shape scalar = {.rank = 0};
    int frame = tape_frame_open(tape);
    struct value *magnitudes = make_unary(tape, OPCODE_ABSOLUTE, NULL, states);
    struct value *largest = value_new(tape, value_dtype(states), &scalar, "largest magnitude");
    if (!tape_failed(tape)) {
        run_into(tape, OPCODE_EXTREME, attributes_i(1, 0), value_flat(tape, magnitudes), largest);
    }
    return tape_frame_close(tape, frame, largest);
}

static struct value *float8_scale(struct tape *tape, struct value *states)
{
    struct shape scalar = {.rank = 0};
    int frame = tape_frame_open(tape);
    struct value *largest = magnitude_make(tape, states);
    struct value *wide = tape_cast(tape, largest, DTYPE_FLOAT32);
    tape_drop(tape, largest);
    struct value *unit = make_scale(tape, wide, 1.0 / FLOAT8_LARGEST, 0.0);
    tape_drop(tape, wide);
    struct value *scale = stored_new(tape, DTYPE_FLOAT32, &scalar, "cache scale");
    run_into(tape, OPCODE_CLAMP, clamp_attributes((double)FLT_MIN, (double)FLT_MAX, false), unit, scale);
    return tape_frame_close(tape, frame, scale);
}

struct value *tape_states_codes(struct tape *tape, struct value *states, struct value *scale)
{
    if (states == NULL || scale == NULL || tape_failed(tape)) {
        return NULL;
    }
    int frame = tape_frame_open(tape);
    struct value *wide = tape_cast(tape, states, DTYPE_FLOAT32);
    struct value *quotient = make_binary(tape, OPCODE_DIVIDE, NULL, wide, scale);
    tape_drop(tape, wide);
    struct value *codes = stored_new(tape, DTYPE_FLOAT8_E4M3FN, &states->shape, "cache codes");
    run_into(tape, OPCODE_COPY, attributes_i(0, 0), quotient, codes);
    return tape_frame_close(tape, frame, codes);
}

/* (codes.float() * scale).to(dtype) */
static struct value *float8_dequantize(struct tape *tape, const struct quantized_states *states, enum dtype dtype)
{
    int frame = tape_frame_open(tape);
    struct value *wide = make_copy(tape, states->codes, DTYPE_FLOAT32, "float32 codes");
    struct value *product = make_multiply(tape, wide, states->scale);
    tape_drop(tape, wide);
    return tape_frame_close(tape, frame, tape_cast(tape, product, dtype));
}

/* -- packed integers */

static struct value *group_extreme(struct tape *tape, struct value *groups, bool is_highest)
{
    struct shape shape = {.rank = 2, .size = {value_size(groups, 0), 1}};
    struct value *extreme =
        value_new(tape, value_dtype(groups), &shape, is_highest ? "highest of groups" : "lowest of groups");
    run_into(tape, OPCODE_EXTREME, attributes_i(is_highest ? 1 : 0, 0), groups, extreme);
    return extreme;
}

/* MaxOptimizer: scale and shift of each group. */
static void groups_measure(struct tape *tape, struct value *groups, struct quantized_states *states)
{
    struct shape shape = {.rank = 2, .size = {value_size(groups, 0), 1}};
    struct operation_attributes difference = attributes_f(-1.0, 0.0);
    double steps = (double)((1 << code_bits(states->form)) - 1);
    struct value *lowest = group_extreme(tape, groups, false);
    struct value *highest = group_extreme(tape, groups, true);
    struct value *range = make_binary(tape, OPCODE_ADD, &difference, highest, lowest);
    states->scale = stored_new(tape, value_dtype(groups), &shape, "cache scales");
    run_into(tape, OPCODE_AFFINE, attributes_f(1.0 / steps, 0.0), range, states->scale);
    tape_drop(tape, range);
    states->shift = stored_new(tape, value_dtype(groups), &shape, "cache shifts");
    run_into(tape, OPCODE_AFFINE, attributes_f(-1.0, 0.0), lowest, states->shift);
    tape_drop(tape, lowest);
    tape_drop(tape, highest);
}

/* quantize_affine: one code in a byte, u8 [groups, 64]. */
static struct value *group_codes(struct tape *tape, struct value *groups, const struct quantized_states *states)
{
    double highest = (double)((1 << code_bits(states->form)) - 1);
    int frame = tape_frame_open(tape);
    struct value *sum = make_add(tape, groups, states->shift);
    struct value *quotient = make_binary(tape, OPCODE_DIVIDE, NULL, sum, states->scale);
    tape_drop(tape, sum);
    struct operation_attributes whole = clamp_attributes(-(double)FLT_MAX, (double)FLT_MAX, true);
    struct value *rounded = make_unary(tape, OPCODE_CLAMP, &whole, quotient);
    tape_drop(tape, quotient);
    struct operation_attributes bounds = clamp_attributes(0.0, highest, false);
    struct value *bounded = make_unary(tape, OPCODE_CLAMP, &bounds, rounded);
    struct shape shape = {.rank = 2, .size = {value_size(groups, 0), STATES_GROUP}};
    struct value *codes = value_new(tape, DTYPE_UINT8, &shape, "codes");
    run_into(tape, OPCODE_COPY, attributes_i(0, 0), bounded, codes);
    return tape_frame_close(tape, frame, codes);
}

/* pack_weights: rows of codes, one part of them after the other, into the same bytes. */
static struct value *codes_pack(struct tape *tape, struct value *codes, int bits)
{
    int64_t groups = value_size(codes, 0), per_byte = 8 / bits, rows = (groups + per_byte - 1) / per_byte;
    struct shape shape = {.rank = 2, .size = {rows, STATES_GROUP}};
    struct value *packed = stored_new(tape, DTYPE_UINT8, &shape, "cache codes");
    tape_fill(tape, packed, 0.0);
    for (int64_t place = 0; place < per_byte && place * rows < groups && !tape_failed(tape); place++) {
        int frame = tape_frame_open(tape);
        int64_t left = groups - place * rows, count = left < rows ? left : rows;
        struct shape part = {.rank = 2, .size = {count, STATES_GROUP}};
        struct value *values[] = {tape_slice(tape, codes, 0, place * rows, count),
                                  value_new(tape, DTYPE_UINT8, &part, "shifted codes"),
                                  tape_slice(tape, packed, 0, 0, count)};
        struct operation_attributes attributes = attributes_i(bits, place);
        tape_run(tape, OPCODE_PACK_BITS, &attributes, 1, 3, values);
        tape_frame_close(tape, frame, NULL);
    }
    return packed;
}

static void groups_quantize(struct tape *tape, struct value *states, struct quantized_states *made)
{
    struct value *dense = tape_contiguous(tape, states);
    if (dense == NULL) {
        return;
    }
    int64_t size[] = {value_count(dense) / STATES_GROUP, STATES_GROUP};
    struct value *groups = tape_reshape(tape, dense, 2, size);
    groups_measure(tape, groups, made);
    struct value *codes = group_codes(tape, groups, made);
    made->codes = codes_pack(tape, codes, code_bits(made->form));
    tape_drop(tape, codes);
    tape_drop(tape, groups);
    tape_drop(tape, dense);
}

/* scale * unpacked - shift, in place */
static struct value *groups_dequantize(struct tape *tape, const struct quantized_states *states)
{
    int bits = code_bits(states->form);
    int frame = tape_frame_open(tape);
    struct shape shape = {.rank = 2, .size = {8 / bits * value_size(states->codes, 0), STATES_GROUP}};
    struct value *unpacked = value_new(tape, DTYPE_UINT8, &shape, "unpacked codes");
    run_into(tape, OPCODE_UNPACK_BITS, attributes_i(bits, 0), states->codes, unpacked);
    struct value *codes = tape_slice(tape, unpacked, 0, 0, value_size(states->scale, 0));
    struct value *groups = make_multiply(tape, states->scale, codes);
    if (!tape_failed(tape)) {
        struct operation_attributes difference = attributes_f(-1.0, 0.0);
        struct value *values[] = {groups, value_broadcast(tape, states->shift, &groups->shape), groups};
        tape_run(tape, OPCODE_ADD, &difference, 2, 3, values);
    }
    return tape_frame_close(tape, frame, tape_reshape(tape, groups, 4, states->size));
}

/* -- either */

struct quantized_states tape_states_quantize(struct tape *tape, enum states_form form, struct value *states)
{
    struct quantized_states made = {.form = form};
    if (states == NULL || tape_failed(tape)) {
        return made;
    }
    for (int d = 0; d < 4; d++) {
        made.size[d] = value_size(states, d);
    }
    if (form == STATES_FLOAT8) {
        made.scale = float8_scale(tape, states);
        made.codes = tape_states_codes(tape, states, made.scale);
    } else {
        groups_quantize(tape, states, &made);
    }
    return made;
}

struct value *tape_states_dequantize(struct tape *tape, const struct quantized_states *states, enum dtype dtype)
{
    if (states->codes == NULL || tape_failed(tape)) {
        return NULL;
    }
    return states->form == STATES_FLOAT8 ? float8_dequantize(tape, states, dtype) : groups_dequantize(tape, states);
}
