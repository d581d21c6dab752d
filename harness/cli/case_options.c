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

/* Appends "--key", "--key value", "--switch" or "--switch=false". */
static void option_append(struct text *text, enum workload_field field, const char *value, size_t length)
{
    bool is_switch = workload_field_kind(field) == FIELD_KIND_SWITCH;
    text_append(text, "--");
    for (const char *byte = workload_field_key(field); *byte != '\0'; byte++) {
        text_append(text, *byte == '_' ? "-" : (const char[]){*byte, '\0'});
    }
    if (length > 0 && !(is_switch && strncmp(value, "true", length) == 0)) {
        text_append(text, is_switch ? "=" : " ");
        text_append_bytes(text, value, length);
    }
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
            struct text option = {0};
            option_append(&option, field_of((enum axis)axis), "", 0);
            status_set(error, STATUS_INVALID, "%s: %s says nothing about %s in mode %s, %s; leave it out%s",
                       arguments->command->name, text_string(&option), identity->model,
                       mode_name(identity->workload.mode), precision_name(identity->workload.precision),
                       axis_remedy((enum axis)axis));
            text_release(&option);
            return STATUS_INVALID;
        }
    }
    return STATUS_OK;
}

/* The key that stands at the beginning of text, as a whole word; FIELD_COUNT where none does. */
static int key_at(const char *text)
{
    size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyz_0123456789");
    int field = 0;
    while (field < FIELD_COUNT && (strlen(workload_field_key((enum workload_field)field)) != length ||
                                   strncmp(workload_field_key((enum workload_field)field), text, length) != 0)) {
        field++;
    }
    return field;
}

/* The length of the value that text begins with, as the field takes it; 0 where it begins with none. */
static size_t value_length(enum workload_field field, const char *text)
{
    struct workload scratch = workload_default(MODE_LOAD);
    char value[32];
    size_t length = strcspn(text, " ,;:()");
    snprintf(value, sizeof value, "%.*s", (int)length, text);
    return length < sizeof value && workload_set(&scratch, workload_field_key(field), value, NULL) == STATUS_OK ? length
                                                                                                                : 0;
}

/* One word of the message, and its value if it is a key. "key:" is always a suite's; "key value" is prose, but where the
 * remedy asks to write it. Returns what follows. */
static const char *word_reword(const char *word, bool is_remedy, struct text *text)
{
    int field = key_at(word);
    size_t length = strcspn(word, " ");
    if (field < FIELD_COUNT) {
        const char *key = workload_field_key((enum workload_field)field), *after = word + strlen(key);
        const char *value = after + (*after == ':' ? 1 : 0) + (*after != '\0' && after[*after == ':'] == ' ' ? 1 : 0);
        size_t count = *after == ':' || *after == ' ' ? value_length((enum workload_field)field, value) : 0;
        bool asked = is_remedy && count > 0 && workload_field_kind((enum workload_field)field) == FIELD_KIND_NAME;
        if (*after == ':' || asked) {
            option_append(text, (enum workload_field)field, value, count);
            return count > 0 ? value + count : after;
        }
    }
    text_append_bytes(text, word, length);
    return word + length;
}

void case_options_reword(const struct arguments *arguments, struct status *error)
{
    struct text text = {0};
    const char *remedy = strstr(error->text, "; "), *word = error->text;
    bool is_value = false; /* of the option before it */
    if (!case_options_given(arguments)) {
        return;
    }
    while (*word != '\0') {
        size_t spaces = strspn(word, " ("), length = strcspn(word + spaces, " ");
        bool is_option = strncmp(word + spaces, "--", 2) == 0;
        text_append_bytes(&text, word, spaces);
        if (is_value || is_option) {
            text_append_bytes(&text, word + spaces, length);
            word += spaces + length;
        } else {
            word = word_reword(word + spaces, remedy != NULL && word > remedy, &text);
        }
        is_value = is_option;
    }
    if (!text.failed) {
        status_set(error, error->code, "%s", text_string(&text));
    }
    text_release(&text);
}
