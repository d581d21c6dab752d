/* Status: formatting of error texts. Not a log: nothing is printed here. */
#include "harness/base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/code_point.h"

static void text_cut(char *text, int wanted)
{
    if (wanted >= STATUS_TEXT_BYTES) {
        memcpy(text + STATUS_TEXT_BYTES - 4, "...", 4);
    }
}

/* What a file says is quoted in texts, and a terminal obeys some characters. */
static void text_clean(char *text)
{
    char *end = text;
    while (*text != '\0') {
        uint32_t point;
        size_t length = code_point_decode(text, &point);
        if (point == 0xFFFD || code_point_is_hidden(point)) {
            *end++ = '?';
        } else {
            memmove(end, text, length);
            end += length;
        }
        text += length;
    }
    *end = '\0';
}

enum status_code status_set(struct status *error, enum status_code code, const char *format, ...)
{
    if (error != NULL) {
        va_list arguments;
        char text[STATUS_TEXT_BYTES]; /* the arguments may point into error->text */
        va_start(arguments, format);
        int wanted = vsnprintf(text, sizeof text, format, arguments);
        va_end(arguments);
        text_cut(text, wanted);
        text_clean(text);
        error->code = code;
        snprintf(error->text, sizeof error->text, "%s", text);
    }
    return code;
}

void status_prefix(struct status *error, const char *format, ...)
{
    if (error == NULL) {
        return;
    }
    char prefix[STATUS_TEXT_BYTES];
    va_list arguments;
    va_start(arguments, format);
    int wanted = vsnprintf(prefix, sizeof prefix, format, arguments);
    va_end(arguments);
    text_cut(prefix, wanted);
    status_set(error, error->code, "%s: %s", prefix, error->text);
}

const char *status_code_name(enum status_code code)
{
    static const char *const names[] = {"ok",          "invalid", "overflow", "out of memory",
                                        "unavailable", "device",  "io",       "internal"};
    return (unsigned)code < sizeof names / sizeof names[0] ? names[code] : "unknown";
}
