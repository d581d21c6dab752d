/* GGUF bytes: see the header. */
#include "tests/checkpoint/gguf_bytes.h"

#include <string.h>

void bytes_number(struct text *bytes, uint64_t number, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        text_append_bytes(bytes, &(char){(char)(unsigned char)(number >> (8 * i))}, 1);
    }
}

void bytes_text(struct text *bytes, const char *text)
{
    bytes_number(bytes, strlen(text), 8);
    text_append(bytes, text);
}

void bytes_head(struct text *bytes, uint64_t version, uint64_t tensors, uint64_t entries)
{
    text_append(bytes, "GGUF");
    bytes_number(bytes, version, 4);
    bytes_number(bytes, tensors, 8);
    bytes_number(bytes, entries, 8);
}

void bytes_text_entry(struct text *bytes, const char *key, const char *value)
{
    bytes_text(bytes, key);
    bytes_number(bytes, 8, 4);
    bytes_text(bytes, value);
}

void bytes_integer_entry(struct text *bytes, const char *key, uint64_t value)
{
    bytes_text(bytes, key);
    bytes_number(bytes, 4, 4);
    bytes_number(bytes, value, 4);
}

void bytes_tensor(struct text *bytes, const char *name, int rank, const uint64_t *sizes, uint64_t type, uint64_t offset)
{
    bytes_text(bytes, name);
    bytes_number(bytes, (uint64_t)rank, 4);
    for (int i = 0; i < rank; i++) {
        bytes_number(bytes, sizes[i], 8);
    }
    bytes_number(bytes, type, 4);
    bytes_number(bytes, offset, 8);
}

void bytes_data(struct text *bytes, size_t alignment, size_t count)
{
    while (bytes->length % alignment != 0) {
        bytes_number(bytes, 0, 1);
    }
    for (size_t i = 0; i < count; i++) {
        bytes_number(bytes, 0, 1);
    }
}
