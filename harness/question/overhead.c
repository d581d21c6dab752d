/* Overhead: constants or a published range. It measures nothing. */
#include "harness/question/overhead.h"

#include "harness/base/size.h"

enum { PUBLISHED_LEAST_MIB = 256, PUBLISHED_MOST_MIB = 616 + 321 };

static const struct overhead published = {.kind = OVERHEAD_PUBLISHED,
                                          .low_bytes = INT64_C(1048576) * PUBLISHED_LEAST_MIB,
                                          .high_bytes = INT64_C(1048576) * PUBLISHED_MOST_MIB};

static bool level_sum(const struct constants_spread *context, const struct constants_spread *growth, int64_t *sum)
{
    return context->known && growth->known && size_add_signed(context->median, growth->median, sum);
}

struct overhead overhead_of_device(const struct constants *constants, enum mode mode)
{
    const struct constants_levels *growth = constants != NULL ? constants_growth_of(constants, mode_name(mode)) : NULL;
    int64_t bytes = 0;
    if (growth == NULL || (!level_sum(&constants->context.process, &growth->process, &bytes) &&
                           !level_sum(&constants->context.device, &growth->device, &bytes))) {
        return published;
    }
    return (struct overhead){.kind = OVERHEAD_MEASURED, .low_bytes = bytes, .high_bytes = bytes};
}

const char *overhead_source(const struct overhead *overhead)
{
    static const char *const sources[] = {
        [OVERHEAD_NONE] = "not taken off: --memory is what segments may take",
        [OVERHEAD_GIVEN] = "--overhead",
        [OVERHEAD_MEASURED] = "measured",
        [OVERHEAD_PUBLISHED] = "published for other GPUs",
    };
    return sources[overhead->kind];
}

int64_t overhead_rest(int64_t memory_bytes, int64_t overhead_bytes)
{
    return memory_bytes > overhead_bytes ? memory_bytes - overhead_bytes : 1;
}

struct json *overhead_to_json(const struct overhead *overhead)
{
    static const char *const words[] = {"none", "given", "measured", "published"};
    bool known = overhead->kind != OVERHEAD_NONE;
    struct json *object = json_object_new();
    bool made = json_set(object, "low_bytes", known ? json_integer_new(overhead->low_bytes) : json_null_new()) &&
                json_set(object, "high_bytes", known ? json_integer_new(overhead->high_bytes) : json_null_new()) &&
                json_set(object, "source", json_string_new(words[overhead->kind]));
    return json_made(object, made);
}
