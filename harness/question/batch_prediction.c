/* Batch prediction: how many bytes there are, read from a line; the search is limit.c's. */
#include "harness/question/batch_prediction.h"

#include <stdio.h>

#include "harness/device/device_spec.h"
#include "harness/record/level.h"

/* What was used of a GPU beside segments, at most: at the end of the context and of each stage. -1: not known. */
static int64_t beside_bytes_of(const struct json *line)
{
    const struct json *stages = json_get(line, "stages");
    int64_t most = json_integer_or(json_get(json_get(line, "context"), level_key(LEVEL_DEVICE)), -1);
    for (const char *key = json_key_after(stages, NULL); key != NULL; key = json_key_after(stages, key)) {
        const struct json *stage = json_get(stages, key);
        int64_t used = json_integer_or(json_get(stage, level_key(LEVEL_DEVICE)), -1);
        int64_t reserved = json_integer_or(json_get(stage, level_key(LEVEL_RESERVED)), -1);
        most = used >= 0 && reserved >= 0 && used - reserved > most ? used - reserved : most;
    }
    return most;
}

static int64_t memory_bytes_of(const struct json *line)
{
    int64_t total = json_integer_or(json_get(json_get(line, "device"), "total_bytes"), -1);
    int64_t beside = beside_bytes_of(line);
    return total > 0 && beside >= 0 && beside < total ? total - beside : 0;
}

int64_t batch_segment_bytes(const struct json *line)
{
    struct device_spec spec = {0};
    const char *words = json_string_or(json_get(json_get(line, "device"), "spec"), "auto");
    bool is_bounded = device_spec_parse(words, &spec, NULL) == STATUS_OK && spec.memory_bytes > 0;
    return is_bounded ? spec.memory_bytes : memory_bytes_of(line);
}

void batch_prediction_make(const struct estimate_input *input, int64_t bound_bytes, const struct json *line,
                           const struct look_observer *observer, struct batch_prediction *prediction)
{
    struct estimate_input asked = *input;
    struct status error = {0};
    int64_t memory_bytes = bound_bytes > 0 ? bound_bytes : memory_bytes_of(line);
    if (asked.target == NULL) {
        asked.target = json_string_or(json_get(json_get(line, "device"), "target"), NULL);
    }
    if (asked.target == NULL || memory_bytes == 0) {
        if (!prediction->known) {
            snprintf(prediction->reason, sizeof prediction->reason, "the device did not tell how much memory it has");
        }
        return;
    }
    if (prediction->memory_bytes > 0 && prediction->memory_bytes <= memory_bytes) {
        return; /* looked at already; a GPU of which more was used besides segments has less for them */
    }
    enum status_code code = limit_find(&asked, FIELD_BATCH, memory_bytes, observer, &prediction->limit, &error);
    prediction->known = code == STATUS_OK;
    prediction->memory_bytes = memory_bytes;
    char said[STATUS_LINE_BYTES];
    snprintf(prediction->reason, sizeof prediction->reason, "%.*s", LIMIT_REASON_BYTES - 1, status_line(&error, said));
}
