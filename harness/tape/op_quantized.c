/* Quantised weights: loading, dequantisation, lookups and linear layers. What a library allocates on the way to a
 * product is allocated here in its order. Not the arithmetic of codes: see kernels/body_quantize.h. */
#include "harness/tape/quantized.h"

#include <string.h>

#include "harness/tape/graph.h"
#include "harness/tape/nested_scales.h"

enum { NF4_BLOCK = 64, NF4_LEVELS = 16 };

/* Up to so many rows bitsandbytes multiplies out of the codes themselves, whatever the GPU; before 0.50 one that
 * wants no gradient. */
enum { NF4_FUSED_ROWS = 4, NF4_FUSED_ROWS_BEFORE = 1 };

/* cuBLAS multiplies int8 and float8 whose rows are multiples of this. */
enum { INT8_ALIGNMENT = 4, FLOAT8_ALIGNMENT = 16, FLOAT8_CAPABILITY = 89 };

static const enum dtype code_dtypes[] = {
    [QUANTIZED_INT8] = DTYPE_INT8, [QUANTIZED_NF4] = DTYPE_NF4X2, [QUANTIZED_FLOAT8] = DTYPE_FLOAT8_E4M3FN};

static int64_t element_count(const struct quantized *tensor)
{
    int64_t count = 1;
    for (int d = 0; d < tensor->rank; d++) {
        count *= tensor->size[d]; /* that of a value that exists */
    }
    return count;
}

/* Elements that share a scale. */
static int64_t block_of(const struct quantized *tensor)
{
    int64_t count = element_count(tensor);
    bool by_rows = tensor->form == QUANTIZED_INT8 && tensor->rank > 1 && tensor->size[0] > 0;
    return tensor->form == QUANTIZED_NF4 ? NF4_BLOCK : by_rows ? count / tensor->size[0] : count;
}

static struct operation_attributes block_attributes(const struct quantized *tensor, int64_t rows)
{
    int64_t block = block_of(tensor);
    return attributes_i(block > 0 ? block : NF4_BLOCK, rows);
}

static struct value *temporary_new(struct tape *tape, enum dtype dtype, const struct shape *shape, const char *label)
{
    return value_new_in(tape, CATEGORY_TEMPORARIES, dtype, shape, label);
}

/* a in float16, dense; a itself if it is that. */
static struct value *halved(struct tape *tape, struct value *a, const char *label)
{
    if (a->dtype == DTYPE_FLOAT16) {
        return make_dense(tape, a);
    }
    struct value *half = temporary_new(tape, DTYPE_FLOAT16, &a->shape, label);
    struct value *values[] = {a, half};
    tape_run(tape, OPCODE_COPY, NULL, 1, 2, values);
    return half;
}

/* -- loading */

/* Codes and scales for a tensor of that shape, scales first, as the libraries allocate them. */
static void storage_make(struct tape *tape, enum category category, struct quantized *tensor, const char *label)
{
    int64_t count = element_count(tensor), block = block_of(tensor);
    struct shape scales = {.rank = 1, .size = {block > 0 ? (count + block - 1) / block : 0}};
    struct shape codes = {.rank = tensor->rank};
    memcpy(codes.size, tensor->size, sizeof codes.size);
    if (tensor->form == QUANTIZED_NF4) {
        codes = (struct shape){.rank = 2, .size = {(count + 1) / 2, 1}};
    }
    tensor->scales = value_new_in(tape, category, DTYPE_FLOAT32, &scales, label);
    tensor->codes = value_new_in(tape, category, code_dtypes[tensor->form], &codes, label);
}

static void quantize_run(struct tape *tape, struct value *from, const struct quantized *to)
{
    struct operation_attributes attributes = block_attributes(to, 0);
    struct value *values[] = {from, to->codes, to->scales};
    tape_run(tape, OPCODE_QUANTIZE, &attributes, 1, 3, values);
}

static struct quantized quantized_make(struct tape *tape, enum quantized_form form, struct value *from, bool twice,
                                       const char *label)
{
    struct quantized made = {.form = form};
    if (from == NULL || tape_failed(tape)) {
        return made;
    }
    made.rank = from->shape.rank;
    memcpy(made.size, from->shape.size, sizeof made.size);
    struct value *source = form == QUANTIZED_INT8 ? halved(tape, from, "float16 weight") : make_dense(tape, from);
    storage_make(tape, CATEGORY_WEIGHTS, &made, label);
    quantize_run(tape, source, &made);
    if (form == QUANTIZED_NF4) {
        struct shape levels = {.rank = 1, .size = {NF4_LEVELS}};
        made.table = value_new_in(tape, CATEGORY_WEIGHTS, DTYPE_FLOAT32, &levels, label);
        tape_fill(tape, made.table, 0.0);
    }
    if (twice) {
        nested_scales_make(tape, &made, label);
    }
    if (source != from) {
        tape_drop(tape, source);
    }
    return made;
}

