/* Axes: the values that a case gives to each field, read before anything is multiplied. Not the multiplication. */
#include <string.h>

#include "harness/base/size.h"
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
                                      struct model_entry *entry)
{
    struct model model;
    if (strlen(name) >= sizeof model.config.name) {
        return node_fail(expansion->tree, node, expansion->error, "model: longer than %zu characters; shorten the path",
                         sizeof model.config.name - 1);
    }
    entry->family = family_at(0);
    entry->heads = (struct config_heads){.own = HEAD_MASKED_LM, .known = ~0U};
    if (expansion->catalogue_dir == NULL) {
        return STATUS_OK;
    }
    const struct model_places places = {.catalogue_dir = expansion->catalogue_dir, .folder = expansion->folder};
    enum status_code code = model_find(&places, name, &model, expansion->error);
    if (code != STATUS_OK) {
        code = code == STATUS_IO || code == STATUS_UNAVAILABLE ? STATUS_INVALID : code;
        if (expansion->error != NULL) {
            expansion->error->code = code;
        }
        return node_place(expansion->tree, node, code, expansion->error);
    }
    entry->family = model.config.family;
    entry->heads = model.config.model_heads;
    model_release(&model);
    return STATUS_OK;
}

/* A model by its name; *kept: the copy of the name that outlives the file. */
static enum status_code model_read(struct expansion *expansion, const struct node *node, const char *name,
                                   const char **kept)
{
    for (const struct model_entry *entry = expansion->models; entry != NULL; entry = entry->next) {
        if (strcmp(entry->name, name) == 0) {
            *kept = entry->name;
            return STATUS_OK;
        }
    }
    struct model_entry *entry = arena_alloc(expansion->arena, sizeof *entry);
    *kept = arena_copy(expansion->arena, name);
    if (entry == NULL || *kept == NULL) {
        return expansion_no_memory(expansion);
    }
    *entry = (struct model_entry){.next = expansion->models, .name = *kept};
    enum status_code code = model_look_up(expansion, node, name, entry);
    if (code != STATUS_OK) {
        return code;
    }
    expansion->models = entry;
    return STATUS_OK;
}

static bool is_word(enum case_field field)
{
    enum case_field_kind kind = case_field_kind(field);
    return kind != FIELD_KIND_COUNT && kind != FIELD_KIND_SWITCH && kind != FIELD_KIND_SHARE;
}

static enum status_code value_read(struct expansion *expansion, const struct node *node, enum case_field field,
                                   struct case_value *value)
{
    const char *text = NULL, *key = case_field_key(field);
    enum status_code code = node_text(expansion->tree, node, key, &text, expansion->error);
    if (code != STATUS_OK) {
        return code;
    }
    /* "8" is a text, and so is "true". */
    if (!is_word(field) && !node->is_plain) {
        char quoted[NODE_QUOTE_BYTES];
        return node_fail(expansion->tree, node, expansion->error, "%s is the text %s; write it without quotes", key,
                         text_quote(text, quoted));
    }
    if (field == FIELD_MODEL) {
        *value = (struct case_value){.number = 1};
        return model_read(expansion, node, text, &value->text);
    }
    code = case_value_parse(field, text, value, expansion->error);
    if (code == STATUS_OK && value->text != NULL) { /* it is part of the cases, which outlive the file */
        value->text = arena_copy(expansion->arena, text);
        return value->text != NULL ? STATUS_OK : expansion_no_memory(expansion);
    }
    return code == STATUS_OK ? code : node_place(expansion->tree, node, code, expansion->error);
}

size_t block_value_count(const struct block *block, enum case_field field)
{
    size_t count = block->axes[field].values.count;
    return count > 0 ? count : 1;
}

bool case_value_equal(const struct case_value *a, const struct case_value *b)
{
    bool both = a->text != NULL && b->text != NULL;
    return a->number == b->number && (both ? strcmp(a->text, b->text) == 0 : a->text == b->text);
}

/* The values of a field, one or a list of them: each right by itself, and there once. */
static enum status_code values_read(struct expansion *expansion, const struct node *node, enum case_field field,
                                    struct field_values *values)
{
    const char *key = case_field_key(field);
    enum status_code code = STATUS_OK;
    size_t count = node->kind == NODE_LIST ? node->count : 1;
    if (node->kind == NODE_LIST) {
        code = list_check(expansion->tree, node, key, expansion->error);
        if (code == STATUS_OK && count > FIELD_VALUES_MAXIMUM) {
            code = node_fail(expansion->tree, node, expansion->error, "%s has more than %d values; split the case", key,
                             FIELD_VALUES_MAXIMUM);
        }
    }
    struct case_value *made = code == STATUS_OK ? arena_alloc(expansion->arena, count * sizeof *made) : NULL;
    if (code == STATUS_OK && made == NULL) {
        return expansion_no_memory(expansion);
    }
    for (size_t i = 0; code == STATUS_OK && i < count; i++) {
        const struct node *item = node_item(node, i);
        code = value_read(expansion, item, field, &made[i]);
        for (size_t j = 0; code == STATUS_OK && j < i; j++) {
            if (case_value_equal(&made[j], &made[i])) {
                char quoted[NODE_QUOTE_BYTES];
                code = node_fail(expansion->tree, item, expansion->error, "%s: %s stands twice in this list; keep one",
                                 key, text_quote(item->text, quoted));
            }
        }
    }
    *values = (struct field_values){.items = made, .count = count};
    return code;
}

static enum status_code combinations_count(struct expansion *expansion, struct block *block)
{
    int64_t count = 1;
    for (enum case_field field = 0; field < FIELD_COUNT; field++) {
        if (!size_multiply(count, (int64_t)block_value_count(block, field), &count)) {
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
    for (enum case_field field = 0; field < FIELD_COUNT; field++) {
        struct axis *axis = &block->axes[field];
        const struct node *node = layers_find(&without_top, case_field_key(field), &axis->key, &axis->own);
        enum status_code code = node != NULL ? values_read(expansion, node, field, &axis->values) : STATUS_OK;
        if (code != STATUS_OK) {
            return code;
        }
    }
    if (block->axes[FIELD_MODEL].values.count == 0) {
        return node_fail(expansion->tree, place, expansion->error,
                         "this case has no model; add 'model: bert-base-cased' or another one");
    }
    if (block->axes[FIELD_MODE].values.count == 0) {
        return node_fail(expansion->tree, place, expansion->error,
                         "this case has no mode; add 'mode: load', 'infer' or 'train'");
    }
    return combinations_count(expansion, block);
}

enum status_code exclusion_read(struct expansion *expansion, const struct node *node, struct exclusion *exclusion)
{
    const char *names[FIELD_COUNT + 1] = {NULL};
    *exclusion = (struct exclusion){.list = node};
    if (node == NULL) {
        return STATUS_OK;
    }
    for (enum case_field field = 0; field < FIELD_COUNT; field++) {
        names[field] = case_field_key(field);
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
        for (enum case_field field = 0; code == STATUS_OK && field < FIELD_COUNT; field++) {
            const struct node *value = map_find(entry, names[field], NULL);
            code =
                value != NULL ? values_read(expansion, value, field, &exclusion->entries[i].values[field]) : STATUS_OK;
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
