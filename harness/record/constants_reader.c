/* Constants, read: a file that anybody may have written or edited. The first thing that is wrong is told with its
 * place. Members that a later minor version may have are passed over. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/code_point.h"
#include "harness/base/hash.h"
#include "harness/base/json_place.h"
#include "harness/record/constants.h"
#include "harness/record/level.h"

enum { FILE_BYTES_MAXIMUM = 1 << 20, WHERE_BYTES = 128, COUNT_MAXIMUM = 1000000000 };

struct reader {
    const char *path;
    struct status *error;
    enum status_code code; /* STATUS_OK until the first fault */
};

/* where: the way to the value, as in json_place.h. */
__attribute__((format(printf, 3, 4))) static void reader_fault(struct reader *reader, const char *where,
                                                               const char *format, ...)
{
    char cause[512];
    va_list arguments;
    if (reader->code != STATUS_OK) {
        return;
    }
    va_start(arguments, format);
    vsnprintf(cause, sizeof cause, format, arguments);
    va_end(arguments);
    reader->code =
        status_set(reader->error, STATUS_INVALID, "%s: %s", where[0] != '\0' ? where + 1 : "the document", cause);
    json_place_add(reader->path, where, reader->error);
}

/* The member of a kind; NULL, after a fault, where it is of another kind or missing. Null is let pass where
 * may_be_null, and is NULL without a fault. where receives the way to it. */
static const struct json *member_read(struct reader *reader, const struct json *object, const char *parent,
                                      const char *key, enum json_kind kind, bool may_be_null, char where[WHERE_BYTES])
{
    const struct json *value = json_get(object, key);
    enum json_kind found = json_kind(value);
    snprintf(where, WHERE_BYTES, "%s/%s", parent, key);
    if (value != NULL && found == kind) {
        return value;
    }
    if (value == NULL || found != JSON_KIND_NULL || !may_be_null) {
        reader_fault(reader, where, "%s; it must be %s%s", value == NULL ? "is missing" : json_kind_name(found),
                     json_kind_name(kind), may_be_null ? " or null" : "");
    }
    return NULL;
}

static int64_t integer_read(struct reader *reader, const struct json *object, const char *parent, const char *key,
                            int64_t minimum, int64_t maximum)
{
    char where[WHERE_BYTES];
    const struct json *value = member_read(reader, object, parent, key, JSON_KIND_INTEGER, false, where);
    int64_t integer = json_integer_or(value, minimum);
    if (integer < minimum || integer > maximum) {
        reader_fault(reader, where, "%" PRId64 " is out of range; it is from %" PRId64 " to %" PRId64, integer, minimum,
                     maximum);
        return minimum;
    }
    return integer;
}

/* Into text of size bytes, "" for null. */
static void text_check(struct reader *reader, const struct json *value, const char *where, char *text, size_t size)
{
    const char *string = json_string_or(value, "");
    if (strlen(string) >= size) {
        reader_fault(reader, where, "is a text of %zu bytes; it has at most %zu", strlen(string), size - 1);
        return;
    }
    snprintf(text, size, "%s", string);
}

/* These are told in messages and on pages. */
static void visible_check(struct reader *reader, const char *text, const char *where)
{
    bool is_visible = true;
    while (*text != '\0' && is_visible) {
        uint32_t point = 0;
        text += code_point_decode(text, &point);
        is_visible = !code_point_is_hidden(point);
    }
    if (!is_visible) {
        reader_fault(reader, where, "has a character that is not seen but acts on a terminal; take it out");
    }
}

static void text_read(struct reader *reader, const struct json *object, const char *parent, const char *key,
                      bool may_be_null, char text[CONSTANTS_NAME_BYTES])
{
    char where[WHERE_BYTES];
    const struct json *value = member_read(reader, object, parent, key, JSON_KIND_STRING, may_be_null, where);
    text_check(reader, value, where, text, CONSTANTS_NAME_BYTES);
    visible_check(reader, text, where);
    if (!may_be_null && text[0] == '\0') {
        reader_fault(reader, where, "is empty; it must be a text");
    }
}

