/* Record schema: which fields a line has and of which kind. Not the meaning of the figures. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/record/record.h"

enum kinds {
    KIND_NULL = 1 << JSON_KIND_NULL,
    KIND_BOOLEAN = 1 << JSON_KIND_BOOLEAN,
    KIND_INTEGER = 1 << JSON_KIND_INTEGER,
    KIND_NUMBER = 1 << JSON_KIND_INTEGER | 1 << JSON_KIND_REAL,
    KIND_STRING = 1 << JSON_KIND_STRING,
    KIND_ARRAY = 1 << JSON_KIND_ARRAY,
    KIND_OBJECT = 1 << JSON_KIND_OBJECT
};

/* A path of member names; '*' is every member of an object, '#' every element of an array. A path of NULL ends a table.
 * What is a part of something stands right behind it, and is not looked at where that is absent or null. Integers of records are sizes and counts: never negative, but for
 * the signed error and for what items leave over. */
struct field {
    const char *path;
    unsigned kinds;
    bool required;
};

static const struct field RUN_FIELDS[] = {
    {"schema", KIND_OBJECT, true},
    {"schema.name", KIND_STRING, true},
    {"schema.major", KIND_INTEGER, true},
    {"schema.minor", KIND_INTEGER, true},
    {"run_id", KIND_STRING, true},
    {"started", KIND_STRING, true},
    {"tool", KIND_OBJECT, false},
    {"tool.revision", KIND_STRING | KIND_NULL, false},
    {"suite", KIND_OBJECT, true},
    {"suite.name", KIND_STRING, true},
    {"suite.path", KIND_STRING, true},
    {"suite.plan_hash", KIND_STRING, true},
    {"suite.case_count", KIND_INTEGER, true},
    {"suite.selected_count", KIND_INTEGER, true},
    {"suite.compare", KIND_OBJECT | KIND_NULL, false},
    {"suite.compare.*", KIND_OBJECT | KIND_STRING, false},
    {"suite.compare.*.bytes", KIND_INTEGER, false},
    {"suite.compare.*.fraction", KIND_NUMBER, false},
    {"devices", KIND_ARRAY, false},
    {"devices.#", KIND_OBJECT, false},
    {"devices.#.spec", KIND_STRING, true},
    {"devices.#.kind", KIND_STRING, true},
    {"devices.#.name", KIND_STRING | KIND_NULL, false},
    {"devices.#.threads", KIND_INTEGER | KIND_NULL, false},
    {"devices.#.driver", KIND_STRING | KIND_NULL, false},
    {"devices.#.runtime", KIND_STRING | KIND_NULL, false},
    {"devices.#.libraries", KIND_ARRAY | KIND_NULL, false},
    {"devices.#.libraries.#", KIND_STRING, false},
    {"device_lock", KIND_OBJECT | KIND_NULL, false},
    {"device_lock.shared", KIND_BOOLEAN, true},
    {"device_lock.paths", KIND_ARRAY, true},
    {"device_lock.paths.#", KIND_STRING, false},
    {"device_lock.note", KIND_STRING | KIND_NULL, true},
    {"hardware", KIND_OBJECT | KIND_NULL, false},
    {NULL, 0, false},
};

/* What the readings of device and process have in common (harness/run/reading_items.h). */
#define ITEM_FIELDS(path)                                                                                              \
    {path, KIND_OBJECT | KIND_NULL, false}, {path ".context_bytes", KIND_INTEGER | KIND_NULL, true},                   \
        {path ".kernel_bytes", KIND_INTEGER | KIND_NULL, true},                                                        \
        {path ".library_bytes", KIND_INTEGER | KIND_NULL, true},                                                       \
        {path ".workspace_bytes", KIND_INTEGER | KIND_NULL, true},                                                     \
        {path ".segment_bytes", KIND_INTEGER | KIND_NULL, true},                                                       \
        {path ".remainder_bytes", KIND_INTEGER | KIND_NULL, true},

