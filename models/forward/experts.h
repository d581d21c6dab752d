/* Mixtures of experts: a feed-forward layer of many experts of which each token uses a few, as transformers 5.23 has
 * it.
 *
 * All experts of a layer are resident: two parameters hold them, gate_up_proj [E, 2F, H] and down_proj [E, H, F]. A
 * router with one row for each expert chooses, for each token, the active ones. Which these are depends on the weights
 * and the tokens, how many rows are computed does not: N tokens make N * active rows, sorted by expert (grouped_mm, the
 * default), so no size depends on the routing (docs/decisions/0016).
 *
 * Worked number, Mixtral-8x7B: 32 layers * 8 experts * 3 * 4096 * 14336 = 45,097,156,608 elements of experts, of which
 * a token uses 2 in 8; the other 1,605,636,096 parameters (with the head) serve every token: 46,702,792,704 in all,
 * 12,879,925,248 active. */
#ifndef ASSAY_FORWARD_EXPERTS_H
#define ASSAY_FORWARD_EXPERTS_H

#include "models/config/field.h"
#include "models/skeleton/skeleton_builder.h"

/* Whether a layer has experts; the others have one feed-forward network of config->ffn. */
bool experts_in_layer(const struct config *config, int64_t layer);

/* Reads decoder_sparse_step and mlp_only_layers. Needs config->layers. */
void experts_read_layers(struct field_reader *reader, struct config *config);

/* Faults if a token cannot use as many experts, or groups of them, as the file says; key: of the active ones. */
void experts_check(struct field_reader *reader, const char *key, const struct config *config);

/* "gate" below parent: weight [E, H]. */
void experts_router_list(struct skeleton_builder *builder, int parent, const char *class_name);
/* "experts" below parent. */
void experts_list(struct skeleton_builder *builder, int parent, const char *class_name);
/* name below parent: gate_proj, up_proj [ffn, H] and down_proj [H, ffn]. */
void experts_dense_list(struct skeleton_builder *builder, int parent, const char *name, const char *class_name,
                        int64_t ffn, bool bias);

#endif