static void schema_check(struct reader *reader, const struct json *document)
{
    char where[WHERE_BYTES];
    const struct json *schema = member_read(reader, document, "", "schema", JSON_KIND_OBJECT, false, where);
    if (schema != NULL && strcmp(json_string_or(json_get(schema, "name"), ""), CONSTANTS_SCHEMA_NAME) != 0) {
        reader_fault(reader, where, "is not that of " CONSTANTS_SCHEMA_NAME "; name a file that assay calibrate wrote");
    }
    int64_t major = integer_read(reader, schema, "/schema", "major", 0, COUNT_MAXIMUM);
    if (major != CONSTANTS_SCHEMA_MAJOR) {
        reader_fault(reader, where, "is of version %" PRId64 ".x; this program reads %d.x: calibrate again", major,
                     CONSTANTS_SCHEMA_MAJOR);
    }
}

static void spread_read(struct reader *reader, const struct json *object, const char *parent, const char *key,
                        int64_t minimum, struct constants_spread *spread)
{
    char where[WHERE_BYTES];
    const struct json *value = member_read(reader, object, parent, key, JSON_KIND_OBJECT, true, where);
    if (value == NULL) {
        return;
    }
    spread->known = true;
    spread->median = integer_read(reader, value, where, "median", minimum, CONSTANTS_BYTES_MAXIMUM);
    spread->minimum = integer_read(reader, value, where, "min", minimum, CONSTANTS_BYTES_MAXIMUM);
    spread->maximum = integer_read(reader, value, where, "max", minimum, CONSTANTS_BYTES_MAXIMUM);
    spread->count = integer_read(reader, value, where, "count", 1, COUNT_MAXIMUM);
    if (spread->minimum > spread->median || spread->median > spread->maximum) {
        reader_fault(reader, where, "its min, median and max are not in this order; calibrate again");
    }
}

static void levels_read(struct reader *reader, const struct json *object, const char *parent, int64_t minimum,
                        struct constants_levels *levels)
{
    spread_read(reader, object, parent, level_key(LEVEL_PROCESS), minimum, &levels->process);
    spread_read(reader, object, parent, level_key(LEVEL_DEVICE), minimum, &levels->device);
}

static void growth_read(struct reader *reader, const struct json *document, struct constants *constants)
{
    char where[WHERE_BYTES], below[2 * WHERE_BYTES];
    const struct json *growth = member_read(reader, document, "", "growth", JSON_KIND_OBJECT, false, where);
    if (json_count(growth) > CONSTANTS_MODES_MAXIMUM) {
        reader_fault(reader, where, "has %zu modes; there are at most %d", json_count(growth), CONSTANTS_MODES_MAXIMUM);
        return;
    }
    for (const char *key = json_key_after(growth, NULL); key != NULL && reader->code == STATUS_OK;
         key = json_key_after(growth, key)) {
        struct constants_growth *row = &constants->growth[constants->growth_count];
        if (strlen(key) >= sizeof row->mode) {
            reader_fault(reader, where, "has a mode with a name of %zu bytes; write load, infer, generate or train",
                         strlen(key));
            return;
        }
        snprintf(row->mode, sizeof row->mode, "%s", key);
        const struct json *levels = member_read(reader, growth, where, key, JSON_KIND_OBJECT, false, below);
        if (levels != NULL) {
            levels_read(reader, levels, below, -CONSTANTS_BYTES_MAXIMUM, &row->levels);
            constants->growth_count++;
        }
    }
}

static void cases_read(struct reader *reader, const struct json *document, struct constants *constants)
{
    char where[WHERE_BYTES], below[2 * WHERE_BYTES];
    const struct json *cases = member_read(reader, document, "", "cases", JSON_KIND_ARRAY, false, where);
    if (json_count(cases) < 1 || json_count(cases) > CONSTANTS_CASES_MAXIMUM) {
        reader_fault(reader, where, "has %zu cases; there are 1 to %d", json_count(cases), CONSTANTS_CASES_MAXIMUM);
        return;
    }
    for (size_t i = 0; i < json_count(cases) && reader->code == STATUS_OK; i++) {
        const struct json *id = json_at(cases, i);
        snprintf(below, sizeof below, "%s/%zu", where, i);
        if (json_kind(id) != JSON_KIND_STRING) {
            reader_fault(reader, below, "%s; it must be the id of a case", json_kind_name(json_kind(id)));
        }
        text_check(reader, id, below, constants->cases[i], CONSTANTS_ID_BYTES);
        constants->case_count++;
    }
}

