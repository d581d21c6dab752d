/* Bounds: sums of ranges, and the table of what is not explained. Nothing is measured here. */
#include "harness/question/bounds.h"

#include <inttypes.h>
#include <stddef.h>

#include "harness/base/size.h"
#include "harness/question/overhead.h"
#include "harness/record/level.h"
#include "harness/tape/gpu_table.h"
#include "harness/tape/tape.h"
#include "models/config/family.h"
#include "models/skeleton/quantization.h"

enum { PERMILLE = 1000 };

#define MIB(count) ((int64_t)(count) << 20)

/* What nvidia-smi shows of an idle device and of a process besides its own bytes: 8.8 MiB on an H100, 3 on a T4. */
static const struct byte_range idle = {0, MIB(9), MIB(32)};

/* What is in doubt: nothing but the order of addresses, what a library of quantised layers keeps from release to
 * release, or which engines cuDNN chooses. */
enum doubtful { DOUBT_PLAIN, DOUBT_QUANTIZED, DOUBT_CONVOLUTIONS, DOUBT_COUNT };

/* Loading is exact: one order of allocations, and all loads on the H100 equal to the byte. The others are bounds of
 * what the measurements of others and ours show of their kind (docs/PUBLISHED.md); a test holds that they are. */
static const struct doubt doubts[][DOUBT_COUNT] = {
    /* plain, quantised, convolutions */
    [MODE_LOAD] = {{0, 0}, {0, 0}, {0, 0}},
    [MODE_INFER] = {{30, 30}, {30, 60}, {300, 300}},
    [MODE_GENERATE] = {{30, 30}, {30, 60}, {300, 300}},
    [MODE_TRAIN] = {{50, 120}, {50, 350}, {300, 550}},
};

struct doubt doubt_of(const struct config *config, const struct workload *workload)
{
    enum quantized_form form;
    bool convolves = config->family->is_image && !config->family->has_attention;
    enum doubtful kind = convolves                                            ? DOUBT_CONVOLUTIONS
                         : precision_is_quantized(workload->precision, &form) ? DOUBT_QUANTIZED
                                                                              : DOUBT_PLAIN;
    return doubts[workload->mode][kind];
}

/* Without an intermediate product beyond 63 bits. */
static int64_t part_bytes(int64_t bytes, int permille)
{
    return bytes / PERMILLE * permille + bytes % PERMILLE * permille / PERMILLE;
}

int64_t doubt_least(struct doubt doubt, int64_t bytes)
{
    return bytes - part_bytes(bytes, doubt.less_permille);
}

int64_t doubt_most(struct doubt doubt, int64_t bytes)
{
    return bytes + part_bytes(bytes, doubt.more_permille);
}

struct json *doubt_to_json(struct doubt doubt)
{
    struct json *object = json_object_new();
    bool made = json_set(object, "less_fraction", json_real_new((double)doubt.less_permille / PERMILLE)) &&
                json_set(object, "more_fraction", json_real_new((double)doubt.more_permille / PERMILLE));
    return json_made(object, made);
}

/* rest_bytes: what everything else leaves of the GPU. */
static int64_t resident_bytes(int64_t bytes, int64_t rest_bytes)
{
    return bytes < rest_bytes ? bytes : rest_bytes > 0 ? rest_bytes : 0;
}

static struct byte_range resident_range(const struct managed_memory *managed, const struct gpu *gpu,
                                        struct byte_range beside)
{
    int64_t memory_bytes = gpu != NULL ? gpu_memory_bytes(gpu) : INT64_MAX;
    return (struct byte_range){0, resident_bytes(managed->bytes, memory_bytes - beside.likely_bytes),
                               resident_bytes(managed->pages_bytes, memory_bytes - beside.low_bytes)};
}

