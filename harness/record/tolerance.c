/* Tolerances: read, written, and held against a difference. */
#include "harness/record/tolerance.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/size.h"
#include "harness/base/size_text.h"

enum { ENTRY_BYTES = 64 };

enum status_code tolerance_unit_check(const char *text, struct status *error)
{
    char *end = NULL;
    if (size_lacks_unit(text)) {
        return status_set(error, STATUS_INVALID,
                          "'%s' has no unit; write %s%% for a percentage, or %sMiB, %sKiB, %sB for a size", text, text,
                          text, text, text);
    }
    bool is_decimal = strchr(text, '.') != NULL && text[strspn(text, "0123456789.")] == '\0';
    double number = is_decimal ? strtod(text, &end) : 0.0;
    if (is_decimal && *end == '\0') {
        return number < 1.0
                   ? status_set(error, STATUS_INVALID,
                                "'%s' has no unit; write %g%% for that part of the measurement, or a size such as 1MiB",
                                text, 100.0 * number)
                   : status_set(error, STATUS_INVALID,
                                "'%s' has no unit; write %s%% for a percentage, or %sMiB for a size", text, text, text);
    }
    return STATUS_OK;
}

enum status_code tolerance_parse(const char *text, struct tolerance *tolerance, struct status *error)
{
    struct status cause = {0};
    struct tolerance read = {.kind = TOLERANCE_FRACTION};
    size_t length = strlen(text);
    enum status_code code = STATUS_OK;
    if (length > 0 && text[length - 1] == '%') {
        code = percentage_parse(text, &read.fraction, &cause);
    } else {
        code = tolerance_unit_check(text, error);
        if (code != STATUS_OK) {
            return code;
        }
        read.kind = TOLERANCE_BYTES;
        code = size_parse(text, &read.bytes, &cause);
    }
    if (code == STATUS_OK) {
        *tolerance = read;
        return code;
    }
    return status_set(error, STATUS_INVALID, "%.400s%s", cause.text,
                      read.kind == TOLERANCE_BYTES ? ", or a percentage such as 0.5%" : "");
}

bool tolerance_holds(const struct tolerance *tolerance, int64_t difference, int64_t of_bytes)
{
    int64_t distance = difference < 0 ? -difference : difference; /* of figures >= 0, so it fits */
    if (tolerance->kind == TOLERANCE_BYTES) {
        return distance <= tolerance->bytes;
    }
    return (double)distance <= tolerance->fraction * (double)of_bytes;
}

const char *tolerance_format(const struct tolerance *tolerance, char text[TOLERANCE_TEXT_BYTES])
{
    if (tolerance->kind == TOLERANCE_BYTES) {
        size_format(tolerance->bytes, text);
    } else {
        snprintf(text, TOLERANCE_TEXT_BYTES, "%g %%", tolerance->fraction * 100.0);
    }
    return text;
}

struct json *tolerance_json(const struct tolerance *tolerance)
{
    if (tolerance == NULL) {
        return json_null_new();
    }
    struct json *object = json_object_new();
    bool is_bytes = tolerance->kind == TOLERANCE_BYTES;
    struct json *value = is_bytes ? json_integer_new(tolerance->bytes) : json_real_new(tolerance->fraction);
    return json_made(object, json_set(object, is_bytes ? "bytes" : "fraction", value));
}

bool tolerance_from_json(const struct json *value, struct tolerance *tolerance)
{
    int64_t bytes = json_integer_or(json_get(value, "bytes"), -1);
    double fraction = json_real_or(json_get(value, "fraction"), -1.0);
    if (json_kind(value) != JSON_KIND_OBJECT || (bytes < 0 && !(fraction >= 0.0))) {
        return false;
    }
    *tolerance = bytes >= 0 ? (struct tolerance){.kind = TOLERANCE_BYTES, .bytes = bytes}
                            : (struct tolerance){.kind = TOLERANCE_FRACTION, .fraction = fraction};
    return true;
}

enum status_code level_rule_parse(const char *text, struct level_rule *rule, struct status *error)
{
    struct level_rule read = {.kind = LEVEL_RULE_TOLERATED};
    if (strcmp(text, "none") == 0) {
        *rule = (struct level_rule){.kind = LEVEL_RULE_NONE};
        return STATUS_OK;
    }
    enum status_code code = tolerance_parse(text, &read.tolerance, error);
    if (code == STATUS_OK) {
        *rule = read;
    }
    return code;
}

/* "device=2%": one entry of the list. */
static enum status_code entry_parse(const char *entry, struct level_rules *rules, struct status *error)
{
    char name[ENTRY_BYTES];
    enum level level = LEVEL_REQUESTED;
    const char *equals = strchr(entry, '=');
    if (equals == NULL) {
        return status_set(error, STATUS_INVALID, "'%s' has no '='; write LEVEL=TOLERANCE, as device=4MiB,process=2%%",
                          entry);
    }
    snprintf(name, sizeof name, "%.*s", (int)(equals - entry), entry);
    if (!level_from_name(name, &level)) {
        return status_set(error, STATUS_INVALID,
                          "'%s' is not a level; the levels are requested, allocated, reserved, device and process",
                          name);
    }
    if (rules->of[level].kind != LEVEL_RULE_ABSENT) {
        return status_set(error, STATUS_INVALID, "%s is there twice; keep one", name);
    }
    enum status_code code = level_rule_parse(equals + 1, &rules->of[level], error);
    if (code != STATUS_OK) {
        status_prefix(error, "%s", name);
    }
    return code;
}

enum status_code level_rules_parse(const char *text, struct level_rules *rules, struct status *error)
{
    struct level_rules read = {0};
    enum status_code code = STATUS_OK;
    for (bool more = true; more && code == STATUS_OK;) {
        char entry[ENTRY_BYTES];
        size_t length = strcspn(text, ",");
        if (length >= sizeof entry) {
            return status_set(error, STATUS_INVALID, "'%.20s...' is too long; write LEVEL=TOLERANCE, as device=4MiB",
                              text);
        }
        snprintf(entry, sizeof entry, "%.*s", (int)length, text);
        code = entry_parse(entry, &read, error);
        more = text[length] == ',';
        text += length + (more ? 1 : 0);
    }
    if (code == STATUS_OK) {
        *rules = read;
    }
    return code;
}

struct json *level_rules_json(const struct level_rules *rules)
{
    struct json *object = json_object_new();
    bool made = object != NULL;
    for (int i = 0; i < LEVEL_COUNT && made; i++) {
        const struct level_rule *rule = &rules->of[i];
        if (rule->kind != LEVEL_RULE_ABSENT) {
            made = json_set(object, level_name((enum level)i),
                            rule->kind == LEVEL_RULE_NONE ? json_string_new("none") : tolerance_json(&rule->tolerance));
        }
    }
    if (made && json_count(object) == 0) {
        json_release(object);
        return json_null_new();
    }
    return json_made(object, made);
}

struct level_rules level_rules_from_json(const struct json *object)
{
    struct level_rules rules = {0};
    for (int i = 0; i < LEVEL_COUNT; i++) {
        const struct json *value = json_get(object, level_name((enum level)i));
        if (strcmp(json_string_or(value, ""), "none") == 0) {
            rules.of[i].kind = LEVEL_RULE_NONE;
        } else if (tolerance_from_json(value, &rules.of[i].tolerance)) {
            rules.of[i].kind = LEVEL_RULE_TOLERATED;
        }
    }
    return rules;
}
