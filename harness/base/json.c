/* JSON: reading through jansson with its loose ends closed (duplicate keys, whole files, size limit) and writing by a
 * small walker of our own, because jansson cannot write the shortest real that reads back equal. Not a schema:
 * what a document must contain is checked by who reads it. */
#include "harness/base/json.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A struct json is a json_t under another name, so that no other file needs jansson's header. */
static json_t *value_of(const struct json *value)
{
    return (json_t *)(uintptr_t)value;
}

static struct json *json_of(const json_t *value)
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
        return status_set(error, STATUS_INVALID, "%s: %s; %s", name, cause->text, remedy_of(code));
    }
    return status_set(error, STATUS_INVALID, "%s:%d:%d: %s; %s", name, cause->line,
                      cause->column > 0 ? cause->column : 1, cause->text, remedy_of(code));
}

enum status_code json_parse_text(const char *name, const char *text, size_t length, struct json **document,
                                 struct status *error)
{
    json_error_t cause = {.line = -1};
    json_t *value = json_loadb(text, length, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &cause);
    if (value == NULL) {
        return parse_error(name, &cause, error);
    }
    *document = json_of(value);
    return STATUS_OK;
}

/* Reads until the end or until more than maximum_bytes are there. */
static enum status_code file_read(int file, const char *path, size_t maximum_bytes, struct text *content,
                                  struct status *error)
{
    char buffer[16 * 1024];
    for (;;) {
        ssize_t count = read(file, buffer, sizeof buffer);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count < 0) {
            return status_set(error, STATUS_IO, "%s: cannot be read: %s", path, strerror(errno));
        }
        if (count == 0) {
            return STATUS_OK;
        }
        text_append_bytes(content, buffer, (size_t)count);
        if (content->failed) {
            return status_set(error, STATUS_OUT_OF_MEMORY, "%s: the host has not enough memory to read it", path);
        }
        if (content->length > maximum_bytes) {
            return status_set(error, STATUS_INVALID, "%s: larger than %zu bytes; this is not the file that is meant",
                              path, maximum_bytes);
        }
    }
}

enum status_code json_parse_file(const char *path, size_t maximum_bytes, struct json **document, struct status *error)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return status_set(error, STATUS_IO, "%s: cannot be opened: %s", path, strerror(errno));
    }
    struct text content = {0};
    enum status_code code = file_read(file, path, maximum_bytes, &content, error);
    if (code == STATUS_OK) {
        code = json_parse_text(path, text_string(&content), content.length, document, error);
    }
    text_release(&content);
    close(file);
    return code;
}

void json_release(struct json *value)
{
    json_decref(value_of(value));
}

