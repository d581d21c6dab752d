/* JSON writer: values as text, of both kinds that a struct json can be, and text of one line over several. jansson
 * cannot write the shortest real that reads back equal, so this is a walker of our own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/code_point.h"
#include "harness/base/json_flat.h"

/* The bytes of the first character, which stands in a string as it is; 0 for one that does not, and for the end. What
 * acts on a terminal is escaped: people look at documents there. */
static size_t plain_bytes(const char *string)
{
    unsigned char first = (unsigned char)string[0];
    if (first < 0x80) {
        return first >= 0x20 && first != 0x7F && first != '"' && first != '\\' ? 1 : 0;
    }
    uint32_t point;
    size_t length = code_point_decode(string, &point);
    return code_point_is_hidden(point) && point <= 0xFFFF ? 0 : length;
}

/* One that is no plain one; returns its bytes. */
static size_t escape_write(const char *string, struct text *text)
{
    uint32_t point;
    size_t length = code_point_decode(string, &point);
    if (point == '"' || point == '\\') {
        text_format(text, "\\%c", (int)point);
    } else if (point == '\n' || point == '\t') {
        text_append(text, point == '\n' ? "\\n" : "\\t");
    } else {
        text_format(text, "\\u%04x", (unsigned)point);
    }
    return length;
}

/* What stands in a string as it is goes in one piece. */
static void string_write(const char *string, struct text *text)
{
    const char *end = string + strlen(string);
    text_append_bytes(text, "\"", 1);
    while (string < end) {
        size_t plain = json_plain_bytes(string, (size_t)(end - string)), length;
        while ((length = plain_bytes(string + plain)) > 0) {
            plain += length;
        }
        text_append_bytes(text, string, plain);
        string += plain;
        string += string < end ? escape_write(string, text) : 0;
    }
    text_append_bytes(text, "\"", 1);
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

/* A new line, behind the comma of the member or element before if there is one; with indent 0 none. */
static void line_begin(bool is_next, int indent, int depth, struct text *text)
{
    static const char blanks[] = ",\n                                                                ";
    size_t length = 2 + (size_t)indent * (size_t)depth;
    if (indent == 0) {
        text_append(text, is_next ? ", " : "");
    } else if (length < sizeof blanks) {
        text_append_bytes(text, is_next ? blanks : blanks + 1, is_next ? length : length - 1);
    } else {
        text_format(text, "%s\n%*s", is_next ? "," : "", indent * depth, "");
    }
}

static void value_write(const struct json *value, int indent, int depth, struct text *text);

/* The member or element with this number, after that of the number before; key: NULL at first. */
static const struct json *child_next(const struct json *container, size_t number, const struct json *before,
                                     const char **key)
{
    const struct json_flat *flat = json_flat_of(container);
    bool is_object = json_kind(container) == JSON_KIND_OBJECT;
    if (flat != NULL) { /* they follow one another */
        const struct json_flat *child = before == NULL ? flat + 1 : json_flat_of(before) + json_flat_of(before)->size;
        *key = child->key;
        return (const struct json *)child;
    }
    *key = is_object ? json_key_after(container, *key) : NULL;
    return is_object ? json_get(container, *key) : json_at(container, number);
}

static void container_write(const struct json *value, int indent, int depth, struct text *text)
{
    bool is_object = json_kind(value) == JSON_KIND_OBJECT;
    size_t count = json_count(value);
    const char *key = NULL;
    const struct json *child = NULL;
    text_append_bytes(text, is_object ? "{" : "[", 1);
    for (size_t i = 0; i < count; i++) {
        line_begin(i > 0, indent, depth + 1, text);
        child = child_next(value, i, child, &key);
        if (is_object) {
            string_write(key, text);
            text_append_bytes(text, ": ", 2);
        }
        value_write(child, indent, depth + 1, text);
    }
    if (count > 0) {
        line_begin(false, indent, depth, text);
    }
    text_append_bytes(text, is_object ? "}" : "]", 1);
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
        text_integer(text, json_integer_or(value, 0));
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

void json_write_below(const struct json *value, int indent, int depth, struct text *text)
{
    value_write(value, indent, depth, text);
}

enum status_code json_write(const struct json *value, int indent, struct text *text, struct status *error)
{
    value_write(value, indent, 0, text);
    return text_status(text, "a JSON document", error);
}

/* ---- a document that is text already ---- */

struct indenting {
    const char *at, *end;
    const char *begin; /* what stands from here to `at` is copied as it is */
    int indent, depth;
    struct text *text;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void run_end(struct indenting *indenting)
{
    text_append_bytes(indenting->text, indenting->begin, (size_t)(indenting->at - indenting->begin));
    indenting->begin = indenting->at;
}

static void blanks_leave(struct indenting *indenting)
{
    while (indenting->at < indenting->end && is_blank(*indenting->at)) {
        indenting->at++;
    }
    indenting->begin = indenting->at;
}

/* At the first quote. The escapes in it stay; what a string shall not have as it is becomes one. */
static void string_copy(struct indenting *indenting)
{
    const char *at = indenting->at + 1, *end = indenting->end;
    while (at < end && *at != '"') {
        size_t plain = json_plain_bytes(at, (size_t)(end - at));
        plain = plain > 0 ? plain : *at == '\\' && end - at > 1 ? 2 : plain_bytes(at);
        if (plain == 0) {
            indenting->at = at;
            run_end(indenting);
            plain = escape_write(at, indenting->text);
            indenting->begin = at + plain;
        }
        at += plain;
    }
    indenting->at = at < end ? at + 1 : end;
}

/* At '{' or '['. One without members stays in its line. */
static void container_enter(struct indenting *indenting)
{
    indenting->at++;
    run_end(indenting);
    blanks_leave(indenting);
    if (indenting->at < indenting->end && *indenting->at != '}' && *indenting->at != ']') {
        line_begin(false, indenting->indent, ++indenting->depth, indenting->text);
    } else if (indenting->at < indenting->end) {
        indenting->at++;
    }
}

/* At ':'. */
static void colon_pass(struct indenting *indenting)
{
    indenting->at++;
    if (indenting->end - indenting->at > 1 && indenting->at[0] == ' ' && !is_blank(indenting->at[1])) {
        indenting->at++;
        return;
    }
    run_end(indenting);
    text_append_bytes(indenting->text, " ", 1);
    blanks_leave(indenting);
}

void json_indent_below(const char *json, size_t length, int indent, int depth, struct text *text)
{
    static const char mark[] = "\xEF\xBB\xBF"; /* of the order of bytes, which readers pass over */
    struct indenting indenting = {.at = json, .end = json + length, .indent = indent, .depth = depth, .text = text};
    indenting.at += length >= strlen(mark) && memcmp(json, mark, strlen(mark)) == 0 ? strlen(mark) : 0;
    indenting.begin = indenting.at;
    while (indenting.at < indenting.end) {
        const char c = *indenting.at;
        if (c == '"') {
            string_copy(&indenting);
        } else if (c == ':') {
            colon_pass(&indenting);
        } else if (c == '{' || c == '[') {
            container_enter(&indenting);
        } else if (c == '}' || c == ']') {
            run_end(&indenting);
            line_begin(false, indent, --indenting.depth, text);
            indenting.at++;
        } else if (c == ',' || is_blank(c)) {
            run_end(&indenting);
            if (c == ',') {
                line_begin(true, indent, indenting.depth, text);
                indenting.at++;
            }
            blanks_leave(&indenting);
        } else {
            indenting.at++; /* of a number or a word */
        }
    }
    run_end(&indenting);
}
