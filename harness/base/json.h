/* JSON: the one door to jansson. Nobody else includes its header.
 *
 * A `struct json *` is a reference: made by json_parse_*, json_object_new or json_array_new, given back with
 * json_release. Pointers that a getter returns are borrowed from their parent. Reading is strict:
 * one document, no duplicate keys, no NaN (but in files of Python's), numbers whole. A byte order mark of UTF-8 at the
 * front is passed over.
 *
 * The readers end in _or because jansson exports json_string, json_integer and json_real: a function of ours by
 * one of those names would take the place of its own when the program is loaded. */
#ifndef ASSAY_BASE_JSON_H
#define ASSAY_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/status.h"
#include "harness/base/text.h"

struct json; /* opaque */

enum json_kind {
    JSON_KIND_NULL,
    JSON_KIND_BOOLEAN,
    JSON_KIND_INTEGER,
    JSON_KIND_REAL,
    JSON_KIND_STRING,
    JSON_KIND_ARRAY,
    JSON_KIND_OBJECT
};

/* Parses a whole file of at most maximum_bytes. STATUS_INVALID with "FILE:LINE:COLUMN: cause; remedy";
 * STATUS_IO if it cannot be read or is not a regular file, for which nothing is waited. The result is released by
 * the caller. */
enum status_code json_parse_file(const char *path, size_t maximum_bytes, struct json **document, struct status *error);

/* The same of a file that Python's json module may have written, as it reads it: NaN, Infinity and -Infinity are real
 * numbers. Finite ones stand for them (json_python_number), so that no reader meets what strict JSON cannot say. */
enum status_code json_parse_python_file(const char *path, size_t maximum_bytes, struct json **document,
                                        struct status *error);

/* Parses text of length bytes; name stands for the file in messages. */
enum status_code json_parse_text(const char *name, const char *text, size_t length, struct json **document,
                                 struct status *error);

void json_release(struct json *value); /* NULL is accepted */

/* A reader of many texts, one after the other: the memory of one document is used again for the next, and it is many
 * times as fast. */
struct json_scanner; /* opaque */

struct json_scanner *json_scanner_new(void);             /* NULL if memory ran out */
void json_scanner_release(struct json_scanner *scanner); /* NULL is accepted */

/* Reads text as json_parse_text does, with the same errors. *document is borrowed from scanner until its next text, and
 * text, whose bytes it uses and changes, must stay as long. What is to be kept is copied with json_copy_new: a value of
 * *document is never released, shared, set or appended. After an error text is as it was. */
enum status_code json_scan_text(struct json_scanner *scanner, const char *name, char *text, size_t length,
                                const struct json **document, struct status *error);

enum json_kind json_kind(const struct json *value); /* NULL counts as JSON_KIND_NULL */
const char *json_kind_name(enum json_kind kind);    /* "null", "a boolean", "an integer", ... */

/* Readers that do not fail: NULL or the fallback if the member is absent or of another kind. */
struct json *json_get(const struct json *object, const char *key);
struct json *json_at(const struct json *array, size_t index);
size_t json_count(const struct json *container); /* members or elements; 0 for scalars */
const char *json_string_or(const struct json *value, const char *fallback);
int64_t json_integer_or(const struct json *value, int64_t fallback);
double json_real_or(const struct json *value, double fallback); /* integers too */
bool json_boolean_or(const struct json *value, bool fallback);

/* Members in the order in which they stand in the file. json_key_at walks to the index (which must be < json_count);
 * to visit all of a large object use json_key_after: NULL gives the first key, the last key gives NULL. */
const char *json_key_at(const struct json *object, size_t index);
const char *json_key_after(const struct json *object, const char *key);

/* Writers. NULL if memory ran out; json_set and json_append accept a NULL container or child and then return
 * false.
 * They take over the reference to child, also on failure. */
struct json *json_object_new(void);
struct json *json_array_new(void);
struct json *json_null_new(void);
struct json *json_string_new(const char *text); /* text that is not UTF-8 is written with U+FFFD for each bad byte */
struct json *json_integer_new(int64_t value);
struct json *json_real_new(double value); /* null for NaN and infinities */
struct json *json_boolean_new(bool value);
bool json_set(struct json *object, const char *key, struct json *child);
bool json_append(struct json *array, struct json *child);
void json_remove(struct json *object, const char *key); /* does nothing if there is no such member */
struct json *json_share(struct json *value);            /* one more reference to the same value */

/* A copy with all that is below it; NULL if memory ran out. */
struct json *json_copy_new(const struct json *value);

/* The end of a chain of writers: value where all of them succeeded (made), else NULL after releasing it. */
struct json *json_made(struct json *value, bool made);

/* One line without spaces at ends, members in insertion order; with indent > 0 one member a line. Appends to text. */
enum status_code json_write(const struct json *value, int indent, struct text *text, struct status *error);

/* The same of a value that stands depth levels down in a document which the caller writes piece by piece, because it is
 * too large to be made as a whole. Memory that ran out is remembered by text. */
void json_write_below(const struct json *value, int indent, int depth, struct text *text);

/* The same of a value that is text: one document that a reader has accepted. Its blanks are written anew; its numbers
 * and the escapes in its strings stay as they are, and what json_write would escape is escaped. Of text that json_write
 * has made it writes what json_write_below does, and need not read it into values. */
void json_indent_below(const char *json, size_t length, int indent, int depth, struct text *text);

#endif
