/* Fields: the checks behind field.h. Not a schema language: what belongs together is checked by the families. */
#include "models/config/field.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/json_place.h"
#include "harness/base/json_python.h"
#include "models/config/config_keys.h"
#include "models/config/family.h"

void field_fault(struct field_reader *reader, const char *key, const char *format, ...)
{
    if (reader->code != STATUS_OK) {
        return;
    }
    char cause[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(cause, sizeof cause, format, arguments);
    va_end(arguments);
    char pointer[256];
    snprintf(pointer, sizeof pointer, "%s/%s", reader->parent != NULL ? reader->parent : "", key);
    for (char *dot = strchr(pointer, '.'); dot != NULL; dot = strchr(dot, '.')) {
        *dot = '/'; /* a.b is b of a */
    }
    reader->code = status_set(reader->error, STATUS_INVALID, "%s: %s", key, cause);
    json_place_add(reader->path, pointer, reader->error);
}

/* The member under the name that the real class takes it by; *key becomes that name. Keys of inner objects have one
 * name. */
static const struct json *member_look(const struct field_reader *reader, const char **key)
{
    bool is_document = reader->parent == NULL;
    struct field_record *record = reader->record;
    const struct config_alias *alias = is_document && reader->keys != NULL ? reader->keys->aliases : NULL;
    if (is_document && record != NULL && record->read_count < FIELD_KEYS_MAXIMUM) {
        record->read[record->read_count++] = *key;
    }
    for (; alias != NULL && alias->key != NULL; alias++) {
        const struct json *value = strcmp(alias->field, *key) == 0 ? json_get(reader->object, alias->key) : NULL;
        if (value != NULL) {
            *key = alias->key;
            return value;
        }
    }
    return json_get(reader->object, *key);
}

const struct json *field_member(const struct field_reader *reader, const char *key)
{
    return member_look(reader, &key);
}

void field_missing(const struct field_reader *reader, const char *key, const char *format, ...)
{
    struct field_record *record = reader->record;
    if (record == NULL || reader->parent != NULL || record->missing_count == FIELD_MISSING_MAXIMUM) {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(record->missing[record->missing_count].taken, sizeof record->missing[0].taken, format, arguments);
    va_end(arguments);
    record->missing[record->missing_count++].key = key;
}

static int64_t integer_checked(struct field_reader *reader, const char *key, const struct json *value, int64_t minimum,
                               int64_t maximum)
{
    enum json_kind kind = json_kind(value);
    if (kind != JSON_KIND_INTEGER) {
        field_fault(reader, key, "%s is not a whole number; write one from %" PRId64 " to %" PRId64,
                    json_kind_name(kind), minimum, maximum);
        return minimum;
    }
    int64_t number = json_integer_or(value, 0);
    if (number < minimum || number > maximum) {
        field_fault(reader, key, "%" PRId64 " is too %s; write a whole number from %" PRId64 " to %" PRId64, number,
                    number < minimum ? "small" : "large", minimum, maximum);
        return minimum;
    }
    return number;
}

/* Whether the bytes of a model or of its runs follow from a field. The number of positions bounds a sequence, and
 * decides sizes only if there is a table of them. */
static bool decides_size(const struct config *config, size_t offset)
{
    switch (offset) {
    case offsetof(struct config, positions):
        return config->family != NULL && config->family->bounds_positions;
    case offsetof(struct config, farthest_position):
    case offsetof(struct config, expert_groups):
    case offsetof(struct config, active_groups):
        return false;
    default:
        return true;
    }
}

static const struct json *integer_look(const struct field_reader *reader, const struct integer_field *field,
                                       const char **key)
{
    *key = field->older;
    const struct json *value = field->older != NULL ? member_look(reader, key) : NULL;
    if (json_kind(value) != JSON_KIND_NULL) {
        return value;
    }
    *key = field->key;
    return member_look(reader, key);
}

void field_integers(struct field_reader *reader, const struct integer_field *fields, size_t count,
                    struct config *config)
{
    for (size_t i = 0; i < count; i++) {
        const struct integer_field *field = &fields[i];
        int64_t *target = (int64_t *)(void *)((char *)config + field->offset);
        const char *key = NULL;
        const struct json *value = integer_look(reader, field, &key);
        if (value == NULL) {
            *target = field->fallback;
            if (field->fallback > 0 && decides_size(config, field->offset)) {
                field_missing(reader, field->key, "%" PRId64, field->fallback);
            }
        } else if (json_kind(value) == JSON_KIND_NULL && field->null_value != FIELD_NULL_REFUSED) {
            *target = field->null_value;
        } else {
            *target = integer_checked(reader, key, value, 1, field->maximum);
        }
    }
}

int64_t field_integer(struct field_reader *reader, const char *key, int64_t minimum, int64_t maximum, int64_t fallback)
{
    const struct json *value = member_look(reader, &key);
    if (json_kind(value) == JSON_KIND_NULL) {
        return fallback;
    }
    return integer_checked(reader, key, value, minimum, maximum);
}

double field_real(struct field_reader *reader, const char *key, double minimum, double maximum, double fallback)
{
    const struct json *value = member_look(reader, &key);
    if (value == NULL) {
        return fallback;
    }
    enum json_kind kind = json_kind(value);
    double number = json_python_number(json_real_or(value, NAN));
    if (kind != JSON_KIND_INTEGER && kind != JSON_KIND_REAL) {
        field_fault(reader, key, "%s is not a number; write one from %g to %g", json_kind_name(kind), minimum, maximum);
        return fallback;
    }
    if (!(number >= minimum && number <= maximum)) {
        field_fault(reader, key, "%g is out of range; write a number from %g to %g", number, minimum, maximum);
        return fallback;
    }
    return number;
}

bool field_boolean(struct field_reader *reader, const char *key, bool fallback)
{
    const struct json *value = member_look(reader, &key);
    if (value == NULL) {
        return fallback;
    }
    if (json_kind(value) != JSON_KIND_BOOLEAN) {
        field_fault(reader, key, "%s is not a boolean; write true or false", json_kind_name(json_kind(value)));
        return fallback;
    }
    return json_boolean_or(value, fallback);
}

const char *field_string(struct field_reader *reader, const char *key)
{
    const struct json *value = member_look(reader, &key);
    enum json_kind kind = json_kind(value);
    if (kind == JSON_KIND_NULL) {
        return NULL;
    }
    if (kind != JSON_KIND_STRING) {
        field_fault(reader, key, "%s is not a string; write one in quotation marks", json_kind_name(kind));
        return NULL;
    }
    return json_string_or(value, NULL);
}

int64_t field_square(struct field_reader *reader, const char *key, int64_t maximum, int64_t fallback)
{
    const struct json *value = member_look(reader, &key);
    if (value == NULL) {
        field_missing(reader, key, "%" PRId64, fallback);
        return fallback;
    }
    if (json_kind(value) != JSON_KIND_ARRAY) {
        return integer_checked(reader, key, value, 1, maximum);
    }
    if (json_count(value) != 2) {
        field_fault(reader, key, "an array of %zu elements is not a size; write one whole number, or two equal ones",
                    json_count(value));
        return fallback;
    }
    int64_t height = integer_checked(reader, key, json_at(value, 0), 1, maximum);
    int64_t width = integer_checked(reader, key, json_at(value, 1), 1, maximum);
    if (height != width) {
        field_fault(reader, key, "%" PRId64 " by %" PRId64 " is not square; only square images are modelled", height,
                    width);
    }
    return height;
}
