/* JSON scanner: texts of one document each, read into one array that is used again for the next. An order of magnitude
 * faster than a tree of allocations, for files of many lines.
 *
 * It accepts less than jansson does and nothing else: what it does not accept (an error, or something rare: surrogates,
 * integers of 19 digits, deep nesting, objects of many members) is given to jansson, whose word counts. So the errors,
 * too, are those of json_parse_text. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/array.h"
#include "harness/base/code_point.h"
#include "harness/base/json_flat.h"

enum { DEPTH_MAXIMUM = 64, DIGITS_MAXIMUM = 18, WHOLE_DIGITS_MAXIMUM = 50, EXPONENT_DIGITS = 2 };

struct json_scanner {
    struct json_flat *values;
    size_t capacity;
    struct json *tree; /* of jansson, where the last text was given to it */
};

/* One pass over a text. */
struct scan {
    struct json_scanner *scanner;
    const char *at, *end;
    size_t count;               /* values so far */
    size_t open[DEPTH_MAXIMUM]; /* the containers that are not closed yet, by index */
    int depth;
    bool no_memory;
};

struct json_scanner *json_scanner_new(void)
{
    return calloc(1, sizeof(struct json_scanner));
}

void json_scanner_release(struct json_scanner *scanner)
{
    if (scanner != NULL) {
        free(scanner->values);
        json_release(scanner->tree);
        free(scanner);
    }
}

static struct json_flat *value_add(struct scan *scan, enum json_kind kind)
{
    struct json_scanner *scanner = scan->scanner;
    if (scan->count == scanner->capacity) {
        struct json_flat *values = array_extend(scanner->values, scan->count, &scanner->capacity, sizeof *values);
        if (values == NULL) {
            scan->no_memory = true;
            return NULL;
        }
        scanner->values = values;
    }
    struct json_flat *value = &scanner->values[scan->count++];
    *value = (struct json_flat){.type = FLAT_TYPES + (int)kind, .size = 1, .first_guess = 1};
    return value;
}

static void blanks_pass(struct scan *scan)
{
    while (scan->at < scan->end && (*scan->at == ' ' || *scan->at == '\t' || *scan->at == '\n' || *scan->at == '\r')) {
        scan->at++;
    }
}

/* "\n", "\u00e9": whether it is one that string_settle knows. Passes it. */
static bool escape_pass(struct scan *scan)
{
    if (scan->end - scan->at < 2) {
        return false;
    }
    char kind = scan->at[1];
    if (kind != 'u') {
        scan->at += 2;
        return kind != '\0' && strchr("\"\\/bfnrt", kind) != NULL;
    }
    if (scan->end - scan->at < 6) {
        return false;
    }
    unsigned code = 0;
    for (int i = 2; i < 6; i++) {
        char digit = scan->at[i];
        unsigned value = digit >= '0' && digit <= '9'   ? (unsigned)(digit - '0')
                         : digit >= 'a' && digit <= 'f' ? (unsigned)(digit - 'a') + 10
                         : digit >= 'A' && digit <= 'F' ? (unsigned)(digit - 'A') + 10
                                                        : 16;
        if (value == 16) {
            return false;
        }
        code = code * 16 + value;
    }
    scan->at += 6;
    return code != 0 && (code < 0xD800 || code > 0xDFFF);
}

/* Behind the first quote: passes the string and its second quote. */
static bool string_pass(struct scan *scan, const char **text, size_t *length, bool *escapes)
{
    const char *begin = scan->at;
    *escapes = false;
    for (;;) {
        scan->at += json_plain_bytes(scan->at, (size_t)(scan->end - scan->at));
        if (scan->at == scan->end) {
            return false;
        }
        unsigned char c = (unsigned char)*scan->at;
        if (c == '"') {
            break;
        }
        if (c == '\\') {
            *escapes = true;
            if (!escape_pass(scan)) {
                return false;
            }
        } else {
            size_t bytes = c < 0x20 ? 0 : code_point_length(scan->at, (size_t)(scan->end - scan->at));
            if (bytes == 0) {
                return false;
            }
            scan->at += bytes;
        }
    }
    *text = begin;
    *length = (size_t)(scan->at - begin);
    scan->at++;
    return *length < UINT32_MAX;
}

