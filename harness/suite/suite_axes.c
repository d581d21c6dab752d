/* Axes: the values that a case gives to each axis, checked before anything is multiplied. Not the multiplication. */
#include <string.h>

#include "harness/base/size.h"
#include "harness/case/workload_alias.h"
#include "harness/suite/suite_expand.h"
#include "models/config/family.h"
#include "models/family/family_table.h"
#include "models/find/model.h"

static enum status_code expansion_no_memory(const struct expansion *expansion)
{
    return status_set_at(expansion->error, STATUS_OUT_OF_MEMORY, (struct file_place){.path = expansion->tree->path},
                         "no memory to expand it");
}

static enum status_code model_look_up(struct expansion *expansion, const struct node *node, const char *name,
                                      const struct family **family)
{
    struct model model;
    if (strlen(name) >= sizeof model.config.name) {
        return node_fail(expansion->tree, node, expansion->error, "model: longer than %zu characters; shorten the path",
                         sizeof model.config.name - 1);
    }
    *family = family_at(0);
    if (expansion->catalogue_dir == NULL) {
        return STATUS_OK;
    }
    const struct model_places places = {.catalogue_dir = expansion->catalogue_dir};
    enum status_code code = model_find(&places, name, &model, expansion->error);
    if (code != STATUS_OK) {
        code = code == STATUS_IO || code == STATUS_UNAVAILABLE ? STATUS_INVALID : code;
        if (expansion->error != NULL) {
            expansion->error->code = code;
        }
        return node_place(expansion->tree, node, code, expansion->error);
    }
    *family = model.config.family;
    model_release(&model);
    return STATUS_OK;
}

static enum status_code model_check(struct expansion *expansion, const struct node *node, const char *name)
{
    for (const struct model_entry *entry = expansion->models; entry != NULL; entry = entry->next) {
        if (strcmp(entry->name, name) == 0) {
            return STATUS_OK;
        }
    }
    const struct family *family = family_at(0);
    enum status_code code = model_look_up(expansion, node, name, &family);
    if (code != STATUS_OK) {
        return code;
    }
    struct model_entry *entry = arena_alloc(expansion->arena, sizeof *entry);
    const char *copy = arena_copy(expansion->arena, name);
    if (entry == NULL || copy == NULL) {
        return expansion_no_memory(expansion);
    }
    *entry = (struct model_entry){.next = expansion->models, .name = copy, .family = family};
    expansion->models = entry;
    return STATUS_OK;
}

static enum status_code value_check(struct expansion *expansion, const struct node *node, enum axis axis)
{
    const char *text = NULL;
    enum status_code code = node_text(expansion->tree, node, axis_name(axis), &text, expansion->error);
    if (code != STATUS_OK) {
        return code;
    }
    /* "8" is a text, and so is "true". */
    if (!axis_is_word(axis) && !node->is_plain) {
        char quoted[NODE_QUOTE_BYTES];
        return node_fail(expansion->tree, node, expansion->error, "%s is the text %s; write it without quotes",
                         axis_name(axis), text_quote(text, quoted));
    }
    if (axis == AXIS_MODEL) {
        return model_check(expansion, node, text);
    }
    struct workload scratch = workload_default(MODE_TRAIN);
    code = workload_set(&scratch, axis_name(axis), text, expansion->error);
    return code == STATUS_OK ? code : node_place(expansion->tree, node, code, expansion->error);
}

/* The text of a value in the words of identities: "bfloat16" for "bf16". */
static const char *value_text(const struct node *node, enum axis axis)
{
    return axis == AXIS_MODEL ? node->text
                              : workload_alias((enum workload_field)((int)axis - (int)AXIS_MODE), node->text);
}

/* The same, so that it outlives the file: texts are part of cases, all other words are the program's. NULL where memory
 * ran out. */
static const char *value_keep(struct expansion *expansion, const struct node *node, enum axis axis)
{
    const char *text = value_text(node, axis);
    return axis_is_text(axis) ? arena_copy(expansion->arena, text) : text;
}

/* A copy of a checked value, or of a list of them, in those words; NULL where memory ran out. */
static const struct node *values_reworded(struct expansion *expansion, const struct node *node, enum axis axis)
{
    struct node *copy = arena_alloc(expansion->arena, sizeof *copy);
    if (copy == NULL) {
        return NULL;
    }
    *copy = *node;
    if (node->kind != NODE_LIST) {
        copy->text = value_keep(expansion, node, axis);
        return copy->text != NULL ? copy : NULL;
    }
    copy->children = arena_alloc(expansion->arena, node->count * sizeof *copy->children);
    struct node *items = arena_alloc(expansion->arena, node->count * sizeof *items);
    bool made = copy->children != NULL && items != NULL;
    for (size_t i = 0; made && i < node->count; i++) {
        items[i] = *node->children[i];
        items[i].text = value_keep(expansion, node->children[i], axis);
        copy->children[i] = &items[i];
        made = items[i].text != NULL;
    }
    return made ? copy : NULL;
}

