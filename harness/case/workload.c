/* Workload: names of values, defaults and checks. Not the options of a command: those are parsed in cli and suite. */
#include "harness/case/workload.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/size.h"
#include "harness/base/size_text.h"
#include "harness/base/text.h"
#include "harness/case/place_text.h"
#include "harness/case/workload_alias.h"

static const char *const mode_names[MODE_COUNT] = {"load", "infer", "generate", "train"};
static const char *const cache_names[CACHE_COUNT] = {"dynamic", "static"};
static const char *const cache_dtype_names[CACHE_DTYPE_COUNT] = {"auto", "fp8", "int4", "int2"};
static const char *const precision_names[PRECISION_COUNT] = {"float32",      "float16", "bfloat16", "amp-float16",
                                                             "amp-bfloat16", "int8",    "int4",     "fp8"};
static const char *const quantize_names[QUANTIZE_COUNT] = {"linear", "all"};
static const char *const attention_names[ATTENTION_COUNT] = {"sdpa", "eager", "native"};
static const char *const optimizer_names[OPTIMIZER_COUNT] = {
    "none",        "adam-foreach", "adam-fused", "adam-single",  "adamw-foreach",
    "adamw-fused", "adamw-single", "adam-8bit",  "sgd-momentum",
};
static const char *const loss_names[LOSS_COUNT] = {"composed", "fused"};
static const char *const lora_targets_names[LORA_TARGETS_COUNT] = {"attention", "linear"};
static const char *const logits_names[LOGITS_COUNT] = {"all", "last"};
static const char *const find_batch_names[FIND_BATCH_COUNT] = {"none", "halve", "0.9", "bisect"};
static const char *const head_names[HEAD_COUNT] = {"default", "bare", "lm"};
static const char *const switch_names[] = {"false", "true"};

static enum status_code place_check(const char *text, struct status *error)
{
    return place_text_parse(text, NULL, error);
}

static enum status_code checkpoint_check(const char *text, struct status *error)
{
    int64_t bytes = 0;
    enum status_code code = strcmp(text, "single") == 0 ? STATUS_OK : size_parse_memory(text, &bytes, error);
    if (code != STATUS_OK) {
        status_prefix(error, "checkpoint: write single, or the largest size of a shard, as 50MB");
    }
    return code;
}

/* names: of values first to count - 1; NULL for a count, whose lowest value is first, and for a text, which check looks
 * at. The size is that of the member. */
