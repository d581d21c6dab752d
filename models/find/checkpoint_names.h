/* Checkpoint names: which tensor of a skeleton a stored name means. */
#ifndef ASSAY_FIND_CHECKPOINT_NAMES_H
#define ASSAY_FIND_CHECKPOINT_NAMES_H

#include <stdbool.h>

#include "harness/checkpoint/checkpoint.h"
#include "models/find/gguf_family.h"
#include "models/find/stored_experts.h"
#include "models/skeleton/skeleton.h"

enum { CHECKPOINT_PREFIX_BYTES = 64, CHECKPOINT_NAME_BYTES = 1024 };

/* What the names of a file are written in. */
struct checkpoint_names {
    const struct gguf_family *gguf;       /* NULL: transformers' or timm's own names */
    char prefix[CHECKPOINT_PREFIX_BYTES]; /* of the bare model in the one with a head: "bert."; "" if it has none */
};

/* bare and headed: the two skeletons of the model. */
struct checkpoint_names checkpoint_names_of(const struct checkpoint *checkpoint, const struct skeleton *bare,
                                            const struct skeleton *headed);

enum name_meaning {
    NAME_TENSOR, /* of the skeleton: index */
    NAME_PART,   /* of a tensor of the skeleton that joins what several stored ones hold: index, part */
    NAME_BUFFER, /* one that older releases wrote, or that is computed from the configuration */
    NAME_HEAD,   /* of a head that the family's models with a head do not have */
    NAME_UNKNOWN
};

/* What a stored tensor is to a skeleton. What its meaning does not have is 0. */
struct stored_place {
    enum name_meaning meaning;
    int index;          /* of the skeleton's tensor */
    bool is_transposed; /* it is stored with its two sizes exchanged */
    struct expert_part part;
};

struct stored_place checkpoint_name_place(const struct checkpoint_names *names, const struct skeleton *skeleton,
                                          const struct checkpoint_tensor *stored);

/* The name under which transformers 5.23, or timm, saves the skeleton's tensor at path, which is none of joined
 * experts. False if it does not fit. */
bool checkpoint_saved_name(const struct skeleton *skeleton, const char *path, char name[CHECKPOINT_NAME_BYTES]);

#endif