enum json_kind json_kind(const struct json *value)
{
    if (value == NULL) {
        return JSON_KIND_NULL;
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
    return json_of(json_object_get(value_of(object), key));
}

struct json *json_at(const struct json *array, size_t index)
{
    return json_of(json_array_get(value_of(array), index));
}

size_t json_count(const struct json *container)
{
    const json_t *value = value_of(container);
    return json_is_array(value) ? json_array_size(value) : json_object_size(value);
}

const char *json_string_or(const struct json *value, const char *fallback)
{
    return json_kind(value) == JSON_KIND_STRING ? json_string_value(value_of(value)) : fallback;
}

int64_t json_integer_or(const struct json *value, int64_t fallback)
{
    return json_kind(value) == JSON_KIND_INTEGER ? (int64_t)json_integer_value(value_of(value)) : fallback;
}

double json_real_or(const struct json *value, double fallback)
{
    enum json_kind kind = json_kind(value);
    bool number = kind == JSON_KIND_INTEGER || kind == JSON_KIND_REAL;
    return number ? json_number_value(value_of(value)) : fallback;
}

bool json_boolean_or(const struct json *value, bool fallback)
{
    return json_kind(value) == JSON_KIND_BOOLEAN ? json_is_true(value_of(value)) : fallback;
}

const char *json_key_at(const struct json *object, size_t index)
{
    void *member = json_object_iter(value_of(object));
    for (size_t i = 0; i < index; i++) {
        member = json_object_iter_next(value_of(object), member);
    }
    return json_object_iter_key(member);
}

const char *json_key_after(const struct json *object, const char *key)
{
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

/* Bytes of the UTF-8 character that text starts with; 0 where it starts with none. Reads no further than the
 * zero that ends text, because that is no continuation byte. */
static size_t character_length(const unsigned char *text)
{
    unsigned char first = text[0];
    size_t length = first < 0x80 ? 1 : first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
    for (size_t i = 1; i < length; i++) {
        if ((text[i] & 0xC0) != 0x80) {
            return 0;
        }
    }
    bool overlong = (first == 0xE0 && text[1] < 0xA0) || (first == 0xF0 && text[1] < 0x90);
    bool outside = (first == 0xED && text[1] > 0x9F) || (first == 0xF4 && text[1] > 0x8F);
    return overlong || outside ? 0 : length;
}

struct json *json_string_new(const char *text)
{
    json_t *value = json_string(text);
    if (value != NULL) {
        return json_of(value);
    }
    struct text clean = {0};
    while (*text != '\0') {
        size_t length = character_length((const unsigned char *)text);
        if (length > 0) {
            text_append_bytes(&clean, text, length);
        } else {
            text_append(&clean, "\xEF\xBF\xBD");
        }
        text += length > 0 ? length : 1;
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

struct json *json_share(struct json *value)
{
    return json_of(json_incref(value_of(value)));
}

struct json *json_made(struct json *value, bool made)
{
    if (!made) {
        json_release(value);
        return NULL;
    }
    return value;
}

static void string_write(const char *string, struct text *text)
{
    text_append(text, "\"");
    for (; *string != '\0'; string++) {
        unsigned char c = (unsigned char)*string;
        if (c == '"' || c == '\\') {
            text_format(text, "\\%c", c);
        } else if (c == '\n') {
            text_append(text, "\\n");
        } else if (c == '\t') {
            text_append(text, "\\t");
        } else if (c < 0x20 || c == 0x7F) {
            text_format(text, "\\u%04x", c);
        } else {
            text_append_bytes(text, string, 1);
        }
    }
    text_append(text, "\"");
}

/* The shortest of 15 to 17 digits that reads back as the same number; ".0" keeps it a real. */
static void real_write(double value, struct text *text)
{
    char digits[40];
    for (int precision = 15; precision <= 17; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, value);
        if (strtod(digits, NULL) == value) {
            break;
        }
    }
    text_append(text, digits);
    if (strpbrk(digits, ".e") == NULL) {
        text_append(text, ".0");
    }
}

static void line_break(int indent, int depth, struct text *text)
{
    if (indent > 0) {
        text_format(text, "\n%*s", indent * depth, "");
    }
}

static void value_write(const struct json *value, int indent, int depth, struct text *text);

static void container_write(const struct json *value, int indent, int depth, struct text *text)
{
    bool is_object = json_kind(value) == JSON_KIND_OBJECT;
    size_t count = json_count(value);
    const char *key = NULL;
    text_append(text, is_object ? "{" : "[");
    for (size_t i = 0; i < count; i++) {
        if (i > 0) {
            text_append(text, indent > 0 ? "," : ", ");
        }
        line_break(indent, depth + 1, text);
        if (is_object) {
            key = json_key_after(value, key);
            string_write(key, text);
            text_append(text, ": ");
        }
        value_write(is_object ? json_get(value, key) : json_at(value, i), indent, depth + 1, text);
    }
    if (count > 0) {
        line_break(indent, depth, text);
    }
    text_append(text, is_object ? "}" : "]");
}

static void value_write(const struct json *value, int indent, int depth, struct text *text)
{
    switch (json_kind(value)) {
    case JSON_KIND_NULL:
        text_append(text, "null");
        break;
    case JSON_KIND_BOOLEAN:
        text_append(text, json_boolean_or(value, false) ? "true" : "false");
        break;
    case JSON_KIND_INTEGER:
        text_format(text, "%" PRId64, json_integer_or(value, 0));
        break;
    case JSON_KIND_REAL:
        real_write(json_real_or(value, 0), text);
        break;
    case JSON_KIND_STRING:
        string_write(json_string_or(value, ""), text);
        break;
    case JSON_KIND_ARRAY:
    case JSON_KIND_OBJECT:
        container_write(value, indent, depth, text);
        break;
    }
}

enum status_code json_write(const struct json *value, int indent, struct text *text, struct status *error)
{
    value_write(value, indent, 0, text);
    if (text->failed) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory to write a JSON document");
    }
    return STATUS_OK;
}
