/* Hash: FNV-1a, the same number on every machine and in every release, because ids and records hold it. It tells texts
 * apart that differ by chance; somebody who wants two texts with one hash finds them. */
#ifndef ASSAY_BASE_HASH_H
#define ASSAY_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* The hash of nothing: what a hash of 64 bits starts from. */
#define HASH_START UINT64_C(14695981039346656037)

/* The hash of what `hash` stands for with these bytes behind it. */
uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t count);

/* The same of a text, without its zero byte. */
uint64_t hash_text(uint64_t hash, const char *text);

/* The form of 32 bits, for what is read by people. */
uint32_t hash_text_32(const char *text);

#endif
