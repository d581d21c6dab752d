/* Packed weights: their buffers, what is kept beside them, and what a product takes on its way, in the order of the
 * Python and C++ that do it. Not the arithmetic of codes: nothing here runs. int16 tensors stand as float16, which has
 * their size. */
#include "harness/tape/packed.h"

#include "harness/tape/graph.h"

enum { WORD_BITS = 32, PACKED_MULTIPLE = 32 };

/* exllama's max_input_length of reordered inputs, and exllamav2's max_input_len times max_batch_size. */
enum { EXLLAMA_ROWS = 2048, EXLLAMAV2_ROWS = 2048 * 8, EXLLAMAV2_MARGIN_BYTES = 128 };

/* cuda-old's kernel_switch_threshold: fewer rows are multiplied out of the codes. */
enum { CUDA_OLD_ROWS = 128 };

/* AutoAWQ: partial sums of its kernels, the rows from which gemm dequantises, and up to which gemv is one. */
enum { AWQ_PARTS = 8, AWQ_GEMM_ROWS = 1024, AWQ_GEMV_ROWS = 8 };

static bool is_awq(const struct packing *packing)
{
    return packing->kernel == PACKED_AWQ_GEMM || packing->kernel == PACKED_AWQ_GEMV;
}

static int64_t group_of(const struct packing *packing, int64_t inputs)
{
    return packing->group > 0 ? packing->group : inputs;
}

bool packing_fits(const struct packing *packing, int64_t outputs, int64_t inputs, const char **why)
{
    int64_t group = group_of(packing, inputs);
    *why = inputs % group != 0              ? "its groups do not divide the inputs of a layer"
           : inputs % PACKED_MULTIPLE != 0  ? "the inputs of a layer are no multiple of 32"
           : outputs % PACKED_MULTIPLE != 0 ? "the outputs of a layer are no multiple of 32"
           : packing->kernel == PACKED_AWQ_GEMV && group != 32 && group != 64 && group < 128
               ? "the gemv layer has groups of 32, 64, and 128 or more"
               : NULL;
    return *why == NULL;
}

static struct value *kept_new(struct tape *tape, enum dtype dtype, int64_t rows, int64_t columns, const char *label)
{
    struct shape shape = {.rank = 2, .size = {rows, columns}};
    return value_new_in(tape, CATEGORY_WEIGHTS, dtype, &shape, label);
}

static struct value *temporary_new(struct tape *tape, enum dtype dtype, int64_t rows, int64_t columns,
                                   const char *label)
{
    struct shape shape = {.rank = 2, .size = {rows, columns}};
    return value_new_in(tape, CATEGORY_TEMPORARIES, dtype, &shape, label);
}

/* The int32 for the zeros of one output: AutoAWQ's calculate_zeros_width. */
static int64_t gemv_zeros_width(int64_t inputs, int64_t group)
{
    int64_t multiple = group == 64 ? 2 : group == 32 ? 4 : 1;
    int64_t width = (inputs / group + AWQ_PARTS - 1) / AWQ_PARTS;
    return (width + multiple - 1) / multiple * multiple;
}

struct quantized tape_packed_make(struct tape *tape, const struct packing *packing, int64_t outputs, int64_t inputs,
                                  const char *label)
{
    struct quantized made = {.form = QUANTIZED_PACKED, .rank = 2, .size = {outputs, inputs}, .packing = packing};
    int64_t per_word = WORD_BITS / packing->bits, group = group_of(packing, inputs), groups = inputs / group;
    if (tape_failed(tape)) {
        return made;
    }
    if (packing->kernel == PACKED_AWQ_GEMV) {
        int64_t width = gemv_zeros_width(inputs, group);
        made.codes = kept_new(tape, DTYPE_INT32, outputs, inputs / per_word, label);
        made.zeros = kept_new(tape, DTYPE_INT32, outputs, width, label);
        made.scales = kept_new(tape, DTYPE_FLOAT16, outputs, width * per_word, label);
    } else if (packing->kernel == PACKED_AWQ_GEMM) {
        made.codes = kept_new(tape, DTYPE_INT32, inputs, outputs / per_word, label);
        made.zeros = kept_new(tape, DTYPE_INT32, groups, outputs / per_word, label);
        made.scales = kept_new(tape, DTYPE_FLOAT16, groups, outputs, label);
    } else {
        made.groups = kept_new(tape, DTYPE_INT32, 1, inputs, label);
        made.codes = kept_new(tape, DTYPE_INT32, inputs / per_word, outputs, label);
        made.zeros = kept_new(tape, DTYPE_INT32, groups, outputs / per_word, label);
        made.scales = kept_new(tape, DTYPE_FLOAT16, groups, outputs, label);
    }
    tape->not_run = is_awq(packing) ? "weights of AWQ" : "weights of GPTQ";
    return made;
}