struct bounds bounds_make(const struct bounds_figures *figures, const struct bounds_device *device,
                          const struct config *config, const struct workload *workload)
{
    struct doubt doubt = doubt_of(config, workload);
    struct context_program program = context_program_of(config, workload);
    int64_t certain_bytes = figures->certain_bytes, reserved_bytes = figures->reserved_bytes;
    struct bounds bounds = {
        .certain_bytes = certain_bytes,
        .rule_bytes = reserved_bytes - certain_bytes,
        .beside = context_ranges_find(device->gpu, device->target, &program),
        .search_bytes = figures->search_bytes,
        .managed = figures->managed,
    };
    int64_t least = doubt_least(doubt, reserved_bytes), most = doubt_most(doubt, reserved_bytes);
    bounds.segments = (struct byte_range){least > certain_bytes ? least : certain_bytes, reserved_bytes,
                                          most > figures->search_bytes ? most : figures->search_bytes};
    bounds.process = byte_range_sum(bounds.segments, byte_range_sum(bounds.beside.context, bounds.beside.libraries));
    bounds.device = byte_range_sum(bounds.process, idle);
    bounds.resident = resident_range(&bounds.managed, device->gpu, bounds.device);
    bounds.device = byte_range_sum(bounds.device, bounds.resident);
    bounds.nvml = byte_range_sum(bounds.device, bounds.beside.driver);
    return bounds;
}

bool bounds_find(const struct json *replay, const struct bounds_device *device, const struct config *config,
                 const struct workload *workload, struct bounds *bounds)
{
    const struct json *reserved = json_get(replay, level_peak_key(LEVEL_RESERVED));
    const struct json *requested = json_get(replay, level_peak_key(LEVEL_REQUESTED));
    bool known = json_kind(reserved) == JSON_KIND_INTEGER && json_kind(requested) == JSON_KIND_INTEGER;
    if (!known || device->target->capability == 0) {
        return false;
    }
    const struct json *categories = json_get(replay, "categories_at_peak"), *managed = json_get(replay, "managed");
    int64_t workspace_bytes = json_integer_or(json_get(categories, category_name(CATEGORY_WORKSPACE)), 0);
    const struct bounds_figures figures = {
        .certain_bytes = json_integer_or(requested, 0) - workspace_bytes,
        .reserved_bytes = json_integer_or(reserved, 0),
        .search_bytes = json_integer_or(json_get(json_get(replay, "search"), level_peak_key(LEVEL_RESERVED)), 0),
        .managed = {.bytes = json_integer_or(json_get(managed, "bytes"), 0),
                    .pages_bytes = json_integer_or(json_get(managed, "pages_bytes"), 0),
                    .tensor_count = json_integer_or(json_get(managed, "tensor_count"), 0)},
    };
    *bounds = bounds_make(&figures, device, config, workload);
    return true;
}

struct json *bounds_to_json(const struct bounds *bounds)
{
    if (bounds == NULL) {
        return json_null_new();
    }
    struct json *object = json_object_new();
    bool made =
        json_set(object, "certain_bytes", json_integer_new(bounds->certain_bytes)) &&
        json_set(object, "rule_bytes", json_integer_new(bounds->rule_bytes)) &&
        json_set(object, "segments", byte_range_to_json(bounds->segments)) &&
        json_set(object, "libraries", byte_range_to_json(bounds->beside.libraries)) &&
        json_set(object, "context", byte_range_to_json(bounds->beside.context)) &&
        json_set(object, "driver", byte_range_to_json(bounds->beside.driver)) &&
        (bounds->search_bytes == 0 || json_set(object, "search_bytes", json_integer_new(bounds->search_bytes))) &&
        (bounds->managed.tensor_count == 0 || json_set(object, "managed", byte_range_to_json(bounds->resident))) &&
        json_set(object, "process_bytes", byte_range_to_json(bounds->process)) &&
        json_set(object, "device_bytes", byte_range_to_json(bounds->device)) &&
        json_set(object, "nvml_bytes", byte_range_to_json(bounds->nvml));
    return json_made(object, made);
}

