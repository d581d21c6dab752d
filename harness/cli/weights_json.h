/* Weights JSON: what assay weights has found, as a document. */
#ifndef ASSAY_CLI_WEIGHTS_JSON_H
#define ASSAY_CLI_WEIGHTS_JSON_H

#include "harness/base/json.h"
#include "harness/checkpoint/checkpoint_groups.h"
#include "models/find/model.h"

struct weights {
    struct model model; /* config and check: if is_compared */
    bool is_compared;
    struct status uncompared; /* why not */
    struct checkpoint_groups by_type, by_module;
    struct text notes; /* model_notes.h: about keys of the configuration */
};

/* NULL if memory ran out. */
struct json *weights_json(const struct weights *weights);

/* A list of {KEY: name, "tensor_count", "element_count", "bytes"}. */
struct json *groups_json(const char *key, const struct checkpoint_groups *groups);

/* A name out of a file, for a terminal: characters that are not printable as '?'. */
void printable_append(const char *name, struct text *text);

#endif
