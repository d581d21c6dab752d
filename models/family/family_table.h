/* The table of families, and what a configuration is looked up by. */
#ifndef ASSAY_FAMILY_FAMILY_TABLE_H
#define ASSAY_FAMILY_FAMILY_TABLE_H

#include "models/config/family.h"

/* All families, family_NAME for each X(NAME). */
#define FAMILIES(X)                                                                                                    \
    X(bert)                                                                                                            \
    X(distilbert)                                                                                                      \
    X(gpt2)                                                                                                            \
    X(llama)                                                                                                           \
    X(opt)                                                                                                             \
    X(bloom)                                                                                                           \
    X(falcon)                                                                                                          \
    X(vit)                                                                                                             \
    X(resnet)                                                                                                          \
    X(vgg)                                                                                                             \
    X(convnext)                                                                                                        \
    X(gemma)                                                                                                           \
    X(gpt_neox)                                                                                                        \
    X(phi3)                                                                                                            \
    X(t5)                                                                                                              \
    X(mixtral)                                                                                                         \
    X(qwen_moe)                                                                                                        \
    X(deepseek)                                                                                                        \
    X(gpt_neo)                                                                                                         \
    X(timm_vit)                                                                                                        \
    X(regnet)

#define FAMILY_DECLARE(name) extern const struct family family_##name;
FAMILIES(FAMILY_DECLARE)
#undef FAMILY_DECLARE

/* Row number index of the table, NULL past the end. */
const struct family *family_at(int index);

/* By its name; NULL if it is not known. */
const struct family *family_find(const char *name);

/* By what a configuration says; NULL if no family has it. */
const struct family *family_of_type(const char *model_type);
const struct family *family_of_architecture(const char *architecture);

#endif
