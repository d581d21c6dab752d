/* Tensor split: what tensor and expert parallelism leave of a tensor on one rank, by the names of the real modules.
 *
 * Megatron's rule, as the parallel plans of transformers spell it: projections that widen (queries, keys, values, gate,
 * up) are divided by outputs with their biases, those that narrow (output, down) by inputs, their biases whole;
 * embeddings and heads by rows of the vocabulary. Where there are fewer key heads than ranks each rank has one of them.
 * A name that is not known, or a size that does not divide, stays whole. With an expert degree, experts are dealt out
 * whole and are not divided otherwise.
 *
 * Worked number: Llama-2-7b, degree 2: q_proj [4096, 4096] leaves 8,388,608 elements, down_proj [4096, 11008]
 * 22,544,384, a norm all 4,096. Llama-3.1-8B, degree 16: k_proj [1024, 4096], 8 key heads: 524,288. */
#ifndef ASSAY_ESTIMATE_TENSOR_SPLIT_H
#define ASSAY_ESTIMATE_TENSOR_SPLIT_H

#include "harness/estimate/parallel.h"
#include "models/skeleton/skeleton.h"

struct tensor_share {
    int64_t element_count; /* 0: another rank has it */
    int64_t row_count;     /* size along dimension 0; 1 for a scalar */
    bool is_expert;
};

struct tensor_share tensor_share_of(const struct skeleton *skeleton, int tensor, const struct parallel *parallel);

#endif
