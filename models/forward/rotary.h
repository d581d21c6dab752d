/* Rotary position embeddings as the families of Llama apply them: halves of a head turned against each other. */
#ifndef ASSAY_FORWARD_ROTARY_H
#define ASSAY_FORWARD_ROTARY_H

#include "models/forward/forward.h"
#include "models/skeleton/skeleton_builder.h"

/* The buffers "NAMEinv_freq" and "NAMEoriginal_inv_freq" of the newest module: theta ** (-2k / dim) for k < dim / 2, in
 * float32 whatever the model's dtype, because angles need it. */
void rotary_buffers(struct skeleton_builder *builder, const char *name, int64_t dim, double theta);

/* layer->cosine and ->sine: of position * frequency, [1 or B, 1, S, dim] in the dtype of like; made without gradients
 * from the buffer below root ("rotary_emb.inv_freq"). positions: i64 [1 or B, S]. They belong to the open frame. */
void rotary_make(struct forward_layer *layer, const char *root, const char *buffer, struct value *like,
                 struct value *positions);

/* x [B, heads, S, D] turned: x * cosine + cat(-x2, x1) * sine. */
struct value *rotary_turn(const struct forward_layer *layer, struct value *x);

/* For models that turn the first dim elements of D: these alone, and a copy of them and of those of x that pass. */
struct value *rotary_turn_first(const struct forward_layer *layer, struct value *x);
struct value *rotary_join(const struct forward_layer *layer, struct value *turned, struct value *x);

#endif
