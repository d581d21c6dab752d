/* Checkpoint check: what a model file stores against what its configuration says, tensor by tensor.
 *
 * A stored name is looked for in the skeleton as it is, with or without the prefix that the model has in the model with
 * a head ("model.", "bert."), under the names that older releases wrote (LayerNorm.gamma), as one expert's part of a
 * tensor that the model joins (stored_experts.h), and GGUF's by their table. */
#ifndef ASSAY_FIND_CHECKPOINT_CHECK_H
#define ASSAY_FIND_CHECKPOINT_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/arena.h"
#include "harness/base/json.h"
#include "harness/base/status.h"
#include "harness/checkpoint/checkpoint.h"
#include "models/config/config.h"
#include "models/skeleton/skeleton.h"

enum finding_kind {
    /* Disagreements. */
    FINDING_MISSING, /* the model has it, the file has not: it would be initialised at random */
    FINDING_EXTRA,   /* the file has it, neither the model nor its head nor a buffer of an older release */
    FINDING_SHAPE,
    FINDING_DTYPE, /* not what the configuration says; GGUF is not held to it: its types are chosen file by file */
    FINDING_TOTAL, /* total_size of an index is not the sum of its tensors */
    /* Remarks: the real library loads such files without a word. */
    FINDING_TIED,   /* stored although it shares the storage of another */
    FINDING_BUFFER, /* a buffer that is computed, not loaded */
    FINDING_HEAD,   /* of the model with another head than the one that the file was held against */
    FINDING_KIND_COUNT
};

const char *finding_kind_name(enum finding_kind kind); /* "missing", "extra", "shape", "dtype", ... */
static inline bool finding_is_remark(enum finding_kind kind)
{
    return kind >= FINDING_TIED;
}

struct finding {
    enum finding_kind kind;
    /* Of the stored tensor; MISSING: its path in the model, or the name that a file with other parts of it would give
     * the first part that it has not; TOTAL: "total_size". */
    const char *name;
    int64_t more_count;                     /* MISSING, of a part: so many more parts of its tensor are missing too */
    const struct checkpoint_tensor *stored; /* NULL: MISSING and TOTAL */
    /* What the model has; rank -1: EXTRA and TOTAL. dtype: that of the configuration */
    int rank;
    const int64_t *shape;
    enum dtype dtype;
};

struct checkpoint_check {
    struct arena arena;
    enum head head; /* the one that the file was held against */
    struct finding *findings;
    int finding_count;
    int counts[FINDING_KIND_COUNT];
    /* tensors of the head of its own that are not stored, if it was held against the bare model for that */
    int unstored_head_count;
    int matched_count;      /* stored tensors that the model has, whether they agree or not */
    int64_t expected_bytes; /* of the model's parameters and persistent buffers in the dtype of the configuration */
};

/* head: HEAD_BARE, HEAD_LM, or HEAD_DEFAULT: the one of which less is missing, the bare model if it is the same. The
 * check borrows names from checkpoint, which must outlive it. The errors are those of skeleton_build. */
enum status_code checkpoint_check(const struct checkpoint *checkpoint, const struct config *config, enum head head,
                                  struct checkpoint_check *check, struct status *error);
void checkpoint_check_release(struct checkpoint_check *check);

/* Disagreements, without the remarks. */
int checkpoint_disagreement_count(const struct checkpoint_check *check);

/* The vocabulary that the header has if that is all its shapes differ by: every tensor that differs has
 * config->vocab if the header has another number, the same in all of them. 0: nothing differs, or something else
 * does. */
int64_t checkpoint_vocab(const struct checkpoint_check *check, const struct config *config);

/* Gives the skeleton the shapes of the header if they differ; *differs names the first of them, NULL if none
 * does. Its totals are made anew. */
enum status_code checkpoint_apply(const struct checkpoint *checkpoint, struct skeleton *skeleton, const char **differs,
                                  struct status *error);

#endif
