/* Limit range: two more searches. The segments of both are fit's. */
#include "harness/question/limit_range.h"

#include <inttypes.h>

/* What a search asks about, and what the one before it has found. */
struct range_search {
    const struct estimate_input *input;
    const struct fit_device *device;
    const struct limit *likely;
    const struct look_observer *observer;
};

static enum status_code size_find(const struct range_search *search, int64_t likely_bytes, int64_t bytes, int64_t *size,
                                  struct status *error)
{
    const struct limit *likely = search->likely;
    enum case_field field = likely->field;
    if (bytes == likely_bytes) {
        *size = likely->size;
        return STATUS_OK;
    }
    return limit_size_find(search->input, field, bytes,
                           limit_maximum(search->input->config, search->input->workload, field), search->observer, size,
                           error);
}

/* -- of sizes that are beginnings of larger ones: all that may fit do, unless the tensors are more than the rest */

static enum status_code tensor_bytes_find(const struct range_search *search, int64_t size, int64_t *bytes,
                                          struct status *error)
{
    enum case_field field = search->likely->field;
    struct workload workload = limit_workload(search->input->workload, field, size);
    struct estimate_input asked = *search->input;
    struct trial trial;
    asked.workload = &workload;
    if (search->observer != NULL) {
        search->observer->looks(search->observer->context, field, size);
    }
    enum status_code code = trial_run(&asked, INT64_MAX, &trial, error);
    *bytes = code == STATUS_OK ? fit_certain_bytes(&trial.unbounded) : 0;
    return code;
}

/* Where a straight line through both ends meets so many bytes. */
static int64_t size_on_line(int64_t low, int64_t low_bytes, int64_t high, int64_t high_bytes, int64_t bytes)
{
    double part = (double)(bytes - low_bytes) / (double)(high_bytes - low_bytes);
    int64_t size = low + (int64_t)(part * (double)(high - low));
    return size <= low ? low + 1 : size >= high ? high - 1 : size;
}

/* Tensors grow evenly with tokens, so a line finds in two or three steps where they are more than the rest. */
static enum status_code tensors_lower(const struct range_search *search, struct limit_range *range,
                                      struct status *error)
{
    int64_t rest_bytes = overhead_rest(search->device->memory_bytes, search->device->overhead.low_bytes);
    int64_t low = range->sure, high = range->possible, low_bytes = 0, high_bytes = 0, steps = 0;
    enum status_code code = tensor_bytes_find(search, high, &high_bytes, error);
    if (code != STATUS_OK || high_bytes <= rest_bytes) {
        return code;
    }
    if (low > 0) {
        code = tensor_bytes_find(search, low, &low_bytes, error);
    }
    while (code == STATUS_OK && high - low > 1) {
        bool is_line = steps++ % 8 != 7; /* in case they do not grow evenly */
        int64_t bytes = 0,
                size = is_line ? size_on_line(low, low_bytes, high, high_bytes, rest_bytes) : low + (high - low) / 2;
        code = tensor_bytes_find(search, size, &bytes, error);
        bool fits = bytes <= rest_bytes;
        *(fits ? &low : &high) = size;
        *(fits ? &low_bytes : &high_bytes) = bytes;
    }
    range->possible = low;
    return code;
}

/* -- of all others */

/* Segments may be smaller than predicted, and tensors not: from the size that may fit, down to one of which fit does
 * not say no. */
static enum status_code possible_lower(const struct range_search *search, struct limit_range *range,
                                       struct status *error)
{
    int64_t low = range->sure, high = range->possible + 1, size = range->possible;
    enum status_code code = STATUS_OK;
    while (code == STATUS_OK && high - low > 1) {
        struct workload workload = limit_workload(search->input->workload, search->likely->field, size);
        struct estimate_input asked = *search->input;
        struct fit fit;
        asked.workload = &workload;
        code = fit_find(&asked, search->device, &fit, error);
        if (code == STATUS_OK) {
            *(fit.verdict == FIT_NO ? &high : &low) = size;
            size = low + (high - low) / 2;
        }
    }
    range->possible = low;
    return code;
}

enum status_code limit_range_find(const struct estimate_input *input, const struct fit_device *device,
                                  const struct limit *likely, int64_t likely_bytes,
                                  const struct look_observer *observer, struct limit_range *range, struct status *error)
{
    struct limit_range found = {
        .doubt = device->doubt, .sure_bytes = fit_sure_bytes(device), .possible_bytes = fit_possible_bytes(device)};
    const struct range_search search = {input, device, likely, observer};
    enum status_code code = size_find(&search, likely_bytes, found.sure_bytes, &found.sure, error);
    if (code == STATUS_OK) {
        code = size_find(&search, likely_bytes, found.possible_bytes, &found.possible, error);
    }
    if (code == STATUS_OK && found.possible > found.sure) {
        code = (limit_begins_alike(input->workload, likely->field) ? tensors_lower : possible_lower)(&search, &found,
                                                                                                     error);
    }
    if (code == STATUS_OK) {
        *range = found;
    }
    return code;
}

void limit_range_words(const struct limit_range *range, const char *key, struct text *text)
{
    if (range->sure > 0) {
        text_format(text, "%s %" PRId64 " surely fits", key, range->sure);
    } else {
        text_format(text, "no %s surely fits", key);
    }
    if (range->possible > range->sure) {
        text_format(text, ", up to %" PRId64 " may", range->possible);
    } else {
        text_append(text, range->sure > 0 ? ", and no larger one" : ", and none may");
    }
}

static struct json *end_json(int64_t size, int64_t bytes)
{
    struct json *object = json_object_new();
    bool made = json_set(object, "limit", size > 0 ? json_integer_new(size) : json_null_new()) &&
                json_set(object, "segment_bytes", json_integer_new(bytes));
    return json_made(object, made);
}

bool limit_range_set(const struct limit_range *range, struct json *object)
{
    return json_set(object, "sure", end_json(range->sure, range->sure_bytes)) &&
           json_set(object, "possible", end_json(range->possible, range->possible_bytes)) &&
           json_set(object, "doubt", doubt_to_json(range->doubt));
}
