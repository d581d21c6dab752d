/* Storage types: how a model file stores the elements of a tensor. Elements come in blocks: one element of 2 bytes for
 * BF16, 256 elements in 144 bytes for Q4_K, 4 elements in 3 bytes for the six-bit floats of safetensors. */
#ifndef ASSAY_CHECKPOINT_STORAGE_TYPE_H
#define ASSAY_CHECKPOINT_STORAGE_TYPE_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/kernels/dtype.h"

struct storage_type {
    const char *name; /* as the format writes it: "BF16", "F8_E4M3", "Q4_K" */
    int block_elements, block_bytes;
    bool has_dtype; /* dtype is the same elements */
    enum dtype dtype;
};

/* By its name in a header of safetensors (release 0.8.0 of the library). NULL if it is not known. */
const struct storage_type *safetensors_type(const char *name);

/* The type of safetensors that stores elements of dtype, NULL if none does (nf4x2). */
const struct storage_type *safetensors_type_of(enum dtype dtype);

/* Where a type of safetensors stands in the library's own order, in which no type is wider than the next. */
int safetensors_type_rank(const struct storage_type *type);

/* By its number in GGUF (ggml's enum ggml_type, 0 to 42). NULL if it is not known, or was removed from the format.
 * Sizes are those that ggml asserts of its block structures: Q4_0 is 32 codes of 4 bits and a half: 18 bytes. */
const struct storage_type *gguf_type(uint32_t number);

/* Bytes of so many elements. False if they are no whole number of blocks or do not fit 63 bits. */
bool storage_bytes(const struct storage_type *type, int64_t element_count, int64_t *bytes);

#endif
