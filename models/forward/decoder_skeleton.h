/* Skeletons of decoders: the frame that all of them share, and the parts of a layer that Llama's kin share. */
#ifndef ASSAY_FORWARD_DECODER_SKELETON_H
#define ASSAY_FORWARD_DECODER_SKELETON_H

#include "models/forward/decoder_type.h"

/* The whole model: embedding, layers, the last norm, rotary buffers, head. A row of struct family's, by its decoder. */
void decoder_skeleton(struct skeleton_builder *builder, enum head head);

/* The class of another head, if the model's type has it: list makes the bare model. Whether it has. */
bool decoder_task_skeleton(struct skeleton_builder *builder, enum head head, task_model_list *list);

/* "lm_head" below root, with rows of width elements, tied to words (-1: to nothing) if the configuration says so. The
 * bare model (root -1) has none. */
void decoder_head_list(struct skeleton_builder *builder, int root, int64_t width, int words);

/* "attention" and the feed-forward network of a layer. */
typedef void decoder_part_list(struct skeleton_builder *builder, int layer, int64_t number,
                               const struct decoder_type *type);

/* A layer: both parts, and the norms before them (and behind, config->norms_behind). Gives its module. */
int decoder_layer_list(struct skeleton_builder *builder, int layers, int64_t number, const struct decoder_type *type,
                       decoder_part_list *const parts[2]);

/* "self_attn": q_proj, k_proj, v_proj, o_proj, and with config->head_norms q_norm and k_norm. */
void decoder_attention_list(struct skeleton_builder *builder, int layer, int64_t number,
                            const struct decoder_type *type);
/* "mlp": gate_proj, up_proj, down_proj. */
void decoder_gated_list(struct skeleton_builder *builder, int layer, int64_t number, const struct decoder_type *type);

#endif