struct quantized tape_quantize(struct tape *tape, enum quantized_form form, struct value *from, const char *label)
{
    return quantized_make(tape, form, from, false, label);
}

struct quantized tape_quantize_twice(struct tape *tape, struct value *from, const char *label)
{
    return quantized_make(tape, QUANTIZED_NF4, from, true, label);
}

void tape_quantized_hold(struct tape *tape, const struct quantized *tensor)
{
    struct value *const parts[] = {tensor->codes, tensor->scales, tensor->table,
                                   tensor->map,   tensor->nested, tensor->mean};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        tape_hold(tape, parts[i]);
    }
}

/* -- use */

/* scales: those of the tensor, in float32. */
static struct value *weight_dequantize(struct tape *tape, const struct quantized *tensor, struct value *scales,
                                       enum dtype dtype)
{
    if (tensor->codes == NULL || scales == NULL || tape_failed(tape)) {
        return NULL;
    }
    struct shape shape = {.rank = tensor->rank};
    memcpy(shape.size, tensor->size, sizeof shape.size);
    struct operation_attributes attributes = block_attributes(tensor, 0);
    struct value *result = temporary_new(tape, dtype, &shape, "dequantised weight");
    struct value *values[] = {tensor->codes, scales, result};
    tape_run(tape, OPCODE_DEQUANTIZE, &attributes, 2, 3, values);
    return result;
}

/* bitsandbytes' dequantize_4bit of a weight, and the cast to dtype of those that were quantised in float16. */
struct value *tape_dequantize(struct tape *tape, const struct quantized *tensor, enum dtype dtype)
{
    bool halved_first = tensor->form == QUANTIZED_NF4 && tape->bitsandbytes.weights_halved && dtype != DTYPE_FLOAT16;
    struct value *scales = tensor->scales, *worth = NULL;
    if (tensor->nested != NULL) {
        scales = nested_scales_read(tape, tensor, true, &worth);
    }
    struct value *result = weight_dequantize(tape, tensor, scales, halved_first ? DTYPE_FLOAT16 : dtype);
    if (tensor->nested != NULL) {
        tape_drop(tape, scales);
    }
    if (halved_first && result != NULL) {
        struct value *half = result;
        result = make_copy(tape, half, dtype, "dequantised weight");
        tape_drop(tape, half);
    }
    return result;
}

struct value *tape_embedding_quantized(struct tape *tape, const struct quantized *table, struct value *ids,
                                       enum dtype dtype)
{
    if (table->codes == NULL || ids == NULL || tape_failed(tape)) {
        return NULL;
    }
    int frame = tape_frame_open(tape);
    struct shape shape = ids->shape;
    shape.size[shape.rank++] = table->size[1];
    struct value *row = make_dense(tape, ids);
    struct value *result = value_new(tape, dtype, &shape, "EMBEDDING");
    struct operation_attributes attributes = block_attributes(table, table->size[0]);
    struct value *values[] = {table->codes, table->scales, row, result};
    tape_run(tape, OPCODE_DEQUANTIZE, &attributes, 3, 4, values);
    return tape_frame_close(tape, frame, result);
}

/* A matrix of activations, quantised in the form of the weight. */
static struct quantized activations_quantize(struct tape *tape, enum quantized_form form, struct value *rows)
{
    struct quantized made = {.form = form, .rank = 2};
    if (rows == NULL) {
        return made;
    }
    memcpy(made.size, rows->shape.size, sizeof made.size);
    storage_make(tape, CATEGORY_TEMPORARIES, &made, "quantised activations");
    quantize_run(tape, rows, &made);
    return made;
}

/* bitsandbytes' MatMul8bitLt without outlier columns: activations to float16 and to int8, int32 sums, float16, bias,
 * and back to the dtype of the activations. */