static const struct field_row {
    const char *key;
    enum workload_field_kind kind;
    size_t offset, bytes;
    const char *const *names;
    int first, count;
    enum status_code (*check)(const char *text, struct status *error);
} rows[FIELD_COUNT] = {
#define FIELD_ROW(member, kind, names, first, count, check)                                                            \
    {                                                                                                                  \
#member, kind, offsetof(struct workload, member), sizeof(((struct workload *)NULL)->member), names, first,     \
            count, check                                                                                               \
    }
#define NAME_ROW(member, names, first, count) FIELD_ROW(member, FIELD_KIND_NAME, names, first, count, NULL)
#define COUNT_ROW(member, lowest)             FIELD_ROW(member, FIELD_KIND_COUNT, NULL, lowest, 0, NULL)
#define SWITCH_ROW(member)                    FIELD_ROW(member, FIELD_KIND_SWITCH, switch_names, 0, 2, NULL)
#define TEXT_ROW(member, check)               FIELD_ROW(member, FIELD_KIND_TEXT, NULL, 0, 0, check)
    [FIELD_MODE] = NAME_ROW(mode, mode_names, 0, MODE_COUNT),
    [FIELD_PRECISION] = NAME_ROW(precision, precision_names, 0, PRECISION_COUNT),
    [FIELD_QUANTIZE] = NAME_ROW(quantize, quantize_names, 0, QUANTIZE_COUNT),
    [FIELD_BATCH] = COUNT_ROW(batch, 1),
    [FIELD_SEQ] = COUNT_ROW(seq, 1),
    [FIELD_NEW_TOKENS] = COUNT_ROW(new_tokens, 1),
    [FIELD_CACHE] = NAME_ROW(cache, cache_names, 0, CACHE_COUNT),
    [FIELD_CACHE_DTYPE] = NAME_ROW(cache_dtype, cache_dtype_names, 0, CACHE_DTYPE_COUNT),
    [FIELD_BEAMS] = COUNT_ROW(beams, 1),
    [FIELD_ATTENTION] = NAME_ROW(attention, attention_names, 0, ATTENTION_COUNT),
    [FIELD_PADDING] = SWITCH_ROW(padding),
    [FIELD_OPTIMIZER] = NAME_ROW(optimizer, optimizer_names, OPTIMIZER_ADAM_FOREACH, OPTIMIZER_COUNT),
    [FIELD_LOSS] = NAME_ROW(loss, loss_names, 0, LOSS_COUNT),
    [FIELD_LORA_RANK] = COUNT_ROW(lora_rank, 0),
    [FIELD_LORA_TARGETS] = NAME_ROW(lora_targets, lora_targets_names, 0, LORA_TARGETS_COUNT),
    [FIELD_PREPARE_KBIT] = SWITCH_ROW(prepare_kbit),
    [FIELD_CHECKPOINTING] = SWITCH_ROW(checkpointing),
    [FIELD_ACCUMULATE] = COUNT_ROW(accumulate, 1),
    [FIELD_LOGITS] = NAME_ROW(logits, logits_names, 0, LOGITS_COUNT),
    [FIELD_TF32] = SWITCH_ROW(tf32),
    [FIELD_TF32_CONVOLUTIONS] = SWITCH_ROW(tf32_convolutions),
    [FIELD_PLACE] = TEXT_ROW(place, place_check),
    [FIELD_CHECKPOINT] = TEXT_ROW(checkpoint, checkpoint_check),
    [FIELD_FIND_BATCH] = NAME_ROW(find_batch, find_batch_names, 0, FIND_BATCH_COUNT),
    [FIELD_HEAD] = NAME_ROW(head, head_names, HEAD_BARE, HEAD_COUNT),
};

const char *workload_field_key(enum workload_field field)
{
    return rows[field].key;
}

enum workload_field_kind workload_field_kind(enum workload_field field)
{
    return rows[field].kind;
}

const char *workload_field_text(const struct workload *workload, enum workload_field field)
{
    const char *text = NULL;
    if (rows[field].kind == FIELD_KIND_TEXT) {
        memcpy(&text, (const char *)workload + rows[field].offset, sizeof text);
    }
    return text;
}

/* An enumeration is an int or an unsigned int, as the compiler likes; its values here are small. */
int64_t workload_field_value(const struct workload *workload, enum workload_field field)
{
    const char *member = (const char *)workload + rows[field].offset;
    int64_t count = 0;
    int number = 0;
    bool on = false;
    switch (rows[field].kind) {
    case FIELD_KIND_COUNT:
        memcpy(&count, member, sizeof count);
        return count;
    case FIELD_KIND_NAME:
        memcpy(&number, member, sizeof number);
        return number;
    case FIELD_KIND_TEXT:
        return workload_field_text(workload, field) != NULL;
    case FIELD_KIND_SWITCH:
        break;
    }
    memcpy(&on, member, sizeof on);
    return on;
}

const char *workload_field_name(enum workload_field field, int64_t value)
{
    const struct field_row *row = &rows[field];
    return row->names != NULL && value >= 0 && value < row->count ? row->names[value] : NULL;
}

static bool is_option(const struct status *error)
{
    return error != NULL && error->spelling == STATUS_SPELLING_OPTIONS;
}

struct workload_words workload_key_words(const struct status *error, enum workload_field field)
{
    struct workload_words words;
    snprintf(words.text, sizeof words.text, "%s%s", is_option(error) ? "--" : "", rows[field].key);
    for (char *byte = words.text; is_option(error) && *byte != '\0'; byte++) {
        *byte = *byte == '_' ? '-' : *byte;
    }
    return words;
}

struct workload_words workload_value_words(const struct status *error, enum workload_field field, const char *value)
{
    struct workload_words key = workload_key_words(error, field), words;
    snprintf(words.text, sizeof words.text, "%.30s%s %.30s", key.text, is_option(error) ? "" : ":", value);
    return words;
}

struct workload_words workload_name_words(const struct status *error, enum workload_field field, const char *name)
{
    struct workload_words key = workload_key_words(error, field), words;
    snprintf(words.text, sizeof words.text, "%.30s %.30s", key.text, name);
    return words;
}

