/* Toy models: made with the builder that families use. */
#include "tests/placement/toy_model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct initial zero = {0.0, 0.0};

void toy_begin(struct toy_model *toy, const char *class_name)
{
    *toy = (struct toy_model){0};
    snprintf(toy->config.name, sizeof toy->config.name, "toy");
    toy->skeleton.config = &toy->config;
    toy->builder = (struct skeleton_builder){.skeleton = &toy->skeleton, .config = &toy->config};
    builder_module(&toy->builder, -1, "", class_name);
}

void toy_end(struct toy_model *toy)
{
    assert_int_equal(toy->builder.code, STATUS_OK);
}

void toy_release(struct toy_model *toy)
{
    skeleton_release(&toy->skeleton);
}

int toy_linear(struct toy_model *toy, int parent, const char *name, int64_t outputs, int64_t inputs)
{
    builder_module(&toy->builder, parent, name, "Linear");
    int weight = builder_matrix(&toy->builder, "weight", zero, outputs, inputs);
    builder_vector(&toy->builder, "bias", zero, outputs);
    return weight;
}

void toy_buffer(struct toy_model *toy, const char *name, int rank, const int64_t *size, bool persistent)
{
    const struct buffer_kind kind = {.dtype = DTYPE_FLOAT32, .persistent = persistent};
    builder_buffer(&toy->builder, name, &kind, rank, size);
}

void toy_batchnorm(struct toy_model *toy, int parent, const char *name, int64_t size)
{
    const struct buffer_kind count = {.dtype = DTYPE_INT64, .persistent = true};
    builder_module(&toy->builder, parent, name, "BatchNorm1d");
    builder_vector(&toy->builder, "weight", zero, size);
    builder_vector(&toy->builder, "bias", zero, size);
    toy_buffer(toy, "running_mean", 1, &size, true);
    toy_buffer(toy, "running_var", 1, &size, true);
    builder_buffer(&toy->builder, "num_batches_tracked", &count, 0, NULL);
}

int toy_model_for_test(struct toy_model *toy, int parent, const char *name)
{
    int module = name[0] == '\0' ? 0 : builder_module(&toy->builder, parent, name, "ModelForTest");
    toy_linear(toy, module, "linear1", 4, 3);
    toy_batchnorm(toy, module, "batchnorm", 4);
    toy_linear(toy, module, "linear2", 5, 4);
    return module;
}

static int tensor_find(const struct toy_model *toy, const char *path)
{
    for (int i = 0; i < toy->skeleton.tensor_count; i++) {
        if (strcmp(toy->skeleton.tensors[i].path, path) == 0) {
            return i;
        }
    }
    fail_msg("there is no %s", path);
    return -1;
}

void toy_tie(struct toy_model *toy, const char *path, const char *owner)
{
    struct skeleton_tensor *tensor = &toy->skeleton.tensors[tensor_find(toy, path)];
    tensor->tied_to = tensor_find(toy, owner);
    tensor->element_count = toy->skeleton.tensors[tensor->tied_to].element_count;
}

struct placement_budget toy_budget(const char *device, int64_t bytes)
{
    struct placement_budget budget = {.bits = bytes * BITS_PER_BYTE};
    assert_true(placement_device_from_name(device, &budget.device));
    return budget;
}

static int entry_compare(const void *a, const void *b)
{
    return strcmp(((const struct device_map_entry *)a)->path, ((const struct device_map_entry *)b)->path);
}

void toy_map_text(const struct device_map *map, struct text *text)
{
    char device[DEVICE_TEXT_BYTES];
    struct device_map_entry *entries = calloc((size_t)map->count + 1, sizeof *entries);
    assert_non_null(entries);
    memcpy(entries, map->entries, (size_t)map->count * sizeof *entries);
    qsort(entries, (size_t)map->count, sizeof *entries, entry_compare);
    text_append(text, "{");
    for (int i = 0; i < map->count; i++) {
        text_format(text, "%s%s: %s", i > 0 ? ", " : "", entries[i].path,
                    placement_device_name(entries[i].device, device));
    }
    text_append(text, "}");
    free(entries);
}
