/* Text: a string that grows. A failure to grow is remembered, so that a caller can append many times and look once. */
#ifndef ASSAY_BASE_TEXT_H
#define ASSAY_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/status.h"

/* Where a text goes that is too long to be kept: it hands over whole lines as soon as they are TEXT_DRAIN_BYTES
 * together, and keeps the rest. */
struct text_drain {
    /* False if the bytes cannot be taken; the reason is then in error. */
    bool (*take)(struct text_drain *drain, const char *bytes, size_t count);
    struct status error; /* of the first failure; code STATUS_OK: none */
};

enum { TEXT_DRAIN_BYTES = 1 << 20 };

/* All zero is an empty text. data is NULL or ends with a zero byte. */
struct text {
    char *data;
    size_t length;
    size_t capacity;
    bool failed;              /* memory ran out, or the drain takes nothing more: the content is cut */
    struct text_drain *drain; /* borrowed; NULL: all of the content is kept */
    size_t drain_at;          /* a line that is longer than TEXT_DRAIN_BYTES: looked at again when it is so long */
};

void text_append(struct text *text, const char *string);
void text_append_bytes(struct text *text, const char *bytes, size_t count);
__attribute__((format(printf, 2, 3))) void text_format(struct text *text, const char *format, ...);

/* "-12": as text_format with a decimal conversion, and much faster. */
void text_integer(struct text *text, int64_t value);

/* The content; "" for an empty text. Valid until the next append or release. */
const char *text_string(const struct text *text);

/* STATUS_OK if nothing failed; else the drain's own error, or STATUS_OUT_OF_MEMORY with "no memory for WHAT". */
enum status_code text_status(const struct text *text, const char *what, struct status *error);

/* Frees the memory; the text is then empty and usable, without a drain. */
void text_release(struct text *text);

#endif
