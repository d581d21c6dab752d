/* Stored experts: files keep each expert's matrices by themselves, the model joins those of a layer.
 *
 * Two spellings (transformers 5.23, conversion_mapping.py), which hold for what transformers itself writes too:
 *   Mixtral          model.layers.3.block_sparse_moe.experts.5.w1|w3|w2.weight
 *   Qwen, DeepSeek   model.layers.3.mlp.experts.5.gate_proj|up_proj|down_proj.weight
 * The first two are the halves of mlp.experts.gate_up_proj [E, 2F, H], one above the other, the third one is
 * mlp.experts.down_proj [E, H, F].
 *
 * Worked number: a layer of Mixtral-8x7B has 8 * 3 stored matrices for two tensors of the model. */
#ifndef ASSAY_FIND_STORED_EXPERTS_H
#define ASSAY_FIND_STORED_EXPERTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "models/skeleton/skeleton.h"

/* Part number `part` of the part_count that each expert has in a joined tensor. */
struct expert_part {
    int64_t expert; /* EXPERTS_ALL: that part of all experts of the layer is one stored tensor [E, R, C] (GGUF) */
    int part, part_count;
};

enum { EXPERTS_ALL = -1 };

/* The name under which files of a family (by its name, as in family.h) keep a part of the joined tensor at path;
 * part.part_count and part.expert EXPERTS_ALL are not looked at. False: path is no joined tensor of experts, or the
 * name does not fit. */
bool expert_part_saved_name(const char *family, const char *path, struct expert_part part, char *name,
                            size_t name_bytes);

/* The part_count of the joined tensor at path; 0: it is none. */
int expert_part_count(const char *path);

/* How many such parts make up a joined tensor of rank 3; INT64_MAX if they do not fit. */
int64_t expert_part_total(const struct skeleton_tensor *joined, struct expert_part part);

/* What a stored name is a part of: the path of the joined tensor, written to path. False: it is no expert's. */
bool expert_part_read(const char *name, char *path, size_t path_bytes, struct expert_part *part);

/* The name of another part of the same tensor as name is, which expert_part_read knows: part.expert and part.part.
 * False if it does not fit. */
bool expert_part_name(const char *name, struct expert_part part, char *other, size_t other_bytes);

/* How a part of a joined tensor [E, part_count * R, C] is stored, written to shape: [R, C], or [E, R, C] of all
 * experts. The rank. */
int expert_part_shape(const struct skeleton_tensor *joined, struct expert_part part, int64_t shape[3]);

#endif
