/* Identity: axes, ids and their JSON. Not the reading of suites, nor whether a workload makes sense. */
#include "harness/suite/identity.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/hash.h"
#include "models/config/family.h"
#include "models/skeleton/quantization.h"

static enum workload_field field_of(enum axis axis)
{
    return (enum workload_field)((int)axis - (int)AXIS_MODEL - 1);
}

const char *axis_name(enum axis axis)
{
    return axis == AXIS_MODEL ? "model" : workload_field_key(field_of(axis));
}

bool axis_is_word(enum axis axis)
{
    if (axis == AXIS_MODEL) {
        return true;
    }
    enum workload_field_kind kind = workload_field_kind(field_of(axis));
    return kind == FIELD_KIND_NAME || kind == FIELD_KIND_TEXT;
}

bool axis_is_text(enum axis axis)
{
    return axis != AXIS_MODEL && workload_field_kind(field_of(axis)) == FIELD_KIND_TEXT;
}

static enum head head_usual(enum mode mode)
{
    return mode == MODE_LOAD ? HEAD_BARE : HEAD_LM;
}

static unsigned axes_of(const struct workload *workload, const struct family *family)
{
    bool image = family->is_image;
    unsigned axes = 1u << AXIS_MODEL | 1u << AXIS_MODE | 1u << AXIS_PRECISION | 1u << AXIS_HEAD;
    enum quantized_form form;
    axes |= precision_is_quantized(workload->precision, &form) ? 1u << AXIS_QUANTIZE : 0;
    axes |= workload->mode == MODE_LOAD ? 1u << AXIS_CHECKPOINT : 0;
    axes |= workload->mode == MODE_LOAD || workload->mode == MODE_INFER ? 1u << AXIS_PLACE : 0;
    if (workload->mode != MODE_LOAD) {
        bool rounds = workload->precision == PRECISION_FLOAT32;
        axes |= rounds ? 1u << AXIS_TF32 : 0;
        axes |= rounds && image && !workload->tf32 ? 1u << AXIS_TF32_CONVOLUTIONS : 0;
        axes |= 1u << AXIS_BATCH | 1u << AXIS_FIND_BATCH;
        axes |= image ? 0 : 1u << AXIS_SEQ;
        axes |= image || workload->mode == MODE_GENERATE ? 0 : 1u << AXIS_PADDING;
        axes |= family->has_attention ? 1u << AXIS_ATTENTION : 0;
        axes |= image || workload->head == HEAD_BARE ? 0 : 1u << AXIS_LOGITS;
    }
    if (workload->mode == MODE_GENERATE) {
        axes |= 1u << AXIS_NEW_TOKENS | 1u << AXIS_CACHE | 1u << AXIS_BEAMS;
        axes |= workload->cache == CACHE_DYNAMIC ? 1u << AXIS_CACHE_DTYPE : 0;
    }
    if (workload->mode == MODE_TRAIN) {
        axes |= 1u << AXIS_OPTIMIZER | 1u << AXIS_LOSS | 1u << AXIS_CHECKPOINTING | 1u << AXIS_ACCUMULATE;
        axes |= image ? 0 : 1u << AXIS_LORA_RANK;
        axes |= image || workload->lora_rank == 0 ? 0 : 1u << AXIS_LORA_TARGETS;
        bool prepares = !image && workload->lora_rank > 0 && workload_is_bitsandbytes(workload);
        axes |= prepares ? 1u << AXIS_PREPARE_KBIT : 0;
    }
    return axes;
}

struct identity identity_make(const char *model, const struct workload *workload, const struct family *family)
{
    struct identity identity = {.model = model, .workload = *workload};
    if (identity.workload.head == HEAD_DEFAULT) {
        identity.workload.head = head_usual(workload->mode);
    }
    if (family->is_image) {
        identity.workload.seq = 0;
    }
    identity.axes = axes_of(&identity.workload, family);
    return identity;
}

bool identity_has(const struct identity *identity, enum axis axis)
{
    return (identity->axes >> axis & 1u) != 0;
}

const char *identity_value(const struct identity *identity, enum axis axis, char buffer[IDENTITY_VALUE_BYTES])
{
    if (axis == AXIS_MODEL) {
        return identity->model;
    }
    enum workload_field field = field_of(axis);
    if (workload_field_kind(field) == FIELD_KIND_TEXT) {
        return workload_field_text(&identity->workload, field);
    }
    int64_t value = workload_field_value(&identity->workload, field);
    const char *name = workload_field_name(field, value);
    if (name == NULL) {
        snprintf(buffer, IDENTITY_VALUE_BYTES, "%" PRId64, value);
    }
    return name != NULL ? name : buffer;
}

