/* Identity: axes, ids and their JSON. Not the reading of suites, nor whether a workload makes sense. */
#include "harness/suite/identity.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *axis_name(enum axis axis)
{
    static const char *const names[AXIS_COUNT] = {"model",      "mode",      "precision", "batch",
                                                  "seq",        "attention", "optimizer", "checkpointing",
                                                  "accumulate", "logits",    "head"};
    return (unsigned)axis < AXIS_COUNT ? names[axis] : "unknown";
}

static enum head head_usual(enum mode mode)
{
    return mode == MODE_LOAD ? HEAD_BARE : HEAD_LM;
}

static unsigned axes_of(const struct workload *workload, enum family_kind family)
{
    bool image = family == FAMILY_VIT || family == FAMILY_RESNET;
    unsigned axes = 1u << AXIS_MODEL | 1u << AXIS_MODE | 1u << AXIS_PRECISION | 1u << AXIS_HEAD;
    if (workload->mode != MODE_LOAD) {
        axes |= 1u << AXIS_BATCH;
        axes |= image ? 0 : 1u << AXIS_SEQ;
        axes |= family == FAMILY_RESNET ? 0 : 1u << AXIS_ATTENTION;
        axes |= image || workload->head == HEAD_BARE ? 0 : 1u << AXIS_LOGITS;
    }
    if (workload->mode == MODE_TRAIN) {
        axes |= 1u << AXIS_OPTIMIZER | 1u << AXIS_CHECKPOINTING | 1u << AXIS_ACCUMULATE;
    }
    return axes;
}

struct identity identity_make(const char *model, const struct workload *workload, enum family_kind family)
{
    struct identity identity = {.model = model, .workload = *workload};
    if (identity.workload.head == HEAD_DEFAULT) {
        identity.workload.head = head_usual(workload->mode);
    }
    if (family == FAMILY_VIT || family == FAMILY_RESNET) {
        identity.workload.seq = 0;
    }
    identity.axes = axes_of(&identity.workload, family);
    return identity;
}

bool identity_has(const struct identity *identity, enum axis axis)
{
    return (identity->axes >> axis & 1u) != 0;
}

static int64_t axis_integer(const struct workload *workload, enum axis axis)
{
    return axis == AXIS_BATCH ? workload->batch : axis == AXIS_SEQ ? workload->seq : workload->accumulate;
}

const char *identity_value(const struct identity *identity, enum axis axis, char buffer[IDENTITY_VALUE_BYTES])
{
    const struct workload *workload = &identity->workload;
    switch (axis) {
    case AXIS_MODEL:
        return identity->model;
    case AXIS_MODE:
        return mode_name(workload->mode);
    case AXIS_PRECISION:
        return precision_name(workload->precision);
    case AXIS_BATCH:
    case AXIS_SEQ:
    case AXIS_ACCUMULATE:
        snprintf(buffer, IDENTITY_VALUE_BYTES, "%" PRId64, axis_integer(workload, axis));
        return buffer;
    case AXIS_ATTENTION:
        return attention_name(workload->attention);
    case AXIS_OPTIMIZER:
        return optimizer_name(workload->optimizer);
    case AXIS_CHECKPOINTING:
        return workload->checkpointing ? "true" : "false";
    case AXIS_LOGITS:
        return logits_name(workload->logits);
    case AXIS_HEAD:
        return head_name(workload->head);
    case AXIS_COUNT:
        break;
    }
    return "unknown";
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

void identity_id(const struct identity *identity, struct text *id)
{
    const struct workload *workload = &identity->workload;
    id_model(identity->model, id);
    text_format(id, "/%s/%s", mode_name(workload->mode), precision_name(workload->precision));
    if (identity_has(identity, AXIS_BATCH)) {
        text_format(id, "/b%" PRId64, workload->batch);
    }
    if (identity_has(identity, AXIS_SEQ)) {
        text_format(id, "/s%" PRId64, workload->seq);
    }
    if (identity_has(identity, AXIS_ATTENTION) && workload->attention != ATTENTION_SDPA) {
        text_format(id, "/%s", attention_name(workload->attention));
    }
    if (identity_has(identity, AXIS_OPTIMIZER)) {
        text_format(id, "/%s", optimizer_name(workload->optimizer));
    }
    if (identity_has(identity, AXIS_CHECKPOINTING) && workload->checkpointing) {
        text_append(id, "/checkpointing");
    }
    if (identity_has(identity, AXIS_ACCUMULATE) && workload->accumulate != 1) {
        text_format(id, "/accumulate%" PRId64, workload->accumulate);
    }
    if (identity_has(identity, AXIS_LOGITS) && workload->logits != LOGITS_ALL) {
        text_format(id, "/logits-%s", logits_name(workload->logits));
    }
    if (workload->head != head_usual(workload->mode)) {
        text_format(id, "/head-%s", head_name(workload->head));
    }
}

static struct json *axis_json(const struct identity *identity, enum axis axis)
{
    char buffer[IDENTITY_VALUE_BYTES];
    if (!identity_has(identity, axis)) {
        return json_null_new();
    }
    if (axis == AXIS_BATCH || axis == AXIS_SEQ || axis == AXIS_ACCUMULATE) {
        return json_integer_new(axis_integer(&identity->workload, axis));
    }
    if (axis == AXIS_CHECKPOINTING) {
        return json_boolean_new(identity->workload.checkpointing);
    }
    return json_string_new(identity_value(identity, axis, buffer));
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
