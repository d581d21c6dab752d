/* JSON: reading through jansson with its loose ends closed (duplicate keys, whole files, size limit). Values of a
 * scanner (json_flat.h) are told apart here, in every getter. Not a schema: what a document must contain is checked by
 * who reads it. */
#include "harness/base/json.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/code_point.h"
#include "harness/base/file_content.h"
#include "harness/base/file_kind.h"
#include "harness/base/json_flat.h"
#include "harness/base/json_python.h"

/* A struct json is a json_t under another name, so that no other file needs jansson's header. */
static json_t *value_of(const struct json *value)
{
    return (json_t *)(uintptr_t)value;
}

static struct json *json_of(const json_t *value)
{
    return (struct json *)(uintptr_t)value;
}

static struct json *flat_value(const struct json_flat *value)
{
    return (struct json *)(uintptr_t)value;
}

static const char *remedy_of(enum json_error_code code)
{
    switch (code) {
    case json_error_premature_end_of_input:
        return "the document is cut short; fetch or write the file again";
    case json_error_end_of_input_expected:
        return "remove what follows the document";
    case json_error_duplicate_key:
        return "keep one of the two";
    case json_error_numeric_overflow:
        return "integers must fit 63 bits, reals 64";
    case json_error_null_character:
    case json_error_null_byte_in_key:
        return "remove the zero character";
    case json_error_invalid_utf8:
        return "save the file as UTF-8";
    case json_error_stack_overflow:
        return "at most 2048 levels may be nested";
    default:
        return "correct the JSON there";
    }
}

static enum status_code parse_error(const char *name, const json_error_t *cause, struct status *error)
{
    enum json_error_code code = json_error_code(cause);
    if (code == json_error_out_of_memory) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "%s: the host has not enough memory to read it", name);
    }
    if (cause->line < 1) {
        return status_set_at(error, STATUS_INVALID, (struct file_place){.path = name}, "%s; %s", cause->text,
                             remedy_of(code));
    }
    const struct file_place place = {name, cause->line, cause->column > 0 ? cause->column : 1};
    return status_set_at(error, STATUS_INVALID, place, "%s; %s", cause->text, remedy_of(code));
}

enum status_code json_parse_text(const char *name, const char *text, size_t length, struct json **document,
                                 struct status *error)
{
    json_error_t cause = {.line = -1};
    const struct file_kind *kind = file_kind_of(text, length);
    if (kind != NULL) {
        return status_set_at(error, STATUS_INVALID, (struct file_place){name, 1, 1}, "this is no JSON: it is %s; %s",
                             kind->words, kind->remedy != NULL ? kind->remedy : "name another file");
    }
    size_t mark =
        length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0; /* of the order of bytes: editors put it */
    text += mark;
    length -= mark;
    json_t *value = json_loadb(text, length, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &cause);
    if (value == NULL) {
        return parse_error(name, &cause, error);
    }
    *document = json_of(value);
    return STATUS_OK;
}

enum status_code json_parse_file(const char *path, size_t maximum_bytes, struct json **document, struct status *error)
{
    struct text content = {0};
    enum status_code code = file_content_read(path, "JSON", maximum_bytes, &content, error);
    if (code == STATUS_OK) {
        code = json_parse_text(path, text_string(&content), content.length, document, error);
    }
    text_release(&content);
    return code;
}

/* With zeros first, so that the error about anything else has the right place. */
static enum status_code python_parse(const char *name, const struct text *content, struct json **document,
                                     struct status *error)
{
    enum status_code code = STATUS_OK;
    for (int stand_ins = 0; stand_ins <= 1 && code == STATUS_OK; stand_ins++) {
        struct text replaced = {0};
        struct json *parsed = NULL;
        json_python_replace(text_string(content), content->length, stand_ins != 0, &replaced);
        code = replaced.failed
                   ? status_set(error, STATUS_OUT_OF_MEMORY, "%s: the host has not enough memory to read it", name)
                   : json_parse_text(name, text_string(&replaced), replaced.length, &parsed, error);
        text_release(&replaced);
        if (stand_ins != 0) {
            *document = parsed;
        } else {
            json_release(parsed);
        }
    }
    return code;
}

