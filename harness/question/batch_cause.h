/* Batch cause: why a try of a batch ended as it did, from the case line of the child that made it (docs/FORMAT.md), and
 * what accelerate would have made of it.
 *
 * accelerate's should_reduce_batch_size looks for five pieces of text in a RuntimeError with one argument (v1.6 to
 * v1.15). What PyTorch raises for each source is written down here, so that the decision is the original's: out of
 * memory that reaches Python as another text, as another exception or as no exception at all ends the search there. */
#ifndef ASSAY_QUESTION_BATCH_CAUSE_H
#define ASSAY_QUESTION_BATCH_CAUSE_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/json.h"
#include "harness/device/refusal.h"

/* What PyTorch does when a source has no memory left. */
struct batch_exception {
    const char *type;   /* "torch.OutOfMemoryError", "MemoryError"; NULL: the process is killed, and nobody can ask */
    const char *text;   /* its argument; a size or a device in it stands for any. NULL: it has none */
    const char *source; /* for people: what ran out */
};

const struct batch_exception *batch_exception_of(enum refusal_source source);

/* accelerate's test: a RuntimeError or what is derived from it in PyTorch, with one argument that has one of its
 * pieces. */
bool accelerate_reduces(const char *type, const char *text);

enum batch_outcome {
    BATCH_OUTCOME_OK,     /* it ran; a figure may be off what a suite allows */
    BATCH_OUTCOME_MEMORY, /* out of memory: a smaller batch may run */
    BATCH_OUTCOME_OTHER   /* an error, a timeout, no device: a smaller batch is no remedy */
};

struct batch_cause {
    enum batch_outcome outcome;
    const char
        *word; /* the status of the case: "ok", "oom", "timeout", ...; borrowed from the line, as are the texts below */
    const char *reason; /* of whoever refused or failed; "": none */
    /* Of BATCH_OUTCOME_MEMORY alone. */
    enum refusal_source source;
    bool accelerate_reduces;        /* as above, of what PyTorch raises */
    const char *stage, *label;      /* what asked, and when; NULL: not known, or neither tensor nor operation */
    int64_t wanted_bytes;           /* -1: the one that asked does not say how much */
    int64_t held_bytes, free_bytes; /* -1: not known */
};

/* line stays as long as the texts are used. */
struct batch_cause batch_cause_read(const struct json *line);

/* {"source", "stage", "label", "wanted_bytes", "held_bytes", "free_bytes", "text", "accelerate": {"type", "text",
 * "reduces"}}; null for what is not known, and for BATCH_OUTCOME_OK. NULL if memory ran out. */
struct json *batch_cause_json(const struct batch_cause *cause);

#endif
