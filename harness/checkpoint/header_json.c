/* Header JSON: a tokenizer, not a tree: see the header for why it is not harness/base/json. */
#include "harness/checkpoint/header_json.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/code_point.h"

void header_begin(struct header_json *json, struct byte_source *source, int64_t offset, int64_t end,
                  struct status *error)
{
    window_begin(&json->window, source, offset, end);
    json->error = error;
    json->code = STATUS_OK;
    json->first = true;
    json->length = 0;
    json->is_cut = false;
    json->string[0] = '\0';
}

void header_fault(struct header_json *json, const char *format, ...)
{
    char cause[STATUS_TEXT_BYTES];
    va_list arguments;
    if (json->code != STATUS_OK) {
        return;
    }
    va_start(arguments, format);
    vsnprintf(cause, sizeof cause, format, arguments);
    va_end(arguments);
    json->code = status_set(json->error, STATUS_INVALID, "%s: byte %" PRId64 ": %s", json->window.source->name,
                            json->window.offset, cause);
}

/* The next byte, not passed; -1 at the end or after a fault. */
static int byte_peek(struct header_json *json)
{
    int byte = -1;
    if (json->code == STATUS_OK) {
        json->code = window_peek(&json->window, &byte, json->error);
    }
    return json->code == STATUS_OK ? byte : -1;
}

static void byte_pass(struct header_json *json)
{
    json->window.offset++;
}

int header_next(struct header_json *json)
{
    int byte = byte_peek(json);
    while (byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r') {
        byte_pass(json);
        byte = byte_peek(json);
    }
    return byte;
}

/* Fails: names the byte that stands where `what` should be. */
static void byte_refuse(struct header_json *json, const char *what)
{
    int byte = byte_peek(json);
    if (byte < 0) {
        header_fault(json, "the header ends where %s should be; fetch the file again", what);
    } else if (byte > 0x20 && byte < 0x7F) {
        header_fault(json, "'%c' stands where %s should be; fetch the file again", byte, what);
    } else {
        header_fault(json, "the byte 0x%02x stands where %s should be; fetch the file again", (unsigned)byte, what);
    }
}

static void character_pass(struct header_json *json, char character)
{
    if (header_next(json) == character) {
        byte_pass(json);
        return;
    }
    const char name[] = {'\'', character, '\'', '\0'};
    byte_refuse(json, name);
}

void header_open(struct header_json *json, char bracket)
{
    character_pass(json, bracket);
    json->first = true;
}

bool header_more(struct header_json *json, char closing)
{
    if (header_next(json) == closing) {
        byte_pass(json);
        json->first = false; /* what has just ended was a member of what is around it */
        return false;
    }
    if (!json->first) {
        character_pass(json, ',');
        if (header_next(json) == closing) {
            header_fault(json, "a comma stands before '%c'; fetch the file again", closing);
        }
    }
    json->first = false;
    return json->code == STATUS_OK;
}

static void string_add(struct header_json *json, const char *bytes, size_t count)
{
    if (json->is_cut || json->length + count >= HEADER_STRING_BYTES) {
        json->is_cut = true;
        return;
    }
    memcpy(json->string + json->length, bytes, count);
    json->length += count;
    json->string[json->length] = '\0';
}

static void code_point_add(struct header_json *json, uint32_t point)
{
    char bytes[CODE_POINT_BYTES];
    size_t count = code_point_encode(point, bytes);
    string_add(json, bytes, count);
}

/* Four hexadecimal digits. */
static uint32_t unit_take(struct header_json *json)
{
    uint32_t unit = 0;
    for (int i = 0; i < 4; i++) {
        int byte = byte_peek(json);
        int digit = byte >= '0' && byte <= '9'   ? byte - '0'
                    : byte >= 'a' && byte <= 'f' ? byte - 'a' + 10
                    : byte >= 'A' && byte <= 'F' ? byte - 'A' + 10
                                                 : -1;
        if (digit < 0) {
            byte_refuse(json, "a hexadecimal digit");
            return 0;
        }
        unit = unit << 4 | (uint32_t)digit;
        byte_pass(json);
    }
    return unit;
}

/* What follows "\u": a character, or two surrogates that are one. */
static void unicode_pass(struct header_json *json)
{
    uint32_t unit = unit_take(json);
    if (unit >= 0xD800 && unit < 0xDC00) {
        bool escaped = byte_peek(json) == '\\';
        if (escaped) {
            byte_pass(json);
            escaped = byte_peek(json) == 'u';
        }
        if (escaped) {
            byte_pass(json);
            uint32_t low = unit_take(json);
            unit = low >= 0xDC00 && low < 0xE000 ? 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00) : unit;
        }
    }
    if (unit >= 0xD800 && unit < 0xE000) {
        header_fault(json, "half a character of UTF-16; fetch the file again");
    } else if (unit == 0 && json->code == STATUS_OK) {
        header_fault(json, "a zero character in a string; fetch the file again");
    } else if (json->code == STATUS_OK) {
        code_point_add(json, unit);
    }
}