static size_t digits_pass(struct scan *scan)
{
    const char *begin = scan->at;
    while (scan->at < scan->end && *scan->at >= '0' && *scan->at <= '9') {
        scan->at++;
    }
    return (size_t)(scan->at - begin);
}

/* What stands behind the digits of a whole number: a fraction, an exponent. Small enough for no number to be too
 * large. */
static bool fraction_pass(struct scan *scan)
{
    if (*scan->at == '.') {
        scan->at++;
        if (digits_pass(scan) == 0) {
            return false;
        }
    }
    if (scan->at < scan->end && (*scan->at == 'e' || *scan->at == 'E')) {
        scan->at++;
        scan->at += scan->at < scan->end && (*scan->at == '+' || *scan->at == '-') ? 1 : 0;
        size_t digits = digits_pass(scan);
        return digits > 0 && digits <= EXPONENT_DIGITS;
    }
    return true;
}

static bool number_pass(struct scan *scan)
{
    const char *begin = scan->at;
    bool negative = *begin == '-';
    scan->at += negative ? 1 : 0;
    const char *first = scan->at;
    size_t digits = digits_pass(scan);
    if (digits == 0 || (digits > 1 && *first == '0')) {
        return false;
    }
    bool whole = scan->at == scan->end || (*scan->at != '.' && *scan->at != 'e' && *scan->at != 'E');
    struct json_flat *value = value_add(scan, whole ? JSON_KIND_INTEGER : JSON_KIND_REAL);
    if (value == NULL) {
        return false;
    }
    if (!whole) {
        bool read = digits <= WHOLE_DIGITS_MAXIMUM && fraction_pass(scan);
        value->value.text = begin;
        value->count = (uint32_t)(scan->at - begin);
        return read && scan->at - begin < 256;
    }
    int64_t integer = 0;
    for (const char *at = first; at < scan->at && digits <= DIGITS_MAXIMUM; at++) {
        integer = integer * 10 + (*at - '0');
    }
    value->value.integer = negative ? -integer : integer;
    return digits <= DIGITS_MAXIMUM;
}

static bool word_pass(struct scan *scan, const char *word, enum json_kind kind, uint32_t count)
{
    size_t length = strlen(word);
    if ((size_t)(scan->end - scan->at) < length || memcmp(scan->at, word, length) != 0) {
        return false;
    }
    scan->at += length;
    struct json_flat *value = value_add(scan, kind);
    if (value != NULL) {
        value->count = count;
    }
    return value != NULL;
}

static bool container_open(struct scan *scan, enum json_kind kind)
{
    scan->at++;
    if (scan->depth == DEPTH_MAXIMUM || value_add(scan, kind) == NULL) {
        return false;
    }
    scan->open[scan->depth++] = scan->count - 1;
    return true;
}

/* A value, or the beginning of a container. */
static bool value_pass(struct scan *scan)
{
    if (scan->at == scan->end) {
        return false;
    }
    switch (*scan->at) {
    case '{':
        return container_open(scan, JSON_KIND_OBJECT);
    case '[':
        return container_open(scan, JSON_KIND_ARRAY);
    case '"': {
        struct json_flat *value = value_add(scan, JSON_KIND_STRING);
        const char *text = NULL;
        size_t length = 0;
        bool escapes = false;
        scan->at++;
        if (value == NULL || !string_pass(scan, &text, &length, &escapes)) {
            return false;
        }
        value->value.text = text;
        value->count = (uint32_t)length;
        value->first_guess = escapes ? 1 : 0; /* for string_settle */
        return true;
    }
    case 't':
        return word_pass(scan, "true", JSON_KIND_BOOLEAN, 1);
    case 'f':
        return word_pass(scan, "false", JSON_KIND_BOOLEAN, 0);
    case 'n':
        return word_pass(scan, "null", JSON_KIND_NULL, 0);
    default:
        return number_pass(scan);
    }
}

/* Whether no member before this one of the object, its last, has the same key. */
static bool member_is_new(const struct json_flat *object, const struct json_flat *last)
{
    for (const struct json_flat *member = object + 1; member < last; member += member->size) {
        if (member->key_hash == last->key_hash && member->key_length == last->key_length &&
            memcmp(member->key, last->key, last->key_length) == 0) {
            return false;
        }
    }
    return true;
}

