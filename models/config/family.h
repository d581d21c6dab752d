/* Family: what tells one kind of model from another. Each has one file, models/family/family_NAME.c, and one row in
 * family_table.c. A room below the families asks a model's own row, config->family, and knows no other. */
#ifndef ASSAY_CONFIG_FAMILY_H
#define ASSAY_CONFIG_FAMILY_H

#include <stdbool.h>

#include "harness/case/workload.h"

struct config;
struct decoder;
struct field_reader;
struct forward;
struct skeleton_builder;
struct value;

/* Runs the model. Training: the loss, a scalar. Otherwise what the model returns; all of it belongs to the open
 * frame. */
typedef struct value *forward_run(const struct forward *forward);

/* Buffers that the class of a model type registered in older releases of transformers, in the order of releases. Past
 * the last row the skeleton is right. Each number counts tensors, in each block and beside the blocks: frequencies of
 * rotary positions, cosines and sines of all positions, causal masks of booleans, scalars of float32. */
struct family_era {
    const char *model_type;
    int until; /* the first release that differs: 4038 is 4.38 */
    int block_frequencies, block_caches, block_masks, block_scalars;
    int model_frequencies, model_masks;
};

/* Lists end with NULL; a list that is NULL is empty. */
struct family {
    const char *name;                 /* "llama" */
    const char *const *model_types;   /* of transformers: "llama", "mistral", ... */
    const char *const *architectures; /* of timm, whose files have no model_type: "resnet50", ... */
    const char *const *lora_targets;  /* what peft adapts if a LoraConfig names nothing; empty: it has no such list */
    const struct family_era *eras;    /* ended by a row without model_type; NULL: classes have not changed */
    bool is_image;                    /* reads images, not text */
    bool has_attention;
    bool bounds_positions;      /* a table of positions: a sequence has at most config->positions */
    bool attends_eagerly;       /* its class has no fused attention: it is the eager form whatever the workload says */
    bool lacks_position_ids;    /* its forward takes no position ids, and so generate() makes none */
    bool generates;             /* has a decoder that writes text */
    bool refuses_checkpointing; /* the real class cannot recompute its blocks */
    /* The fields of struct config that the family has, from its file. config->model_type and ->architecture are set. */
    void (*read)(struct field_reader *reader, struct config *config);
    const struct decoder *decoder; /* of a decoder: what models/forward/decoder_type.h has; else NULL */
    /* Whether the class of the model's type exists, besides that without a head and that of HEAD_LM; NULL: none does.
     * Heads are rows of a family's table: models/forward/task_head.h. */
    bool (*has_head)(const struct config *config, enum head head);
    /* Lists modules and tensors. head is one that the configuration knows (struct config_heads). */
    void (*skeleton)(struct skeleton_builder *builder, enum head head);
    forward_run *forward; /* NULL: nothing but load */
    forward_run *encode;  /* of an encoder and a decoder: what generation runs once, over the prompt; else NULL */
};

/* The row of a release (4038) for the configuration's model type; NULL: the skeleton is right. */
const struct family_era *family_era_of(const struct config *config, int release);

#endif
