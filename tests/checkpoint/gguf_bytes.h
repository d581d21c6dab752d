/* GGUF bytes: a file written number by number, so that a test can write one that lies. */
#ifndef ASSAY_TESTS_CHECKPOINT_GGUF_BYTES_H
#define ASSAY_TESTS_CHECKPOINT_GGUF_BYTES_H

#include <stddef.h>
#include <stdint.h>

#include "harness/base/text.h"

/* text holds the bytes; released with text_release. */
void bytes_number(struct text *bytes, uint64_t number, size_t size); /* little-endian */
void bytes_text(struct text *bytes, const char *text);               /* u64 length, then the text */
void bytes_head(struct text *bytes, uint64_t version, uint64_t tensors, uint64_t entries);
void bytes_text_entry(struct text *bytes, const char *key, const char *value);
void bytes_integer_entry(struct text *bytes, const char *key, uint64_t value); /* u32 */

/* sizes: rank of them, the fastest first. */
void bytes_tensor(struct text *bytes, const char *name, int rank, const uint64_t *sizes, uint64_t type,
                  uint64_t offset);

/* Zeros up to a multiple of alignment, then count more. */
void bytes_data(struct text *bytes, size_t alignment, size_t count);

#endif
