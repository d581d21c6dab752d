/* The forward pass of a mixture of experts, as transformers 5.23 runs it with grouped_mm, its default: every token's
 * rows are sorted by expert, and one product serves all experts. While generate() decodes without beams on a GPU it is
 * batched_mm instead: each row gets a copy of its expert's matrices. Worked: DeepSeek-V2-Lite (hidden 2048, experts of
 * 1408, 6 of them a token) copies 6 * 3 * 2048 * 1408 = 51,904,512 elements for each sequence, 103,809,024 bytes in
 * bfloat16, in every layer anew. */
#ifndef ASSAY_FORWARD_FORWARD_EXPERTS_H
#define ASSAY_FORWARD_FORWARD_EXPERTS_H

#include "models/forward/forward.h"

/* rows [N, H] through "layer.mlp.experts", weighted. weights [N, active], ids i64 [N, active]. -> [N, H] in the dtype
 * of rows; what it makes on the way goes when it returns. */
struct value *experts_run(const struct forward_layer *layer, struct value *rows, struct value *weights,
                          struct value *ids);

/* "layer.name.down_proj" of activation(name.gate_proj) * name.up_proj. */
struct value *experts_dense_run(const struct forward_layer *layer, const char *name, struct value *hidden);

#endif
