/* Expansion: the multiplication of the axes of a block. The values have been checked in suite_axes.c. */
#include "harness/suite/suite_expand.h"

#include <string.h>

#include "harness/base/array.h"
#include "models/config/family.h"
#include "models/family/family_table.h"

static const struct family *model_family(const struct expansion *expansion, const char *name, const char **kept)
{
    for (const struct model_entry *entry = expansion->models; entry != NULL; entry = entry->next) {
        if (strcmp(entry->name, name) == 0) {
            *kept = entry->name;
            return entry->family;
        }
    }
    *kept = name;
    return family_at(0);
}

static const char *axis_text(const struct block *block, const size_t index[AXIS_COUNT], enum axis axis)
{
    const struct axis_values *values = &block->axes[axis];
    return values->node != NULL ? node_item(values->node, index[axis])->text : NULL;
}

/* The workload of one combination. Axes that say nothing about it keep the default of the mode. */
static enum status_code combination_identity(struct expansion *expansion, const struct block *block,
                                             const size_t index[AXIS_COUNT], struct identity *identity)
{
    struct workload workload = workload_default(MODE_LOAD);
    enum status_code code = workload_set(&workload, "mode", axis_text(block, index, AXIS_MODE), expansion->error);
    workload = workload_default(workload.mode);
    const char *head = axis_text(block, index, AXIS_HEAD);
    if (code == STATUS_OK && head != NULL) {
        code = workload_set(&workload, "head", head, expansion->error);
    }
    const char *model = NULL;
    const struct family *family = model_family(expansion, axis_text(block, index, AXIS_MODEL), &model);
    for (int axis = AXIS_PRECISION; axis < AXIS_HEAD && code == STATUS_OK; axis++) {
        const char *text = axis_text(block, index, (enum axis)axis);
        /* Whether an axis says something may depend on those before it. */
        struct identity so_far = identity_make(model, &workload, family);
        if (text != NULL && identity_has(&so_far, (enum axis)axis)) {
            code = workload_set(&workload, axis_name((enum axis)axis), text, expansion->error);
        }
    }
    *identity = identity_make(model, &workload, family);
    if (code == STATUS_OK) {
        struct workload checked = identity->workload;
        code = workload_check(&checked, expansion->error);
    }
    return code == STATUS_OK ? code : node_place(expansion->tree, block->place, code, expansion->error);
}

/* Of the combinations that differ only in axes which say nothing about them, the first stands for all. */
static bool combination_is_first(const struct block *block, const size_t index[AXIS_COUNT],
                                 const struct identity *identity)
{
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        if (index[axis] != 0 && block->axes[axis].count > 1 && !identity_has(identity, (enum axis)axis)) {
            return false;
        }
    }
    return true;
}

/* The values of a combination as text; NULL for an axis that says nothing about it. */
struct spelled {
    const char *texts[AXIS_COUNT];
    char buffers[AXIS_COUNT][IDENTITY_VALUE_BYTES];
};

static void identity_spell(const struct identity *identity, struct spelled *spelled)
{
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        spelled->texts[axis] = identity_has(identity, (enum axis)axis)
                                   ? identity_value(identity, (enum axis)axis, spelled->buffers[axis])
                                   : NULL;
    }
}

static bool value_among(const char *text, const struct node *wanted)
{
    const struct node *item = NULL;
    for (size_t i = 0; text != NULL && (item = node_item(wanted, i)) != NULL; i++) {
        if (strcmp(item->text, text) == 0) {
            return true;
        }
    }
    return false;
}

static bool entry_matches(const struct exclude_entry *entry, const struct spelled *spelled)
{
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        if (entry->values[axis] != NULL && !value_among(spelled->texts[axis], entry->values[axis])) {
            return false;
        }
    }
    return true;
}

/* Every entry is tried, so that each one that drops something is known to. */
static bool exclusion_drops(struct exclusion *exclusion, const struct spelled *spelled)
{
    bool drops = false;
    for (size_t i = 0; exclusion != NULL && exclusion->list != NULL && i < exclusion->list->count; i++) {
        if (entry_matches(&exclusion->entries[i], spelled)) {
            exclusion->entries[i].hit = true;
            drops = true;
        }
    }
    return drops;
}

static enum status_code case_add(struct expansion *expansion, const struct block *block,
                                 const struct identity *identity)
{
    if (expansion->count >= SUITE_CASES_MAXIMUM) {
        return node_fail(expansion->tree, block->place, expansion->error,
                         "with this case the suite expands to more than %d cases; shorten the lists",
                         SUITE_CASES_MAXIMUM);
    }
    struct suite_case *cases = array_extend(expansion->cases, expansion->count, &expansion->capacity, sizeof *cases);
    struct text id = {0};
    identity_id(identity, &id);
    const char *kept = id.failed ? NULL : arena_copy(expansion->arena, text_string(&id));
    text_release(&id);
    expansion->cases = cases != NULL ? cases : expansion->cases;
    if (cases == NULL || kept == NULL) {
        return status_set_at(expansion->error, STATUS_OUT_OF_MEMORY, (struct file_place){.path = expansion->tree->path},
                             "no memory to expand it");
    }
    expansion->cases[expansion->count++] = (struct suite_case){.id = kept,
                                                               .identity = *identity,
                                                               .settings = block->settings,
                                                               .line = block->place->line,
                                                               .column = block->place->column};
    return STATUS_OK;
}

static enum status_code combination_add(struct expansion *expansion, struct block *block,
                                        const size_t index[AXIS_COUNT])
{
    struct identity identity;
    enum status_code code = combination_identity(expansion, block, index, &identity);
    if (code != STATUS_OK) {
        return code;
    }
    for (int axis = 0; axis < AXIS_COUNT; axis++) {
        block->axes[axis].used = block->axes[axis].used || identity_has(&identity, (enum axis)axis);
    }
    if (!combination_is_first(block, index, &identity)) {
        return STATUS_OK;
    }
    struct spelled spelled = {0};
    identity_spell(&identity, &spelled);
    bool dropped = exclusion_drops(block->excludes[0], &spelled);
    dropped = exclusion_drops(block->excludes[1], &spelled) || dropped;
    return dropped ? STATUS_OK : case_add(expansion, block, &identity);
}

/* The next combination, the last axis fastest; false after the last one. */
static bool index_next(const struct block *block, size_t index[AXIS_COUNT])
{
    for (int axis = AXIS_COUNT - 1; axis >= 0; axis--) {
        if (++index[axis] < block->axes[axis].count) {
            return true;
        }
        index[axis] = 0;
    }
    return false;
}

enum status_code block_expand(struct expansion *expansion, struct block *block)
{
    size_t index[AXIS_COUNT] = {0};
    enum status_code code = STATUS_OK;
    do {
        code = combination_add(expansion, block, index);
    } while (code == STATUS_OK && index_next(block, index));
    for (int axis = 0; code == STATUS_OK && axis < AXIS_COUNT; axis++) {
        const struct axis_values *values = &block->axes[axis];
        if (values->own && !values->used) {
            code =
                node_fail(expansion->tree, values->key, expansion->error,
                          "%s says nothing about any combination of this case (its mode or model has none); remove it",
                          axis_name((enum axis)axis));
        }
    }
    return code;
}
