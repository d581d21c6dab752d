/* Status: formatting of error texts. Not a log: nothing is printed here. */
#include "harness/base/status.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/code_point.h"

static void text_cut(char *text, int wanted)
{
    if (wanted >= STATUS_TEXT_BYTES) {
        memcpy(text + STATUS_TEXT_BYTES - 4, "...", 4);
    }
}

/* What a file says is quoted in texts, and a terminal obeys some characters; others end a line for those who read a
 * log. */
static void text_clean(char *text)
{
    char *end = text;
    while (*text != '\0') {
        uint32_t point;
        size_t length = code_point_decode(text, &point);
        if (point == 0xFFFD || code_point_is_hidden(point) || (code_point_is_space(point) && point != ' ')) {
            *end++ = '?';
        } else {
            memmove(end, text, length);
            end += length;
        }
        text += length;
    }
    *end = '\0';
}

/* The end of a path that is too long, from a whole character. */
static void path_keep(const char *path, char kept[STATUS_PATH_BYTES])
{
    size_t length = strlen(path);
    bool fits = length < STATUS_PATH_BYTES;
    const char *from = fits ? path : path + length - (STATUS_PATH_BYTES - 4);
    while (!fits && code_point_goes_on(*from)) {
        from++;
    }
    snprintf(kept, STATUS_PATH_BYTES, "%s%s", fits ? "" : "...", from);
    text_clean(kept);
}

static void status_write(struct status *error, enum status_code code, struct file_place place, const char *format,
                         va_list arguments)
{
    struct status made = {.code = code, .spelling = error->spelling};
    int wanted = vsnprintf(made.text, sizeof made.text, format, arguments); /* they may point into *error */
    text_cut(made.text, wanted);
    text_clean(made.text);
    if (place.path != NULL && place.path[0] != '\0') {
        path_keep(place.path, made.path);
        made.line = place.line;
        made.column = place.column;
    }
    *error = made;
}

enum status_code status_set(struct status *error, enum status_code code, const char *format, ...)
{
    if (error != NULL) {
        va_list arguments;
        va_start(arguments, format);
        status_write(error, code, (struct file_place){0}, format, arguments);
        va_end(arguments);
    }
    return code;
}

enum status_code status_set_at(struct status *error, enum status_code code, struct file_place place, const char *format,
                               ...)
{
    if (error != NULL) {
        va_list arguments;
        va_start(arguments, format);
        status_write(error, code, place, format, arguments);
        va_end(arguments);
    }
    return code;
}

void status_place(struct status *error, struct file_place place)
{
    char line[STATUS_LINE_BYTES];
    if (error != NULL && place.path != NULL && place.path[0] != '\0') {
        status_set_at(error, error->code, place, "%s", status_line(error, line));
    }
}

void status_prefix(struct status *error, const char *format, ...)
{
    if (error == NULL) {
        return;
    }
    char prefix[STATUS_TEXT_BYTES], line[STATUS_LINE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    int wanted = vsnprintf(prefix, sizeof prefix, format, arguments);
    va_end(arguments);
    text_cut(prefix, wanted);
    status_set(error, error->code, "%s: %s", prefix, status_line(error, line));
}

void status_extend(struct status *error, const char *format, ...)
{
    if (error == NULL) {
        return;
    }
    char more[STATUS_TEXT_BYTES];
    va_list arguments;
    va_start(arguments, format);
    int wanted = vsnprintf(more, sizeof more, format, arguments);
    va_end(arguments);
    text_cut(more, wanted);
    status_set_at(error, error->code, (struct file_place){error->path, error->line, error->column}, "%s%s", error->text,
                  more);
}

enum status_code status_copy(struct status *error, enum status_code code, const struct status *cause)
{
    if (error != NULL) {
        enum status_spelling spelling = error->spelling;
        *error = *cause;
        error->code = code;
        error->spelling = spelling;
    }
    return code;
}

const char *status_line(const struct status *error, char line[STATUS_LINE_BYTES])
{
    if (error->path[0] == '\0') {
        snprintf(line, STATUS_LINE_BYTES, "%s", error->text);
    } else if (error->line == 0) {
        snprintf(line, STATUS_LINE_BYTES, "%s: %s", error->path, error->text);
    } else {
        snprintf(line, STATUS_LINE_BYTES, "%s:%d:%d: %s", error->path, error->line, error->column, error->text);
    }
    return line;
}

const char *status_code_name(enum status_code code)
{
    static const char *const names[] = {"ok",          "invalid", "overflow", "out of memory",
                                        "unavailable", "device",  "no GPU",   "busy",
                                        "interrupted", "io",      "internal"};
    return (unsigned)code < sizeof names / sizeof names[0] ? names[code] : "unknown";
}