const char *mode_name(enum mode mode)
{
    return mode_names[mode];
}

const char *precision_name(enum precision precision)
{
    return precision_names[precision];
}

const char *cache_name(enum cache cache)
{
    return cache_names[cache];
}

const char *cache_dtype_name(enum cache_dtype dtype)
{
    return cache_dtype_names[dtype];
}

const char *quantize_name(enum quantize quantize)
{
    return quantize_names[quantize];
}

const char *attention_name(enum attention attention)
{
    return attention_names[attention];
}

const char *optimizer_name(enum optimizer optimizer)
{
    return optimizer_names[optimizer];
}

const char *loss_name(enum loss loss)
{
    return loss_names[loss];
}

const char *lora_targets_name(enum lora_targets targets)
{
    return lora_targets_names[targets];
}

const char *logits_name(enum logits logits)
{
    return logits_names[logits];
}

const char *find_batch_name(enum find_batch find)
{
    return find_batch_names[find];
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
        .quantize = QUANTIZE_LINEAR,
        .batch = 1,
        .seq = 128,
        .new_tokens = 32,
        .cache = CACHE_DYNAMIC,
        .beams = 1,
        .attention = ATTENTION_SDPA,
        .optimizer = mode == MODE_TRAIN ? OPTIMIZER_ADAMW_FUSED : OPTIMIZER_NONE,
        .accumulate = 1,
        .logits = mode == MODE_GENERATE ? LOGITS_LAST : LOGITS_ALL,
        .head = HEAD_DEFAULT,
    };
}

/* The largest count: beyond any machine, and products of three stay in 63 bits. */
enum { COUNT_MAXIMUM = 1 << 20 };

static enum status_code name_parse(const struct field_row *row, const char *text, int *value, struct status *error)
{
    struct text known = {0};
    const char *name = workload_alias((enum workload_field)(row - rows), text);
    for (int i = row->first; i < row->count; i++) {
        if (strcmp(name, row->names[i]) == 0) {
            *value = i;
            text_release(&known);
            return STATUS_OK;
        }
        text_format(&known, "%s%s", i > row->first ? ", " : "", row->names[i]);
    }
    const enum workload_field field = (enum workload_field)(row - rows);
    const char *remedy = workload_word_remedy(field, text);
    const struct workload_words key = workload_key_words(error, field);
    enum status_code code = remedy != NULL
                                ? status_set(error, STATUS_INVALID, "%s: '%s': %s", key.text, text, remedy)
                                : status_set(error, STATUS_INVALID, "%s: '%s' is not known; write one of: %s", key.text,
                                             text, text_string(&known));
    text_release(&known);
    return code;
}

static enum status_code key_unknown(const char *key, struct status *error)
{
    struct text known = {0};
    for (int field = 0; field < FIELD_COUNT; field++) {
        text_format(&known, "%s%s", field > 0 ? ", " : "", rows[field].key);
    }
    enum status_code code =
        status_set(error, STATUS_INVALID, "'%s' is not a field of a case; known are %s", key, text_string(&known));
    text_release(&known);
    return code;
}

enum status_code workload_set(struct workload *workload, const char *key, const char *text, struct status *error)
{
    int field = 0;
    while (field < FIELD_COUNT && strcmp(key, rows[field].key) != 0) {
        field++;
    }
    if (field == FIELD_COUNT) {
        return key_unknown(key, error);
    }
    const struct field_row *row = &rows[field];
    char *member = (char *)workload + row->offset;
    if (row->kind == FIELD_KIND_COUNT) {
        int64_t count = 0;
        enum status_code code = integer_parse(text, row->first, COUNT_MAXIMUM, &count, error);
        if (code != STATUS_OK) {
            status_prefix(error, "%s", workload_key_words(error, (enum workload_field)field).text);
            return code;
        }
        memcpy(member, &count, sizeof count);
        return STATUS_OK;
    }
    if (row->kind == FIELD_KIND_TEXT) {
        enum status_code code = row->check(text, error);
        if (code == STATUS_OK) {
            memcpy(member, &text, sizeof text);
        }
        return code;
    }
    int value = 0;
    enum status_code code = name_parse(row, text, &value, error);
    if (code == STATUS_OK) {
        bool on = value == 1;
        memcpy(member, row->kind == FIELD_KIND_SWITCH ? (const void *)&on : (const void *)&value, row->bytes);
    }
    return code;
}