static void id_model(const char *model, struct text *id)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-/";
    bool odd = false;
    for (const char *c = model; *c != '\0'; c++) {
        bool known = strchr(letters, *c) != NULL;
        text_append_bytes(id, known ? c : "-", 1);
        odd = odd || !known;
    }
    if (odd) {
        text_format(id, "~%08" PRIx32, hash_text_32(model));
    }
}

/* How an axis is spelled in an id, in the order of the id; '%' stands for the value. Mode and precision always are, the
 * others where they differ from the default of the mode, but for those that say always. What is recent is left out of
 * the JSON of an identity, too, where it does not differ. */
static const struct {
    enum axis axis;
    const char *spelling;
    bool always, is_recent;
} spellings[] = {
    {AXIS_MODE, "%", true, false},
    {AXIS_PRECISION, "%", true, false},
    {AXIS_QUANTIZE, "quantize-%", false, false},
    {AXIS_BATCH, "b%", true, false},
    {AXIS_SEQ, "s%", true, false},
    {AXIS_NEW_TOKENS, "n%", true, false},
    {AXIS_CACHE, "%", false, false},
    {AXIS_CACHE_DTYPE, "cache-%", false, false},
    {AXIS_BEAMS, "beams%", false, false},
    {AXIS_ATTENTION, "%", false, false},
    {AXIS_PADDING, "padding", false, false},
    {AXIS_OPTIMIZER, "%", true, false},
    {AXIS_LOSS, "loss-%", false, false},
    {AXIS_LORA_RANK, "lora%", false, false},
    {AXIS_LORA_TARGETS, "lora-%", false, false},
    {AXIS_PREPARE_KBIT, "prepare-kbit", false, false},
    {AXIS_CHECKPOINTING, "checkpointing", false, false},
    {AXIS_ACCUMULATE, "accumulate%", false, false},
    {AXIS_LOGITS, "logits-%", false, false},
    {AXIS_TF32, "tf32", false, false},
    {AXIS_TF32_CONVOLUTIONS, "tf32-convolutions", false, false},
    {AXIS_PLACE, "place-%", false, true},
    {AXIS_CHECKPOINT, "checkpoint-%", false, true},
    {AXIS_FIND_BATCH, "find-%", false, true},
    {AXIS_HEAD, "head-%", false, false},
};

/* From the default of the mode. */
static bool axis_differs(const struct identity *identity, enum axis axis)
{
    struct workload usual = workload_default(identity->workload.mode);
    usual.head = head_usual(usual.mode);
    return workload_field_value(&identity->workload, field_of(axis)) != workload_field_value(&usual, field_of(axis));
}

void identity_id(const struct identity *identity, struct text *id)
{
    id_model(identity->model, id);
    for (size_t i = 0; i < sizeof spellings / sizeof spellings[0]; i++) {
        enum axis axis = spellings[i].axis;
        if (!identity_has(identity, axis) || !(spellings[i].always || axis_differs(identity, axis))) {
            continue;
        }
        char buffer[IDENTITY_VALUE_BYTES];
        const char *spelling = spellings[i].spelling;
        size_t before = strcspn(spelling, "%");
        text_append(id, "/");
        text_append_bytes(id, spelling, before);
        text_append(id, spelling[before] == '%' ? identity_value(identity, axis, buffer) : "");
    }
}

static struct json *axis_json(const struct identity *identity, enum axis axis)
{
    char buffer[IDENTITY_VALUE_BYTES];
    if (!identity_has(identity, axis)) {
        return json_null_new();
    }
    if (axis_is_word(axis)) {
        return json_string_new(identity_value(identity, axis, buffer));
    }
    int64_t value = workload_field_value(&identity->workload, field_of(axis));
    bool is_switch = workload_field_kind(field_of(axis)) == FIELD_KIND_SWITCH;
    return is_switch ? json_boolean_new(value != 0) : json_integer_new(value);
}

static bool is_recent(enum axis axis)
{
    bool recent = false;
    for (size_t i = 0; i < sizeof spellings / sizeof spellings[0]; i++) {
        recent = recent || (spellings[i].axis == axis && spellings[i].is_recent);
    }
    return recent;
}

struct json *identity_json(const struct identity *identity)
{
    struct json *object = json_object_new();
    bool made = object != NULL;
    for (int axis = 0; axis < AXIS_COUNT && made; axis++) {
        if (is_recent((enum axis)axis) && !axis_differs(identity, (enum axis)axis)) {
            continue;
        }
        made = json_set(object, axis_name((enum axis)axis), axis_json(identity, (enum axis)axis));
    }
    return json_made(object, made);
}
