/* Optimizer law: bytes for each parameter that training really holds while the optimizer steps, and which published
 * figure is whose.
 *
 * Of records: cases of training that were measured to their end, undisturbed, on one device, without adapters and
 * quantised weights, whose model is found. Bytes are those of the highest moment of the step, by category, divided by
 * the parameters of the model (tied ones once). Worked: distilgpt2 in float32 with Adam: 327,650,304 bytes of weights,
 * as many of gradients and 655,300,608 of states over 81,912,576 parameters: 4 + 4 + 8 = 16. */
#ifndef ASSAY_LAW_OPTIMIZER_LAW_H
#define ASSAY_LAW_OPTIMIZER_LAW_H

#include "harness/law/law_points.h"

/* X(NAME, heading, category of records). */
#define OPTIMIZER_PART_TABLE(X)                                                                                        \
    X(WEIGHTS, "weights", "weights")                                                                                   \
    X(GRADIENTS, "gradients", "gradients")                                                                             \
    X(STATES, "states", "optimizer")                                                                                   \
    X(MASTER, "master", "master_weights")

enum optimizer_part {
#define OPTIMIZER_PART_ENUM(name, heading, category) OPTIMIZER_##name,
    OPTIMIZER_PART_TABLE(OPTIMIZER_PART_ENUM)
#undef OPTIMIZER_PART_ENUM
        OPTIMIZER_PART_COUNT
};

const char *optimizer_part_name(enum optimizer_part part);

struct byte_spread {
    double median, low, high;
};

/* Cases of one optimizer in one precision. */
struct optimizer_group {
    const char *optimizer, *precision;
    int case_count, model_count;
    struct byte_spread parts[OPTIMIZER_PART_COUNT];
    struct byte_spread all; /* of the four together */
};

/* What a claim counts. */
enum claim_scope {
    CLAIM_STATES, /* states of the optimizer, with a copy of the weights in float32 if it keeps one */
    CLAIM_ALL     /* with weights and gradients */
};

struct optimizer_claim {
    double bytes;
    enum claim_scope scope;
    const char *optimizer; /* "adam": any of Adam's in 32 bits; else a name */
    const char *precision;
    const char *source;
};

enum claim_verdict { CLAIM_HOLDS, CLAIM_FAILS, CLAIM_NOT_MEASURED };

/* Row number index of the published claims, NULL past the end. */
const struct optimizer_claim *optimizer_claim_at(int index);

struct optimizer_law {
    struct arena arena;
    struct optimizer_group *groups; /* by optimizer and precision */
    int group_count, case_count;
    int left_out_count; /* training cases that do not count */
};

/* Reads records into points of training and groups them. The errors of record_stream_next; STATUS_INVALID: no case
 * counts. The caller releases *law, also after an error. */
enum status_code optimizer_law_make(const char *const *paths, int count, const char *filter,
                                    const struct point_places *places, struct optimizer_law *law, struct status *error);
void optimizer_law_release(struct optimizer_law *law);

/* Whether it is one of Adam's with states in the dtype of the weights, or in float32: "adamw-fused", not
 * "adam-8bit". */
bool optimizer_is_adam(const char *optimizer);

/* Whether a measured figure is so many bytes: within 3 %, so that the scales of 8-bit states are no refutation. */
bool optimizer_bytes_agree(double measured, double claimed);

/* What the records say of a claim, and what was measured: NaN if nothing was. */
enum claim_verdict optimizer_claim_judge(const struct optimizer_law *law, const struct optimizer_claim *claim,
                                         double *measured);

const char *claim_scope_words(enum claim_scope scope);      /* "states and copy" */
const char *claim_verdict_word(enum claim_verdict verdict); /* "does not hold" */

/* The document (docs/FORMAT.md, Laws); NULL: no memory. */
struct json *optimizer_law_json(const struct optimizer_law *law, const char *version);

#endif
