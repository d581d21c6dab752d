/* Text: growth by doubling. Not for binary patches or editing in the middle. */
#include "harness/base/text.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FORMAT_BYTES = 64 }; /* that most formatted pieces need at most */

static bool text_grow(struct text *text, size_t extra)
{
    if (text->failed || extra > SIZE_MAX / 4 || text->length > SIZE_MAX / 4) {
        text->failed = true;
        return false;
    }
    size_t wanted = text->length + extra + 1;
    size_t capacity = text->capacity > 0 ? text->capacity : 128;
    while (capacity < wanted) {
        capacity *= 2;
    }
    char *data = realloc(text->data, capacity);
    if (data == NULL) {
        text->failed = true;
        return false;
    }
    text->data = data;
    text->capacity = capacity;
    return true;
}

/* Room for extra bytes and a zero byte. Pages are made of very many small pieces, so there is no call where there is
 * room. */
static inline bool text_reserve(struct text *text, size_t extra)
{
    return (!text->failed && extra < text->capacity - text->length) || text_grow(text, extra);
}

/* Whole lines only: who appends may still look at the end of the last one. */
static void text_hand_over(struct text *text)
{
    const char *newline = memrchr(text->data, '\n', text->length);
    size_t count = newline != NULL ? (size_t)(newline - text->data) + 1 : 0;
    if (count > 0 && !text->drain->take(text->drain, text->data, count)) {
        text->failed = true;
    }
    text->length -= count;
    memmove(text->data, text->data + count, text->length + 1);
    text->drain_at = text->length >= TEXT_DRAIN_BYTES / 2 ? 2 * text->length : TEXT_DRAIN_BYTES;
}

static inline void text_drain(struct text *text)
{
    if (text->drain != NULL && text->length >= TEXT_DRAIN_BYTES && text->length >= text->drain_at && !text->failed) {
        text_hand_over(text);
    }
}

void text_append_bytes(struct text *text, const char *bytes, size_t count)
{
    if (text_reserve(text, count)) {
        memcpy(text->data + text->length, bytes, count);
        text->length += count;
        text->data[text->length] = '\0';
        text_drain(text);
    }
}

void text_append(struct text *text, const char *string)
{
    text_append_bytes(text, string, strlen(string));
}

void text_format(struct text *text, const char *format, ...)
{
    va_list arguments;
    if (!text_reserve(text, FORMAT_BYTES)) {
        return;
    }
    size_t room = text->capacity - text->length;
    va_start(arguments, format);
    int length = vsnprintf(text->data + text->length, room, format, arguments);
    va_end(arguments);
    if (length >= 0 && (size_t)length < room) { /* as a rule: then it is formatted once */
        text->length += (size_t)length;
        text_drain(text);
        return;
    }
    if (length < 0 || !text_reserve(text, (size_t)length)) {
        text->failed = true;
        text->data[text->length] = '\0';
        return;
    }
    va_start(arguments, format);
    vsnprintf(text->data + text->length, (size_t)length + 1, format, arguments);
    va_end(arguments);
    text->length += (size_t)length;
    text_drain(text);
}

const char *text_string(const struct text *text)
{
    return text->data != NULL ? text->data : "";
}

void text_integer(struct text *text, int64_t value)
{
    char digits[24];
    size_t at = sizeof digits;
    uint64_t left = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do {
        digits[--at] = (char)('0' + left % 10);
        left /= 10;
    } while (left > 0);
    if (value < 0) {
        digits[--at] = '-';
    }
    text_append_bytes(text, digits + at, sizeof digits - at);
}

enum status_code text_status(const struct text *text, const char *what, struct status *error)
{
    if (!text->failed) {
        return STATUS_OK;
    }
    if (text->drain != NULL && text->drain->error.code != STATUS_OK) {
        return status_copy(error, text->drain->error.code, &text->drain->error);
    }
    return status_set(error, STATUS_OUT_OF_MEMORY, "no memory for %s", what);
}

void text_release(struct text *text)
{
    free(text->data);
    *text = (struct text){0};
}
