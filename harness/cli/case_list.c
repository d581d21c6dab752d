/* Case list: splitting and counting. What a value means, the reader of a single case knows. */
#include "harness/cli/case_list.h"

#include <stddef.h>
#include <string.h>

#include "harness/case/workload.h"

/* "8,16" is a list; "1,000" is a number with a separator, and the reader of numbers answers it. */
static bool is_list(const char *value)
{
    const char *comma = strchr(value, ',');
    bool is_thousand = comma != NULL && comma[1] == '0' && comma[2] >= '0' && comma[2] <= '9';
    return comma != NULL && !is_thousand;
}

static int option_row(const struct arguments *arguments, enum case_field field)
{
    const char *key = case_field_key(field);
    for (int i = 0; arguments->command->options[i].name != NULL; i++) {
        const char *name = arguments->command->options[i].name;
        size_t length = 0;
        while (name[length] != '\0' && (name[length] == key[length] || (name[length] == '-' && key[length] == '_'))) {
            length++;
        }
        if (name[length] == '\0' && key[length] == '\0') {
            return i;
        }
    }
    return -1;
}

static enum status_code axis_add(struct case_list *list, int row, const char *text, struct status *error)
{
    struct case_list_axis *axis = &list->axes[list->axis_count++];
    size_t commas = 0;
    for (const char *byte = text; *byte != '\0'; byte++) {
        commas += *byte == ',' ? 1 : 0;
    }
    *axis = (struct case_list_axis){.row = row, .count = (int)commas + 1};
    if (commas >= CASE_LIST_MAXIMUM) {
        return status_set(error, STATUS_INVALID, "%s: --%s has %zu values; give at most %d",
                          list->arguments->command->name, list->arguments->command->options[row].name, commas + 1,
                          CASE_LIST_MAXIMUM);
    }
    axis->values = arena_alloc(&list->arena, (commas + 1) * sizeof *axis->values);
    char *copy = arena_copy(&list->arena, text);
    if (axis->values == NULL || copy == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for a list of cases");
    }
    for (int i = 0; i < axis->count; i++) {
        size_t length = strcspn(copy, ",");
        axis->values[i] = copy + strspn(copy, " ");
        copy[length] = '\0';
        copy += length + 1;
        if (axis->values[i][0] == '\0') {
            return status_set(error, STATUS_INVALID, "%s: --%s %s has an empty value; write one between two commas",
                              list->arguments->command->name, list->arguments->command->options[row].name, text);
        }
    }
    return STATUS_OK;
}

enum status_code case_list_make(const struct arguments *arguments, struct case_list *list, struct status *error)
{
    *list = (struct case_list){.arguments = arguments, .count = 1};
    for (int field = FIELD_MODE; field < FIELD_COUNT; field++) {
        int row = option_row(arguments, (enum case_field)field);
        const char *value = row >= 0 ? arguments->values[row] : NULL;
        if (value == NULL || !is_list(value)) {
            continue;
        }
        enum status_code code = axis_add(list, row, value, error);
        if (code != STATUS_OK) {
            return code;
        }
        list->count *= list->axes[list->axis_count - 1].count;
        if (list->count > CASE_LIST_MAXIMUM) {
            return status_set(error, STATUS_INVALID,
                              "%s: the lists make more than %d cases; shorten them, or write a suite and assay plan it",
                              arguments->command->name, CASE_LIST_MAXIMUM);
        }
    }
    return STATUS_OK;
}

void case_list_release(struct case_list *list)
{
    arena_release(&list->arena);
    *list = (struct case_list){0};
}

struct arguments case_list_at(const struct case_list *list, int index)
{
    struct arguments one = *list->arguments;
    for (int i = list->axis_count - 1; i >= 0; i--) {
        const struct case_list_axis *axis = &list->axes[i];
        one.values[axis->row] = axis->values[index % axis->count];
        index /= axis->count;
    }
    return one;
}
