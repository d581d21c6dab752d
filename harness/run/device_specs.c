/* Device specs: which texts a run asks about before it begins. What they stand for is told by device_claim.c. */
#include "harness/run/device_specs.h"

#include <string.h>

#include "harness/device/device_spec.h"
#include "harness/question/place_request.h"
#include "harness/run/gpu_lanes.h"

enum { GPU_NUMBERS = 100 }; /* a place text has no more */

const char *device_spec_of(const struct run_options *options, const struct suite_case *case_)
{
    if (options->device != NULL && strcmp(options->device, "auto") != 0) {
        return options->device;
    }
    const char *spec = case_->settings->device != NULL ? case_->settings->device : "auto";
    return options->need_gpu && strcmp(spec, "auto") == 0 ? "cuda" : spec;
}

static void spec_add(struct device_specs *specs, const char *spec)
{
    for (int i = 0; i < specs->count; i++) {
        if (strcmp(specs->specs[i], spec) == 0) {
            return;
        }
    }
    specs->specs[specs->count++] = spec;
}

/* Each GPU, in the place of the one spec that stands for all of them. */
static void lanes_add(const struct gpu_lanes *lanes, struct device_specs *specs)
{
    for (int i = 0; i < lanes->count; i++) {
        spec_add(specs, lanes->lanes[i].spec);
    }
}

static bool spec_may_be_gpu(const char *spec)
{
    struct device_spec parsed;
    return device_spec_parse(spec, &parsed, NULL) == STATUS_OK &&
           (parsed.kind == DEVICE_KIND_AUTO || parsed.kind == DEVICE_KIND_CUDA);
}

/* GPU 0 is what "auto" and "cuda" stand for. */
static bool gpus_add(const struct suite_case *case_, struct device_specs *specs)
{
    struct place_text text;
    const char *place = case_->identity.workload.place;
    bool made = true;
    if (place == NULL || place_text_parse(place, &text, NULL) != STATUS_OK) {
        return true;
    }
    for (int gpu = place_text_gpu_after(&text, 0); gpu > 0 && made; gpu = place_text_gpu_after(&text, gpu)) {
        const char *spec = arena_format(&specs->arena, "cuda:%d", gpu);
        made = spec != NULL;
        if (made) {
            spec_add(specs, spec);
        }
    }
    return made;
}

enum status_code device_specs_collect(const struct run_options *options, struct device_specs *specs,
                                      struct status *error)
{
    const struct suite *suite = options->suite;
    struct device_specs made = {0};
    made.specs = arena_alloc(&made.arena, ((size_t)suite->case_count + GPU_NUMBERS) * sizeof *made.specs);
    bool whole = made.specs != NULL;
    for (int i = 0; whole && i < suite->case_count; i++) {
        const struct suite_case *case_ = &suite->cases[i];
        const char *spec = device_spec_of(options, case_);
        if (case_choice_attempts(options->choice, suite, i) > 0) {
            if (options->lanes != NULL && options->lanes->count > 0) {
                lanes_add(options->lanes, &made);
                continue;
            }
            spec_add(&made, spec);
            whole = !spec_may_be_gpu(spec) || gpus_add(case_, &made);
        }
    }
    if (!whole) {
        arena_release(&made.arena);
        return status_set(error, STATUS_OUT_OF_MEMORY, "no memory for the devices of %d cases", suite->case_count);
    }
    *specs = made;
    return STATUS_OK;
}

void device_specs_release(struct device_specs *specs)
{
    arena_release(&specs->arena);
    *specs = (struct device_specs){0};
}
