/* Saved layout: the tensors of a checkpoint that save_pretrained writes of a model, in its order.
 *
 * Tied tensors are there once, buffers if they are persistent, the experts of a mixture one by one, under the names
 * that files have. The order is that of a model which from_pretrained has loaded (transformers 5.23): by path, part by
 * part between the points, numbers by their value. The parts of a joined tensor of experts stay together: all experts
 * of down_proj, then all of the first half, then all of the second.
 *
 * Worked number: a layer of Mixtral-8x7B has the joined tensors down_proj [8, 4096, 14336] and gate_up_proj [8, 28672,
 * 4096]: 24 stored tensors in three groups of 8. */
#ifndef ASSAY_FIND_SAVED_LAYOUT_H
#define ASSAY_FIND_SAVED_LAYOUT_H

#include "harness/base/arena.h"
#include "harness/checkpoint/checkpoint_plan.h"
#include "models/skeleton/skeleton.h"

struct saved_layout {
    struct arena arena; /* owns names and lists */
    struct planned_tensor *tensors;
    int *sources; /* for each: index of the skeleton's tensor that it is, or is a part of */
    int tensor_count;
};

/* precision: float32, float16 or bfloat16, what rounds with the model is stored in. STATUS_OUT_OF_MEMORY;
 * STATUS_OVERFLOW if there are more tensors, or longer names, than a file can have. */
enum status_code saved_layout_make(const struct skeleton *skeleton, enum dtype precision, struct saved_layout *layout,
                                   struct status *error);
void saved_layout_release(struct saved_layout *layout);

/* What a tensor of the skeleton is stored as. */
enum dtype saved_dtype(const struct skeleton_tensor *tensor, enum dtype precision);

/* How paths are ordered: less than, equal to or greater than 0. A number is before a word, and one at the end of a word
 * counts as a number: layers.2 < layers.11 < layers.norm, norm2 < norm11. */
int path_order(const char *a, const char *b);

#endif