/* -- what is kept beside the weights */

/* Sizes of the largest weight in elements, of the largest of its sides, and of exllamav2's room in bytes. */
struct largest {
    int64_t elements, side, room_bytes;
};

static struct largest largest_of(struct quantized *const *weights, int count)
{
    struct largest largest = {1, 1, 0};
    for (int i = 0; i < count; i++) {
        const struct quantized *weight = weights[i];
        if (weight->codes == NULL) {
            continue;
        }
        int64_t elements = weight->size[0] * weight->size[1]; /* those of values that exist */
        int64_t side = weight->size[0] > weight->size[1] ? weight->size[0] : weight->size[1];
        int64_t room = elements * 2 + weight->size[0] * EXLLAMAV2_ROWS * 4 + 2 * (int64_t)EXLLAMAV2_MARGIN_BYTES;
        largest.elements = elements > largest.elements ? elements : largest.elements;
        largest.side = side > largest.side ? side : largest.side;
        largest.room_bytes = room > largest.room_bytes ? room : largest.room_bytes;
    }
    return largest;
}

static void buffer_take(struct tape *tape, int64_t rows, int64_t columns, const char *label)
{
    struct shape shape = {.rank = 2, .size = {rows, columns}};
    tape_hold(tape, value_new_in(tape, CATEGORY_BUFFERS, DTYPE_FLOAT16, &shape, label));
}

void tape_packed_prepare(struct tape *tape, const struct packing *packing, struct quantized *const *weights, int count)
{
    struct largest largest = largest_of(weights, count);
    int frame = tape_frame_open(tape);
    if (packing->kernel == PACKED_EXLLAMA) {
        int64_t rows = packing->ordered ? EXLLAMA_ROWS : 1;
        buffer_take(tape, rows, packing->ordered ? largest.side : 1, "exllama, reordered inputs");
        buffer_take(tape, 1, largest.elements, "exllama, dequantised weight");
    } else if (packing->kernel == PACKED_EXLLAMAV2) {
        buffer_take(tape, 1, largest.room_bytes / 2, "exllamav2, scratch");
    }
    for (int i = 0; i < count && packing->kernel == PACKED_EXLLAMAV2; i++) {
        bool permutes = weights[i]->codes != NULL && group_of(packing, weights[i]->size[1]) < weights[i]->size[1];
        for (int k = 0; k < 2 && permutes; k++) {
            struct shape shape = {.rank = 1, .size = {weights[i]->size[1]}};
            struct value *permutation =
                value_new_in(tape, CATEGORY_BUFFERS, DTYPE_FLOAT16, &shape, "exllamav2, permutation of inputs");
            weights[i]->permutations[k] = tape_hold(tape, permutation);
        }
    }
    tape_frame_close(tape, frame, NULL);
}

/* -- use */

/* Behind a product: out = out + bias, a tensor of its own. */
static struct value *biased(struct tape *tape, struct value *product, struct value *bias)
{
    if (bias == NULL) {
        return product;
    }
    struct value *sum = value_new(tape, DTYPE_FLOAT16, &product->shape, "linear");
    tape_drop(tape, product);
    return sum;
}

/* rows @ a float16 weight, as cuBLAS does it. */
static struct value *dense_product(struct tape *tape, struct value *rows, int64_t outputs)
{
    struct shape shape = {.rank = 2, .size = {rows->shape.size[0], outputs}};
    struct value *result = value_new(tape, DTYPE_FLOAT16, &shape, "linear");
    workspace_leave(tape, workspace_take(tape, false));
    return result;
}

/* cuda-old unpacks as PyTorch's functions do: int32 shifted, int16 of it, masked, less the zeros, times the scales. Its
 * names live until it returns. Not here: the shifts, 512 bytes for each layer that has unpacked. */
