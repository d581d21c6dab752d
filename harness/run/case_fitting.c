/* Case fitting: one comparison. What is predicted is harness/estimate's, what is free the device tells. */
#include "harness/run/case_fitting.h"

#include <string.h>

#include "harness/base/size.h"
#include "harness/record/level.h"

/* Of a host with a bound, replay itself says that it does not fit. */
static bool is_refused(const struct measuring *measuring, const struct json *replay)
{
    return measuring->memory_bytes > 0 && measuring->target->capability == 0 &&
           strcmp(json_string_or(json_get(replay, "fits"), ""), "no") == 0;
}

static enum status_code free_check(const struct measuring *measuring, int64_t segments, int64_t free_bytes,
                                   struct status *error)
{
    char wanted[SIZE_TEXT_BYTES], beside[SIZE_TEXT_BYTES], left[SIZE_TEXT_BYTES];
    int64_t beside_bytes = measuring->target->capability > 0 ? FITTING_BESIDE_BYTES : 0;
    if (segments <= free_bytes - beside_bytes) {
        return STATUS_OK;
    }
    return status_set(
        error, STATUS_UNAVAILABLE,
        "left out by --fitting: %s of segments are predicted, with up to %s beside them, and %s has %s free",
        size_format(segments, wanted), size_format(beside_bytes, beside), measuring->spec,
        size_format(free_bytes, left));
}

enum status_code case_fitting_check(const struct measuring *measuring, const struct json *estimates,
                                    struct status *error)
{
    const struct json *replay = json_get(estimates, "replay");
    struct device_reading reading = {0};
    char bound[SIZE_TEXT_BYTES];
    int64_t segments = json_integer_or(json_get(replay, level_peak_key(LEVEL_RESERVED)), -1);
    if (measuring->device == NULL || !measuring->place.properties.computes) {
        return STATUS_OK;
    }
    if (is_refused(measuring, replay)) {
        return status_set(error, STATUS_UNAVAILABLE, "left out by --fitting: it is predicted not to fit %s",
                          size_format(measuring->memory_bytes, bound));
    }
    enum status_code code = measuring->device->table->read_memory(measuring->device, &reading, error);
    return code == STATUS_OK && reading.free_valid && segments >= 0
               ? free_check(measuring, segments, reading.free_bytes, error)
               : code;
}
