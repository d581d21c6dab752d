/* Families: the table of them, and what a configuration is looked up by. Not here: anything that one family knows. */
#include "models/family/family_table.h"

#include <string.h>

static const struct family *const families[] = {
    &family_bert,     &family_distilbert, &family_gpt2,   &family_llama,   &family_opt,      &family_bloom,
    &family_falcon,   &family_vit,        &family_resnet, &family_vgg,     &family_convnext, &family_gemma,
    &family_gpt_neox, &family_phi3,       &family_t5,     &family_mixtral, &family_qwen_moe, &family_deepseek,
};

enum { FAMILY_COUNT = sizeof families / sizeof families[0] };

const struct family *family_at(int index)
{
    return index >= 0 && index < FAMILY_COUNT ? families[index] : NULL;
}

const struct family *family_find(const char *name)
{
    for (int i = 0; i < FAMILY_COUNT; i++) {
        if (strcmp(families[i]->name, name) == 0) {
            return families[i];
        }
    }
    return NULL;
}

static bool list_has(const char *const *list, const char *word)
{
    for (; list != NULL && *list != NULL; list++) {
        if (strcmp(*list, word) == 0) {
            return true;
        }
    }
    return false;
}

const struct family *family_of_type(const char *model_type)
{
    for (int i = 0; i < FAMILY_COUNT; i++) {
        if (list_has(families[i]->model_types, model_type)) {
            return families[i];
        }
    }
    return NULL;
}

const struct family *family_of_architecture(const char *architecture)
{
    for (int i = 0; i < FAMILY_COUNT; i++) {
        if (list_has(families[i]->architectures, architecture)) {
            return families[i];
        }
    }
    return NULL;
}
