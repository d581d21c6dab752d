/* Limit range: two more searches. The segments of both are fit's. */
#include "harness/question/limit_range.h"

#include <inttypes.h>

static enum status_code size_find(const struct estimate_input *input, const struct limit *likely, int64_t likely_bytes,
                                  int64_t bytes, const struct look_observer *observer, int64_t *size,
                                  struct status *error)
{
    struct limit limit = *likely;
    enum status_code code =
        bytes == likely_bytes ? STATUS_OK : limit_find(input, likely->field, bytes, observer, &limit, error);
    *size = code == STATUS_OK ? limit.size : 0;
    return code;
}

/* Segments may be smaller than predicted, and tensors not: from the size that may fit, down to one of which fit does
 * not say no. */
static enum status_code possible_lower(const struct estimate_input *input, const struct fit_device *device,
                                       enum case_field field, struct limit_range *range, struct status *error)
{
    int64_t low = range->sure, high = range->possible + 1, size = range->possible;
    enum status_code code = STATUS_OK;
    while (code == STATUS_OK && high - low > 1) {
        struct workload workload = limit_workload(input->workload, field, size);
        struct estimate_input asked = *input;
        struct fit fit;
        asked.workload = &workload;
        code = fit_find(&asked, device, &fit, error);
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
    enum status_code code = size_find(input, likely, likely_bytes, found.sure_bytes, observer, &found.sure, error);
    if (code == STATUS_OK) {
        code = size_find(input, likely, likely_bytes, found.possible_bytes, observer, &found.possible, error);
    }
    if (code == STATUS_OK && found.possible > found.sure) {
        code = possible_lower(input, device, likely->field, &found, error);
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
