/* Constants check: the parent's part. What a child makes of the constants stands in case_measure.c. */
#include "harness/run/constants_check.h"

#include <stdio.h>
#include <string.h>

#include "harness/run/device_specs.h"
#include "harness/run/gpu_lanes.h"

/* What a device of the run line is, as far as it was told. */
struct told {
    const char *kind, *name, *driver, *runtime;
    int64_t thread_count;
};

static struct told told_of(const struct json *device)
{
    return (struct told){.kind = json_string_or(json_get(device, "kind"), ""),
                         .name = json_string_or(json_get(device, "name"), ""),
                         .driver = json_string_or(json_get(device, "driver"), ""),
                         .runtime = json_string_or(json_get(device, "runtime"), ""),
                         .thread_count = json_integer_or(json_get(device, "threads"), 0)};
}

static void mismatch_warn(const struct run_options *options, const struct constants *constants, const struct told *told)
{
    struct text text = {0};
    const struct constants_place place = {
        .driver = told->driver, .runtime = told->runtime, .tool_version = options->version};
    if (constants_mismatch_append(&text, constants, &place) && options->progress.warned != NULL) {
        text_format(&text,
                    " (%s); what they predict of process and device is not judged: calibrate again, or give "
                    "--constants none",
                    constants->path);
        options->progress.warned(options->progress.context, text_string(&text));
    } else if (text.length == 0 && constants_revision_append(&text, constants, options->revision) &&
               options->progress.warned != NULL) {
        text_format(&text, " (%s); they are judged all the same, as of one version", constants->path);
        options->progress.warned(options->progress.context, text_string(&text));
    }
    text_release(&text);
}

static enum status_code given_check(const struct run_options *options, const struct told *told, struct status *error)
{
    const struct constants *given = options->constants;
    char ours[CONSTANTS_WORDS_BYTES], theirs[CONSTANTS_WORDS_BYTES];
    if (!constants_are_of(given, told->kind, told->name, told->thread_count)) {
        return status_set(
            error, STATUS_INVALID,
            "--constants: those of %.200s are of %s, and the device is %s; leave --constants out, or make "
            "those of this device with assay calibrate",
            given->path,
            constants_device_words(given->device.kind, given->device.name, given->device.thread_count, theirs),
            constants_device_words(told->kind, told->name, told->thread_count, ours));
    }
    mismatch_warn(options, given, told);
    return STATUS_OK;
}

/* Whether a selected case is to be judged by what the driver or the kernel counts. */
static bool readings_are_judged(const struct run_options *options)
{
    for (int i = 0; i < options->suite->case_count; i++) {
        const struct suite_case *case_ = &options->suite->cases[i];
        bool is_chosen = case_choice_attempts(options->choice, options->suite, i) > 0;
        for (int k = 0; is_chosen && k < case_->settings->tolerance_count; k++) {
            if (quantity_is_reading(case_->settings->tolerances[k].quantity)) {
                return true;
            }
        }
    }
    return false;
}

/* Nobody asked for these: who is judged by nothing of theirs need not hear of them. Records have the mismatch all the
 * same. */
static enum status_code found_check(const struct run_options *options, const struct told *told, struct status *error)
{
    struct constants found;
    bool is_found = false;
    enum status_code code =
        constants_find(options->reference_dir, told->kind, told->name, told->thread_count, &found, &is_found, error);
    if (code == STATUS_OK && is_found && readings_are_judged(options)) {
        mismatch_warn(options, &found, told);
    }
    return code;
}

/* GPUs that measure beside each other are alike: the first speaks for all. */
static bool spec_is_first_lane(const struct run_options *options, const char *spec)
{
    return options->lanes != NULL && options->lanes->count > 0 && strcmp(options->lanes->lanes[0].spec, spec) == 0;
}

/* A GPU that is there for a part of a placed model alone is none that constants are asked of. */
static bool spec_is_a_case(const struct run_options *options, const char *spec)
{
    for (int i = 0; i < options->suite->case_count; i++) {
        const struct suite_case *case_ = &options->suite->cases[i];
        if (case_choice_attempts(options->choice, options->suite, i) > 0 &&
            strcmp(device_spec_of(options, case_), spec) == 0) {
            return true;
        }
    }
    return false;
}

enum status_code constants_check(const struct run_options *options, const struct json *devices, struct status *error)
{
    enum status_code code = STATUS_OK;
    for (size_t i = 0; i < json_count(devices) && code == STATUS_OK; i++) {
        struct told told = told_of(json_at(devices, i));
        const char *spec = json_string_or(json_get(json_at(devices, i), "spec"), "");
        if (told.name[0] == '\0' || strcmp(told.kind, "meta") == 0 || /* meta stands for any */
            !(spec_is_a_case(options, spec) || spec_is_first_lane(options, spec))) {
            continue;
        }
        if (options->constants != NULL) {
            code = given_check(options, &told, error);
        } else if (options->reference_dir != NULL) {
            code = found_check(options, &told, error);
        }
    }
    return code;
}