bool workload_is_bitsandbytes(const struct workload *workload)
{
    return (workload->precision == PRECISION_INT8 || workload->precision == PRECISION_INT4) &&
           workload->quantize == QUANTIZE_LINEAR;
}

static enum status_code cache_check(const struct workload *workload, struct status *error)
{
    bool quantized = workload->cache_dtype != CACHE_DTYPE_AUTO;
    const char *dtype = cache_dtype_name(workload->cache_dtype);
    if (workload->mode != MODE_GENERATE && (workload->cache != CACHE_DYNAMIC || quantized || workload->beams != 1)) {
        enum workload_field field = workload->beams != 1 ? FIELD_BEAMS : quantized ? FIELD_CACHE_DTYPE : FIELD_CACHE;
        return status_set(error, STATUS_INVALID, "%s: mode %s does not generate; leave it out, or write %s",
                          workload_key_words(error, field).text, mode_name(workload->mode),
                          workload_name_words(error, FIELD_MODE, "generate").text);
    }
    if (quantized && workload->cache == CACHE_STATIC) {
        return status_set(error, STATUS_INVALID,
                          "cache_dtype %s: a static cache has the dtype of its keys; write %s, or %s", dtype,
                          workload_value_words(error, FIELD_CACHE, "dynamic").text,
                          workload_value_words(error, FIELD_CACHE_DTYPE, "auto").text);
    }
    bool amp = workload->precision == PRECISION_AMP_FLOAT16 || workload->precision == PRECISION_AMP_BFLOAT16;
    if (quantized && amp) {
        return status_set(error, STATUS_INVALID,
                          "cache_dtype %s: autocast gives keys and values two dtypes, which is not modelled for a "
                          "quantised cache; write %s, or %s",
                          dtype, workload_name_words(error, FIELD_PRECISION, "bfloat16").text,
                          workload_value_words(error, FIELD_CACHE_DTYPE, "auto").text);
    }
    return STATUS_OK;
}

/* What is done besides one pass on one device. */
static enum status_code carrying_check(const struct workload *workload, struct status *error)
{
    const char *mode = mode_name(workload->mode);
    bool searches = workload->find_batch != FIND_BATCH_NONE;
    if (workload->place != NULL && workload->mode != MODE_LOAD && workload->mode != MODE_INFER) {
        return status_set(error, STATUS_INVALID,
                          "place: mode %s runs on one device; leave it out, or write mode load or infer", mode);
    }
    if (workload->checkpoint != NULL && workload->precision > PRECISION_BFLOAT16) {
        return status_set(error, STATUS_INVALID,
                          "checkpoint: no new model is stored in %s: it is made of one when it is loaded; write "
                          "float32, float16 or bfloat16",
                          precision_name(workload->precision));
    }
    if (workload->checkpoint != NULL && workload->mode != MODE_LOAD) {
        return status_set(error, STATUS_INVALID,
                          "checkpoint: mode %s makes its weights on the device; leave it out, or write mode load",
                          mode);
    }
    if (searches && workload->mode == MODE_LOAD) {
        return status_set(
            error, STATUS_INVALID, "%s: mode load has no batch; leave it out, or write %s, generate or train",
            workload_key_words(error, FIELD_FIND_BATCH).text, workload_name_words(error, FIELD_MODE, "infer").text);
    }
    if (searches && workload->place != NULL) {
        return status_set(error, STATUS_INVALID,
                          "find_batch: batches are looked for on one device; leave place out, or find_batch");
    }
    return STATUS_OK;
}

