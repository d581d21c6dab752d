/* Tensor families: what the names and shapes of stored tensors say of a model that has no configuration. */
#ifndef ASSAY_MODELS_TENSOR_FAMILY_H
#define ASSAY_MODELS_TENSOR_FAMILY_H

#include <stdbool.h>
#include <stdint.h>

/* Names of tensors are those behind the prefix of the model's own part; those with '/' in front stand beside it. '#' is the
 * number of a layer. A fact whose tensor is not there says nothing, but PRESENT and ABSENT. */
enum tensor_fact_kind {
    TENSOR_SIZE,    /* the key is the size of an axis, less or divided by a number */
    TENSOR_COUNT,   /* the number of layers, from 0 on, that have the tensor */
    TENSOR_PRESENT, /* true where it is there */
    TENSOR_ABSENT,  /* true where it is not */
    TENSOR_TEXT,    /* text, where it is there */
    TENSOR_IMAGE /* the side of the image: the tensor has a row for each patch and one more; its patch as patch_size */
};

struct tensor_fact {
    enum tensor_fact_kind kind;
    const char *tensor, *key;
    int axis;
    int64_t less, divisor; /* 0: nothing is taken off, nothing is divided by */
    const char *text;
};

/* Where the number of heads comes from. Elements of a head that no tensor tells are assumed: usual, or 128 where usual is 0 and
 * the model is at least wide_from wide, else 64; halved until they divide the queries and the keys. */
struct tensor_heads {
    const char *heads_key, *kv_key, *dim_key; /* NULL: the family has no such key */
    const char *queries;
    int queries_axis;
    const char *keys;   /* axis 0; NULL: as wide as the queries */
    bool keys_are_rest; /* keys has the queries too, and as many values */
    const char *exact;  /* a tensor whose first size is the elements of a head, times factor; NULL: none */
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
    const char *lacks[4];    /* tensors it must not have, ended by NULL */
    const struct tensor_fact *facts; /* ended by one without a key */
    struct tensor_heads heads;
};

/* Row number index of the table, NULL past the end. */
const struct tensor_family *tensor_family_at(int index);

#endif
