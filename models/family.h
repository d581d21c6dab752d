/* Families: what tells one kind of model from another, one row and one file (models/family_NAME.c) for each. */
#ifndef ASSAY_MODELS_FAMILY_H
#define ASSAY_MODELS_FAMILY_H

#include <stdbool.h>

#include "models/field.h"
#include "models/forward.h"
#include "models/skeleton_builder.h"

/* Lists end with NULL; a list that is NULL is empty. */
struct family {
    const char *name;                 /* "llama" */
    const char *const *model_types;   /* of transformers: "llama", "mistral", ... */
    const char *const *architectures; /* of timm, whose files have no model_type: "resnet50", ... */
    const char *const *lora_targets; /* what peft adapts where a LoraConfig names nothing; empty: it has no such list */
    bool is_image;                   /* reads images, not text */
    bool has_attention;
    bool bounds_positions;      /* a table of positions: a sequence has at most config->positions */
    bool attends_eagerly;       /* its class has no fused attention: it is the eager form whatever the workload says */
    bool lacks_position_ids;    /* its forward takes no position ids, and so generate() makes none */
    bool generates;             /* has a decoder that writes text */
    bool refuses_checkpointing; /* the real class cannot recompute its blocks */
    /* The fields of struct config that the family has, from its file. config->model_type and ->architecture are set. */
    void (*read)(struct field_reader *reader, struct config *config);
    /* Lists modules and tensors. head is HEAD_BARE or HEAD_LM. */
    void (*skeleton)(struct skeleton_builder *builder, enum head head);
    forward_run *forward; /* NULL: nothing but load */
    forward_run *encode;  /* of an encoder and a decoder: what generation runs once, over the prompt; else NULL */
};

/* Row number index of the table, NULL past the end. */
const struct family *family_at(int index);

/* By its name; NULL where it is not known. */
const struct family *family_find(const char *name);

/* By what a configuration says; NULL where no family has it. */
const struct family *family_of_type(const char *model_type);
const struct family *family_of_architecture(const char *architecture);

extern const struct family family_bert, family_bloom, family_convnext, family_deepseek, family_distilbert,
    family_falcon, family_gemma, family_gpt2, family_gpt_neox, family_llama, family_mixtral, family_opt, family_phi3,
    family_qwen_moe, family_resnet, family_t5, family_vgg, family_vit;

#endif
