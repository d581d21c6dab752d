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
    } value;
};

/* NULL if value is one of jansson's. */
const struct json_flat *json_flat_of(const struct json *value);

/* The same bytes give the same number; different ones rarely do. */
uint32_t json_flat_hash(const char *key, size_t length);

/* NULL if object is none or has no such member. */
const struct json_flat *json_flat_get(const struct json_flat *object, const char *key);
const struct json_flat *json_flat_at(const struct json_flat *array, size_t index);
const char *json_flat_key_at(const struct json_flat *object, size_t index);
const char *json_flat_key_after(const struct json_flat *object, const char *key);
double json_flat_real(const struct json_flat *value);

#endif
