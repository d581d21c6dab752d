/* The table of families, and what a configuration is looked up by. */
#ifndef ASSAY_FAMILY_FAMILY_TABLE_H
#define ASSAY_FAMILY_FAMILY_TABLE_H

#include "models/config/family.h"

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
