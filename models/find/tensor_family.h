/* Tensor families: what the names and shapes of stored tensors say of a model that has no configuration. */
#ifndef ASSAY_FIND_TENSOR_FAMILY_H
#define ASSAY_FIND_TENSOR_FAMILY_H

#include <stdbool.h>
#include <stdint.h>

/* Names of tensors are those behind the prefix of the model's own part; those with '/' in front stand beside it. '#' is
 * the number of a layer, '@' that of the first layer with experts and '~' that of the first without (TENSOR_EXPERTS,
 * TENSOR_DENSE). A fact whose tensor is not there says nothing, but PRESENT, ABSENT and SIZE_ELSE. */
#define TENSOR_LAYER   "layers.#.input_layernorm.weight"
#define TENSOR_EXPERTS "layers.#.mlp.gate.weight"
#define TENSOR_DENSE   "layers.#.mlp.gate_proj.weight"

enum tensor_fact_kind {
    TENSOR_SIZE,      /* the key is the size of an axis, less or divided by a number */
    TENSOR_COUNT,     /* the number of layers, from 0 on, that have the tensor */
    TENSOR_PRESENT,   /* true if it is there */
    TENSOR_ABSENT,    /* true if it is not */
    TENSOR_TEXT,      /* text, if it is there */
    TENSOR_SIZE_ELSE, /* as SIZE; `less` if the tensor is not there, null for a `less` of 0 */
    TENSOR_ASSUMED,   /* `less`, but the size of the axis if that is smaller: no tensor tells it */
    TENSOR_FIRST,     /* the number of the first layer that has the tensor */
    TENSOR_TURNS,     /* GPT-Neo's kinds of attention, which take turns: no tensor tells them */
    TENSOR_LAYERS,    /* the list of the layers that have it, if any has */
    TENSOR_DEPTHS,    /* how many layers, '*', each stage, '#', has */
    TENSOR_WIDTHS,    /* the size of axis 0 in the first layer of each stage */
    TENSOR_IMAGE /* the side of the image: the tensor has a row for each patch and one more; its patch as patch_size */
};

struct tensor_fact {
    enum tensor_fact_kind kind;
    const char *tensor, *key;
    int axis;
    int64_t less, divisor; /* 0: nothing is taken off, nothing is divided by */
    const char *text;
};

/* Where the number of heads comes from. Elements of a head that no tensor tells are assumed: usual, or 128 where usual
 * is 0 and the model is at least wide_from wide, else 64; halved until they divide the queries and the keys. */
enum tensor_heads_kind {
    HEADS_PLAIN,
    HEADS_REST,    /* keys has the queries too, and as many values */
    HEADS_ONE_KEY, /* so has it, and one head of keys and one of values */
    HEADS_LATENT   /* of DeepSeek: sums of sizes tell heads and their parts */
};

struct tensor_heads {
    const char *heads_key, *kv_key, *dim_key; /* NULL: the family has no such key */
    const char *queries;
    int queries_axis;
    const char *keys; /* axis 0; NULL: as wide as the queries */
    enum tensor_heads_kind kind;
    const char *exact; /* a tensor whose first size is the elements of a head, times factor; NULL: none */
    int64_t exact_factor;
    const char *count; /* a tensor whose second size is the number of heads; NULL: none */
    int64_t usual, wide_from;
};

struct tensor_family {
    const char *model_type;
    bool only_asked;         /* by MODEL#TYPE: its tensors are those of a family before it */
    const char *also;        /* what is to be said of types that have the same tensors; NULL: there are none */
    const char *prefixes[3]; /* ended by NULL */
    const char *needs[8];    /* tensors it must have, ended by NULL; the first two are the evidence that is shown */
    const char *lacks[6];    /* tensors it must not have, ended by NULL */
    const struct tensor_fact *facts; /* ended by one without a key */
    struct tensor_heads heads;
};

/* Row number index of the table, NULL past the end. */
const struct tensor_family *tensor_family_at(int index);

#endif
