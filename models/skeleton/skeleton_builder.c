/* Skeleton builder: growing lists and checked sizes. Not a family: names and shapes stand in family_*.c. */
#include "models/skeleton/skeleton_builder.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/array.h"
#include "harness/base/size.h"

static void builder_fail(struct skeleton_builder *builder, enum status_code code, const char *path)
{
    if (builder->code != STATUS_OK) {
        return;
    }
    if (code == STATUS_OVERFLOW) {
        builder->code = status_set(builder->error, code,
                                   "%s: %s: its size does not fit 63 bits; write smaller sizes in the configuration",
                                   builder->config->name, path);
    } else {
        builder->code =
            status_set(builder->error, code, "%s: no host memory for the list of tensors", builder->config->name);
    }
}

static const char *path_join(struct skeleton_builder *builder, int module, const char *name)
{
    const char *parent = module >= 0 ? builder->skeleton->modules[module].path : "";
    size_t parent_length = strlen(parent);
    size_t name_length = strlen(name);
    char *path = arena_alloc(&builder->skeleton->arena, parent_length + name_length + 2);
    if (path == NULL) {
        builder_fail(builder, STATUS_OUT_OF_MEMORY, name);
        return "";
    }
    memcpy(path, parent, parent_length);
    if (parent_length > 0) {
        path[parent_length++] = '.';
    }
    memcpy(path + parent_length, name, name_length + 1);
    return path;
}

int builder_module(struct skeleton_builder *builder, int parent, const char *name, const char *class_name)
{
    struct skeleton *skeleton = builder->skeleton;
    if (builder->code != STATUS_OK) {
        return 0;
    }
    struct module_info *modules =
        arena_array_extend(&skeleton->arena, skeleton->modules, (size_t)skeleton->module_count,
                           &builder->module_capacity, sizeof *modules);
    if (modules == NULL) {
        builder_fail(builder, STATUS_OUT_OF_MEMORY, "");
        return 0;
    }
    skeleton->modules = modules;
    modules[skeleton->module_count] = (struct module_info){
        .path = path_join(builder, parent, name),
        .class_name = class_name,
        .parent = parent,
    };
    return skeleton->module_count++;
}

int builder_root(struct skeleton_builder *builder, const char *class_name)
{
    const char *kept = arena_copy(&builder->skeleton->arena, class_name);
    if (kept == NULL) {
        builder_fail(builder, STATUS_OUT_OF_MEMORY, "");
    }
    return builder_module(builder, -1, "", kept);
}

void builder_silent(struct skeleton_builder *builder, int parent, const char *name, const char *class_name)
{
    builder_module(builder, parent, name, class_name);
}

void builder_activation(struct skeleton_builder *builder, int parent, const char *name)
{
    builder_silent(builder, parent, name, builder->config->activation_class);
}

void builder_dropout(struct skeleton_builder *builder, int parent, const char *name)
{
    builder_silent(builder, parent, name, "Dropout");
}

void builder_keep_whole(struct skeleton_builder *builder, int module)
{
    if (builder->code == STATUS_OK) {
        builder->skeleton->modules[module].no_split = true;
    }
}

int builder_block(struct skeleton_builder *builder, int parent, const char *name, const char *class_name)
{
    int module = builder_module(builder, parent, name, class_name);
    builder_keep_whole(builder, module);
    return module;
}

int builder_element(struct skeleton_builder *builder, int parent, int64_t number, const char *class_name)
{
    char name[24];
    snprintf(name, sizeof name, "%" PRId64, number);
    return builder_module(builder, parent, name, class_name);
}

/* The new tensor with its path, shape and count; NULL after a failure. */
static struct skeleton_tensor *tensor_add(struct skeleton_builder *builder, const char *name, int rank,
                                          const int64_t *size)
{
    struct skeleton *skeleton = builder->skeleton;
    if (builder->code != STATUS_OK) {
        return NULL;
    }
    struct skeleton_tensor *tensors =
        arena_array_extend(&skeleton->arena, skeleton->tensors, (size_t)skeleton->tensor_count,
                           &builder->tensor_capacity, sizeof *tensors);
    if (tensors == NULL) {
        builder_fail(builder, STATUS_OUT_OF_MEMORY, "");
        return NULL;
    }
    skeleton->tensors = tensors;
    struct skeleton_tensor *tensor = &tensors[skeleton->tensor_count];
    *tensor = (struct skeleton_tensor){.module = skeleton->module_count - 1, .rank = rank, .tied_to = -1};
    tensor->path = path_join(builder, tensor->module, name);
    tensor->element_count = 1;
    int64_t bytes;
    for (int i = 0; i < rank; i++) {
        tensor->size[i] = size[i];
        if (!size_multiply(tensor->element_count, size[i], &tensor->element_count) ||
            !size_multiply(tensor->element_count, 8, &bytes)) { /* 8: the widest dtype */
            builder_fail(builder, STATUS_OVERFLOW, tensor->path);
            return NULL;
        }
    }
    if (builder->code != STATUS_OK) {
        return NULL;
    }
    skeleton->tensor_count++;
    return tensor;
}

