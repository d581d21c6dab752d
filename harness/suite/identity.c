/* Identity: axes, ids and their JSON. Not the reading of suites, nor whether a workload makes sense. */
#include "harness/suite/identity.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "models/family.h"
#include "models/quantization.h"

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
    return axis == AXIS_MODEL || workload_field_kind(field_of(axis)) == FIELD_KIND_NAME;
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
    if (workload->mode != MODE_LOAD) {
        bool rounds = workload->precision == PRECISION_FLOAT32;
        axes |= rounds ? 1u << AXIS_TF32 : 0;
        axes |= rounds && image && !workload->tf32 ? 1u << AXIS_TF32_CONVOLUTIONS : 0;
        axes |= 1u << AXIS_BATCH;
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
    int64_t value = workload_field_value(&identity->workload, field_of(axis));
    const char *name = workload_field_name(field_of(axis), value);
    if (name == NULL) {
        snprintf(buffer, IDENTITY_VALUE_BYTES, "%" PRId64, value);
    }
    return name != NULL ? name : buffer;
}

/* FNV-1a: stable everywhere, and enough to tell two odd names apart. */
static uint32_t name_hash(const char *text)
{
    uint32_t hash = 2166136261u;
    for (; *text != '\0'; text++) {
        hash = (hash ^ (unsigned char)*text) * 16777619u;
    }
    return hash;
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
        text_format(id, "~%08" PRIx32, name_hash(model));
    }
}

/* How an axis is spelled in an id, in the order of the id; '%' stands for the value. Mode and precision always are, the
 * others where they differ from the default of the mode, but for those that say always. */
static const struct {
    enum axis axis;
    const char *spelling;
    bool always;
} spellings[] = {
    {AXIS_MODE, "%", true},
    {AXIS_PRECISION, "%", true},
    {AXIS_QUANTIZE, "quantize-%", false},
    {AXIS_BATCH, "b%", true},
    {AXIS_SEQ, "s%", true},
    {AXIS_NEW_TOKENS, "n%", true},
    {AXIS_CACHE, "%", false},
    {AXIS_CACHE_DTYPE, "cache-%", false},
    {AXIS_BEAMS, "beams%", false},
    {AXIS_ATTENTION, "%", false},
    {AXIS_PADDING, "padding", false},
    {AXIS_OPTIMIZER, "%", true},
    {AXIS_LOSS, "loss-%", false},
    {AXIS_LORA_RANK, "lora%", false},
    {AXIS_LORA_TARGETS, "lora-%", false},
    {AXIS_PREPARE_KBIT, "prepare-kbit", false},
    {AXIS_CHECKPOINTING, "checkpointing", false},
    {AXIS_ACCUMULATE, "accumulate%", false},
    {AXIS_LOGITS, "logits-%", false},
    {AXIS_TF32, "tf32", false},
    {AXIS_TF32_CONVOLUTIONS, "tf32-convolutions", false},
    {AXIS_HEAD, "head-%", false},
};

void identity_id(const struct identity *identity, struct text *id)
{
    struct workload usual = workload_default(identity->workload.mode);
    usual.head = head_usual(usual.mode);
    id_model(identity->model, id);
    for (size_t i = 0; i < sizeof spellings / sizeof spellings[0]; i++) {
        enum axis axis = spellings[i].axis;
        enum workload_field field = field_of(axis);
        bool differs = workload_field_value(&identity->workload, field) != workload_field_value(&usual, field);
        if (!identity_has(identity, axis) || !(spellings[i].always || differs)) {
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

struct json *identity_json(const struct identity *identity)
{
    struct json *object = json_object_new();
    bool made = object != NULL;
    for (int axis = 0; axis < AXIS_COUNT && made; axis++) {
        made = json_set(object, axis_name((enum axis)axis), axis_json(identity, (enum axis)axis));
    }
    return json_made(object, made);
}
