/* Skeleton: what is done once the family has listed its tensors: totals, the load order, the hash of the paths. */
#include "models/skeleton/skeleton.h"

#include <string.h>

#include "harness/base/hash.h"
#include "harness/base/size.h"
#include "models/config/family.h"
#include "models/config/head.h"
#include "models/skeleton/skeleton_builder.h"

enum status_code skeleton_totals(struct skeleton *skeleton, struct status *error)
{
    bool fits = true;
    skeleton->parameter_count = skeleton->buffer_bytes = 0;
    for (int i = 0; i < skeleton->tensor_count && fits; i++) {
        const struct skeleton_tensor *tensor = &skeleton->tensors[i];
        int64_t bytes = 0;
        if (tensor->is_buffer) {
            fits = size_multiply(tensor->element_count, dtype_bytes(tensor->dtype), &bytes) &&
                   size_add(skeleton->buffer_bytes, bytes, &skeleton->buffer_bytes);
        } else if (tensor->tied_to < 0) {
            const struct config *config = skeleton->config;
            int64_t active = tensor->is_routed ? tensor->element_count / config->experts * config->active_experts
                                               : tensor->element_count;
            fits = size_add(skeleton->parameter_count, tensor->element_count, &skeleton->parameter_count) &&
                   size_add(skeleton->active_parameter_count, active, &skeleton->active_parameter_count);
        }
    }
    /* Room for the largest multiple that an estimator takes (18 bytes per parameter) is left. */
    int64_t room;
    if (!fits || !size_multiply(skeleton->parameter_count, 32, &room) ||
        !size_add(room, skeleton->buffer_bytes, &room)) {
        return status_set(error, STATUS_OVERFLOW,
                          "%s: the parameters do not fit 63 bits of bytes; write smaller sizes in the configuration",
                          skeleton->config->name);
    }
    skeleton->parameter_bytes = skeleton->parameter_count * dtype_bytes(DTYPE_FLOAT32);
    return STATUS_OK;
}

/* Children before their parent: modules are in preorder, so a module is done when the next one is not below it. The
 * tensors of a module lie together, parameters before buffers. */
static enum status_code skeleton_order(struct skeleton *skeleton, struct status *error)
{
    size_t tensor_slots = (size_t)skeleton->tensor_count + 1;
    size_t module_slots = (size_t)skeleton->module_count + 1;
    skeleton->load_order = arena_alloc(&skeleton->arena, tensor_slots * sizeof(int));
    int *first_tensor = arena_alloc(&skeleton->arena, module_slots * sizeof(int));
    if (skeleton->load_order == NULL || first_tensor == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "%s: no host memory for the load order", skeleton->config->name);
    }
    int tensor = 0;
    for (int module = 0; module <= skeleton->module_count; module++) {
        while (tensor < skeleton->tensor_count && skeleton->tensors[tensor].module < module) {
            tensor++;
        }
        first_tensor[module] = tensor;
    }
    int done = 0;
    for (int module = 0; module < skeleton->module_count; module++) {
        int next_parent = module + 1 < skeleton->module_count ? skeleton->modules[module + 1].parent : -1;
        for (int open = module; open != next_parent; open = skeleton->modules[open].parent) {
            for (int i = first_tensor[open]; i < first_tensor[open + 1]; i++) {
                skeleton->load_order[done++] = i;
            }
        }
    }
    return STATUS_OK;
}

/* The slot where the path is, or the free one where it would be. */
static int slot_of(const struct skeleton *skeleton, const char *path)
{
    uint32_t mask = (uint32_t)skeleton->slot_count - 1;
    uint32_t slot = (uint32_t)hash_text(HASH_START, path) & mask;
    while (skeleton->slots[slot] >= 0 && strcmp(skeleton->tensors[skeleton->slots[slot]].path, path) != 0) {
        slot = (slot + 1) & mask;
    }
    return (int)slot;
}

static enum status_code skeleton_index(struct skeleton *skeleton, struct status *error)
{
    skeleton->slot_count = 16;
    while (skeleton->slot_count < 2 * skeleton->tensor_count) {
        skeleton->slot_count *= 2;
    }
    skeleton->slots = arena_alloc(&skeleton->arena, (size_t)skeleton->slot_count * sizeof(int));
    if (skeleton->slots == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "%s: no host memory for the index of tensors",
                          skeleton->config->name);
    }
    for (int i = 0; i < skeleton->slot_count; i++) {
        skeleton->slots[i] = -1;
    }
    for (int i = 0; i < skeleton->tensor_count; i++) {
        skeleton->slots[slot_of(skeleton, skeleton->tensors[i].path)] = i;
    }
    return STATUS_OK;
}

/* workload NULL: transformers' classes without adapters. */
static enum status_code skeleton_make(const struct config *config, enum head head, const struct workload *workload,
                                      struct skeleton *skeleton, struct status *error)
{
    enum status_code code = head_check(&config->model_heads, config->name, head, error);
    if (code != STATUS_OK) {
        return code;
    }
    struct skeleton result = {.config = config, .head = head};
    struct skeleton_builder builder = {.skeleton = &result, .config = config, .error = error, .code = STATUS_OK};
    builder.model_code = workload != NULL ? workload->model_code : MODEL_CODE_TRANSFORMERS;
    config->family->skeleton(&builder, head);
    code = builder.code;
    if (code == STATUS_OK && workload != NULL && workload->lora_rank > 0) {
        code = skeleton_lora(&builder, workload->lora_rank, workload->lora_targets);
    }
    if (code == STATUS_OK) {
        code = skeleton_totals(&result, error);
    }
    if (code == STATUS_OK) {
        code = skeleton_order(&result, error);
    }
    if (code == STATUS_OK) {
        code = skeleton_index(&result, error);
    }
    if (code != STATUS_OK) {
        arena_release(&result.arena);
        return code;
    }
    *skeleton = result;
    return STATUS_OK;
}

enum status_code skeleton_build(const struct config *config, enum head head, struct skeleton *skeleton,
                                struct status *error)
{
    const struct workload workload = {.mode = MODE_LOAD, .head = head};
    if (head == HEAD_DEFAULT) {
        return status_set(error, STATUS_INTERNAL, "a skeleton was asked for without saying with which head");
    }
    return skeleton_make(config, head_of(&config->model_heads, &workload), NULL, skeleton, error);
}

enum status_code skeleton_build_for(const struct config *config, const struct workload *workload,
                                    struct skeleton *skeleton, struct status *error)
{
    return skeleton_make(config, head_of(&config->model_heads, workload), workload, skeleton, error);
}

void skeleton_release(struct skeleton *skeleton)
{
    arena_release(&skeleton->arena);
    *skeleton = (struct skeleton){0};
}

int skeleton_find(const struct skeleton *skeleton, const char *path)
{
    return skeleton->slot_count > 0 ? skeleton->slots[slot_of(skeleton, path)] : -1;
}

bool module_is_conv1d(const struct module_info *module)
{
    return strcmp(module->class_name, "Conv1D") == 0;
}

bool module_is_projection(const struct module_info *module)
{
    return strcmp(module->class_name, "Linear") == 0 || strcmp(module->class_name, "FalconLinear") == 0 ||
           module_is_conv1d(module);
}

bool module_is_output_embedding(const struct module_info *module)
{
    static const char *const paths[] = {"lm_head", "cls.predictions.decoder", "lm_head.decoder", "vocab_projector"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        if (strcmp(module->path, paths[i]) == 0) {
            return true;
        }
    }
    return false;
}
