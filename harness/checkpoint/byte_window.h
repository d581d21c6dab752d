/* Byte window: a byte source read forwards, a piece at a time. Internal to harness/checkpoint. */
#ifndef ASSAY_CHECKPOINT_BYTE_WINDOW_H
#define ASSAY_CHECKPOINT_BYTE_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/byte_source.h"

enum { WINDOW_BYTES = 16 * 1024 };

struct byte_window {
    struct byte_source *source;
    int64_t offset; /* of the next byte */
    int64_t end;    /* no byte from here on is given; at most the size of the source */
    int64_t start;  /* offset of the first byte in bytes */
    size_t count;   /* of the bytes that are there */
    unsigned char bytes[WINDOW_BYTES];
};

void window_begin(struct byte_window *window, struct byte_source *source, int64_t offset, int64_t end);

/* Bytes before the end. */
static inline int64_t window_left(const struct byte_window *window)
{
    return window->end - window->offset;
}

/* The next byte without passing it; *byte is -1 at the end. The errors are those of the source. */
enum status_code window_peek(struct byte_window *window, int *byte, struct status *error);

/* The next count bytes, which must be before the end: the caller has looked. */
enum status_code window_take(struct byte_window *window, void *bytes, size_t count, struct status *error);

#endif