static struct value *int8_product(struct tape *tape, struct value *rows, const struct quantized *weight,
                                  struct value *bias)
{
    struct value *half = halved(tape, rows, "float16 activations");
    struct quantized a = activations_quantize(tape, QUANTIZED_INT8, half);
    if (half != rows) {
        tape_drop(tape, half);
    }
    struct shape shape = {.rank = 2, .size = {rows->shape.size[0], weight->size[0]}};
    struct value *sums = temporary_new(tape, DTYPE_INT32, &shape, "int32 sums");
    struct operation_attributes attributes = attributes_f(1.0, 0.0);
    struct value *factors[] = {a.codes, value_turned(tape, weight->codes), sums};
    tape_run(tape, OPCODE_INTEGER_MATMUL, NULL, 2, 3, factors);
    struct value *result = value_new(tape, DTYPE_FLOAT16, &shape, "linear");
    struct value *values[] = {sums, a.scales, weight->scales, result};
    tape_run(tape, OPCODE_DEQUANTIZE_SUMS, NULL, 3, 4, values);
    if (bias != NULL) {
        struct value *added[] = {result, value_broadcast(tape, bias, &shape), result};
        tape_run(tape, OPCODE_ADD, &attributes, 2, 3, added);
    }
    if (rows->dtype != DTYPE_FLOAT16) {
        struct value *whole = result;
        result = make_copy(tape, whole, rows->dtype, "linear");
        tape_drop(tape, whole);
    }
    tape_drop(tape, sums);
    tape_drop(tape, a.codes);
    tape_drop(tape, a.scales);
    return result;
}

/* Few rows: out of the codes, without a copy of the weight. Scales that are quantised themselves are read as codes too,
 * or dequantised before. */
static struct value *fused_product(struct tape *tape, struct value *rows, const struct quantized *weight,
                                   struct value *bias)
{
    bool nested = weight->nested != NULL && !tape->bitsandbytes.rows_unfused;
    bool reads = weight->nested != NULL && !nested;
    struct shape shape = {.rank = 2, .size = {rows->shape.size[0], weight->size[0]}};
    struct value *source = make_dense(tape, rows), *worth = NULL, *scales = weight->scales;
    if (reads) {
        scales = nested_scales_read(tape, weight, tape->bitsandbytes.map_shared, &worth);
        tape_drop(tape, worth);
    }
    struct value *result = value_new(tape, rows->dtype, &shape, "linear");
    struct operation_attributes attributes = block_attributes(weight, nested ? NESTED_BLOCK : 0);
    struct value *values[8] = {source, weight->codes, scales, weight->nested, weight->map, weight->mean};
    int count = nested ? 6 : 3;
    if (bias != NULL) {
        values[count++] = bias;
    }
    values[count] = result;
    tape_run(tape, nested ? OPCODE_NESTED_LINEAR : OPCODE_QUANTIZED_LINEAR, &attributes, count, count + 1, values);
    if (reads) {
        tape_drop(tape, scales);
    }
    return result;
}

static struct value *float8_product(struct tape *tape, struct value *rows, const struct quantized *weight,
                                    struct value *bias)
{
    struct quantized a = activations_quantize(tape, QUANTIZED_FLOAT8, make_dense(tape, rows));
    struct shape shape = {.rank = 2, .size = {rows->shape.size[0], weight->size[0]}};
    struct value *result = value_new(tape, rows->dtype, &shape, "linear");
    struct value *workspace = workspace_take(tape, true);
    struct operation_attributes attributes = attributes_f(1.0, 0.0);
    struct value *values[7] = {a.codes, value_turned(tape, weight->codes), a.scales, weight->scales};
    int count = 4;
    if (bias != NULL) {
        values[count++] = bias;
    }
    if (workspace != NULL) {
        values[count++] = workspace;
    }
    values[count] = result;
    tape_run(tape, OPCODE_SCALED_MATMUL, &attributes, count, count + 1, values);
    workspace_leave(tape, workspace);
    tape_drop(tape, a.codes);
    tape_drop(tape, a.scales);
    return result;
}

static struct value *dequantized_product(struct tape *tape, struct value *rows, const struct quantized *weight,
                                         struct value *bias)
{
    bool keeps_scales = weight->nested != NULL && !tape->bitsandbytes.rows_unfused;
    struct value *scales = NULL, *worth = NULL, *dense;
    if (keeps_scales) { /* names of _dequant_linear_fallback, until it returns */
        scales = nested_scales_read(tape, weight, false, &worth);
        dense = weight_dequantize(tape, weight, scales, rows->dtype);
    } else {
        dense = tape_dequantize(tape, weight, rows->dtype);
    }
    struct value *result = make_product(tape, rows, value_turned(tape, dense), bias, "linear");
    tape_drop(tape, scales);
    tape_drop(tape, worth);
    tape_drop(tape, dense);
    return result;
}

static bool size_is_multiple(const struct quantized *weight, int64_t alignment)
{
    return weight->size[0] % alignment == 0 && weight->size[1] % alignment == 0;
}