/* What is computed of a batch: its end, and for which of its tokens. */
static enum status_code result_check(const struct workload *workload, struct status *error)
{
    bool trains = workload->mode == MODE_TRAIN;
    if (trains && workload->head == HEAD_BARE) {
        return status_set(error, STATUS_INVALID, "head bare: training needs a loss; write %s",
                          workload_name_words(error, FIELD_HEAD, "lm").text);
    }
    if (workload->padding && workload->mode == MODE_GENERATE) {
        return status_set(error, STATUS_INVALID, "%s: the prompts of mode generate have one length; write false",
                          workload_key_words(error, FIELD_PADDING).text);
    }
    if (workload->mode == MODE_GENERATE && workload->head == HEAD_BARE) {
        return status_set(error, STATUS_INVALID, "head bare: a token is chosen by the head; write %s",
                          workload_name_words(error, FIELD_HEAD, "lm").text);
    }
    if (trains && workload->logits == LOGITS_LAST) {
        return status_set(error, STATUS_INVALID, "logits last: the loss of training is taken over all; write all");
    }
    return STATUS_OK;
}

enum status_code workload_check(const struct workload *workload, struct status *error)
{
    bool trains = workload->mode == MODE_TRAIN;
    const struct workload_words trained = workload_name_words(error, FIELD_MODE, "train");
    if (trains && workload->precision >= PRECISION_INT8 && workload->lora_rank == 0) {
        return status_set(
            error, STATUS_INVALID,
            "precision %s: quantised weights are not trained; train adapters beside them with %s, or write bfloat16",
            precision_name(workload->precision), workload_value_words(error, FIELD_LORA_RANK, "8").text);
    }
    if (trains && workload->optimizer == OPTIMIZER_NONE) {
        return status_set(error, STATUS_INVALID, "mode train needs an optimizer; write one, for example adamw-fused");
    }
    if (!trains && workload->optimizer != OPTIMIZER_NONE) {
        return status_set(error, STATUS_INVALID,
                          "optimizer %s: mode %s does not train; leave the optimizer out, or write %s",
                          optimizer_name(workload->optimizer), mode_name(workload->mode), trained.text);
    }
    if (!trains && workload->loss != LOSS_COMPOSED) {
        return status_set(error, STATUS_INVALID, "loss %s: mode %s has no loss; leave it out, or write %s",
                          loss_name(workload->loss), mode_name(workload->mode), trained.text);
    }
    if (!trains && workload->lora_rank != 0) {
        return status_set(error, STATUS_INVALID, "%s: mode %s trains no adapters; write 0, or %s",
                          workload_key_words(error, FIELD_LORA_RANK).text, mode_name(workload->mode), trained.text);
    }
    if (workload->prepare_kbit && !(trains && workload_is_bitsandbytes(workload) && workload->lora_rank > 0)) {
        return status_set(error, STATUS_INVALID,
                          "%s: mode %s in %s trains no adapters on weights of bitsandbytes; write false, or %s, %s or "
                          "int4, %s and %s",
                          workload_key_words(error, FIELD_PREPARE_KBIT).text, mode_name(workload->mode),
                          precision_name(workload->precision), trained.text,
                          workload_name_words(error, FIELD_PRECISION, "int8").text,
                          workload_name_words(error, FIELD_QUANTIZE, "linear").text,
                          workload_value_words(error, FIELD_LORA_RANK, "8").text);
    }
    if (!trains && workload->checkpointing) {
        return status_set(error, STATUS_INVALID, "%s: mode %s has no backward pass; write false, or %s",
                          workload_key_words(error, FIELD_CHECKPOINTING).text, mode_name(workload->mode), trained.text);
    }
    if (!trains && workload->accumulate != 1) {
        return status_set(error, STATUS_INVALID, "%s: mode %s takes no optimizer step; write 1, or %s",
                          workload_key_words(error, FIELD_ACCUMULATE).text, mode_name(workload->mode), trained.text);
    }
    bool rounds = workload->tf32 || workload->tf32_convolutions;
    if (rounds && (workload->precision != PRECISION_FLOAT32 || workload->mode == MODE_LOAD)) {
        return status_set(error, STATUS_INVALID,
                          "%s: mode %s in %s multiplies nothing in float32; write false, or %s and %s",
                          workload_key_words(error, workload->tf32 ? FIELD_TF32 : FIELD_TF32_CONVOLUTIONS).text,
                          mode_name(workload->mode), precision_name(workload->precision),
                          workload_name_words(error, FIELD_MODE, "infer").text,
                          workload_name_words(error, FIELD_PRECISION, "float32").text);
    }
    enum status_code code = result_check(workload, error);
    code = code == STATUS_OK ? carrying_check(workload, error) : code;
    return code == STATUS_OK ? cache_check(workload, error) : code;
}
