/* JSON, flat: a document as one array of values, for texts that are read once and thrown away (json_scan.c). Inside
 * harness/base only; everybody else has struct json.
 *
 * A container is followed by its members or elements, each with all that is below it. A struct json * may point to a
 * value of jansson or to one of these: both begin with an integer that is their type, and jansson's are below
 * FLAT_TYPES. */
#ifndef ASSAY_BASE_JSON_FLAT_H
#define ASSAY_BASE_JSON_FLAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/json.h"

enum { FLAT_TYPES = 256, FLAT_MEMBERS_MAXIMUM = 64 };

struct json_flat {
    int type;             /* FLAT_TYPES + enum json_kind */
    uint32_t count;       /* members or elements; bytes of a string or a real; 1: true */
    uint32_t size;        /* values from here to the next sibling */
    uint32_t first_guess; /* objects: where the last key was found; the next wish is often near */
    const char *key;      /* ends with a zero byte; NULL: no member of an object */
    uint32_t key_length, key_hash;
    union {
        const char *text; /* strings: with a zero byte at the end; reals: as they are written */
        int64_t integer;
        uint64_t key_bits; /* objects: json_flat_bit of every key */
    } value;
};

/* NULL if value is one of jansson's. */
const struct json_flat *json_flat_of(const struct json *value);

/* The same bytes give the same number; different ones rarely do. */
uint32_t json_flat_hash(const char *key, size_t length);

/* One of 64 bits for a hash. An object that has none of a key's has no member of that name, as most have not where one
 * is looked for that may be left out. */
static inline uint64_t json_flat_bit(uint32_t hash)
{
    return (uint64_t)1 << (hash * 0x9E3779B1u >> 26);
}

/* How many bytes at the front stand in a string of JSON as they are, whatever stands around them: ASCII without quotes,
 * backslashes and control characters. */
size_t json_plain_bytes(const char *at, size_t length);

/* NULL if object is none or has no such member. */
const struct json_flat *json_flat_get(const struct json_flat *object, const char *key);
const struct json_flat *json_flat_at(const struct json_flat *array, size_t index);
const char *json_flat_key_at(const struct json_flat *object, size_t index);
const char *json_flat_key_after(const struct json_flat *object, const char *key);
double json_flat_real(const struct json_flat *value);

#endif
