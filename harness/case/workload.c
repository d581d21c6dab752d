/* Workload: values, their parsing, and which fit together. Not the fields: case_field.h. */
#include "harness/case/workload.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/size.h"
#include "harness/base/text.h"
#include "harness/case/program.h"
#include "harness/case/share.h"
#include "harness/case/workload_alias.h"
#include "harness/case/workload_loss.h"
#include "harness/case/workload_quantization.h"

const char *workload_field_text(const struct workload *workload, enum case_field field)
{
    const char *text = NULL;
    if (case_field_row(field)->kind == FIELD_KIND_TEXT) {
        memcpy(&text, (const char *)workload + case_field_row(field)->offset, sizeof text);
    }
    return text;
}

/* An enumeration is an int or an unsigned int, as the compiler likes; its values here are small. */
int64_t workload_field_value(const struct workload *workload, enum case_field field)
{
    const char *member = (const char *)workload + case_field_row(field)->offset;
    int64_t count = 0;
    int number = 0;
    bool on = false;
    switch (case_field_row(field)->kind) {
    case FIELD_KIND_COUNT:
    case FIELD_KIND_SHARE:
        memcpy(&count, member, sizeof count);
        return count;
    case FIELD_KIND_NAME:
        memcpy(&number, member, sizeof number);
        return number;
    case FIELD_KIND_TEXT:
        return workload_field_text(workload, field) != NULL;
    case FIELD_KIND_SWITCH:
        memcpy(&on, member, sizeof on);
        return on;
    case FIELD_KIND_MODEL:
        break;
    }
    return 0;
}

bool workload_field_is_usual(const struct workload *workload, enum case_field field)
{
    struct workload usual = workload_default(workload->mode);
    usual.head = workload_head(&usual);
    return workload_field_value(workload, field) == workload_field_value(&usual, field);
}

bool workload_field_is_no(const struct workload *workload, enum case_field field)
{
    const struct case_field_row *row = case_field_row(field);
    return (row->usual_is_no || row->kind == FIELD_KIND_SWITCH) && workload_field_is_usual(workload, field);
}

enum head workload_head(const struct workload *workload)
{
    if (workload->head != HEAD_DEFAULT) {
        return workload->head;
    }
    return workload->mode == MODE_LOAD ? HEAD_BARE : HEAD_LM;
}

uint64_t workload_fields_said(const struct workload *workload, struct case_traits traits)
{
    _Static_assert(FIELD_COUNT <= 64, "a field has a bit");
    uint64_t said = UINT64_C(1) << FIELD_MODEL;
#define FIELD_SAID(name, member, kind, record, usual, modes, condition, ...)                                           \
    said |= ((unsigned)(modes) >> workload->mode & 1U) != 0 && (condition) ? UINT64_C(1) << FIELD_##name : 0;
    CASE_FIELD_TABLE(FIELD_SAID)
#undef FIELD_SAID
    return said;
}

struct workload workload_default(enum mode mode)
{
    return (struct workload){
#define FIELD_USUAL(name, member, kind, record, usual, ...) .member = (usual),
        CASE_FIELD_TABLE(FIELD_USUAL)
#undef FIELD_USUAL
    };
}

/* The largest count: beyond any machine, and products of three stay in 63 bits. */
enum { COUNT_MAXIMUM = 1 << 20 };

static enum status_code word_parse(enum case_field field, const char *text, int64_t *value, struct status *error)
{
    const struct case_field_row *row = case_field_row(field);
    struct text known = {0};
    const char *word = workload_alias(field, text);
    for (int i = row->lowest; i < row->word_count; i++) {
        if (strcmp(word, row->words[i]) == 0) {
            *value = i;
            text_release(&known);
            return STATUS_OK;
        }
        text_format(&known, "%s%s", i > row->lowest ? ", " : "", row->words[i]);
    }
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
    for (int field = FIELD_MODEL + 1; field < FIELD_COUNT; field++) {
        text_format(&known, "%s%s", field > FIELD_MODEL + 1 ? ", " : "", case_field_key((enum case_field)field));
    }
    enum status_code code =
        status_set(error, STATUS_INVALID, "'%s' is not a field of a case; known are %s", key, text_string(&known));
    text_release(&known);
    return code;
}

