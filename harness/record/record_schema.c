/* Record schema: a line is checked against the fields of its type (record_fields.h). Not the meaning of the figures. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "harness/record/record.h"
#include "harness/record/record_fields.h"

enum { WHERE_BYTES = 192 };

/* "an integer or null" for a set of kinds. */
static void kinds_describe(unsigned kinds, char text[WHERE_BYTES])
{
    size_t length = 0;
    text[0] = '\0';
    for (int kind = JSON_KIND_OBJECT; kind >= JSON_KIND_NULL; kind--) {
        bool implied = kind == JSON_KIND_INTEGER && (kinds & 1u << JSON_KIND_REAL) != 0;
        if ((kinds & 1u << kind) == 0 || implied) {
            continue;
        }
        const char *name = kind == JSON_KIND_REAL ? "a number" : json_kind_name((enum json_kind)kind);
        int written = snprintf(text + length, WHERE_BYTES - length, "%s%s", length > 0 ? " or " : "", name);
        length += written > 0 ? (size_t)written : 0;
    }
}

/* One row of a table, cut at its last dot, and how many of the rows behind it stand below it. */
struct rule {
    const struct field *field;
    const char *name; /* borrowed from the row */
    int below;
    bool each, element, is_signed;
};

enum { RULES_MAXIMUM = 512, DEPTH_MAXIMUM = 8, TYPE_COUNT = 4 };

static const struct {
    const char *type;
    const struct field *fields;
} TABLES[TYPE_COUNT] = {{"case", RECORD_CASE_FIELDS},
                        {"run", RECORD_RUN_FIELDS},
                        {"end", RECORD_END_FIELDS},
                        {"selected", RECORD_SELECTED_FIELDS}};

struct record_rules {
    struct rule rules[RULES_MAXIMUM];
    int begin[TYPE_COUNT + 1]; /* the rules of a type go up to the beginning of the next */
};

static bool is_below(const char *path, const char *above)
{
    size_t length = strlen(above);
    return strncmp(path, above, length) == 0 && path[length] == '.';
}

/* The rows of one table from index `at` on; returns the index behind them, or -1 where they do not fit, or where one
 * stands before the row of what it is a part of. */
static int table_cut(const struct field *fields, struct record_rules *all, int at)
{
    int above[DEPTH_MAXIMUM], depth = 0;
    for (; fields->path != NULL; fields++, at++) {
        while (depth > 0 && !is_below(fields->path, all->rules[above[depth - 1]].field->path)) {
            depth--;
        }
        const char *dot = strrchr(fields->path, '.');
        size_t whole = depth > 0 ? strlen(all->rules[above[depth - 1]].field->path) : 0;
        if (at == RULES_MAXIMUM || depth == DEPTH_MAXIMUM || dot != (depth > 0 ? fields->path + whole : NULL)) {
            return -1;
        }
        const char *name = dot != NULL ? dot + 1 : fields->path;
        all->rules[at] = (struct rule){.field = fields,
                                       .name = name,
                                       .each = strcmp(name, "*") == 0,
                                       .element = strcmp(name, "#") == 0,
                                       .is_signed = strstr(fields->path, "signed_error") != NULL ||
                                                    strstr(fields->path, "items.remainder_bytes") != NULL};
        for (int i = 0; i < depth; i++) {
            all->rules[above[i]].below++;
        }
        above[depth++] = at;
    }
    return at;
}

static bool rules_cut(struct record_rules *rules)
{
    *rules = (struct record_rules){0};
    for (int type = 0; type < TYPE_COUNT; type++) {
        rules->begin[type + 1] = table_cut(TABLES[type].fields, rules, rules->begin[type]);
        if (rules->begin[type + 1] < 0) {
            return false;
        }
    }
    return true;
}

struct record_rules *record_rules_new(void)
{
    struct record_rules *rules = malloc(sizeof *rules);
    if (rules != NULL && !rules_cut(rules)) {
        free(rules);
        return NULL;
    }
    return rules;
}

void record_rules_release(struct record_rules *rules)
{
    free(rules);
}

/* The way to a value: linked upwards, because its name is wanted only where something is wrong. */
struct way {
    const struct way *above;
    const char *name;
};

static size_t way_write(const struct way *way, char where[WHERE_BYTES])
{
    size_t length = way->above != NULL ? way_write(way->above, where) : 0;
    int written = snprintf(where + length, WHERE_BYTES - length, "%s%s", length > 0 ? "." : "", way->name);
    length += written > 0 ? (size_t)written : 0;
    return length < WHERE_BYTES ? length : WHERE_BYTES - 1;
}

static enum status_code value_check(const struct json *value, const struct rule *rule, const struct way *way,
                                    struct status *error)
{
    char wanted[WHERE_BYTES], where[WHERE_BYTES];
    enum json_kind kind = json_kind(value);
    if (value == NULL && rule->field->required) {
        way_write(way, where);
        return status_set(error, STATUS_INVALID, "'%s' is missing", where);
    }
    if (value != NULL && (rule->field->kinds & 1u << kind) == 0) {
        way_write(way, where);
        kinds_describe(rule->field->kinds, wanted);
        return status_set(error, STATUS_INVALID, "'%s' is %s; it must be %s", where, json_kind_name(kind), wanted);
    }
    if (kind == JSON_KIND_INTEGER && !rule->is_signed && json_integer_or(value, 0) < 0) {
        way_write(way, where);
        return status_set(error, STATUS_INVALID, "'%s' is negative; an unknown figure is null", where);
    }
    return STATUS_OK;
}

