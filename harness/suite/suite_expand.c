/* Expansion: the multiplication of the axes of a block. The values have been read in suite_axes.c. */
#include "harness/suite/suite_expand.h"

#include <string.h>

#include "harness/base/array.h"
#include "harness/case/program.h"
#include "models/config/family.h"
#include "models/config/head.h"

/* name: the one that the entry of the model has. */
static const struct model_entry *model_entry_find(const struct expansion *expansion, const char *name)
{
    const struct model_entry *entry = expansion->models;
    while (entry != NULL && entry->name != name) {
        entry = entry->next;
    }
    return entry;
}

/* NULL: nobody says one. */
static const struct case_value *value_of(const struct block *block, const size_t index[FIELD_COUNT],
                                         enum case_field field)
{
    const struct field_values *values = &block->axes[field].values;
    return values->count > 0 ? &values->items[index[field]] : NULL;
}

/* The workload of one combination, as options would make it: what its program says, and what is named. Named fields
 * that say nothing about it keep the usual value of the mode. */
static struct workload combination_workload(const struct block *block, const size_t index[FIELD_COUNT],
                                            const struct model_entry *model)
{
    const struct case_value *head = value_of(block, index, FIELD_HEAD),
                            *program = value_of(block, index, FIELD_PROGRAM),
                            *release = value_of(block, index, FIELD_RELEASE);
    struct workload workload = workload_default((enum mode)value_of(block, index, FIELD_MODE)->number);
    if (release != NULL) { /* what a program does depends on it */
        workload_put(&workload, FIELD_RELEASE, release);
    }
    if (program != NULL && (case_field_row(FIELD_PROGRAM)->modes >> workload.mode & 1U) != 0) {
        program_apply((enum program)program->number, &workload);
    }
    if (head != NULL) {
        workload_put(&workload, FIELD_HEAD, head);
    }
    workload.head = head_of(&model->heads, &workload);
    for (enum case_field field = FIELD_MODE + 1; field < FIELD_HEAD; field++) {
        const struct case_value *value = value_of(block, index, field);
        /* Whether a field says something may depend on those before it. */
        bool is_said = (workload_fields_said(&workload, family_traits(model->family)) >> field & 1U) != 0;
        if (value != NULL && is_said) {
            workload_put(&workload, field, value);
        }
    }
    return workload;
}

/* Of the combinations that differ only in axes which say nothing about them, the first stands for all. */
static bool combination_is_first(const struct block *block, const size_t index[FIELD_COUNT],
                                 const struct identity *identity)
{
    for (enum case_field field = 0; field < FIELD_COUNT; field++) {
        if (index[field] != 0 && block->axes[field].values.count > 1 && !identity_has(identity, field)) {
            return false;
        }
    }
    return true;
}

static struct case_value identity_case_value(const struct identity *identity, enum case_field field)
{
    const struct workload *workload = &identity->workload;
    return field == FIELD_MODEL
               ? (struct case_value){.number = 1, .text = identity->model}
               : (struct case_value){workload_field_value(workload, field), workload_field_text(workload, field)};
}

static bool values_match(const struct field_values *values, const struct identity *identity, enum case_field field)
{
    const struct case_value value = identity_case_value(identity, field);
    bool matches = false;
    for (size_t i = 0; i < values->count && !matches && identity_has(identity, field); i++) {
        matches = case_value_equal(&values->items[i], &value);
    }
    return matches;
}

static bool entry_matches(const struct exclude_entry *entry, const struct identity *identity)
{
    for (enum case_field field = 0; field < FIELD_COUNT; field++) {
        if (entry->values[field].count > 0 && !values_match(&entry->values[field], identity, field)) {
            return false;
        }
    }
    return true;
}

/* Every entry is tried, so that each one that drops something is known to. */
static bool exclusion_drops(struct exclusion *exclusion, const struct identity *identity)
{
    bool drops = false;
    for (size_t i = 0; exclusion != NULL && exclusion->list != NULL && i < exclusion->list->count; i++) {
        if (entry_matches(&exclusion->entries[i], identity)) {
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
                                        const size_t index[FIELD_COUNT])
{
    const struct model_entry *model = model_entry_find(expansion, value_of(block, index, FIELD_MODEL)->text);
    const struct workload workload = combination_workload(block, index, model);
    struct identity identity = identity_make(model->name, &workload, model->family);
    for (enum case_field field = 0; field < FIELD_COUNT; field++) {
        block->axes[field].used = block->axes[field].used || identity_has(&identity, field);
    }
    if (!combination_is_first(block, index, &identity)) {
        return STATUS_OK;
    }
    bool dropped = exclusion_drops(block->excludes[0], &identity);
    dropped = exclusion_drops(block->excludes[1], &identity) || dropped;
    if (dropped) { /* what contradicts itself may be excluded: an option that one program of a list does not have */
        return STATUS_OK;
    }
    enum status_code code = head_check(&model->heads, model->name, workload.head, expansion->error);
    code = code == STATUS_OK ? workload_check(&workload, expansion->error) : code;
    return code == STATUS_OK ? case_add(expansion, block, &identity)
                             : node_place(expansion->tree, block->place, code, expansion->error);
}

/* The next combination, the last field fastest; false after the last one. */
static bool index_next(const struct block *block, size_t index[FIELD_COUNT])
{
    for (int field = FIELD_COUNT - 1; field >= 0; field--) {
        if (++index[field] < block_value_count(block, (enum case_field)field)) {
            return true;
        }
        index[field] = 0;
    }
    return false;
}

/* Whether all that is said of a field is that there is no such thing. */
static bool axis_is_no(const struct block *block, enum case_field field)
{
    const struct field_values *values = &block->axes[field].values;
    struct workload workload = workload_default((enum mode)block->axes[FIELD_MODE].values.items[0].number);
    bool is_no = field != FIELD_MODEL;
    for (size_t i = 0; i < values->count && is_no; i++) {
        workload_put(&workload, field, &values->items[i]);
        is_no = workload_field_is_no(&workload, field);
    }
    return is_no;
}

/* An axis that said nothing: the mode has none, if there is one mode, or else what would help. */
static enum status_code axis_unused(struct expansion *expansion, const struct block *block, enum case_field field)
{
    const struct field_values *modes = &block->axes[FIELD_MODE].values, *values = &block->axes[field].values;
    struct workload workload = workload_default((enum mode)modes->items[0].number);
    workload_put(&workload, field, &values->items[0]);
    enum status_code code = modes->count == 1 ? workload_field_check(&workload, field, expansion->error) : STATUS_OK;
    if (code != STATUS_OK) {
        return node_place(expansion->tree, block->axes[field].key, code, expansion->error);
    }
    struct text remedy = {0};
    workload_remedy_append(expansion->error, field, &remedy);
    code = node_fail(
        expansion->tree, block->axes[field].key, expansion->error,
        "%s says nothing about any combination of this case%s%s", workload_key_words(expansion->error, field).text,
        remedy.length > 0 ? "; remove it, or " : " (its mode or model has none); remove it", text_string(&remedy));
    text_release(&remedy);
    return code;
}

enum status_code block_expand(struct expansion *expansion, struct block *block)
{
    size_t index[FIELD_COUNT] = {0};
    enum status_code code = STATUS_OK;
    do {
        code = combination_add(expansion, block, index);
    } while (code == STATUS_OK && index_next(block, index));
    for (enum case_field field = 0; code == STATUS_OK && field < FIELD_COUNT; field++) {
        if (block->axes[field].own && !block->axes[field].used && !axis_is_no(block, field)) {
            code = axis_unused(expansion, block, field);
        }
    }
    return code;
}
