/* Case options: each is handed to workload_set under its own name, so that command line and suite accept the same. */
#include "harness/cli/case_options.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/text.h"

bool case_options_given(const struct arguments *arguments)
{
    for (int field = 0; field < FIELD_COUNT; field++) {
        if (arguments_value(arguments, workload_field_key((enum workload_field)field)) != NULL) {
            return true;
        }
    }
    return false;
}

enum status_code case_options_read(const struct arguments *arguments, enum precision precision,
                                   struct workload *workload, struct status *error)
{
    const char *mode = arguments_value(arguments, "mode");
    if (mode == NULL) {
        return status_set(error, STATUS_INVALID, "%s: the case has no mode; add --mode load, infer, generate or train",
                          arguments->command->name);
    }
    struct workload result = workload_default(MODE_LOAD);
    enum status_code code = workload_set(&result, "mode", mode, error);
    if (code == STATUS_OK) {
        result = workload_default(result.mode);
        result.precision = precision;
    }
    for (int field = FIELD_MODE + 1; field < FIELD_COUNT && code == STATUS_OK; field++) {
        const char *key = workload_field_key((enum workload_field)field);
        const char *value = arguments_value(arguments, key);
        if (value != NULL) {
            code = workload_set(&result, key, value, error);
        }
    }
    if (code == STATUS_OK) {
        code = workload_check(&result, error);
    }
    if (code == STATUS_OK) {
        *workload = result;
    }
    return code;
}

static enum workload_field field_of(enum axis axis)
{
    return (enum workload_field)((int)axis - (int)AXIS_MODE + (int)FIELD_MODE);
}

/* What would make an axis say something, besides leaving it out. */
static const char *axis_remedy(enum axis axis)
{
    switch (axis) {
    case AXIS_LORA_TARGETS:
        return ", or add --lora-rank 8";
    case AXIS_QUANTIZE:
        return ", or write --precision int8, int4 or fp8";
    case AXIS_NEW_TOKENS:
    case AXIS_CACHE:
        return ", or write --mode generate";
    default:
        return "";
    }
}

/* Whether the case says no to an axis: it would be the same if there were no such axis. */
static bool axis_says_no(const struct workload *workload, enum axis axis)
{
    enum workload_field field = field_of(axis);
    int64_t value = workload_field_value(workload, field);
    switch (axis) {
    case AXIS_ACCUMULATE:
    case AXIS_BEAMS:
        return value == 1;
    case AXIS_CACHE_DTYPE:
    case AXIS_LOGITS:
    case AXIS_LORA_RANK:
        return value == 0;
    default:
        return workload_field_kind(field) == FIELD_KIND_SWITCH && value == 0;
    }
}

enum status_code case_options_check(const struct arguments *arguments, const struct identity *identity,
                                    struct status *error)
{
    for (int axis = AXIS_MODE + 1; axis < AXIS_COUNT; axis++) {
        if (arguments_value(arguments, axis_name((enum axis)axis)) != NULL &&
            !axis_says_no(&identity->workload, (enum axis)axis) && !identity_has(identity, (enum axis)axis)) {
            return status_set(error, STATUS_INVALID, "%s: %s says nothing about %s in mode %s, %s; leave it out%s",
                              arguments->command->name, workload_key_words(error, field_of((enum axis)axis)).text,
                              identity->model, mode_name(identity->workload.mode),
                              precision_name(identity->workload.precision), axis_remedy((enum axis)axis));
        }
    }
    return STATUS_OK;
}
