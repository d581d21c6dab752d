/* Parts of encoders that BERT's kin and DistilBERT share; for their forward passes alone. */
#ifndef ASSAY_FORWARD_ENCODER_PART_H
#define ASSAY_FORWARD_ENCODER_PART_H

#include "models/forward/forward.h"

/* The layer's module of that name: attention over the hidden state [B, S, h] by three projections of it, paths within
 * the layer (query, key, value), and by an output projection before queries, keys and values go (NULL: none). Eager
 * weights stay with the open frame. */
struct value *encoder_attention(const struct forward_layer *layer, const char *module, const char *const paths[3],
                                const char *output, struct value *hidden);

/* Paths of a masked-language head: dense, activation, norm, decoder. */
struct masked_head {
    const char *modules[2]; /* that it lies in, from outside; NULL: no more */
    const char *dense, *norm, *decoder;
};

/* The layers of a stack that is a module of its own ("encoder." of BERT): over input, which keeps its name. */
struct value *encoder_stack(struct forward_layer *layer, tape_block *block, const char *root, const char *stack,
                            struct value *input);

/* Logits of all rows, or the loss if there are labels. */
struct value *masked_head_run(const struct forward *forward, const struct masked_head *head, enum activation activation,
                              struct value *hidden);

#endif
