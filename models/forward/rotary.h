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

/* Whether each layer has cosines and sines of its own, as in older releases (release.h), and none are made for all. */
bool rotary_is_of_layers(const struct forward *forward);

/* Then the layer's own, in the dtype of like, which are the caller's until rotary_let_go; false, and nothing changes,
 * where they are those of all layers. */
bool rotary_of_layer(struct forward_layer *layer, struct value *like);
void rotary_let_go(struct forward_layer *layer);

/* x [B, heads, S, D] turned: x * cosine + cat(-x2, x1) * sine. */
struct value *rotary_turn(const struct forward_layer *layer, struct value *x);

/* What apply_rotary_pos_emb makes of x where a model turns the first dim elements of D: views of what turns and of what
 * passes, also where nothing passes. Queries and keys are both cut before either is turned: the gradients come back in
 * the opposite order. */
struct rotary_cut {
    struct value *turning, *passing;
};
struct rotary_cut rotary_cut(const struct forward_layer *layer, struct value *x);

/* A copy of the turned elements and of those that pass, side by side. */
struct value *rotary_join(const struct forward_layer *layer, struct value *turned, struct value *passing);

#endif
