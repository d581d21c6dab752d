/* What a family of decoders is made of, in one const row that its configuration, skeleton and forward pass read: the
 * names of its modules, its model types with their defaults and classes, and the functions for what is its own.
 * Decoders here are stacks of equal layers between an embedding of words and a language-model head. */
#ifndef ASSAY_FORWARD_DECODER_TYPE_H
#define ASSAY_FORWARD_DECODER_TYPE_H

#include "models/config/field.h"
#include "models/forward/forward.h"
#include "models/forward/module_visit.h"
#include "models/forward/task_head.h"
#include "models/skeleton/skeleton_builder.h"

/* Names of the real classes; NULL if a model has no such module. */
struct decoder_classes {
    const char *model, *head, *layer, *attention, *mlp, *norm, *rotary;
    const char *words; /* NULL: "Embedding" */
};

/* As transformers derives them from one prefix. */
#define DECODER_CLASSES(prefix)                                                                                        \
    {                                                                                                                  \
        .model = prefix "Model", .head = prefix "ForCausalLM", .layer = prefix "DecoderLayer",                         \
        .attention = prefix "Attention", .mlp = prefix "MLP", .norm = prefix "RMSNorm",                                \
        .rotary = prefix "RotaryEmbedding",                                                                            \
    }

/* What a configuration class has by default, for those whose keys are Llama's. A default of 0 means that the number
 * follows from others: as many key heads as heads, and heads that divide the hidden size. */
struct decoder_sizes {
    int64_t vocab, hidden, layers, heads, kv_heads, ffn, positions, head_dim;
    int64_t kv_heads_null, head_dim_null; /* what null in the file means: FIELD_NULL_REFUSED, or 0 as above */
    bool lacks_head_dim;                  /* the class has no key of this name */
};

/* One model type of a family. A family that has more to say of its types has rows of its own, which begin with this. */
struct decoder_type {
    const char *model_type;
    struct decoder_classes classes;
    const struct task_head *heads; /* NULL: those of the family */
    struct decoder_sizes sizes;
};

/* Which masks a model makes. ONE: create_causal_mask, or create_sliding_window_causal_mask if its layers have a window;
 * USED: each of the two that a layer uses; BOTH: both, whatever its layers are. */
enum decoder_masks { DECODER_MASKS_ONE, DECODER_MASKS_USED, DECODER_MASKS_BOTH };

struct decoder_tables;

/* Names of modules. inside: the bare model in the one with a head; words, layers, norm: those of the bare model. */
struct decoder_names {
    const char *inside, *words, *layers, *norm;
};

/* Llama's, and most later ones'. */
#define DECODER_NAMES_LLAMA                                                                                            \
    {                                                                                                                  \
        .inside = "model", .words = "embed_tokens", .layers = "layers", .norm = "norm"                                 \
    }

/* A table of model types; the first row serves if none has the model type. */
struct decoder_types {
    const struct decoder_type *first;
    size_t count, row_bytes; /* rows may be longer than struct decoder_type */
};

#define DECODER_TYPES(rows)                                                                                            \
    {                                                                                                                  \
        .first = (const struct decoder_type *)(rows), .count = sizeof(rows) / sizeof(rows)[0],                         \
        .row_bytes = sizeof(rows)[0]                                                                                   \
    }

struct decoder {
    struct decoder_names names;
    struct decoder_types types;
    const struct task_head *heads; /* ended by HEAD_DEFAULT; a type may lack some of them */
    /* -- the skeleton */
    void (*after_words)(struct skeleton_builder *builder, int model); /* modules and buffers there; NULL: none */
    void (*layer_list)(struct skeleton_builder *builder, int layers, int64_t number, const struct decoder_type *type);
    /* -- the forward pass */
    bool passes_words; /* the model has no name of its own for what it gives the first layer, whose return frees it */
    bool names_layers; /* what a layer computes outside of its modules has the layer's name in traces */
    bool drops_words; /* layers are given the words behind a dropout, another tensor by name whatever its probability */
    tape_block *layer;
    enum decoder_masks (*masks)(const struct forward *forward); /* NULL: DECODER_MASKS_ONE */
    /* Rotary tables of all layers; NULL: one of each base, "rotary_emb.inv_freq". */
    void (*turn)(const struct forward *forward, struct decoder_tables *tables, const char *root, struct value *hidden);
    module_body *model; /* the whole bare model, if it is another than decoder_body; else NULL */
};

/* The row of config->model_type. config->family has a decoder. */
const struct decoder_type *decoder_type_of(const struct config *config);

/* Tables of heads. Those of transformers' own generic classes; the same, where the class for questions calls its model
 * "transformer" (Llama); without that class; for sequences alone; and of older decoders, all of whose models are called
 * so, with a "classifier" of tokens. */
extern const struct task_head decoder_heads_generic[], decoder_heads_llama[], decoder_heads_classes[],
    decoder_heads_sequence[], decoder_heads_transformer[];

/* The row of a head in the classes of the model's type; NULL: there is no such class. */
const struct task_head *decoder_task_head(const struct config *config, enum head head);
/* The same as a row of struct family. */
bool decoder_has_head(const struct config *config, enum head head);

/* vocab_size, hidden_size and so on, by the defaults of the type. */
void decoder_read_sizes(struct field_reader *reader, struct config *config);
/* Key heads and the size of a head if the file does not say them, and whether they go together. */
void decoder_read_heads(struct field_reader *reader, struct config *config);

#endif