static void document_read(struct reader *reader, const struct json *document, struct constants *constants)
{
    char where[WHERE_BYTES];
    schema_check(reader, document);
    const struct json *tool = member_read(reader, document, "", "tool", JSON_KIND_OBJECT, false, where);
    text_read(reader, tool, "/tool", "version", false, constants->tool_version);
    if (json_get(tool, "revision") != NULL) { /* files before it have none */
        text_read(reader, tool, "/tool", "revision", true, constants->tool_revision);
    }
    const struct json *device = member_read(reader, document, "", "device", JSON_KIND_OBJECT, false, where);
    text_read(reader, device, "/device", "kind", false, constants->device.kind);
    text_read(reader, device, "/device", "name", true, constants->device.name);
    if (member_read(reader, device, "/device", "threads", JSON_KIND_INTEGER, true, where) != NULL) {
        constants->device.thread_count = integer_read(reader, device, "/device", "threads", 1, COUNT_MAXIMUM);
    }
    text_read(reader, device, "/device", "target", false, constants->device.target);
    text_read(reader, device, "/device", "driver", true, constants->device.driver);
    text_read(reader, device, "/device", "runtime", true, constants->device.runtime);
    cases_read(reader, document, constants);
    const struct json *context = member_read(reader, document, "", "context", JSON_KIND_OBJECT, false, where);
    if (context != NULL) {
        levels_read(reader, context, where, 0, &constants->context);
    }
    growth_read(reader, document, constants);
}

/* Of the content, whatever its white space. */
static enum status_code hash_write(const struct json *document, char hash[CONSTANTS_HASH_BYTES], struct status *error)
{
    struct text text = {0};
    enum status_code code = json_write(document, 0, &text, error);
    snprintf(hash, CONSTANTS_HASH_BYTES, "%016" PRIx64, hash_text(HASH_START, text_string(&text)));
    text_release(&text);
    return code;
}

enum status_code constants_read(const char *path, struct constants *constants, struct status *error)
{
    struct json *document = NULL;
    struct constants made = {0};
    struct reader reader = {.path = path, .error = error, .code = STATUS_OK};
    enum status_code code = json_parse_file(path, FILE_BYTES_MAXIMUM, &document, error);
    if (code != STATUS_OK) {
        return code;
    }
    if (json_kind(document) != JSON_KIND_OBJECT) {
        reader_fault(&reader, "", "is %s; it must be an object", json_kind_name(json_kind(document)));
    }
    document_read(&reader, document, &made);
    code = reader.code;
    if (code == STATUS_OK) {
        code = hash_write(document, made.hash, error);
    }
    json_release(document);
    if (code == STATUS_OK) {
        snprintf(made.path, sizeof made.path, "%s", path);
        *constants = made;
    }
    return code;
}

bool device_class_is_measured(const char *folder, const char *kind, const char *name)
{
    char path[CONSTANTS_PATH_BYTES], slug[CONSTANTS_NAME_BYTES];
    int length = snprintf(path, sizeof path, "%s/%s/records.jsonl", folder, device_slug(kind, name, slug));
    return length < (int)sizeof path && access(path, F_OK) == 0;
}

enum status_code constants_find(const char *folder, const char *kind, const char *name, int64_t thread_count,
                                struct constants *constants, bool *found, struct status *error)
{
    char path[CONSTANTS_PATH_BYTES], slug[CONSTANTS_NAME_BYTES];
    int length = snprintf(path, sizeof path, "%s/%s/constants.json", folder, device_slug(kind, name, slug));
    if (length >= (int)sizeof path || access(path, F_OK) != 0) {
        *found = false;
        return STATUS_OK;
    }
    struct constants read;
    enum status_code code = constants_read(path, &read, error);
    if (code == STATUS_OK) {
        *found = constants_are_of(&read, kind, name, thread_count);
        *constants = *found ? read : *constants;
    }
    return code;
}