/* The key of a member and its colon, then its value. */
static bool member_pass(struct scan *scan)
{
    const size_t object_index = scan->open[scan->depth - 1], index = scan->count;
    const char *key = NULL;
    size_t length = 0;
    bool escapes = false;
    if (scan->at == scan->end || *scan->at != '"') {
        return false;
    }
    scan->at++;
    if (!string_pass(scan, &key, &length, &escapes) || escapes) {
        return false;
    }
    blanks_pass(scan);
    if (scan->at == scan->end || *scan->at != ':') {
        return false;
    }
    scan->at++;
    blanks_pass(scan);
    if (!value_pass(scan)) {
        return false;
    }
    struct json_flat *value = &scan->scanner->values[index];
    value->key = key;
    value->key_length = (uint32_t)length;
    value->key_hash = json_flat_hash(key, length);
    struct json_flat *object = &scan->scanner->values[object_index];
    const uint64_t before = object->value.key_bits;
    object->value.key_bits = before | json_flat_bit(value->key_hash);
    return object->value.key_bits != before || member_is_new(object, value);
}

static void container_close(struct scan *scan)
{
    struct json_flat *container = &scan->scanner->values[scan->open[--scan->depth]];
    container->size = (uint32_t)(scan->count - scan->open[scan->depth]);
    scan->at++;
}

/* One step in the innermost container: its end, or one more member or element. */
static bool container_step(struct scan *scan)
{
    struct json_flat *container = &scan->scanner->values[scan->open[scan->depth - 1]];
    bool is_object = container->type == FLAT_TYPES + JSON_KIND_OBJECT;
    blanks_pass(scan);
    if (scan->at == scan->end) {
        return false;
    }
    if (*scan->at == (is_object ? '}' : ']')) {
        container_close(scan);
        return true;
    }
    if (container->count > 0) {
        if (*scan->at != ',') {
            return false;
        }
        scan->at++;
        blanks_pass(scan);
    }
    container->count++;
    return !is_object                                ? value_pass(scan)
           : container->count > FLAT_MEMBERS_MAXIMUM ? false /* whether a key stands twice is for jansson to say */
                                                     : member_pass(scan);
}

static bool document_pass(struct scan *scan)
{
    blanks_pass(scan);
    bool right = value_pass(scan);
    while (right && scan->depth > 0) {
        right = container_step(scan);
    }
    blanks_pass(scan);
    return right && scan->at == scan->end;
}

/* Takes the escapes out, in place: what they stand for is never longer. Returns the new length. */
static size_t string_settle(char *text, size_t length)
{
    static const char names[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    size_t kept = 0;
    for (size_t at = 0; at < length;) {
        if (text[at] != '\\') {
            text[kept++] = text[at++];
        } else if (text[at + 1] != 'u') {
            text[kept++] = meant[strchr(names, text[at + 1]) - names];
            at += 2;
        } else {
            char digits[5] = {text[at + 2], text[at + 3], text[at + 4], text[at + 5], '\0'};
            kept += code_point_encode((uint32_t)strtoul(digits, NULL, 16), text + kept);
            at += 6;
        }
    }
    return kept;
}

/* The text was right: its strings get their ends. The quotes behind them are not needed any more. */
static void strings_settle(const struct scan *scan)
{
    for (size_t i = 0; i < scan->count; i++) {
        struct json_flat *value = &scan->scanner->values[i];
        if (value->key != NULL) {
            ((char *)(uintptr_t)value->key)[value->key_length] = '\0';
        }
        if (value->type == FLAT_TYPES + JSON_KIND_STRING) {
            char *text = (char *)(uintptr_t)value->value.text;
            if (value->first_guess != 0) {
                value->count = (uint32_t)string_settle(text, value->count);
            }
            text[value->count] = '\0';
        }
    }
}

enum status_code json_scan_text(struct json_scanner *scanner, const char *name, char *text, size_t length,
                                const struct json **document, struct status *error)
{
    struct scan scan = {.scanner = scanner, .at = text, .end = text + length};
    json_release(scanner->tree);
    scanner->tree = NULL;
    if (document_pass(&scan)) {
        strings_settle(&scan);
        *document = (const struct json *)scanner->values;
        return STATUS_OK;
    }
    if (scan.no_memory) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "%s: the host has not enough memory to read it", name);
    }
    enum status_code code = json_parse_text(name, text, length, &scanner->tree, error);
    if (code == STATUS_OK) {
        *document = scanner->tree;
    }
    return code;
}