static struct value *unpacked_product(struct tape *tape, struct value *rows, const struct quantized *weight,
                                      struct value *bias)
{
    int64_t outputs = weight->size[0], inputs = weight->size[1];
    int64_t groups = inputs / group_of(weight->packing, inputs);
    enum dtype narrow = weight->packing->bits == 8 ? DTYPE_FLOAT16 : DTYPE_INT8;
    struct value *shifted = temporary_new(tape, DTYPE_INT32, groups, outputs, "zeros, shifted");
    struct value *cast = temporary_new(tape, narrow, groups, outputs, "zeros, narrow");
    tape_drop(tape, shifted);
    struct value *masked = temporary_new(tape, narrow, groups, outputs, "zeros, masked");
    tape_drop(tape, cast);
    struct value *zeros = temporary_new(tape, narrow, groups, outputs, "zeros");
    tape_drop(tape, masked);
    shifted = temporary_new(tape, DTYPE_INT32, inputs, outputs, "weight, shifted");
    cast = temporary_new(tape, narrow, inputs, outputs, "weight, narrow");
    tape_drop(tape, shifted);
    masked = temporary_new(tape, narrow, inputs, outputs, "weight, masked");
    tape_drop(tape, cast);
    struct value *less = temporary_new(tape, narrow, inputs, outputs, "weight, less zeros");
    struct value *dense = temporary_new(tape, DTYPE_FLOAT16, inputs, outputs, "dequantised weight");
    tape_drop(tape, less);
    tape_drop(tape, masked);
    struct value *result = biased(tape, dense_product(tape, rows, outputs), bias);
    tape_drop(tape, dense);
    tape_drop(tape, zeros);
    return result;
}

/* Few rows: sums in float32 and scales in float32, of 8 bits the rows too, cast at the end. */
static struct value *cuda_old_product(struct tape *tape, struct value *rows, const struct quantized *weight,
                                      struct value *bias)
{
    int64_t count = rows->shape.size[0], inputs = weight->size[1];
    if (count >= CUDA_OLD_ROWS) {
        return unpacked_product(tape, rows, weight, bias);
    }
    struct value *sums = temporary_new(tape, DTYPE_FLOAT32, count, weight->size[0], "float32 sums");
    struct value *wide = NULL;
    if (weight->packing->bits == 8) {
        wide = temporary_new(tape, DTYPE_FLOAT32, count, inputs, "rows, as float32");
    }
    int64_t groups = inputs / group_of(weight->packing, inputs);
    tape_drop(tape, temporary_new(tape, DTYPE_FLOAT32, groups, weight->size[0], "scales, as float32"));
    struct value *result = value_new(tape, DTYPE_FLOAT16, &sums->shape, "linear");
    tape_drop(tape, sums);
    result = biased(tape, result, bias);
    tape_drop(tape, wide);
    return result;
}

static struct value *awq_product(struct tape *tape, struct value *rows, const struct quantized *weight)
{
    int64_t count = rows->shape.size[0], outputs = weight->size[0];
    struct shape shape = {.rank = 2, .size = {count, outputs}};
    if (weight->packing->kernel == PACKED_AWQ_GEMV && count <= AWQ_GEMV_ROWS) {
        return value_new(tape, DTYPE_FLOAT16, &shape, "linear");
    }
    if (weight->packing->kernel == PACKED_AWQ_GEMM && weight->packing->multiplies_all && count >= AWQ_GEMM_ROWS) {
        struct value *dense = temporary_new(tape, DTYPE_FLOAT16, weight->size[1], outputs, "dequantised weight");
        struct value *product = dense_product(tape, rows, outputs);
        tape_drop(tape, dense);
        return product;
    }
    struct value *parts = temporary_new(tape, DTYPE_FLOAT16, AWQ_PARTS * count, outputs, "partial sums");
    struct value *result = value_new(tape, DTYPE_FLOAT16, &shape, "linear");
    tape_drop(tape, parts);
    return result;
}

struct value *tape_linear_packed(struct tape *tape, struct value *a, const struct quantized *weight, struct value *bias)
{
    if (a == NULL || weight->codes == NULL || tape_failed(tape)) {
        return NULL;
    }
    enum packed_kernel kernel = weight->packing->kernel;
    int frame = tape_frame_open(tape);
    struct value *rows = make_rows(tape, a);
    struct value *flat;
    if (kernel == PACKED_EXLLAMA || kernel == PACKED_EXLLAMAV2) {
        flat = dense_product(tape, rows, weight->size[0]); /* and adds the bias in place */
    } else if (kernel == PACKED_CUDA_OLD) {
        flat = cuda_old_product(tape, rows, weight, bias);
    } else {
        flat = biased(tape, awq_product(tape, rows, weight), bias);
    }
    struct shape shape = a->shape;
    shape.size[shape.rank - 1] = weight->size[0];
    return tape_frame_close(tape, frame, flat != NULL ? make_reshape(tape, flat, &shape) : NULL);
}
