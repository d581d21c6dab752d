/* Identity: what a case is, apart from where and when it was measured: a model and a workload.
 *
 * A field that says nothing about a case (the optimizer of an inference, the sequence of an image model, the batch of a
 * load) is null in its identity and absent from its id. */
#ifndef ASSAY_SUITE_IDENTITY_H
#define ASSAY_SUITE_IDENTITY_H

#include "harness/base/json.h"
#include "harness/base/text.h"
#include "harness/case/workload.h"
#include "models/config/config.h"

struct identity {
    const char *model;        /* borrowed */
    struct workload workload; /* head is resolved: never HEAD_DEFAULT; seq is 0 for images */
    uint64_t fields;          /* bit 1 << field: it says something about this case */
};

/* Of a model of the family. */
struct case_traits family_traits(const struct family *family);

/* model is borrowed. */
struct identity identity_make(const char *model, const struct workload *workload, const struct family *family);

bool identity_has(const struct identity *identity, enum case_field field);

enum { IDENTITY_VALUE_BYTES = 24 };

/* The value of a field as a suite would spell it ("8", "adamw-fused", "true"); NULL: nothing is said (place,
 * checkpoint). buffer may be used for the result. */
const char *identity_value(const struct identity *identity, enum case_field field, char buffer[IDENTITY_VALUE_BYTES]);

/* Appends the id of the case: "gpt2/train/float32/b8/s128/adamw-fused". What has its usual value (sdpa, one
 * micro-batch, all logits, the mode's usual head) is left out, so ids are stable when fields are added. A model name
 * with characters outside [A-Za-z0-9._/-] is spelled with '-' for them and a hash of the whole name after it. */
void identity_id(const struct identity *identity, struct text *id);

/* {"model": ..., "mode": ..., ...} with all fields, but those that are RECORD_UNUSUAL and have their usual value: so
 * cases are the same as in older records. NULL if memory ran out. */
struct json *identity_json(const struct identity *identity);

#endif