enum part {
    PART_CERTAIN,
    PART_RULE,
    PART_SEGMENTS,
    PART_SEARCH,
    PART_LIBRARIES,
    PART_CONTEXT,
    PART_PROCESS,
    PART_MANAGED,
    PART_DEVICE,
    PART_COUNT
};

static const struct bounds_part parts[PART_COUNT] = {
    [PART_CERTAIN] = {"certain_bytes", "certain: tensors"},
    [PART_RULE] = {"rule_bytes", "rule: workspaces, allocator"},
    [PART_SEGMENTS] = {"segments", "segments: both, and unexplained"},
    [PART_SEARCH] = {"search_bytes", "first pass: engines are tried"},
    [PART_LIBRARIES] = {"libraries", "range: libraries"},
    [PART_CONTEXT] = {"context", "range: context"},
    [PART_PROCESS] = {"process_bytes", "process, as in nvidia-smi"},
    [PART_MANAGED] = {"managed", "range: managed memory"},
    [PART_DEVICE] = {"device_bytes", "device used, as in nvidia-smi"},
};

const struct bounds_part *bounds_part_at(int index)
{
    return index >= 0 && index < PART_COUNT ? &parts[index] : NULL;
}

static void line(enum part part, struct byte_range range, struct text *text)
{
    char low[SIZE_TEXT_BYTES], likely[SIZE_TEXT_BYTES], high[SIZE_TEXT_BYTES];
    text_format(text, "  %-31s %11s", parts[part].words, size_format(range.likely_bytes, likely));
    if (range.low_bytes != range.high_bytes) {
        text_format(text, "   %s to %s", size_format(range.low_bytes, low), size_format(range.high_bytes, high));
    }
    text_append(text, "\n");
}

static struct byte_range one(int64_t bytes)
{
    return (struct byte_range){bytes, bytes, bytes};
}

void bounds_shown_words(const struct bounds *bounds, struct text *text)
{
    char low[SIZE_TEXT_BYTES], likely[SIZE_TEXT_BYTES], high[SIZE_TEXT_BYTES];
    text_format(text, "nvidia-smi will show %s: %s to %s", size_format(bounds->device.likely_bytes, likely),
                size_format(bounds->device.low_bytes, low), size_format(bounds->device.high_bytes, high));
}

void bounds_beside_lines(const struct bounds *bounds, struct text *text)
{
    line(PART_SEGMENTS, bounds->segments, text);
    if (bounds->search_bytes > 0) {
        line(PART_SEARCH, one(bounds->search_bytes), text);
    }
    line(PART_LIBRARIES, bounds->beside.libraries, text);
    line(PART_CONTEXT, bounds->beside.context, text);
    line(PART_PROCESS, bounds->process, text);
    if (bounds->managed.tensor_count > 0) {
        line(PART_MANAGED, bounds->resident, text);
    }
    line(PART_DEVICE, bounds->device, text);
}

void managed_line(const struct managed_memory *managed, struct text *text)
{
    char size[SIZE_TEXT_BYTES];
    if (managed->tensor_count > 0) {
        text_format(text,
                    "managed memory: %s in %" PRId64 " states of the optimizer, outside of all segments\n"
                    "  the driver moves to the host what the GPU has no room for, so they keep no case from fitting;\n"
                    "  the host needs room for that\n",
                    size_format(managed->bytes, size), managed->tensor_count);
    }
}

struct json *managed_json(const struct managed_memory *managed)
{
    struct json *object = json_object_new();
    bool made = json_set(object, "bytes", json_integer_new(managed->bytes)) &&
                json_set(object, "pages_bytes", json_integer_new(managed->pages_bytes)) &&
                json_set(object, "tensor_count", json_integer_new(managed->tensor_count));
    return json_made(object, made);
}

void bounds_lines(const struct bounds *bounds, struct text *text)
{
    text_append(text, "\nbounds of replay: what is likely, and from which to which size it may be\n");
    line(PART_CERTAIN, one(bounds->certain_bytes), text);
    line(PART_RULE, one(bounds->rule_bytes), text);
    bounds_beside_lines(bounds, text);
}
