/* Record schema: which fields a line has and of which kind. Not the meaning of the figures. */
#include <stdio.h>
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

/* A path of member names; '*' is every member of an object, '#' every element of an array. Kinds of 0 end a table. What
 * is below an absent or null value is not looked at. Integers of records are sizes and counts: never negative, but for
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
    {"constants.calibrated", KIND_BOOLEAN, true},
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
    {"finished", KIND_STRING, true},   {"interrupted", KIND_BOOLEAN, true}, {"counts", KIND_OBJECT, true},
    {"counts.*", KIND_INTEGER, false}, {"outcome", KIND_STRING, true},      {NULL, 0, false},
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

static enum status_code value_check(const struct json *value, const struct field *field, const char *where,
                                    struct status *error)
{
    char wanted[WHERE_BYTES];
    if ((field->kinds & 1u << json_kind(value)) == 0) {
        kinds_describe(field->kinds, wanted);
        return status_set(error, STATUS_INVALID, "'%s' is %s; it must be %s", where, json_kind_name(json_kind(value)),
                          wanted);
    }
    bool is_signed =
        strstr(field->path, "signed_error") != NULL || strstr(field->path, "items.remainder_bytes") != NULL;
    if (json_kind(value) == JSON_KIND_INTEGER && !is_signed && json_integer_or(value, 0) < 0) {
        return status_set(error, STATUS_INVALID, "'%s' is negative; an unknown figure is null", where);
    }
    return STATUS_OK;
}

static void where_append(char where[WHERE_BYTES], size_t length, const char *name)
{
    snprintf(where + length, WHERE_BYTES - length, "%s%s", length > 0 ? "." : "", name);
}

/* The value at the rest of the path, below parent. where holds the length characters of the way so far. */
static enum status_code path_check(const struct json *parent, const char *path, const struct field *field,
                                   char where[WHERE_BYTES], struct status *error)
{
    char name[64];
    size_t length = strcspn(path, "."), way = strlen(where);
    snprintf(name, sizeof name, "%.*s", (int)length, path);
    const char *rest = path[length] == '.' ? path + length + 1 : NULL;
    bool each = strcmp(name, "*") == 0, element = strcmp(name, "#") == 0;
    size_t count = each || element ? json_count(parent) : 1;
    const char *key = NULL;
    for (size_t i = 0; i < count; i++) {
        char index[24];
        snprintf(index, sizeof index, "%zu", i);
        key = each ? json_key_after(parent, key) : element ? index : name;
        const struct json *value = element ? json_at(parent, i) : json_get(parent, key);
        where[way] = '\0';
        where_append(where, way, key);
        enum status_code code = STATUS_OK;
        if (rest != NULL) {
            bool below = json_kind(value) == JSON_KIND_OBJECT || json_kind(value) == JSON_KIND_ARRAY;
            code = below ? path_check(value, rest, field, where, error) : STATUS_OK;
        } else if (value == NULL && field->required) {
            code = status_set(error, STATUS_INVALID, "'%s' is missing", where);
        } else if (value != NULL) {
            code = value_check(value, field, where, error);
        }
        if (code != STATUS_OK) {
            return code;
        }
    }
    return STATUS_OK;
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

enum status_code record_line_check(const struct json *line, struct status *error)
{
    if (json_kind(line) != JSON_KIND_OBJECT) {
        return status_set(error, STATUS_INVALID, "a record line is an object, not %s", json_kind_name(json_kind(line)));
    }
    const char *type = json_string_or(json_get(line, "type"), NULL);
    if (type == NULL) {
        return status_set(error, STATUS_INVALID, "'type' is missing; it must be \"run\", \"case\" or \"end\"");
    }
    bool is_case = strcmp(type, "case") == 0;
    const struct field *fields = is_case                    ? CASE_FIELDS
                                 : strcmp(type, "run") == 0 ? RUN_FIELDS
                                 : strcmp(type, "end") == 0 ? END_FIELDS
                                                            : NULL;
    for (; fields != NULL && fields->path != NULL; fields++) {
        char where[WHERE_BYTES] = "";
        enum status_code code = path_check(line, fields->path, fields, where, error);
        if (code != STATUS_OK) {
            return code;
        }
    }
    return is_case ? status_check(line, error) : STATUS_OK;
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
