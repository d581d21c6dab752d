/* Quantised weights on a tape: how they are stored, loaded and used.
 *
 * int8 is LLM.int8 as bitsandbytes 0.50 does it on a GPU: codes [out, in] and a float32 scale for each row; activations
 * are quantised row by row and multiplied as int8. nf4 is its 4-bit form: two codes in a byte, a float32 scale for each
 * 64 elements and a table of 16 float32 levels that it keeps with every weight; the weight is dequantised as a whole
 * for the call, except if few rows are multiplied. float8 is one float32 scale for each tensor (torchao's per-tensor
 * form); activations are quantised in the same way and multiplied as float8 if the target can, else the weight is
 * dequantised. nf4 may be quantised twice (compress_statistics): the scales less their mean become codes of one byte
 * that stand for numbers of a map, 256 of them with a float32 scale (nested_scales.h).
 *
 * Worked, bytes of a projection [11008, 4096] (45,088,768 elements): int8 45,088,768 + 4 * 11,008 = 45,132,800; nf4
 * 22,544,384 + 4 * 704,512 + 64 = 25,362,496, quantised twice 22,544,384 + 704,512 + 4 * 2,752 + 1,024 + 4 + 64 =
 * 23,260,996; float8 45,088,768 + 4. */
#ifndef ASSAY_TAPE_QUANTIZED_H
#define ASSAY_TAPE_QUANTIZED_H

#include "harness/tape/build.h"

enum quantized_form { QUANTIZED_INT8, QUANTIZED_NF4, QUANTIZED_FLOAT8, QUANTIZED_PACKED };

/* Whose layer reads packed weights: packed.h. */
enum packed_kernel { PACKED_EXLLAMA, PACKED_EXLLAMAV2, PACKED_CUDA_OLD, PACKED_AWQ_GEMM, PACKED_AWQ_GEMV };

/* How packed weights are stored and multiplied. */
struct packing {
    enum packed_kernel kernel;
    int bits;            /* 4 or 8 */
    int64_t group;       /* inputs that share a scale; 0: all of them */
    bool ordered;        /* GPTQ's desc_act: inputs do not lie in the order of their groups */
    bool always_biased;  /* every layer has a bias, of zeros if the model has none */
    bool multiplies_all; /* of gemm: many rows multiply a dequantised weight, as no other layer of AWQ does */
};

/* A tensor in quantised storage. codes NULL: none. Its values belong to frames as those of build.h do. */
struct quantized {
    enum quantized_form form;
    int rank;
    int64_t size[TENSOR_RANK_MAXIMUM]; /* of the tensor; of a projection [out, in] */
    struct value *codes, *scales;
    struct value *table; /* nf4: the levels, which no operation reads; else NULL */
    /* nf4 quantised twice, else NULL: scales are codes of map, with scales and a mean of their own */
    struct value *map, *nested, *mean;
    /* packed: its sizes are [out, in]; the rest of its buffers, NULL where a layer has none */
    const struct packing *packing;
    struct value *zeros, *groups, *bias, *permutations[2];
};

/* Quantises from, any strides, floating, and gives what is stored, in the open frame. from stays its caller's. What a
 * loader takes in between is taken and given back: int8 a float16 copy of from, nf4 a dense copy if from is a
 * view. */
struct quantized tape_quantize(struct tape *tape, enum quantized_form form, struct value *from, const char *label);

/* The same in nf4, whose scales are quantised too. */
struct quantized tape_quantize_twice(struct tape *tape, struct value *from, const char *label);

/* Keeps for good what is stored. */
void tape_quantized_hold(struct tape *tape, const struct quantized *tensor);

/* The whole tensor in dtype, a temporary of the open frame. */
struct value *tape_dequantize(struct tape *tape, const struct quantized *tensor, enum dtype dtype);

/* Rows of a table [rows, columns] by their ids, in dtype. No graph: a quantised table is not trained. */
struct value *tape_embedding_quantized(struct tape *tape, const struct quantized *table, struct value *ids,
                                       enum dtype dtype);

/* a [.., in] times the transposed weight [out, in], plus bias (may be NULL), in the dtype of a. The weight is frozen;
 * the gradients of a (gradient times the dequantised weight) and of the bias are taken if they are wanted, so that
 * adapters can stand before it. Packed weights have a function of their own: packed.h. */
struct value *tape_linear_quantized(struct tape *tape, struct value *a, const struct quantized *weight,
                                    struct value *bias);

#endif
