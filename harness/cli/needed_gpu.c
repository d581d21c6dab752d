/* Needed GPU: asks in a child, because the parent of a run opens no device. */
#include "harness/cli/needed_gpu.h"

#include <stdbool.h>
#include <string.h>

#include "harness/cli/device_probe.h"
#include "harness/device/device_spec.h"
#include "harness/run/device_specs.h"

static bool is_gpu(const char *spec)
{
    struct device_spec parsed;
    return device_spec_parse(spec, &parsed, NULL) == STATUS_OK && parsed.kind == DEVICE_KIND_CUDA;
}

static enum status_code gpu_check(const char *spec, const char *lock_folder, struct status *error)
{
    struct device_probe probe;
    device_probe(spec, lock_folder, &probe);
    if (probe.end != PROBE_ANSWERED) {
        return status_set(error, STATUS_NO_GPU, "--need-gpu: %s %s; nothing was measured", spec,
                          probe.end == PROBE_LATE ? "did not answer" : "ended the process that opened it");
    }
    const struct status *why = probe.identified.code != STATUS_OK ? &probe.identified : &probe.opened;
    if (probe.is_taken || why->code == STATUS_OK) {
        return STATUS_OK;
    }
    return status_set(error, STATUS_NO_GPU, "--need-gpu: %s; nothing was measured", why->text);
}

/* A suite may name a device for each case. */
static enum status_code cases_check(const struct run_options *run, struct status *error)
{
    const struct suite *suite = run->suite;
    for (int i = 0; i < suite->case_count; i++) {
        const struct suite_case *case_ = &suite->cases[i];
        const char *spec = device_spec_of(run, case_);
        if (case_choice_attempts(run->choice, suite, i) > 0 && !is_gpu(spec)) {
            const struct file_place place = {suite->path, case_->line, case_->column};
            return status_set_at(error, STATUS_NO_GPU, place,
                                 "--need-gpu: this case says device: %s; write --device cuda as well, or leave it out "
                                 "with --not; nothing was measured",
                                 spec);
        }
    }
    return STATUS_OK;
}

enum status_code needed_gpu_check(const struct run_options *run, struct status *error)
{
    struct device_specs specs = {0};
    if (run->device != NULL && strcmp(run->device, "auto") != 0 && !is_gpu(run->device)) {
        return status_set(error, STATUS_INVALID, "--need-gpu contradicts --device %s; leave one out", run->device);
    }
    enum status_code code = cases_check(run, error);
    code = code == STATUS_OK ? device_specs_collect(run, &specs, error) : code;
    for (int i = 0; i < specs.count && code == STATUS_OK; i++) {
        code = gpu_check(specs.specs[i], run->lock_folder, error);
    }
    device_specs_release(&specs);
    return code;
}
