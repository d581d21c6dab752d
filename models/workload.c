/* Workload: names of values, defaults and checks. Not the options of a command: those are parsed in cli and suite. */
#include "models/workload.h"

#include <string.h>

#include "harness/base/size.h"
#include "harness/base/text.h"

static const char *const mode_names[MODE_COUNT] = {"load", "infer", "train"};
static const char *const precision_names[PRECISION_COUNT] = {"float32", "float16", "bfloat16", "amp-float16",
                                                             "amp-bfloat16"};
static const char *const attention_names[ATTENTION_COUNT] = {"sdpa", "eager"};
static const char *const optimizer_names[OPTIMIZER_COUNT] = {
    "none", "adam-foreach", "adam-fused", "adam-single", "adamw-foreach", "adamw-fused", "adamw-single", "sgd-momentum",
};
static const char *const logits_names[LOGITS_COUNT] = {"all", "last"};
static const char *const head_names[HEAD_COUNT] = {"default", "bare", "lm"};
static const char *const boolean_names[] = {"false", "true"};

const char *mode_name(enum mode mode)
{
    return mode_names[mode];
}

const char *precision_name(enum precision precision)
{
    return precision_names[precision];
}

const char *attention_name(enum attention attention)
{
    return attention_names[attention];
}

const char *optimizer_name(enum optimizer optimizer)
{
    return optimizer_names[optimizer];
}

const char *logits_name(enum logits logits)
{
    return logits_names[logits];
}

const char *head_name(enum head head)
{
    return head_names[head];
}

struct workload workload_default(enum mode mode)
{
    return (struct workload){
        .mode = mode,
        .precision = PRECISION_FLOAT32,
        .batch = 1,
        .seq = 128,
        .attention = ATTENTION_SDPA,
        .optimizer = mode == MODE_TRAIN ? OPTIMIZER_ADAMW_FUSED : OPTIMIZER_NONE,
        .accumulate = 1,
        .logits = LOGITS_ALL,
        .head = HEAD_DEFAULT,
    };
}

/* The largest batch, length and number of micro-batches: beyond any machine, and products of them stay in 63 bits. */
enum { COUNT_MAXIMUM = 1 << 20 };

static enum status_code set_name(const char *key, const char *text, const char *const *names, int first, int count,
                                 int *value, struct status *error)
{
    struct text known = {0};
    for (int i = first; i < count; i++) {
        if (strcmp(text, names[i]) == 0) {
            *value = i;
            text_release(&known);
            return STATUS_OK;
        }
        text_format(&known, "%s%s", i > first ? ", " : "", names[i]);
    }
    enum status_code code =
        status_set(error, STATUS_INVALID, "%s: '%s' is not known; write one of: %s", key, text, text_string(&known));
    text_release(&known);
    return code;
}

static enum status_code set_count(const char *key, const char *text, int64_t *value, struct status *error)
{
    enum status_code code = integer_parse(text, 1, COUNT_MAXIMUM, value, error);
    if (code != STATUS_OK) {
        status_prefix(error, "%s", key);
    }
    return code;
}

enum status_code workload_set(struct workload *workload, const char *key, const char *text, struct status *error)
{
    static const struct {
        const char *key;
        const char *const *names;
        int first, count;
    } fields[] = {
        {"mode", mode_names, 0, MODE_COUNT},
        {"precision", precision_names, 0, PRECISION_COUNT},
        {"attention", attention_names, 0, ATTENTION_COUNT},
        {"optimizer", optimizer_names, OPTIMIZER_ADAM_FOREACH, OPTIMIZER_COUNT},
        {"logits", logits_names, 0, LOGITS_COUNT},
        {"head", head_names, HEAD_BARE, HEAD_COUNT},
        {"checkpointing", boolean_names, 0, 2},
    };
    if (strcmp(key, "batch") == 0) {
        return set_count(key, text, &workload->batch, error);
    }
    if (strcmp(key, "seq") == 0) {
        return set_count(key, text, &workload->seq, error);
    }
    if (strcmp(key, "accumulate") == 0) {
        return set_count(key, text, &workload->accumulate, error);
    }
    size_t row = 0;
    while (row < sizeof fields / sizeof fields[0] && strcmp(key, fields[row].key) != 0) {
        row++;
    }
    if (row == sizeof fields / sizeof fields[0]) {
        return status_set(error, STATUS_INVALID,
                          "'%s' is not a field of a case; known are mode, precision, batch, seq, attention, optimizer, "
                          "checkpointing, accumulate, logits, head",
                          key);
    }
    int value = 0;
    enum status_code code = set_name(key, text, fields[row].names, fields[row].first, fields[row].count, &value, error);
    if (code != STATUS_OK) {
        return code;
    }
    switch (row) {
    case 0:
        workload->mode = (enum mode)value;
        break;
    case 1:
        workload->precision = (enum precision)value;
        break;
    case 2:
        workload->attention = (enum attention)value;
        break;
    case 3:
        workload->optimizer = (enum optimizer)value;
        break;
    case 4:
        workload->logits = (enum logits)value;
        break;
    case 5:
        workload->head = (enum head)value;
        break;
    default:
        workload->checkpointing = value == 1;
        break;
    }
    return STATUS_OK;
}

enum status_code workload_check(const struct workload *workload, struct status *error)
{
    bool trains = workload->mode == MODE_TRAIN;
    if (trains && workload->optimizer == OPTIMIZER_NONE) {
        return status_set(error, STATUS_INVALID, "mode train needs an optimizer; write one, for example adamw-fused");
    }
    if (!trains && workload->optimizer != OPTIMIZER_NONE) {
        return status_set(error, STATUS_INVALID,
                          "optimizer %s: mode %s does not train; leave the optimizer out, or "
                          "write mode train",
                          optimizer_name(workload->optimizer), mode_name(workload->mode));
    }
    if (!trains && workload->checkpointing) {
        return status_set(error, STATUS_INVALID,
                          "checkpointing: mode %s has no backward pass; write false, or mode "
                          "train",
                          mode_name(workload->mode));
    }
    if (!trains && workload->accumulate != 1) {
        return status_set(error, STATUS_INVALID, "accumulate: mode %s takes no optimizer step; write 1, or mode train",
                          mode_name(workload->mode));
    }
    if (trains && workload->head == HEAD_BARE) {
        return status_set(error, STATUS_INVALID, "head bare: training needs a loss; write head lm");
    }
    if (trains && workload->logits == LOGITS_LAST) {
        return status_set(error, STATUS_INVALID, "logits last: the loss of training is taken over all; write all");
    }
    return STATUS_OK;
}
