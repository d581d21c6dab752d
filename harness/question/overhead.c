/* Overhead: constants, or the ranges of the context table. It measures nothing. */
#include "harness/question/overhead.h"

#include "harness/base/size.h"
#include "harness/case/release.h"
#include "models/config/family.h"

struct context_program context_program_of(const struct config *config, const struct workload *workload)
{
    enum mode mode = workload->mode;
    return (struct context_program){
        .use = mode == MODE_LOAD    ? CONTEXT_LOAD
               : mode == MODE_TRAIN ? CONTEXT_TRAINING
                                    : CONTEXT_INFERENCE,
        .is_eager = workload->module_loading == MODULE_LOADING_EAGER,
        .convolves = config == NULL || config->family->is_image, /* a vision transformer makes patches with one */
        .torch_release = release_numbers_of(workload->release).of[LIBRARY_TORCH],
    };
}

static struct overhead overhead_make(enum overhead_kind kind, struct byte_range range)
{
    return (struct overhead){
        .kind = kind, .low_bytes = range.low_bytes, .likely_bytes = range.likely_bytes, .high_bytes = range.high_bytes};
}

static struct overhead published_of(struct context_ranges parts)
{
    struct byte_range process = byte_range_sum(parts.context, parts.libraries);
    struct overhead overhead = overhead_make(OVERHEAD_PUBLISHED, byte_range_sum(parts.driver, process));
    overhead.parts = parts;
    return overhead;
}

struct overhead overhead_of_process(const struct gpu *gpu, const struct target *target,
                                    const struct context_program *program)
{
    struct context_ranges parts = context_ranges_find(gpu, target, program);
    parts.driver = (struct byte_range){0};
    return published_of(parts);
}

static bool level_sum(const struct constants_spread *context, const struct constants_spread *growth, int64_t *sum)
{
    return context->known && growth->known && size_add_signed(context->median, growth->median, sum);
}

struct overhead overhead_of_device(const struct constants *constants, const struct gpu *gpu,
                                   const struct target *target, enum mode mode, const struct context_program *program)
{
    const struct constants_levels *growth = constants != NULL ? constants_growth_of(constants, mode_name(mode)) : NULL;
    int64_t bytes = 0;
    if (growth == NULL || (!level_sum(&constants->context.process, &growth->process, &bytes) &&
                           !level_sum(&constants->context.device, &growth->device, &bytes))) {
        return published_of(context_ranges_find(gpu, target, program));
    }
    struct byte_range driver = {0}, measured = {bytes, bytes, bytes};
    if (gpu != NULL) {
        driver = context_ranges_find(gpu, target, program).driver;
    }
    return overhead_make(OVERHEAD_MEASURED, byte_range_sum(driver, measured));
}

const char *overhead_source(const struct overhead *overhead)
{
    static const char *const sources[] = {
        [OVERHEAD_NONE] = "not taken off: --memory is what segments may take",
        [OVERHEAD_GIVEN] = "--overhead",
        [OVERHEAD_MEASURED] = "measured",
        [OVERHEAD_PUBLISHED] = "from published figures",
    };
    return sources[overhead->kind];
}

int64_t overhead_rest(int64_t memory_bytes, int64_t overhead_bytes)
{
    return memory_bytes > overhead_bytes ? memory_bytes - overhead_bytes : 1;
}

struct json *byte_range_to_json(struct byte_range range)
{
    struct json *object = json_object_new();
    bool made = json_set(object, "low_bytes", json_integer_new(range.low_bytes)) &&
                json_set(object, "likely_bytes", json_integer_new(range.likely_bytes)) &&
                json_set(object, "high_bytes", json_integer_new(range.high_bytes));
    return json_made(object, made);
}

static struct json *bytes_json(const struct overhead *overhead, int64_t bytes)
{
    return overhead->kind != OVERHEAD_NONE ? json_integer_new(bytes) : json_null_new();
}

struct json *overhead_to_json(const struct overhead *overhead)
{
    static const char *const words[] = {"none", "given", "measured", "published"};
    bool parts = overhead->kind == OVERHEAD_PUBLISHED;
    struct json *object = json_object_new();
    bool made = json_set(object, "low_bytes", bytes_json(overhead, overhead->low_bytes)) &&
                json_set(object, "likely_bytes", bytes_json(overhead, overhead->likely_bytes)) &&
                json_set(object, "high_bytes", bytes_json(overhead, overhead->high_bytes)) &&
                json_set(object, "source", json_string_new(words[overhead->kind])) &&
                json_set(object, "driver", parts ? byte_range_to_json(overhead->parts.driver) : json_null_new()) &&
                json_set(object, "context", parts ? byte_range_to_json(overhead->parts.context) : json_null_new()) &&
                json_set(object, "libraries", parts ? byte_range_to_json(overhead->parts.libraries) : json_null_new());
    return json_made(object, made);
}
