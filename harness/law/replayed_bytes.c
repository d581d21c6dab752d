/* Replayed bytes: from the identity of a record to its workload, and the estimator replay's answer. */
#include "harness/law/replayed_bytes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "harness/estimate/estimate.h"
#include "models/find/model.h"

/* The value of a field as suites write it; NULL: it has none. */
static const char *value_text(const struct json *value, char buffer[32])
{
    if (json_kind(value) == JSON_KIND_INTEGER) {
        snprintf(buffer, 32, "%" PRId64, json_integer_or(value, 0));
        return buffer;
    }
    if (json_kind(value) == JSON_KIND_BOOLEAN) {
        return json_boolean_or(value, false) ? "true" : "false";
    }
    return json_string_or(value, NULL);
}

static bool workload_of(const struct json *identity, struct workload *workload)
{
    struct workload mode = {0};
    char buffer[32];
    if (workload_set(&mode, "mode", json_string_or(json_get(identity, "mode"), ""), NULL) != STATUS_OK) {
        return false;
    }
    *workload = workload_default(mode.mode);
    for (const char *key = NULL; (key = json_key_after(identity, key)) != NULL;) {
        const char *text = value_text(json_get(identity, key), buffer);
        if (text != NULL && strcmp(key, "model") != 0 && workload_set(workload, key, text, NULL) != STATUS_OK) {
            return false;
        }
    }
    return workload_check(workload, NULL) == STATUS_OK;
}

static int64_t replay_ask(const struct estimate_input *input)
{
    struct estimate estimate;
    const struct estimator *replay = estimator_find("replay");
    if (!estimator_applies(replay, input) || estimate_compute(replay, input, &estimate, NULL) != STATUS_OK) {
        return POINT_BYTES_UNKNOWN;
    }
    for (int at = 0; at < estimate.count; at++) {
        const struct estimate_quantity *quantity = &estimate.quantities[at];
        if (strcmp(quantity->name, "reserved_bytes_peak") == 0 && quantity->known) {
            return quantity->value;
        }
    }
    return POINT_BYTES_UNKNOWN;
}

int64_t replayed_bytes(const struct json *identity, const char *target, const struct point_places *places)
{
    struct workload workload;
    struct arena arena = {0};
    struct model model = {0};
    struct skeleton skeleton = {0};
    int64_t bytes = POINT_BYTES_UNKNOWN;
    const char *name = json_string_or(json_get(identity, "model"), "");
    if (workload_of(identity, &workload) && point_model_find(places, name, &arena, &model) == STATUS_OK) {
        if (model_skeleton(&model, &workload, &skeleton, NULL) == STATUS_OK) {
            const struct estimate_input input = {
                .config = &model.config, .skeleton = &skeleton, .workload = &workload, .target = target};
            bytes = replay_ask(&input);
            skeleton_release(&skeleton);
        }
        model_release(&model);
    }
    arena_release(&arena);
    return bytes;
}