/* Every value of an axis: right by itself, and there once. */
static enum status_code values_check(struct expansion *expansion, const struct node *node, enum axis axis)
{
    enum status_code code = STATUS_OK;
    if (node->kind == NODE_LIST) {
        code = list_check(expansion->tree, node, axis_name(axis), expansion->error);
        if (code == STATUS_OK && node->count > AXIS_VALUES_MAXIMUM) {
            code = node_fail(expansion->tree, node, expansion->error, "%s has more than %d values; split the case",
                             axis_name(axis), AXIS_VALUES_MAXIMUM);
        }
    }
    const struct node *item = NULL;
    for (size_t i = 0; code == STATUS_OK && (item = node_item(node, i)) != NULL; i++) {
        code = value_check(expansion, item, axis);
        for (size_t j = 0; code == STATUS_OK && j < i; j++) {
            if (strcmp(value_text(node->children[j], axis), value_text(item, axis)) == 0) {
                char quoted[NODE_QUOTE_BYTES];
                code = node_fail(expansion->tree, item, expansion->error, "%s: %s stands twice in this list; keep one",
                                 axis_name(axis), text_quote(item->text, quoted));
            }
        }
    }
    return code;
}

static enum status_code combinations_count(struct expansion *expansion, struct block *block)
{
    int64_t count = 1;
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        if (!size_multiply(count, (int64_t)block->axes[axis].count, &count)) {
            count = INT64_MAX;
            break;
        }
    }
    block->combination_count = count;
    if (count > SUITE_CASES_MAXIMUM) {
        return node_fail(expansion->tree, block->place, expansion->error,
                         "this case expands to more than %d combinations; shorten its lists", SUITE_CASES_MAXIMUM);
    }
    return STATUS_OK;
}

enum status_code block_read(struct expansion *expansion, const struct layers *layers, const struct node *place,
                            struct block *block)
{
    struct layers without_top = *layers;
    without_top.count -= layers->has_top ? 1 : 0;
    *block = (struct block){.place = place};
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        struct axis_values *values = &block->axes[axis];
        values->node = layers_find(&without_top, axis_name((enum axis)axis), &values->key, &values->own);
        values->count = 1;
        if (values->node == NULL) {
            continue;
        }
        enum status_code code = values_check(expansion, values->node, (enum axis)axis);
        if (code != STATUS_OK) {
            return code;
        }
        if (axis_is_text((enum axis)axis)) {
            values->node = values_reworded(expansion, values->node, (enum axis)axis);
        }
        if (values->node == NULL) {
            return expansion_no_memory(expansion);
        }
        values->count = values->node->kind == NODE_LIST ? values->node->count : 1;
    }
    if (block->axes[AXIS_MODEL].node == NULL) {
        return node_fail(expansion->tree, place, expansion->error,
                         "this case has no model; add 'model: bert-base-cased' or another one");
    }
    if (block->axes[AXIS_MODE].node == NULL) {
        return node_fail(expansion->tree, place, expansion->error,
                         "this case has no mode; add 'mode: load', 'infer' or 'train'");
    }
    return combinations_count(expansion, block);
}

enum status_code exclusion_read(struct expansion *expansion, const struct node *node, struct exclusion *exclusion)
{
    const char *names[AXIS_COUNT + 1] = {NULL};
    *exclusion = (struct exclusion){.list = node};
    if (node == NULL) {
        return STATUS_OK;
    }
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        names[axis] = axis_name((enum axis)axis);
    }
    enum status_code code = list_check(expansion->tree, node, "exclude", expansion->error);
    if (code == STATUS_OK && node->count > EXCLUDES_MAXIMUM) {
        code = node_fail(expansion->tree, node, expansion->error, "exclude has more than %d entries; use lists in them",
                         EXCLUDES_MAXIMUM);
    }
    if (code == STATUS_OK) {
        exclusion->entries = arena_alloc(expansion->arena, node->count * sizeof *exclusion->entries);
        code = exclusion->entries != NULL ? STATUS_OK : expansion_no_memory(expansion);
    }
    for (size_t i = 0; code == STATUS_OK && i < node->count; i++) {
        const struct node *entry = node->children[i];
        code = map_check(expansion->tree, entry, "exclude", names, expansion->error);
        if (code == STATUS_OK && entry->count == 0) {
            code = node_fail(expansion->tree, entry, expansion->error, "an empty exclude would drop all; name an axis");
        }
        for (int axis = 0; code == STATUS_OK && axis < AXIS_COUNT; axis++) {
            const struct node *value = map_find(entry, names[axis], NULL);
            code = value != NULL ? values_check(expansion, value, (enum axis)axis) : STATUS_OK;
            if (code == STATUS_OK && value != NULL) {
                exclusion->entries[i].values[axis] = values_reworded(expansion, value, (enum axis)axis);
                code = exclusion->entries[i].values[axis] != NULL ? STATUS_OK : expansion_no_memory(expansion);
            }
        }
    }
    return code;
}

enum status_code exclusion_finish(const struct expansion *expansion, const struct exclusion *exclusion)
{
    for (size_t i = 0; exclusion->list != NULL && i < exclusion->list->count; i++) {
        if (!exclusion->entries[i].hit) {
            return node_fail(expansion->tree, exclusion->list->children[i], expansion->error,
                             "this exclude drops no combination; correct it or remove it");
        }
    }
    return STATUS_OK;
}