enum status_code case_value_parse(enum case_field field, const char *text, struct case_value *value,
                                  struct status *error)
{
    const struct case_field_row *row = case_field_row(field);
    struct case_value made = {.text = NULL};
    enum status_code code = STATUS_OK;
    switch (row->kind) {
    case FIELD_KIND_COUNT:
        code = integer_parse(text, row->lowest, COUNT_MAXIMUM, &made.number, error);
        if (code != STATUS_OK) {
            status_prefix(error, "%s", workload_key_words(error, field).text);
        }
        break;
    case FIELD_KIND_SHARE:
        code = share_parse(text, &made.number, error);
        if (code != STATUS_OK) {
            status_prefix(error, "%s", workload_key_words(error, field).text);
        }
        break;
    case FIELD_KIND_TEXT:
        code = row->check(text, error);
        made = (struct case_value){.number = 1, .text = text};
        break;
    case FIELD_KIND_NAME:
    case FIELD_KIND_SWITCH:
        code = word_parse(field, text, &made.number, error);
        break;
    case FIELD_KIND_MODEL:
        made.text = text;
        break;
    }
    if (code == STATUS_OK) {
        *value = made;
    }
    return code;
}

void workload_put(struct workload *workload, enum case_field field, const struct case_value *value)
{
    const struct case_field_row *row = case_field_row(field);
    char *member = (char *)workload + row->offset;
    int number = (int)value->number;
    bool on = value->number == 1;
    switch (row->kind) {
    case FIELD_KIND_COUNT:
    case FIELD_KIND_SHARE:
        memcpy(member, &value->number, row->bytes);
        break;
    case FIELD_KIND_TEXT:
        memcpy(member, &value->text, row->bytes);
        break;
    case FIELD_KIND_NAME:
        memcpy(member, &number, row->bytes);
        break;
    case FIELD_KIND_SWITCH:
        memcpy(member, &on, row->bytes);
        break;
    case FIELD_KIND_MODEL:
        break;
    }
}

enum status_code workload_set(struct workload *workload, const char *key, const char *text, struct status *error)
{
    enum case_field field = case_field_find(key, strlen(key));
    if (field == FIELD_COUNT || field == FIELD_MODEL) {
        return key_unknown(key, error);
    }
    struct case_value value;
    enum status_code code = case_value_parse(field, text, &value, error);
    if (code == STATUS_OK) {
        workload_put(workload, field, &value);
    }
    return code;
}

/* "mode infer, generate or train" */
static void modes_append(unsigned modes, const struct status *error, struct text *text)
{
    bool is_first = true;
    for (int mode = 0; mode < MODE_COUNT; mode++) {
        const char *name = mode_name((enum mode)mode);
        bool is_last = modes >> mode == 1U;
        if ((modes >> mode & 1U) != 0) {
            text_append(text, is_first ? "" : is_last ? " or " : ", ");
            text_append(text, is_first ? workload_name_words(error, FIELD_MODE, name).text : name);
            is_first = false;
        }
    }
}

enum status_code workload_field_check(const struct workload *workload, enum case_field field, struct status *error)
{
    const struct case_field_row *row = case_field_row(field);
    bool is_wrong = row->refusal != NULL && (row->modes >> workload->mode & 1U) == 0;
    if (!is_wrong || workload_field_is_usual(workload, field)) {
        return STATUS_OK;
    }
    struct text modes = {0};
    const char *word = row->kind == FIELD_KIND_NAME ? row->words[workload_field_value(workload, field)] : NULL;
    const struct workload_words said =
        word != NULL ? workload_name_words(error, field, word) : workload_key_words(error, field);
    modes_append(row->modes, error, &modes);
    enum status_code code = status_set(error, STATUS_INVALID, "%s: mode %s %s %s", said.text, mode_name(workload->mode),
                                       row->refusal, text_string(&modes));
    text_release(&modes);
    return code;
}