/* What follows a backslash. */
static void escape_pass(struct header_json *json)
{
    static const char escapes[] = "\"\\/bfnrt";
    static const char meanings[] = "\"\\/\b\f\n\r\t";
    int byte = byte_peek(json);
    const char *escape = byte > 0 ? strchr(escapes, byte) : NULL;
    if (byte == 'u') {
        byte_pass(json);
        unicode_pass(json);
    } else if (escape != NULL) {
        byte_pass(json);
        code_point_add(json, (uint32_t)meanings[escape - escapes]);
    } else {
        byte_refuse(json, "an escape");
    }
}

/* A character of more than one byte. */
static void sequence_pass(struct header_json *json, int lead)
{
    char bytes[CODE_POINT_BYTES] = {(char)lead};
    size_t have = 1, count;
    while ((count = code_point_expect(bytes, have)) > have) {
        byte_pass(json);
        bytes[have++] = (char)byte_peek(json); /* -1, where nothing follows, is no byte of UTF-8 */
    }
    if (count == 0) {
        header_fault(json, "this is not UTF-8; fetch the file again");
        return;
    }
    byte_pass(json);
    string_add(json, bytes, count);
}

void header_string(struct header_json *json)
{
    json->length = 0;
    json->is_cut = false;
    json->string[0] = '\0';
    if (header_next(json) != '"') {
        byte_refuse(json, "a string");
        return;
    }
    byte_pass(json);
    int byte;
    while ((byte = byte_peek(json)) != '"' && json->code == STATUS_OK) {
        if (byte < 0x20) {
            byte_refuse(json, "the end of a string");
        } else if (byte == '\\') {
            byte_pass(json);
            escape_pass(json);
        } else if (byte < 0x80) {
            byte_pass(json);
            string_add(json, (const char[]){(char)byte}, 1);
        } else {
            sequence_pass(json, byte);
        }
    }
    byte_pass(json);
}

void header_key(struct header_json *json)
{
    header_string(json);
    if (json->code == STATUS_OK && json->is_cut) {
        header_fault(json, "a name of more than %d bytes; this is not the file that is meant", HEADER_STRING_BYTES - 1);
    }
    character_pass(json, ':');
}

int64_t header_integer(struct header_json *json)
{
    int byte = header_next(json);
    int64_t value = 0;
    if (byte < '0' || byte > '9') {
        byte_refuse(json, "a whole number that is not negative");
        return 0;
    }
    bool leading_zero = byte == '0';
    for (int digits = 0; byte >= '0' && byte <= '9'; digits++) {
        if (leading_zero && digits > 0) {
            header_fault(json, "a number with a leading zero; fetch the file again");
        } else if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, byte - '0', &value)) {
            header_fault(json, "a number beyond 63 bits; fetch the file again");
        } else {
            byte_pass(json);
        }
        byte = byte_peek(json);
    }
    if (byte == '.' || byte == 'e' || byte == 'E') {
        byte_refuse(json, "the end of a whole number");
    }
    return json->code == STATUS_OK ? value : 0;
}

static void digits_pass(struct header_json *json, const char *what)
{
    int count = 0;
    for (int byte = byte_peek(json); byte >= '0' && byte <= '9'; byte = byte_peek(json)) {
        byte_pass(json);
        count++;
    }
    if (count == 0) {
        byte_refuse(json, what);
    }
}

/* A number of any form: -1.5e+10. */
static void number_skip(struct header_json *json)
{
    if (byte_peek(json) == '-') {
        byte_pass(json);
    }
    if (byte_peek(json) == '0') {
        byte_pass(json);
    } else {
        digits_pass(json, "a value");
    }
    if (byte_peek(json) == '.') {
        byte_pass(json);
        digits_pass(json, "a digit");
    }
    int byte = byte_peek(json);
    if (byte == 'e' || byte == 'E') {
        byte_pass(json);
        byte = byte_peek(json);
        if (byte == '+' || byte == '-') {
            byte_pass(json);
        }
        digits_pass(json, "a digit");
    }
}

static void scalar_skip(struct header_json *json)
{
    static const char *const words[] = {"true", "false", "null"};
    int byte = header_next(json);
    if (byte == '"') {
        header_string(json);
        return;
    }
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (byte == words[i][0]) {
            for (const char *c = words[i]; *c != '\0' && json->code == STATUS_OK; c++) {
                if (byte_peek(json) != *c) {
                    byte_refuse(json, words[i]);
                    return;
                }
                byte_pass(json);
            }
            return;
        }
    }
    number_skip(json);
}

void header_skip(struct header_json *json)
{
    char closings[HEADER_DEPTH_MAXIMUM] = {0};
    int depth = 0;
    do {
        int byte = header_next(json);
        if (byte == '{' || byte == '[') {
            if (depth == HEADER_DEPTH_MAXIMUM) {
                header_fault(json, "more than %d levels are nested; this is not the file that is meant",
                             HEADER_DEPTH_MAXIMUM);
                return;
            }
            header_open(json, (char)byte);
            closings[depth++] = byte == '{' ? '}' : ']';
        } else {
            scalar_skip(json);
            json->first = false;
        }
        while (depth > 0 && !header_more(json, closings[depth - 1])) {
            if (json->code != STATUS_OK) {
                return;
            }
            depth--;
        }
        if (depth > 0 && closings[depth - 1] == '}') {
            header_key(json);
        }
    } while (depth > 0 && json->code == STATUS_OK);
}

void header_end(struct header_json *json)
{
    if (header_next(json) >= 0) {
        byte_refuse(json, "the end of the header");
    }
}
