/* assay plan: the cases of a suite and what is predicted of them. Touches no device and writes no record. */
#include <inttypes.h>
#include <stdio.h>

#include "harness/base/size.h"
#include "harness/cli/command.h"
#include "harness/cli/model_notes.h"
#include "harness/cli/output.h"
#include "harness/cli/resource_path.h"
#include "harness/run/prediction.h"
#include "harness/run/run.h"
#include "harness/suite/suite.h"
#include "harness/tape/target.h"
#include "models/model.h"

static const struct option_row options[] = {
    {"filter", OPTION_VALUE, "GLOB", "only cases whose id or one of whose tags matches"},
    {"for", OPTION_VALUE, "TARGET", "class of devices that is predicted (default: the suite's, else sm_90)"},
    {"ids", OPTION_FLAG, NULL, "the ids alone, without predictions"},
    STRICT_OPTION_ROW,
    {"json", OPTION_FLAG, NULL, "print one JSON document"},
    {NULL, OPTION_FLAG, NULL, NULL},
};

struct plan {
    const struct suite *suite;
    const char *catalogue, *filter, *target;
    bool with_estimates;
    int case_count;     /* selected */
    int unknown_count;  /* of these, without a prediction by some estimator */
    struct json *cases; /* a list; one object for each */
    struct text text, notes;
};

static const struct json *replayed_peak(const struct json *estimates)
{
    return json_get(json_get(estimates, "replay"), "allocated_bytes_peak");
}

static bool is_known(const struct json *figure)
{
    return json_kind(figure) == JSON_KIND_INTEGER;
}

static enum status_code case_predict(struct plan *plan, const struct suite_case *case_, struct json **estimates,
                                     struct status *error)
{
    const struct model_places places = {.catalogue_dir = plan->catalogue};
    struct model model = {0};
    struct skeleton skeleton = {0};
    struct status failure = {0};
    const char *target = plan->target != NULL              ? plan->target
                         : case_->settings->target != NULL ? case_->settings->target
                                                           : target_at(0)->name;
    enum status_code code = model_find(&places, case_->identity.model, &model, error);
    if (code == STATUS_OK) {
        code = model_skeleton(&model, &case_->identity.workload, &skeleton, error);
    }
    if (code == STATUS_OK) {
        struct estimate_input input = {.config = &model.config,
                                       .checkpoint = model.checkpoint,
                                       .skeleton = &skeleton,
                                       .workload = &case_->identity.workload,
                                       .target = target};
        code = prediction_json(&input, estimates, &failure, error);
    }
    if (code == STATUS_OK && failure.code == STATUS_OK && !is_known(replayed_peak(*estimates))) {
        status_set(&failure, STATUS_INVALID, "%s",
                   json_string_or(json_get(json_get(*estimates, "replay"), "note"), "replay does not say why"));
    }
    if (code == STATUS_OK && failure.code != STATUS_OK) {
        fprintf(stderr, "assay: plan: %s cannot be predicted: %s\n", case_->id, failure.text);
        plan->unknown_count++;
    }
    skeleton_release(&skeleton);
    model_release(&model);
    return code;
}

static void case_line(const struct suite_case *case_, const struct json *estimates, struct text *text)
{
    char size[SIZE_TEXT_BYTES];
    const struct json *peak = replayed_peak(estimates);
    text_format(text, "%12s  %s\n", is_known(peak) ? size_format(json_integer_or(peak, 0), size) : "-", case_->id);
}

static enum status_code case_add(struct plan *plan, const struct suite_case *case_, struct status *error)
{
    struct json *row = json_object_new();
    struct json *estimates = NULL;
    enum status_code code = plan->with_estimates ? case_predict(plan, case_, &estimates, error) : STATUS_OK;
    if (code == STATUS_OK && plan->with_estimates) {
        case_line(case_, estimates, &plan->text);
    } else if (code == STATUS_OK) {
        text_format(&plan->text, "%s\n", case_->id);
    }
    bool made = json_set(row, "id", json_string_new(case_->id)) &&
                json_set(row, "identity", identity_json(&case_->identity)) &&
                (!plan->with_estimates || json_set(row, "estimates", json_share(estimates))) &&
                json_append(plan->cases, json_share(row));
    if (code == STATUS_OK && !made) {
        code = status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for the plan");
    }
    plan->case_count += code == STATUS_OK ? 1 : 0;
    json_release(estimates);
    json_release(row);
    return code;
}

