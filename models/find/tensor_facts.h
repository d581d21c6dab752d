/* Tensor facts: what the rows of tensor_family find in a header, as members of a configuration. Which row fits is for
 * the caller. */
#ifndef ASSAY_FIND_TENSOR_FACTS_H
#define ASSAY_FIND_TENSOR_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/json.h"
#include "harness/checkpoint/checkpoint.h"
#include "models/find/tensor_family.h"

/* Where names are looked for. sparse, dense: the first layer with experts, and without; -1: there is none. */
struct tensor_place {
    const struct checkpoint *checkpoint;
    const char *prefix;
    int sparse, dense;
};

struct tensor_place tensor_place_of(const struct checkpoint *checkpoint, const char *prefix);

/* The whole name of a tensor of the table, its marks replaced, '#' by layer. False if there is no such layer. */
enum { TENSOR_NAME_BYTES = 256 };
bool tensor_name_write(const struct tensor_place *place, const char *name, int layer, char path[TENSOR_NAME_BYTES]);

/* Whether the row's tensors are there, and those that it lacks are not. */
bool tensor_family_fits(const struct tensor_place *place, const struct tensor_family *family);

/* Heads as they were found; elements 0: nothing tells them. */
struct tensor_heads_found {
    int64_t count, elements;
    int64_t keys; /* elements of all key heads together */
    bool is_exact;
};

/* Sets every fact of the row, and the heads, in an object. False if memory ran out. */
bool tensor_facts_add(const struct tensor_place *place, const struct tensor_family *family,
                      struct tensor_heads_found *heads, struct json *document);

#endif
