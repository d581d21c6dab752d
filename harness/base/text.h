/* Text: a string that grows. A failure to grow is remembered, so that a caller can append many times and look once. */
#ifndef ASSAY_BASE_TEXT_H
#define ASSAY_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* All zero is an empty text. data is NULL or ends with a zero byte. */
struct text {
    char *data;
    size_t length;
    size_t capacity;
    bool failed; /* memory ran out: the content is cut */
};

void text_append(struct text *text, const char *string);
void text_append_bytes(struct text *text, const char *bytes, size_t count);
__attribute__((format(printf, 2, 3))) void text_format(struct text *text, const char *format, ...);

/* The content; "" for an empty text. Valid until the next append or release. */
const char *text_string(const struct text *text);

/* Frees the memory; the text is then empty and usable. */
void text_release(struct text *text);

#endif
