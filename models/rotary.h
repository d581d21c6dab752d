/* Rotary position embeddings as the families of Llama apply them: halves of a head turned against each other. */
#ifndef ASSAY_MODELS_ROTARY_H
#define ASSAY_MODELS_ROTARY_H

#include "models/forward.h"

/* layer->cosine and ->sine: of position * frequency, [1 or B, 1, S, D] in the dtype of like; made without gradients from
 * "rotary_emb.inv_freq" below root. positions: i64 [1 or B, S]. They belong to the open frame. */
void rotary_make(struct forward_layer *layer, const char *root, struct value *like, struct value *positions);

/* x [B, heads, S, D] turned: x * cosine + cat(-x2, x1) * sine. */
struct value *rotary_turn(const struct forward_layer *layer, struct value *x);

#endif