static enum status_code plan_give(const struct plan *plan, bool as_json, struct status *error)
{
    if (!as_json) {
        return output_text(&plan->text, error);
    }
    struct json *document = json_object_new();
    bool made = json_set(document, "suite", json_string_new(plan->suite->name)) &&
                json_set(document, "description", json_string_new(plan->suite->description)) &&
                json_set(document, "plan_hash", json_string_new(plan->suite->plan_hash)) &&
                json_set(document, "suite_case_count", json_integer_new(plan->suite->case_count)) &&
                json_set(document, "case_count", json_integer_new(plan->case_count)) &&
                json_set(document, "notes", notes_json(&plan->notes)) &&
                json_set(document, "cases", json_share(plan->cases));
    enum status_code code = output_json(made ? document : NULL, error);
    json_release(document);
    return code;
}

static enum status_code plan_make(struct plan *plan, struct status *error)
{
    const struct target *target = NULL;
    enum status_code code = suite_tolerances_check(plan->suite, &case_runner_measure, error);
    if (code == STATUS_OK && plan->target != NULL) {
        code = target_find(plan->target, &target, error);
        plan->target = code == STATUS_OK ? target->name : plan->target;
    }
    if (code == STATUS_OK && plan->with_estimates) {
        text_format(&plan->text, "%12s  %s, %d cases, plan %s\n", "allocated", plan->suite->name,
                    plan->suite->case_count, plan->suite->plan_hash);
    }
    for (int i = 0; i < plan->suite->case_count && code == STATUS_OK; i++) {
        if (suite_case_matches(&plan->suite->cases[i], plan->filter)) {
            code = case_add(plan, &plan->suite->cases[i], error);
        }
    }
    if (code == STATUS_OK && plan->case_count == 0) {
        code = status_set(error, STATUS_INVALID, "plan: no case of %s matches '%s'; assay plan %s --ids lists them",
                          plan->suite->path, plan->filter, plan->suite->path);
    }
    return code;
}

static enum status_code plan_command(const struct arguments *arguments, enum exit_code *exit_code, struct status *error)
{
    struct arena arena = {0};
    struct suite suite = {0};
    const char *path = suite_path(&arena, arguments->operands[0]);
    struct plan plan = {
        .suite = &suite,
        .catalogue = resource_path(&arena, "models/catalogue"),
        .filter = arguments_value(arguments, "filter"),
        .target = arguments_value(arguments, "for"),
        .with_estimates = arguments_value(arguments, "ids") == NULL,
        .cases = json_array_new(),
    };
    enum status_code code = plan.catalogue == NULL || path == NULL
                                ? status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for a path")
                                : suite_read(path, plan.catalogue, &suite, error);
    if (code == STATUS_OK) {
        code = suite_notes_give(arguments, &suite, plan.catalogue, &plan.notes, error);
    }
    if (code == STATUS_OK) {
        code = plan_make(&plan, error);
    }
    if (code == STATUS_OK) {
        code = plan_give(&plan, arguments_value(arguments, "json") != NULL, error);
    }
    if (code == STATUS_OK && plan.unknown_count > 0) {
        *exit_code = EXIT_CODE_INCONCLUSIVE;
    }
    json_release(plan.cases);
    text_release(&plan.notes);
    text_release(&plan.text);
    suite_release(&suite);
    arena_release(&arena);
    return code;
}

const struct command command_plan = {
    .name = "plan",
    .operands = "SUITE",
    .summary = "the cases of a suite and their predictions; touches no device",
    .details =
        "SUITE: a YAML file (docs/FORMAT.md). The hash is equal for equal lists of cases. allocated: the peak that\n"
        "the replay of the case's tape predicts; --json has every estimator's prediction.\n",
    .options = options,
    .operand_minimum = 1,
    .operand_maximum = 1,
    .run = plan_command,
};