enum status_code json_parse_python_file(const char *path, size_t maximum_bytes, struct json **document,
                                        struct status *error)
{
    struct text content = {0};
    struct json *parsed = NULL;
    enum status_code code = file_content_read(path, "JSON", maximum_bytes, &content, error);
    if (code == STATUS_OK) {
        code = json_python_has_words(text_string(&content), content.length)
                   ? python_parse(path, &content, &parsed, error)
                   : json_parse_text(path, text_string(&content), content.length, &parsed, error);
    }
    if (code == STATUS_OK) {
        *document = parsed;
    }
    text_release(&content);
    return code;
}

void json_release(struct json *value)
{
    json_decref(value_of(value));
}

enum json_kind json_kind(const struct json *value)
{
    const struct json_flat *flat = json_flat_of(value);
    if (value == NULL || flat != NULL) {
        return flat != NULL ? (enum json_kind)(flat->type - FLAT_TYPES) : JSON_KIND_NULL;
    }
    switch (json_typeof(value_of(value))) {
    case JSON_OBJECT:
        return JSON_KIND_OBJECT;
    case JSON_ARRAY:
        return JSON_KIND_ARRAY;
    case JSON_STRING:
        return JSON_KIND_STRING;
    case JSON_INTEGER:
        return JSON_KIND_INTEGER;
    case JSON_REAL:
        return JSON_KIND_REAL;
    case JSON_TRUE:
    case JSON_FALSE:
        return JSON_KIND_BOOLEAN;
    case JSON_NULL:
        break;
    }
    return JSON_KIND_NULL;
}

const char *json_kind_name(enum json_kind kind)
{
    static const char *const names[] = {"null",     "a boolean", "an integer", "a real number",
                                        "a string", "an array",  "an object"};
    return (unsigned)kind < sizeof names / sizeof names[0] ? names[kind] : "unknown";
}

struct json *json_get(const struct json *object, const char *key)
{
    const struct json_flat *flat = json_flat_of(object);
    return flat != NULL ? flat_value(json_flat_get(flat, key)) : json_of(json_object_get(value_of(object), key));
}

struct json *json_at(const struct json *array, size_t index)
{
    const struct json_flat *flat = json_flat_of(array);
    return flat != NULL ? flat_value(json_flat_at(flat, index)) : json_of(json_array_get(value_of(array), index));
}

size_t json_count(const struct json *container)
{
    const struct json_flat *flat = json_flat_of(container);
    if (flat != NULL) {
        enum json_kind kind = json_kind(container);
        return kind == JSON_KIND_ARRAY || kind == JSON_KIND_OBJECT ? flat->count : 0;
    }
    const json_t *value = value_of(container);
    return json_is_array(value) ? json_array_size(value) : json_object_size(value);
}

const char *json_string_or(const struct json *value, const char *fallback)
{
    const struct json_flat *flat = json_flat_of(value);
    return json_kind(value) != JSON_KIND_STRING ? fallback
           : flat != NULL                       ? flat->value.text
                                                : json_string_value(value_of(value));
}

int64_t json_integer_or(const struct json *value, int64_t fallback)
{
    const struct json_flat *flat = json_flat_of(value);
    return json_kind(value) != JSON_KIND_INTEGER ? fallback
           : flat != NULL                        ? flat->value.integer
                                                 : (int64_t)json_integer_value(value_of(value));
}

double json_real_or(const struct json *value, double fallback)
{
    const struct json_flat *flat = json_flat_of(value);
    enum json_kind kind = json_kind(value);
    if (kind == JSON_KIND_INTEGER && flat != NULL) {
        return (double)flat->value.integer;
    }
    if (kind == JSON_KIND_REAL && flat != NULL) {
        return json_flat_real(flat);
    }
    bool number = kind == JSON_KIND_INTEGER || kind == JSON_KIND_REAL;
    return number ? json_number_value(value_of(value)) : fallback;
}