int builder_parameter(struct skeleton_builder *builder, const char *name, struct initial initial, int rank,
                      const int64_t *size)
{
    struct skeleton_tensor *tensor = tensor_add(builder, name, rank, size);
    if (tensor == NULL) {
        return -1;
    }
    tensor->persistent = true;
    tensor->rounds_with_model = true;
    tensor->dtype = DTYPE_FLOAT32;
    tensor->initial = initial.deviation > 0 ? INITIAL_NORMAL : INITIAL_CONSTANT;
    tensor->init_deviation = initial.deviation;
    tensor->init_constant = initial.constant;
    return builder->skeleton->tensor_count - 1;
}

void builder_keep_float32(struct skeleton_builder *builder)
{
    if (builder->code == STATUS_OK && builder->skeleton->tensor_count > 0) {
        builder->skeleton->tensors[builder->skeleton->tensor_count - 1].stays_float32 = true;
    }
}

int builder_vector(struct skeleton_builder *builder, const char *name, struct initial initial, int64_t size)
{
    return builder_parameter(builder, name, initial, 1, &size);
}

int builder_matrix(struct skeleton_builder *builder, const char *name, struct initial initial, int64_t rows,
                   int64_t columns)
{
    const int64_t size[] = {rows, columns};
    return builder_parameter(builder, name, initial, 2, size);
}

void builder_buffer(struct skeleton_builder *builder, const char *name, const struct buffer_kind *kind, int rank,
                    const int64_t *size)
{
    struct skeleton_tensor *tensor = tensor_add(builder, name, rank, size);
    if (tensor == NULL) {
        return;
    }
    tensor->is_buffer = true;
    tensor->persistent = kind->persistent;
    tensor->dtype = kind->dtype;
    tensor->rounds_with_model = dtype_is_floating(kind->dtype) && !kind->keeps_dtype;
    tensor->initial = kind->initial;
    tensor->init_constant = kind->constant;
}

void builder_tie(struct skeleton_builder *builder, int tensor, int owner)
{
    if (builder->code == STATUS_OK && tensor >= 0 && owner >= 0) {
        builder->skeleton->tensors[tensor].tied_to = owner;
    }
}

void builder_routed(struct skeleton_builder *builder, int tensor)
{
    if (builder->code == STATUS_OK && tensor >= 0) {
        builder->skeleton->tensors[tensor].is_routed = true;
    }
}

int builder_linear(struct skeleton_builder *builder, int parent, const char *name, int64_t outputs, int64_t inputs,
                   bool bias)
{
    builder_module(builder, parent, name, "Linear");
    struct initial weight_initial = {.deviation = builder->config->initializer_range};
    int weight = builder_matrix(builder, "weight", weight_initial, outputs, inputs);
    if (bias) {
        builder_vector(builder, "bias", (struct initial){0}, outputs);
    }
    return weight;
}

int builder_embedding(struct skeleton_builder *builder, int parent, const char *name, int64_t rows, int64_t columns)
{
    builder_module(builder, parent, name, "Embedding");
    struct initial initial = {.deviation = builder->config->initializer_range};
    return builder_matrix(builder, "weight", initial, rows, columns);
}

void builder_rms_norm(struct skeleton_builder *builder, int parent, const char *name, const char *class_name,
                      int64_t size)
{
    builder_module(builder, parent, name, class_name);
    builder_vector(builder, "weight", (struct initial){.constant = builder->config->shifted_norms ? 0 : 1}, size);
}

void builder_layernorm(struct skeleton_builder *builder, int parent, const char *name)
{
    builder_module(builder, parent, name, "LayerNorm");
    builder_vector(builder, "weight", (struct initial){.constant = 1}, builder->config->hidden);
    builder_vector(builder, "bias", (struct initial){0}, builder->config->hidden);
}

int builder_batchnorm(struct skeleton_builder *builder, int parent, const char *name, const char *class_name,
                      struct norm_start start)
{
    static const struct buffer_kind mean = {.dtype = DTYPE_FLOAT32, .persistent = true};
    static const struct buffer_kind variance = {.dtype = DTYPE_FLOAT32, .persistent = true, .constant = 1};
    static const struct buffer_kind batches = {.dtype = DTYPE_INT64, .persistent = true};
    int module = builder_module(builder, parent, name, class_name);
    builder_vector(builder, "weight", (struct initial){.constant = start.scale}, start.channels);
    builder_vector(builder, "bias", (struct initial){0}, start.channels);
    builder_buffer(builder, "running_mean", &mean, 1, &start.channels);
    builder_buffer(builder, "running_var", &variance, 1, &start.channels);
    builder_buffer(builder, "num_batches_tracked", &batches, 0, NULL);
    return module;
}

void builder_global_pool(struct skeleton_builder *builder, int parent)
{
    int pool = builder_module(builder, parent, "global_pool", "SelectAdaptivePool2d");
    builder_silent(builder, pool, "pool", "AdaptiveAvgPool2d");
    builder_silent(builder, pool, "flatten", "Flatten");
}
