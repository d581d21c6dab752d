/* The forward pass of a mixture of experts, as transformers 5.23 runs it with grouped_mm, its default: every token's rows
 * are sorted by expert, and one product serves all experts. */
#ifndef ASSAY_MODELS_FORWARD_EXPERTS_H
#define ASSAY_MODELS_FORWARD_EXPERTS_H

#include "models/forward.h"

/* rows [N, H] through "layer.mlp.experts", weighted. weights [N, active], ids i64 [N, active]. -> [N, H] in the dtype of
 * rows; what it makes on the way goes when it returns. */
struct value *experts_run(const struct forward_layer *layer, struct value *rows, struct value *weights,
                          struct value *ids);

/* "layer.name.down_proj" of activation(name.gate_proj) * name.up_proj. */
struct value *experts_dense_run(const struct forward_layer *layer, const char *name, struct value *hidden);

#endif
