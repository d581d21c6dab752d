/* Workload: what is done with a model. The identity of a case is a model and a workload. */
#ifndef ASSAY_MODELS_WORKLOAD_H
#define ASSAY_MODELS_WORKLOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/status.h"

enum mode { MODE_LOAD, MODE_INFER, MODE_TRAIN, MODE_COUNT };
enum precision {
    PRECISION_FLOAT32,
    PRECISION_FLOAT16,
    PRECISION_BFLOAT16,
    PRECISION_AMP_FLOAT16,
    PRECISION_AMP_BFLOAT16,
    PRECISION_COUNT
};
enum attention { ATTENTION_SDPA, ATTENTION_EAGER, ATTENTION_COUNT };
enum optimizer {
    OPTIMIZER_NONE, /* not a train case */
    OPTIMIZER_ADAM_FOREACH,
    OPTIMIZER_ADAM_FUSED,
    OPTIMIZER_ADAM_SINGLE,
    OPTIMIZER_ADAMW_FOREACH,
    OPTIMIZER_ADAMW_FUSED,
    OPTIMIZER_ADAMW_SINGLE,
    OPTIMIZER_SGD_MOMENTUM,
    OPTIMIZER_COUNT
};
enum logits { LOGITS_ALL, LOGITS_LAST, LOGITS_COUNT };
enum head { HEAD_DEFAULT, HEAD_BARE, HEAD_LM, HEAD_COUNT }; /* default: bare for load, lm otherwise */

struct workload {
    enum mode mode;
    enum precision precision;
    int64_t batch; /* >= 1 */
    int64_t seq;   /* >= 1; 0 for images, where the configuration gives the size */
    enum attention attention;
    enum optimizer optimizer;
    bool checkpointing;
    int64_t accumulate; /* >= 1 */
    enum logits logits;
    enum head head;
};

/* One value of an enumerated field, as the interface spells it. */
const char *mode_name(enum mode mode);
const char *precision_name(enum precision precision);
const char *attention_name(enum attention attention);
const char *optimizer_name(enum optimizer optimizer); /* "none" for OPTIMIZER_NONE */
const char *logits_name(enum logits logits);
const char *head_name(enum head head);

/* The defaults of a mode: float32, batch 1, seq 128, sdpa, adamw-fused when training, 1 micro-batch, all logits. */
struct workload workload_default(enum mode mode);

/* Sets one field from text. key: mode precision batch seq attention optimizer checkpointing accumulate logits head.
 * STATUS_INVALID says what is wrong and lists what would be right; an unknown key is STATUS_INVALID too. */
enum status_code workload_set(struct workload *workload, const char *key, const char *text, struct status *error);

/* Whether the fields fit together (an optimizer only when training, ...). STATUS_INVALID with the reason. */
enum status_code workload_check(const struct workload *workload, struct status *error);

#endif