bool json_boolean_or(const struct json *value, bool fallback)
{
    const struct json_flat *flat = json_flat_of(value);
    return json_kind(value) != JSON_KIND_BOOLEAN ? fallback
           : flat != NULL                        ? flat->count != 0
                                                 : json_is_true(value_of(value));
}

const char *json_key_at(const struct json *object, size_t index)
{
    if (json_flat_of(object) != NULL) {
        return json_flat_key_at(json_flat_of(object), index);
    }
    void *member = json_object_iter(value_of(object));
    for (size_t i = 0; i < index; i++) {
        member = json_object_iter_next(value_of(object), member);
    }
    return json_object_iter_key(member);
}

const char *json_key_after(const struct json *object, const char *key)
{
    if (json_flat_of(object) != NULL) {
        return json_flat_key_after(json_flat_of(object), key);
    }
    json_t *value = value_of(object);
    void *member = NULL;
    if (key == NULL) {
        member = json_object_iter(value);
    } else {
        member = json_object_iter_next(value, json_object_iter_at(value, key));
    }
    return json_object_iter_key(member);
}

struct json *json_object_new(void)
{
    return json_of(json_object());
}

struct json *json_array_new(void)
{
    return json_of(json_array());
}

struct json *json_null_new(void)
{
    return json_of(json_null());
}

struct json *json_string_new(const char *text)
{
    json_t *value = json_string(text);
    if (value != NULL) {
        return json_of(value);
    }
    struct text clean = {0};
    for (size_t left = strlen(text); left > 0;) {
        size_t length = code_point_length(text, left);
        if (length > 0) {
            text_append_bytes(&clean, text, length);
        } else {
            text_append(&clean, "\xEF\xBF\xBD");
        }
        text += length > 0 ? length : 1;
        left -= length > 0 ? length : 1;
    }
    value = clean.failed ? NULL : json_string(text_string(&clean));
    text_release(&clean);
    return json_of(value);
}

struct json *json_integer_new(int64_t value)
{
    return json_of(json_integer(value));
}

struct json *json_real_new(double value)
{
    return isfinite(value) ? json_of(json_real(value)) : json_null_new();
}

struct json *json_boolean_new(bool value)
{
    return json_of(value ? json_true() : json_false());
}

bool json_set(struct json *object, const char *key, struct json *child)
{
    return json_object_set_new(value_of(object), key, value_of(child)) == 0;
}

bool json_append(struct json *array, struct json *child)
{
    return json_array_append_new(value_of(array), value_of(child)) == 0;
}

void json_remove(struct json *object, const char *key)
{
    json_object_del(value_of(object), key);
}

struct json *json_share(struct json *value)
{
    return json_of(json_incref(value_of(value)));
}

static struct json *container_copy(const struct json *value)
{
    bool is_object = json_kind(value) == JSON_KIND_OBJECT, made = true;
    struct json *copy = is_object ? json_object_new() : json_array_new();
    const char *key = NULL;
    for (size_t i = 0; made && i < json_count(value); i++) {
        key = is_object ? json_key_after(value, key) : NULL;
        made = is_object ? json_set(copy, key, json_copy_new(json_get(value, key)))
                         : json_append(copy, json_copy_new(json_at(value, i)));
    }
    return json_made(copy, made);
}

struct json *json_copy_new(const struct json *value)
{
    switch (json_kind(value)) {
    case JSON_KIND_NULL:
        return json_null_new();
    case JSON_KIND_BOOLEAN:
        return json_boolean_new(json_boolean_or(value, false));
    case JSON_KIND_INTEGER:
        return json_integer_new(json_integer_or(value, 0));
    case JSON_KIND_REAL:
        return json_real_new(json_real_or(value, 0));
    case JSON_KIND_STRING:
        return json_string_new(json_string_or(value, ""));
    case JSON_KIND_ARRAY:
    case JSON_KIND_OBJECT:
        return container_copy(value);
    }
    return NULL;
}

struct json *json_made(struct json *value, bool made)
{
    if (!made) {
        json_release(value);
        return NULL;
    }
    return value;
}