/* wants_gradient: of rows. */
static struct value *quantized_product(struct tape *tape, struct value *rows, const struct quantized *weight,
                                       struct value *bias, bool wants_gradient)
{
    if (rows == NULL) {
        return NULL;
    }
    if (weight->form == QUANTIZED_INT8 && size_is_multiple(weight, INT8_ALIGNMENT)) {
        return int8_product(tape, rows, weight, bias);
    }
    int64_t fused = !tape->bitsandbytes.rows_unfused ? NF4_FUSED_ROWS : wants_gradient ? 0 : NF4_FUSED_ROWS_BEFORE;
    if (weight->form == QUANTIZED_NF4 && rows->shape.size[0] <= fused && weight->size[1] % NF4_BLOCK == 0) {
        return fused_product(tape, rows, weight, bias);
    }
    if (weight->form == QUANTIZED_FLOAT8 && tape->target->capability >= FLOAT8_CAPABILITY &&
        size_is_multiple(weight, FLOAT8_ALIGNMENT)) {
        return float8_product(tape, rows, weight, bias);
    }
    return dequantized_product(tape, rows, weight, bias);
}

/* inputs: a, bias. saved or kept: codes, scales, the activations if they are kept, and what nested scales consist of.
 * attributes.i: the form, and the sizes of the weight. */
static void linear_quantized_backward(struct tape *tape, struct node *node, struct value **out, struct value **in)
{
    const int64_t *i = node->attributes.i;
    struct value **stored = node->kept[0] != NULL ? node->kept : node->saved;
    struct quantized weight = {
        .form = (enum quantized_form)i[0], .rank = 2, .size = {i[1], i[2]}, .codes = stored[0], .scales = stored[1]};
    if (node->kept[0] != NULL) {
        weight.nested = stored[3];
        weight.map = stored[4];
        weight.mean = stored[5];
    }
    struct value *gradient = make_rows(tape, out[0]);
    if (gradient == NULL) {
        return;
    }
    if (node->input_count > 1 && node_wants(node, 1)) {
        in[1] = make_sum_to(tape, gradient, &node->edges[1].shape);
    }
    if (node_wants(node, 0)) {
        struct value *dense = tape_dequantize(tape, &weight, gradient->dtype);
        if (weight.form == QUANTIZED_INT8) {
            /* bitsandbytes multiplies its copy of the codes by a vector made for it; here they are decoded at once. */
            tape_drop(tape, make_scale(tape, weight.scales, 1.0 / 127.0, 0.0));
        }
        struct value *slope = make_product(tape, gradient, dense, NULL, "linear input gradient");
        in[0] = slope != NULL ? make_reshape(tape, slope, &node->edges[0].shape) : NULL;
    }
}

/* The functions of bitsandbytes keep what they need as attributes and not as saved tensors: MatMul4Bit its codes,
 * MatMul8bitLt, and MatMul4Bit of older releases, its activations besides, of which it reads the dtype at most. */
static void linear_quantized_remember(struct tape *tape, struct node *node, struct value *rows,
                                      const struct quantized *weight)
{
    if (weight->form == QUANTIZED_FLOAT8) {
        node_save(tape, node, 0, weight->codes);
        node_save(tape, node, 1, weight->scales);
        return;
    }
    node_keep(tape, node, 0, weight->codes);
    node_keep(tape, node, 1, weight->scales);
    node_keep(tape, node, 2, weight->form == QUANTIZED_INT8 || tape->bitsandbytes.inputs_kept ? rows : NULL);
    node_keep(tape, node, 3, weight->nested);
    node_keep(tape, node, 4, weight->map);
    node_keep(tape, node, 5, weight->mean);
}

struct value *tape_linear_quantized(struct tape *tape, struct value *a, const struct quantized *weight,
                                    struct value *bias)
{
    if (a == NULL || weight->codes == NULL || tape_failed(tape)) {
        return NULL;
    }
    int frame = tape_frame_open(tape);
    struct value *inputs[] = {a, bias};
    struct value *rows = make_rows(tape, a);
    struct node *node = node_new(tape, linear_quantized_backward, bias != NULL ? 2 : 1, inputs, NULL);
    if (node != NULL) {
        node->attributes = (struct operation_attributes){.i = {weight->form, weight->size[0], weight->size[1]}};
        linear_quantized_remember(tape, node, rows, weight);
    }
    struct value *flat = quantized_product(tape, rows, weight, bias, a->requires_grad);
    struct shape shape = a->shape;
    shape.size[shape.rank - 1] = weight->size[0];
    struct value *result = flat != NULL ? make_reshape(tape, flat, &shape) : NULL;
    node_output(node, result, 0);
    return tape_frame_close(tape, frame, result);
}