static enum status_code modes_check(const struct workload *workload, struct status *error)
{
    enum status_code code = STATUS_OK;
    for (enum case_field field = FIELD_MODE; field < FIELD_COUNT && code == STATUS_OK; field++) {
        code = workload_field_check(workload, field, error);
    }
    return code;
}

static enum status_code cache_check(const struct workload *workload, struct status *error)
{
    bool quantized = workload->cache_dtype != CACHE_DTYPE_AUTO;
    const struct workload_words dtype =
        workload_name_words(error, FIELD_CACHE_DTYPE, cache_dtype_name(workload->cache_dtype));
    if (quantized && workload->cache == CACHE_STATIC) {
        return status_set(error, STATUS_INVALID, "%s: a static cache has the dtype of its keys; write %s, or %s",
                          dtype.text, workload_value_words(error, FIELD_CACHE, "dynamic").text,
                          workload_value_words(error, FIELD_CACHE_DTYPE, "auto").text);
    }
    bool amp = workload->precision == PRECISION_AMP_FLOAT16 || workload->precision == PRECISION_AMP_BFLOAT16;
    if (quantized && amp) {
        return status_set(error, STATUS_INVALID,
                          "%s: autocast gives keys and values two dtypes, which is not modelled for a "
                          "quantised cache; write %s, or %s",
                          dtype.text, workload_name_words(error, FIELD_PRECISION, "bfloat16").text,
                          workload_value_words(error, FIELD_CACHE_DTYPE, "auto").text);
    }
    return STATUS_OK;
}

/* A gradient that goes as soon as its parameter has stepped is neither added to, clipped, nor unscaled. */
static enum status_code hook_check(const struct workload *workload, struct status *error)
{
    const struct {
        bool is_wanted;
        const char *what;
        enum case_field field;
        const char *without;
    } uses[] = {
        {workload->accumulate > 1, "to be added to", FIELD_ACCUMULATE, "1"},
        {workload->clip_grad != CLIP_GRAD_NONE, "for the norm of all that clips them", FIELD_CLIP_GRAD, "none"},
        {workload_is_scaled(workload), "for the gradient scaler to look at", FIELD_GRAD_SCALER, "none"},
    };
    for (size_t i = 0; workload->optimizer_in_backward && i < sizeof uses / sizeof uses[0]; i++) {
        if (uses[i].is_wanted) {
            return status_set(error, STATUS_INVALID,
                              "%s: gradients go as soon as their parameters have stepped and are not there %s; write "
                              "false, or %s",
                              workload_key_words(error, FIELD_OPTIMIZER_IN_BACKWARD).text, uses[i].what,
                              workload_value_words(error, uses[i].field, uses[i].without).text);
        }
    }
    return STATUS_OK;
}

static enum status_code steps_check(const struct workload *workload, struct status *error)
{
    if (workload->mode != MODE_TRAIN || workload->steps <= TRAINING_STEPS_MAXIMUM) {
        return STATUS_OK;
    }
    return status_set(
        error, STATUS_INVALID,
        "%s: each step is told by itself, and %d are the most; no figure that we know has risen after the "
        "fifth, so write %s",
        workload_key_words(error, FIELD_STEPS).text, TRAINING_STEPS_MAXIMUM,
        workload_value_words(error, FIELD_STEPS, "64").text);
}

/* A copy of a model is one of all its tensors, in the order of their modules. */
static enum status_code average_check(const struct workload *workload, struct status *error)
{
    if (workload->weight_average == WEIGHT_AVERAGE_NONE || (workload->lora_rank == 0 && workload->release == NULL)) {
        return STATUS_OK;
    }
    return status_set(
        error, STATUS_INVALID, "%s: the copy of a model %s is not modelled; write none, or leave out %s",
        workload_value_words(error, FIELD_WEIGHT_AVERAGE, weight_average_name(workload->weight_average)).text,
        workload->lora_rank > 0 ? "with adapters" : "of an older release",
        workload_key_words(error, workload->lora_rank > 0 ? FIELD_LORA_RANK : FIELD_RELEASE).text);
}