static const struct field CASE_FIELDS[] = {
    {"id", KIND_STRING, true},
    {"family", KIND_STRING | KIND_NULL, false},
    {"identity", KIND_OBJECT, true},
    {"identity.model", KIND_STRING, true},
    {"identity.mode", KIND_STRING, true},
    {"identity.precision", KIND_STRING, true},
    {"identity.quantize", KIND_STRING | KIND_NULL, false},
    {"identity.batch", KIND_INTEGER | KIND_NULL, true},
    {"identity.seq", KIND_INTEGER | KIND_NULL, true},
    {"identity.new_tokens", KIND_INTEGER | KIND_NULL, false},
    {"identity.cache", KIND_STRING | KIND_NULL, false},
    {"identity.cache_dtype", KIND_STRING | KIND_NULL, false},
    {"identity.beams", KIND_INTEGER | KIND_NULL, false},
    {"identity.attention", KIND_STRING | KIND_NULL, true},
    {"identity.padding", KIND_BOOLEAN | KIND_NULL, false},
    {"identity.optimizer", KIND_STRING | KIND_NULL, true},
    {"identity.loss", KIND_STRING | KIND_NULL, false},
    {"identity.lora_rank", KIND_INTEGER | KIND_NULL, false},
    {"identity.lora_targets", KIND_STRING | KIND_NULL, false},
    {"identity.prepare_kbit", KIND_BOOLEAN | KIND_NULL, false},
    {"identity.checkpointing", KIND_BOOLEAN | KIND_NULL, true},
    {"identity.accumulate", KIND_INTEGER | KIND_NULL, true},
    {"identity.logits", KIND_STRING | KIND_NULL, true},
    {"identity.tf32", KIND_BOOLEAN | KIND_NULL, false},
    {"identity.tf32_convolutions", KIND_BOOLEAN | KIND_NULL, false},
    {"identity.head", KIND_STRING | KIND_NULL, true},
    {"status", KIND_STRING, true},
    {"reason", KIND_STRING | KIND_NULL, true},
    {"attempt", KIND_INTEGER, true},
    {"basis", KIND_STRING | KIND_NULL, false},
    {"duration_s", KIND_NUMBER | KIND_NULL, true},
    {"stages", KIND_OBJECT | KIND_NULL, true},
    {"stages.*", KIND_OBJECT, false},
    {"stages.*.requested_bytes", KIND_INTEGER | KIND_NULL, true},
    {"stages.*.requested_bytes_peak", KIND_INTEGER | KIND_NULL, true},
    {"stages.*.allocated_bytes", KIND_INTEGER | KIND_NULL, true},
    {"stages.*.allocated_bytes_peak", KIND_INTEGER | KIND_NULL, true},
    {"stages.*.reserved_bytes", KIND_INTEGER | KIND_NULL, true},
    {"stages.*.reserved_bytes_peak", KIND_INTEGER | KIND_NULL, true},
    {"stages.*.device_bytes", KIND_INTEGER | KIND_NULL, true},
    {"stages.*.process_bytes", KIND_INTEGER | KIND_NULL, true},
    {"stages.*.process_bytes_peak", KIND_INTEGER | KIND_NULL, true},
    {"stages.*.cgroup_bytes", KIND_INTEGER | KIND_NULL, false},
    {"stages.*.cgroup_bytes_peak", KIND_INTEGER | KIND_NULL, false},
    ITEM_FIELDS("stages.*.device_items"){"stages.*.device_items.baseline_bytes", KIND_INTEGER | KIND_NULL, false},
    ITEM_FIELDS("stages.*.process_items"){"stages.*.seconds", KIND_NUMBER | KIND_NULL, true},
    {"stages.*.categories_at_peak", KIND_OBJECT | KIND_NULL, true},
    {"stages.*.categories_at_peak.*", KIND_INTEGER | KIND_NULL, false},
    {"context", KIND_OBJECT | KIND_NULL, true},
    {"context.device_bytes", KIND_INTEGER | KIND_NULL, true},
    {"context.process_bytes", KIND_INTEGER | KIND_NULL, true},
    {"context.baseline_bytes", KIND_INTEGER | KIND_NULL, false},
    {"context.cgroup_bytes", KIND_INTEGER | KIND_NULL, false},
    {"validity", KIND_OBJECT | KIND_NULL, false},
    {"validity.valid", KIND_BOOLEAN, true},
    {"validity.reasons", KIND_ARRAY, true},
    {"validity.reasons.#", KIND_STRING, false},
    {"peak_stage", KIND_STRING | KIND_NULL, true},
    {"categories_at_peak", KIND_OBJECT | KIND_NULL, true},
    {"categories_at_peak.*", KIND_INTEGER | KIND_NULL, false},
    {"causes", KIND_OBJECT | KIND_NULL, true},
    {"causes.*", KIND_OBJECT | KIND_NULL, false},
    {"causes.*.rounding_bytes", KIND_INTEGER | KIND_NULL, true},
    {"causes.*.unsplit_remainder_bytes", KIND_INTEGER | KIND_NULL, true},
    {"causes.*.unsplit_remainder_count", KIND_INTEGER | KIND_NULL, true},
    {"causes.*.cached_bytes", KIND_INTEGER | KIND_NULL, true},
    {"saved_for_backward_bytes", KIND_INTEGER | KIND_NULL, true},
    {"attention_backend", KIND_STRING | KIND_NULL, false},
    {"loss", KIND_NUMBER | KIND_NULL, true},
    {"sequence_hash", KIND_STRING | KIND_NULL, true},
    {"oom", KIND_OBJECT | KIND_NULL, true},
    {"oom.wanted_bytes", KIND_INTEGER | KIND_NULL, true},
    {"oom.free_bytes", KIND_INTEGER | KIND_NULL, false},
    {"oom.held_bytes", KIND_INTEGER | KIND_NULL, true},
    {"oom.stage", KIND_STRING | KIND_NULL, true},
    {"oom.label", KIND_STRING | KIND_NULL, true},
    {"constants", KIND_OBJECT | KIND_NULL, false},
    {"constants.path", KIND_STRING | KIND_NULL, true},
    {"constants.hash", KIND_STRING | KIND_NULL, true},
    {"constants.kind", KIND_STRING | KIND_NULL, true},
    {"constants.name", KIND_STRING | KIND_NULL, true},
    {"constants.driver", KIND_STRING | KIND_NULL, true},
    {"constants.revision", KIND_STRING | KIND_NULL, false},
    {"constants.calibrated", KIND_BOOLEAN, true},
    {"constants.mismatch", KIND_STRING | KIND_NULL, false},
    {"estimates", KIND_OBJECT | KIND_NULL, true},
    {"estimates.*", KIND_OBJECT | KIND_NULL, false},
    {"verdicts", KIND_ARRAY, true},
    {"verdicts.#", KIND_OBJECT, false},
    {"verdicts.#.estimator", KIND_STRING, true},
    {"verdicts.#.quantity", KIND_STRING, true},
    {"verdicts.#.predicted", KIND_INTEGER | KIND_NULL, true},
    {"verdicts.#.measured", KIND_INTEGER | KIND_NULL, true},
    {"verdicts.#.stage", KIND_STRING | KIND_NULL, false},
    {"verdicts.#.signed_error_bytes", KIND_INTEGER | KIND_NULL, true},
    {"verdicts.#.signed_error", KIND_NUMBER | KIND_NULL, true},
    {"verdicts.#.tolerance", KIND_OBJECT | KIND_NULL, true},
    {"verdicts.#.tolerance.bytes", KIND_INTEGER, false},
    {"verdicts.#.tolerance.fraction", KIND_NUMBER, false},
    {"verdicts.#.pass", KIND_BOOLEAN | KIND_NULL, true},
    {"verdicts.#.note", KIND_STRING | KIND_NULL, false},
    {"proof", KIND_OBJECT | KIND_NULL, false},
    {"proof.granule_bytes", KIND_INTEGER | KIND_NULL, true},
    {"proof.least_bytes", KIND_INTEGER | KIND_NULL, true},
    {"proof.larger_run", KIND_BOOLEAN | KIND_NULL, true},
    {"proof.limits", KIND_ARRAY, true},
    {"proof.limits.#", KIND_OBJECT, false},
    {"proof.limits.#.estimator", KIND_STRING, true},
    {"proof.limits.#.quantity", KIND_STRING, true},
    {"proof.limits.#.bytes", KIND_INTEGER, true},
    {"proof.limits.#.predicted_runs", KIND_BOOLEAN, true},
    {"proof.limits.#.predicted_less_runs", KIND_BOOLEAN | KIND_NULL, true},
    {"proof.limits.#.runs", KIND_BOOLEAN | KIND_NULL, true},
    {"proof.limits.#.less_runs", KIND_BOOLEAN | KIND_NULL, true},
    {"proof.limits.#.pass", KIND_BOOLEAN | KIND_NULL, true},
    {"proof.limits.#.note", KIND_STRING | KIND_NULL, true},
    {"proof.note", KIND_STRING | KIND_NULL, true},
    {"proof.duration_s", KIND_NUMBER, true},
    {"proof.pass", KIND_BOOLEAN | KIND_NULL, true},
    {"device", KIND_OBJECT | KIND_NULL, true},
    {"device.kind", KIND_STRING, true},
    {"device.name", KIND_STRING | KIND_NULL, true},
    {"device.spec", KIND_STRING | KIND_NULL, true},
    {"device.target", KIND_STRING | KIND_NULL, true},
    {"device.total_bytes", KIND_INTEGER | KIND_NULL, true},
    {"device.threads", KIND_INTEGER | KIND_NULL, false},
    {"device.driver", KIND_STRING | KIND_NULL, true},
    {"device.runtime", KIND_STRING | KIND_NULL, true},
    {"device.pci_bus_id", KIND_STRING | KIND_NULL, true},
    {"device.uuid", KIND_STRING | KIND_NULL, true},
    {"device.shared", KIND_BOOLEAN, false},
    {NULL, 0, false},
};

static const struct field END_FIELDS[] = {
    {"finished", KIND_STRING, true},
    {"interrupted", KIND_BOOLEAN, true},
    {"counts", KIND_OBJECT, true},
    {"counts.*", KIND_INTEGER, false},
    {"outcome", KIND_STRING, true},
    {"reason", KIND_STRING | KIND_NULL, false},
    {NULL, 0, false},
};

static const struct field SELECTED_FIELDS[] = {
    {"ids", KIND_ARRAY, true},
    {"ids.#", KIND_STRING, false},
    {"attempts", KIND_ARRAY, true},
    {"attempts.#", KIND_INTEGER, false},
    {NULL, 0, false},
};

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

enum { RULES_MAXIMUM = 256, DEPTH_MAXIMUM = 8, TYPE_COUNT = 4 };

static const struct {
    const char *type;
    const struct field *fields;
} TABLES[TYPE_COUNT] = {{"case", CASE_FIELDS}, {"run", RUN_FIELDS}, {"end", END_FIELDS}, {"selected", SELECTED_FIELDS}};

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