static bool is_container(const struct json *value)
{
    return json_kind(value) == JSON_KIND_OBJECT || json_kind(value) == JSON_KIND_ARRAY;
}

/* The rules from begin to end, and those below them, on the members or elements of parent. */
static enum status_code rules_check(const struct rule *begin, const struct rule *end, const struct json *parent,
                                    const struct way *above, struct status *error)
{
    enum status_code code = STATUS_OK;
    for (const struct rule *rule = begin; rule < end && code == STATUS_OK; rule += 1 + rule->below) {
        size_t count = rule->each || rule->element ? json_count(parent) : 1;
        const char *key = NULL;
        for (size_t i = 0; i < count && code == STATUS_OK; i++) {
            char index[24];
            if (rule->element) {
                snprintf(index, sizeof index, "%zu", i);
            }
            key = rule->each ? json_key_after(parent, key) : rule->element ? index : rule->name;
            const struct json *value = rule->element ? json_at(parent, i) : json_get(parent, key);
            const struct way way = {.above = above, .name = key};
            code = value_check(value, rule, &way, error);
            if (code == STATUS_OK && rule->below > 0 && is_container(value)) {
                code = rules_check(rule + 1, rule + 1 + rule->below, value, &way, error);
            }
        }
    }
    return code;
}

static enum status_code status_check(const struct json *line, struct status *error)
{
    enum case_status status = CASE_STATUS_OK;
    const char *name = json_string_or(json_get(line, "status"), "");
    if (!case_status_from_name(name, &status)) {
        return status_set(error, STATUS_INVALID,
                          "'status' is '%.40s'; it must be ok, fail, error, oom, timeout or skip", name);
    }
    return STATUS_OK;
}

enum status_code record_rules_check(const struct record_rules *rules, const struct json *line, struct status *error)
{
    if (json_kind(line) != JSON_KIND_OBJECT) {
        return status_set(error, STATUS_INVALID, "a record line is an object, not %s", json_kind_name(json_kind(line)));
    }
    const char *type = json_string_or(json_get(line, "type"), NULL);
    if (type == NULL) {
        return status_set(error, STATUS_INVALID, "'type' is missing; it must be \"run\", \"case\" or \"end\"");
    }
    for (int i = 0; i < TYPE_COUNT; i++) {
        if (strcmp(TABLES[i].type, type) == 0) {
            const struct rule *begin = &rules->rules[rules->begin[i]], *end = &rules->rules[rules->begin[i + 1]];
            enum status_code code = rules_check(begin, end, line, NULL, error);
            return code == STATUS_OK && i == 0 ? status_check(line, error) : code;
        }
    }
    return STATUS_OK;
}

enum status_code record_line_check(const struct json *line, struct status *error)
{
    struct record_rules rules;
    if (!rules_cut(&rules)) {
        return status_set(error, STATUS_INTERNAL, "the fields of records are not in their order");
    }
    return record_rules_check(&rules, line, error);
}

static const char *const STATUS_NAMES[] = {
#define CASE_STATUS_TEXT(name, text) text,
    CASE_STATUS_TABLE(CASE_STATUS_TEXT)
#undef CASE_STATUS_TEXT
};

bool record_time_read(const char *text, int64_t *seconds)
{
    struct tm moment = {0};
    const char *end = text != NULL ? strptime(text, "%Y-%m-%dT%H:%M:%SZ", &moment) : NULL;
    const bool is_time = end != NULL && *end == '\0';
    *seconds = is_time ? (int64_t)timegm(&moment) : 0;
    return is_time;
}

const char *case_status_name(enum case_status status)
{
    return (unsigned)status < CASE_STATUS_COUNT ? STATUS_NAMES[status] : "unknown";
}

bool case_status_from_name(const char *name, enum case_status *status)
{
    for (int i = 0; i < CASE_STATUS_COUNT; i++) {
        if (strcmp(STATUS_NAMES[i], name) == 0) {
            *status = (enum case_status)i;
            return true;
        }
    }
    return false;
}

bool case_status_is_failure(enum case_status status)
{
    return status != CASE_STATUS_OK && status != CASE_STATUS_SKIP;
}

struct json *record_schema_json(void)
{
    struct json *schema = json_object_new();
    if (schema != NULL && !(json_set(schema, "name", json_string_new(RECORD_SCHEMA_NAME)) &&
                            json_set(schema, "major", json_integer_new(RECORD_SCHEMA_MAJOR)) &&
                            json_set(schema, "minor", json_integer_new(RECORD_SCHEMA_MINOR)))) {
        json_release(schema);
        return NULL;
    }
    return schema;
}