/* What is done besides one pass on one device. */
static enum status_code carrying_check(const struct workload *workload, struct status *error)
{
    if (workload->checkpoint != NULL && workload->precision > PRECISION_BFLOAT16) {
        return status_set(error, STATUS_INVALID,
                          "checkpoint: no new model is stored in %s: it is made of one when it is loaded; write "
                          "float32, float16 or bfloat16",
                          precision_name(workload->precision));
    }
    if (workload->find_batch != FIND_BATCH_NONE && workload->place != NULL) {
        return status_set(error, STATUS_INVALID,
                          "find_batch: batches are looked for on one device; leave place out, or find_batch");
    }
    return STATUS_OK;
}

/* What is computed of a batch: its end, and for which of its tokens. */
static enum status_code result_check(const struct workload *workload, struct status *error)
{
    bool trains = workload->mode == MODE_TRAIN;
    bool writes = head_has_loss(workload->head) && workload->head < HEAD_SEQUENCE;
    const struct workload_words head = workload_name_words(error, FIELD_HEAD, head_name(workload->head));
    if (trains && !head_has_loss(workload->head)) {
        return status_set(error, STATUS_INVALID, "%s: training needs a loss; write %s", head.text,
                          workload_name_words(error, FIELD_HEAD, "lm").text);
    }
    if (workload->padding && workload->mode == MODE_GENERATE) {
        return status_set(error, STATUS_INVALID, "%s: the prompts of mode generate have one length; write false",
                          workload_key_words(error, FIELD_PADDING).text);
    }
    if (workload->mode == MODE_GENERATE && !writes) {
        return status_set(error, STATUS_INVALID, "%s: a token is chosen by the head; write %s", head.text,
                          workload_name_words(error, FIELD_HEAD, "lm").text);
    }
    if (trains && workload->logits == LOGITS_LAST) {
        return status_set(error, STATUS_INVALID, "%s: the loss of training is taken over all; write all",
                          workload_name_words(error, FIELD_LOGITS, "last").text);
    }
    return workload_loss_check(workload, error);
}

enum status_code workload_check(const struct workload *workload, struct status *error)
{
    bool trains = workload->mode == MODE_TRAIN;
    enum status_code code = workload_quantization_check(workload, error);
    if (code != STATUS_OK) {
        return code;
    }
    const struct workload_words trained = workload_name_words(error, FIELD_MODE, "train");
    if (trains && workload->precision >= PRECISION_INT8 && workload->lora_rank == 0) {
        return status_set(
            error, STATUS_INVALID,
            "%s: quantised weights are not trained; train adapters beside them with %s, or write bfloat16",
            workload_name_words(error, FIELD_PRECISION, precision_name(workload->precision)).text,
            workload_value_words(error, FIELD_LORA_RANK, "8").text);
    }
    if (trains && workload->optimizer == OPTIMIZER_NONE) {
        return status_set(error, STATUS_INVALID, "mode train needs an optimizer; write one, for example adamw-fused");
    }
    code = modes_check(workload, error);
    if (code != STATUS_OK) {
        return code;
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
    bool rounds = workload->tf32 || workload->tf32_convolutions;
    if (rounds && (workload->precision != PRECISION_FLOAT32 || workload->mode == MODE_LOAD)) {
        return status_set(error, STATUS_INVALID,
                          "%s: mode %s in %s multiplies nothing in float32; write false, or %s and %s",
                          workload_key_words(error, workload->tf32 ? FIELD_TF32 : FIELD_TF32_CONVOLUTIONS).text,
                          mode_name(workload->mode), precision_name(workload->precision),
                          workload_name_words(error, FIELD_MODE, "infer").text,
                          workload_name_words(error, FIELD_PRECISION, "float32").text);
    }
    code = program_check(workload, error);
    code = code == STATUS_OK ? result_check(workload, error) : code;
    code = code == STATUS_OK ? steps_check(workload, error) : code;
    code = code == STATUS_OK ? hook_check(workload, error) : code;
    code = code == STATUS_OK ? average_check(workload, error) : code;
    code = code == STATUS_OK ? carrying_check(workload, error) : code;
    return code == STATUS_OK ? cache_check(workload, error) : code;
}
