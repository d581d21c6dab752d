/* Run check: a suite and options held against each other. Opens no device and reads no record. */
#include "harness/run/run_check.h"

#include <stdio.h>
#include <string.h>

#include "harness/base/nearest.h"
#include "harness/device/device_spec.h"
#include "harness/estimate/estimate.h"
#include "harness/question/place_request.h"
#include "harness/run/device_specs.h"
#include "harness/run/search.h"
#include "harness/suite/suite_external.h"

static bool case_selected(const struct run_options *options, int index)
{
    return case_choice_attempts(options->choice, options->suite, index) > 0;
}

static bool external_is_known(const struct suite *suite, const char *name)
{
    for (int i = 0; i < suite->external_count; i++) {
        if (strcmp(suite->externals[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* Two estimators of one name could not be told apart in records. */
static enum status_code externals_check(const struct suite *suite, const struct case_runner *runner,
                                        struct status *error)
{
    for (int i = 0; i < suite->external_count; i++) {
        const struct suite_external *external = &suite->externals[i];
        if (runner->knows_estimator(external->name)) {
            const struct file_place place = {suite->path, external->line, external->column};
            return status_set_at(error, STATUS_INVALID, place,
                                 "external: '%s' is the name of an estimator of assay's own; choose another",
                                 external->name);
        }
    }
    return STATUS_OK;
}

enum { ESTIMATORS_MAXIMUM = 64 };

static enum status_code estimator_unknown(const struct suite *suite, const struct suite_tolerance *entry,
                                          struct status *error)
{
    const char *names[ESTIMATORS_MAXIMUM + EXTERNALS_MAXIMUM + 1] = {NULL}, *meant[NAMES_MEANT_MAXIMUM];
    int count = 0;
    for (; count < ESTIMATORS_MAXIMUM && estimator_at(count) != NULL; count++) {
        names[count] = estimator_at(count)->name;
    }
    for (int i = 0; i < suite->external_count; i++) {
        names[count++] = suite->externals[i].name;
    }
    struct text words = {0};
    names_meant_append(meant, names_meant(entry->estimator, names, meant), "'", "'", &words);
    enum status_code code =
        status_set_at(error, STATUS_INVALID, (struct file_place){suite->path, entry->line, entry->column},
                      "there is no estimator '%s'; %s%s%s", entry->estimator,
                      words.length > 0 ? "did you mean " : "assay estimators lists them", text_string(&words),
                      words.length > 0 ? "?" : "");
    text_release(&words);
    return code;
}

static enum status_code case_tolerances_check(const struct suite *suite, const struct suite_case *case_,
                                              const struct case_runner *runner, struct status *error)
{
    for (int i = 0; i < case_->settings->tolerance_count; i++) {
        const struct suite_tolerance *entry = &case_->settings->tolerances[i];
        if (strcmp(entry->estimator, "expected") != 0 && strcmp(entry->estimator, TOLERANCE_CALIBRATED_GPU) != 0 &&
            !external_is_known(suite, entry->estimator) && !runner->knows_estimator(entry->estimator)) {
            return estimator_unknown(suite, entry, error);
        }
    }
    return STATUS_OK;
}

enum status_code suite_tolerances_check(const struct suite *suite, const struct case_runner *runner,
                                        struct status *error)
{
    enum status_code code = runner->knows_estimator != NULL ? externals_check(suite, runner, error) : STATUS_OK;
    for (int i = 0; i < suite->case_count && code == STATUS_OK && runner->knows_estimator != NULL; i++) {
        code = case_tolerances_check(suite, &suite->cases[i], runner, error);
    }
    return code;
}

/* Without a bound there is no largest batch on meta, and a search there would have no end. */
static enum status_code searches_check(const struct run_options *options, struct status *error)
{
    for (int i = 0; i < options->suite->case_count; i++) {
        const struct suite_case *case_ = &options->suite->cases[i];
        struct device_spec spec = {0};
        bool is_meta = case_selected(options, i) && case_searches(case_) &&
                       device_spec_parse(device_spec_of(options, case_), &spec, NULL) == STATUS_OK &&
                       spec.kind == DEVICE_KIND_META;
        if (is_meta && spec.memory_bytes == 0 && case_->settings->memory_bytes == 0) {
            return status_set(error, STATUS_INVALID,
                              "%s: %s looks for a batch, and on meta without a bound every batch runs; give it "
                              "'memory', or --device meta:mem=SIZE",
                              options->suite->path, case_->id);
        }
    }
    return STATUS_OK;
}

/* A case that lies on several GPUs needs them all, and its children would see one. */
static enum status_code all_gpus_check(const struct run_options *options, struct status *error)
{
    for (int i = 0; i < options->suite->case_count; i++) {
        const struct suite_case *case_ = &options->suite->cases[i];
        const char *place = case_->identity.workload.place;
        struct place_text text;
        if (case_selected(options, i) && place != NULL && place_text_parse(place, &text, NULL) == STATUS_OK &&
            place_text_gpu_after(&text, 0) > 0) {
            return status_set(error, STATUS_INVALID,
                              "--device cuda:all gives each case one GPU, and %s lies on several; leave such cases out "
                              "with --not, and run them with --device cuda",
                              case_->id);
        }
    }
    return STATUS_OK;
}

enum status_code run_options_check(const struct run_options *options, int *total, struct status *error)
{
    *total = 0;
    if (options->jobs < 1 || options->jobs > RUN_JOBS_MAXIMUM) {
        return status_set(error, STATUS_INVALID, "%d jobs at a time are out of range; give 1 to %d", options->jobs,
                          RUN_JOBS_MAXIMUM);
    }
    if (options->proof != RUN_PROOF_NONE && options->share_device) {
        return status_set(error, STATUS_INVALID,
                          "a proof fills the device, and others share it; leave out --prove or --share-device");
    }
    enum status_code code = suite_tolerances_check(options->suite, options->runner, error);
    if (code == STATUS_OK) {
        code = searches_check(options, error);
    }
    if (code == STATUS_OK && options->all_gpus) {
        code = all_gpus_check(options, error);
    }
    if (code != STATUS_OK) {
        return code;
    }
    for (int i = 0; i < options->suite->case_count; i++) {
        *total += case_choice_attempts(options->choice, options->suite, i);
    }
    if (*total == 0) {
        return status_set(error, STATUS_INVALID, "no case of %s is left to measure", options->suite->path);
    }
    return STATUS_OK;
}
