/* Skeleton of LoRA adapters: what peft 0.21 adds to a model. Each target, a linear layer of the frozen model, gets two
 * matrices: A [rank, inputs] and B [outputs, rank]. They stand behind the model's own tensors, because the model is
 * where it will be when get_peft_model adds them. Not here: what they compute (forward.c).
 *
 * Worked number: gpt2 with rank 8 has 12 * 8 * (768 + 2304) = 294,912 of their elements, in float32 whatever the
 * model's dtype (autocast_adapter_dtype): 1,179,648 bytes. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "models/skeleton/skeleton_builder.h"

#include "models/config/family.h"

enum { NAME_BYTES = 256 };

/* A projection of an attention block, whatever it is called: its path has attn or Attention in it. */
static bool is_of_attention(const struct module_info *module)
{
    return strstr(module->path, "attn") != NULL || strcasestr(module->path, "attention") != NULL;
}

static bool is_target(const struct skeleton_builder *builder, const struct module_info *module,
                      enum lora_targets targets)
{
    const char *dot = strrchr(module->path, '.');
    const char *name = dot != NULL ? dot + 1 : module->path;
    bool named = targets == LORA_TARGETS_LINEAR || (targets == LORA_TARGETS_PROJECTIONS && is_of_attention(module));
    const char *const *wanted = targets == LORA_TARGETS_ATTENTION ? builder->config->family->lora_targets : NULL;
    for (; !named && wanted != NULL && *wanted != NULL; wanted++) {
        named = strcmp(name, *wanted) == 0;
    }
    return named && module_is_projection(module) && !module_is_output_embedding(module);
}

static void factor_add(struct skeleton_builder *builder, const char *path, const char *factor, struct initial initial,
                       int64_t rows, int64_t columns)
{
    char name[NAME_BYTES];
    snprintf(name, sizeof name, LORA_PATH, path, factor);
    builder_module(builder, -1, name, "Linear");
    int tensor = builder_matrix(builder, "weight", initial, rows, columns);
    if (tensor >= 0) {
        builder->skeleton->tensors[tensor].is_adapter = true;
        builder->skeleton->tensors[tensor].rounds_with_model = false;
    }
}

/* kaiming_uniform_(a = sqrt(5)) is uniform in +-1 / sqrt(inputs); B starts at 0. */
static void pair_add(struct skeleton_builder *builder, const struct module_info *module,
                     const struct skeleton_tensor *weight, int64_t rank)
{
    bool stored_in_out = module_is_conv1d(module);
    int64_t inputs = weight->size[stored_in_out ? 0 : 1], outputs = weight->size[stored_in_out ? 1 : 0];
    struct initial spread = {.deviation = 1.0 / sqrt(3.0 * (double)inputs)};
    factor_add(builder, module->path, "A", spread, rank, inputs);
    factor_add(builder, module->path, "B", (struct initial){0}, outputs, rank);
}

enum status_code skeleton_lora(struct skeleton_builder *builder, int64_t rank, enum lora_targets targets)
{
    const struct config *config = builder->config;
    if (config->family->is_image) {
        return status_set(builder->error, STATUS_INVALID,
                          "%s: PEFT has no targets for models of images, as %s is; leave it out",
                          workload_key_words(builder->error, FIELD_LORA_RANK).text, config->name);
    }
    if (config->family->lora_targets == NULL && targets == LORA_TARGETS_ATTENTION) {
        return status_set(builder->error, STATUS_INVALID, "%s: PEFT has no targets of its own for %s; write %s",
                          workload_key_words(builder->error, FIELD_LORA_TARGETS).text, config->name,
                          workload_name_words(builder->error, FIELD_LORA_TARGETS, "linear").text);
    }
    int tensor_count = builder->skeleton->tensor_count;
    for (int i = 0; i < tensor_count && builder->code == STATUS_OK; i++) {
        /* Copies: adding moves the lists. */
        struct skeleton_tensor tensor = builder->skeleton->tensors[i];
        struct module_info module = builder->skeleton->modules[tensor.module];
        if (tensor.rank == 2 && is_target(builder, &module, targets)) {
            pair_add(builder, &module, &tensor, rank);
        }
    }
    return builder->code;
}
