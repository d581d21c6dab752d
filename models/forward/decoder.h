/* Forward passes of decoders: the model with its head, the body that those with rotary positions share (Llama and its
 * kin, mixtures, Phi-3, DeepSeek, Gemma, GPT-NeoX), their layer, and the ways of attention. */
#ifndef ASSAY_FORWARD_DECODER_H
#define ASSAY_FORWARD_DECODER_H

#include "models/forward/decoder_type.h"

/* Index 0: of layers that see every key; 1: of those with the sliding window. What a model does not have is NULL. */
struct decoder_tables {
    struct value *masks[2], *cosines[2], *sines[2], *positions;
};

/* Positions and masks; hidden: the embedded tokens. They belong to the open frame. */
struct decoder_tables decoder_tables_make(const struct forward *f, enum decoder_masks masks, struct value *hidden);
/* The rotary table of the layers of some kinds, from the buffer below root. */
enum decoder_kinds { DECODER_KINDS_FULL = 1, DECODER_KINDS_WINDOWED = 2, DECODER_KINDS_ALL = 3 };
void decoder_rotary_make(const struct forward *f, struct decoder_tables *tables, enum decoder_kinds kinds,
                         const char *root, const char *buffer, struct value *hidden);

/* Whether the model has layers with the sliding window (windowed), or without. */
bool decoder_has_layers(const struct config *config, bool windowed);

/* The layers below root over input. layer has what all of them read; its prefix and index are set for each, and with
 * tables (else NULL) its mask and positions too, by the kind of layer. input keeps its name, unless the decoder passes
 * its words on. */
struct value *decoder_layers(struct forward_layer *layer, const struct decoder_tables *tables, const char *root,
                             struct value *input);

/* The last hidden state of the model below root: "" if it is bare, else "model." or the like. Words, masks, rotary
 * tables, layers, norm, as the family's decoder says. */
struct value *decoder_body(const struct forward *f, const char *root);

/* Attention or the feed-forward network of a layer, without the norm before it. Eager weights may stay with the open
 * frame. */
typedef struct value *decoder_part(const struct forward_layer *layer, struct value *hidden);

/* input + attend(norm(input)), and the same of that with feed. Dropout (config->hidden_dropout) comes before each sum,
 * and before the dropout a norm if config->norms_behind. */
struct value *decoder_layer(const struct forward_layer *layer, struct value *input, decoder_part *attend,
                            decoder_part *feed);

/* "layer.name" of hidden as heads: [B, heads, S, D]. */
struct value *decoder_heads(const struct forward_layer *layer, const char *name, struct value *hidden, int64_t heads);

/* Cache, attention and the projection "layer.name" of queries, keys and values that positions have turned. Takes them
 * over: they go when the output is there. Eager weights stay with the open frame. joined: q was concatenated of
 * parts. */
struct value *decoder_attend(const struct forward_layer *layer, const char *name, bool joined, struct value *q,
                             struct value *k, struct value *v);

/* Attention and the projection alone, of keys and values of all tokens. *weights: of the eager form, else NULL. */
struct value *decoder_attend_all(const struct forward_layer *layer, const char *name, bool joined, struct value *q,
                                 struct value *k, struct value *v, struct value **weights);

/* LlamaAttention: "self_attn.q_proj" and its like of hidden, if config->head_norms "q_norm" and "k_norm" of each
 * head (Qwen3), turned by positions and attended. Eager weights stay with the open frame. */
struct value *decoder_attention(const struct forward_layer *layer, struct value *hidden);

/* dropout_add of BLOOM and Falcon: residual + dropout(x). */
struct value *decoder_dropout_add(const struct forward *f, struct value *x, struct value *residual, double probability);

/* Held attention weights that a block returns besides: the model's loop keeps them by the name *last until the next
 * block has returned. last NULL: it does not, and they go. */
void decoder_weights_return(struct tape *tape, struct value **last, struct value *weights);

/* "mlp.down_proj" of activation(mlp.gate_proj) * mlp.up_proj. */
struct value *decoder_gated_feed_forward(const struct forward_layer *layer, struct value *hidden);

/* "lm_head", the cap of its logits if any, and the loss if there are labels: what a model with a head returns. */
struct value *decoder_head(const struct forward *f, struct value *hidden);

/* The model, and decoder_head if the skeleton has a head. */
struct value *decoder_forward(const struct forward *f);

#endif
