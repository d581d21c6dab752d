/* Byte window: one buffer, filled again where it ends. What is passed over is not read. */
#include "harness/checkpoint/byte_window.h"

#include <string.h>

void window_begin(struct byte_window *window, struct byte_source *source, int64_t offset, int64_t end)
{
    window->source = source;
    window->offset = offset;
    window->end = end;
    window->start = offset;
    window->count = 0;
}

/* Makes the next byte be in the buffer. */
static enum status_code window_fill(struct byte_window *window, struct status *error)
{
    if (window->offset >= window->start && window->offset - window->start < (int64_t)window->count) {
        return STATUS_OK;
    }
    int64_t left = window_left(window);
    size_t count = left < WINDOW_BYTES ? (size_t)left : WINDOW_BYTES;
    window->count = 0;
    enum status_code code = byte_source_read(window->source, window->offset, window->bytes, count, error);
    if (code == STATUS_OK) {
        window->start = window->offset;
        window->count = count;
    }
    return code;
}

enum status_code window_peek(struct byte_window *window, int *byte, struct status *error)
{
    if (window->offset >= window->end) {
        *byte = -1;
        return STATUS_OK;
    }
    enum status_code code = window_fill(window, error);
    if (code == STATUS_OK) {
        *byte = window->bytes[window->offset - window->start];
    }
    return code;
}

enum status_code window_take(struct byte_window *window, void *bytes, size_t count, struct status *error)
{
    char *target = bytes;
    while (count > 0) {
        enum status_code code = window_fill(window, error);
        if (code != STATUS_OK) {
            return code;
        }
        size_t at = (size_t)(window->offset - window->start);
        size_t here = window->count - at < count ? window->count - at : count;
        memcpy(target, window->bytes + at, here);
        target += here;
        window->offset += (int64_t)here;
        count -= here;
    }
    return STATUS_OK;
}
