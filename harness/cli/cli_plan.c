/* assay plan: the cases of a suite and what is predicted of them. Touches no device and writes no record. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/shell_word.h"
#include "harness/base/size.h"
#include "harness/cli/case_options.h"
#include "harness/cli/case_suite.h"
#include "harness/cli/command.h"
#include "harness/cli/model_notes.h"
#include "harness/cli/output.h"
#include "harness/cli/question_case.h"
#include "harness/cli/question_progress.h"
#include "harness/cli/resource_path.h"
#include "harness/run/prediction.h"
#include "harness/run/run.h"
#include "harness/suite/suite.h"
#include "harness/tape/target.h"
#include "models/model.h"

static const struct option_row options[] = {
    {"filter", OPTION_VALUE, "GLOB", "only cases whose id or one of whose tags matches"},
    {"for", OPTION_VALUE, "TARGET", "class of devices that is predicted (default: the suite's, else sm_90)"},
    {"on", OPTION_VALUE, "GPU", "as on this GPU: its class and memory, less what context and libraries take"},
    {"memory", OPTION_VALUE, "SIZE", "what segments may take together (default: the suite's, else without a bound)"},
    {"overhead", OPTION_VALUE, "SIZE", "what context and libraries take of it"},
    CASE_OPTION_ROWS,
    {"ids", OPTION_FLAG, NULL, "the ids alone, without predictions"},
    STRICT_OPTION_ROW,
    {"json", OPTION_FLAG, NULL, "print one JSON document"},
    {NULL, OPTION_FLAG, NULL, NULL},
};

struct plan {
    const struct suite *suite;
    const char *catalogue, *filter, *target;
    const char *common_target; /* of all cases; NULL: they have several */
    int64_t memory_bytes;      /* --on, --memory: what segments may take; 0: the suite decides */
    bool with_estimates;
    int case_count;     /* selected */
    int unknown_count;  /* of these, without a prediction by some estimator */
    int refused_count;  /* of these, do not fit */
    struct json *cases; /* a list; one object for each */
    struct text text, notes;
    struct question_progress progress;
};

static const struct json *replayed_peak(const struct json *estimates)
{
    return json_get(json_get(estimates, "replay"), "allocated_bytes_peak");
}

static bool is_known(const struct json *figure)
{
    return json_kind(figure) == JSON_KIND_INTEGER;
}

static const char *case_target(const struct plan *plan, const struct suite_case *case_)
{
    return plan->target != NULL              ? plan->target
           : case_->settings->target != NULL ? case_->settings->target
                                             : target_at(0)->name;
}

static int64_t case_memory(const struct plan *plan, const struct suite_case *case_)
{
    return plan->memory_bytes > 0 ? plan->memory_bytes : case_->settings->memory_bytes;
}

/* Whether the replay ran into the bound: an answer, and not a prediction that is missing. */
static bool is_refused(const struct json *estimates)
{
    return strcmp(json_string_or(json_get(json_get(estimates, "replay"), "fits"), ""), "no") == 0;
}

static enum status_code case_predict(struct plan *plan, const struct suite_case *case_, struct json **estimates,
                                     struct status *error)
{
    const struct model_places places = {.catalogue_dir = plan->catalogue};
    struct model model = {0};
    struct skeleton skeleton = {0};
    struct status failure = {0};
    enum status_code code = model_find(&places, case_->identity.model, &model, error);
    if (code == STATUS_OK) {
        code = model_skeleton(&model, &case_->identity.workload, &skeleton, error);
    }
    if (code == STATUS_OK) {
        struct estimate_input input = {.config = &model.config,
                                       .checkpoint = model.checkpoint,
                                       .skeleton = &skeleton,
                                       .workload = &case_->identity.workload,
                                       .target = case_target(plan, case_),
                                       .memory_bytes = case_memory(plan, case_)};
        code = prediction_json(&input, estimates, &failure, error);
    }
    if (code == STATUS_OK && failure.code == STATUS_OK && is_refused(*estimates)) {
        plan->refused_count++;
    } else if (code == STATUS_OK && failure.code == STATUS_OK && !is_known(replayed_peak(*estimates))) {
        status_set(&failure, STATUS_INVALID, "%s",
                   json_string_or(json_get(json_get(*estimates, "replay"), "note"), "replay does not say why"));
    }
    if (code == STATUS_OK && failure.code != STATUS_OK) {
        question_progress_end(&plan->progress);
        output_warning("assay: plan: %s cannot be predicted: %s", case_->id, failure.text);
        plan->unknown_count++;
    }
    skeleton_release(&skeleton);
    model_release(&model);
    return code;
}

static void case_line(const struct plan *plan, const struct suite_case *case_, const struct json *estimates,
                      struct text *text)
{
    char size[SIZE_TEXT_BYTES];
    const struct json *peak = replayed_peak(estimates);
    text_format(text, "%12s  %s", is_known(peak) ? size_format(json_integer_or(peak, 0), size) : "-", case_->id);
    if (plan->common_target == NULL) {
        text_format(text, ", for %s", case_target(plan, case_));
    }
    text_append(text, is_refused(estimates) ? ": does not fit\n" : "\n");
}

static enum status_code case_add(struct plan *plan, const struct suite_case *case_, struct status *error)
{
    struct json *row = json_object_new();
    struct json *estimates = NULL;
    enum status_code code = plan->with_estimates ? case_predict(plan, case_, &estimates, error) : STATUS_OK;
    if (code == STATUS_OK && plan->with_estimates) {
        case_line(plan, case_, estimates, &plan->text);
    } else if (code == STATUS_OK) {
        text_format(&plan->text, "%s\n", case_->id);
    }
    bool made = json_set(row, "id", json_string_new(case_->id)) &&
                json_set(row, "identity", identity_json(&case_->identity)) &&
                json_set(row, "target", json_string_new(case_target(plan, case_))) &&
                json_set(row, "memory_bytes",
                         case_memory(plan, case_) > 0 ? json_integer_new(case_memory(plan, case_)) : json_null_new()) &&
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
        return output_lines(&plan->text, error);
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

static void common_target_find(struct plan *plan)
{
    bool first = true;
    for (int i = 0; i < plan->suite->case_count; i++) {
        const struct suite_case *case_ = &plan->suite->cases[i];
        if (suite_case_matches(case_, plan->filter)) {
            const char *target = case_target(plan, case_);
            bool same = first || (plan->common_target != NULL && strcmp(plan->common_target, target) == 0);
            plan->common_target = same ? target : NULL;
            first = false;
        }
    }
}

static void heading(struct plan *plan)
{
    char size[SIZE_TEXT_BYTES];
    text_format(&plan->text, "%12s  %s, %d cases, plan %s, predicted for %s", "allocated", plan->suite->name,
                plan->suite->case_count, plan->suite->plan_hash,
                plan->common_target != NULL ? plan->common_target : "several classes of devices");
    if (plan->memory_bytes > 0) {
        text_format(&plan->text, " with %s for segments", size_format(plan->memory_bytes, size));
    }
    text_append(&plan->text, "\n");
}

static enum status_code plan_make(struct plan *plan, struct status *error)
{
    const struct target *target = NULL;
    enum status_code code = suite_tolerances_check(plan->suite, &case_runner_measure, error);
    if (code == STATUS_OK && plan->target != NULL) {
        code = target_find(plan->target, &target, error);
        plan->target = code == STATUS_OK ? target->name : plan->target;
    }
    common_target_find(plan);
    if (code == STATUS_OK && plan->with_estimates) {
        heading(plan);
    }
    for (int i = 0; i < plan->suite->case_count && code == STATUS_OK; i++) {
        if (suite_case_matches(&plan->suite->cases[i], plan->filter)) {
            if (plan->with_estimates) {
                question_progress_show(&plan->progress, "[%d/%d] %s", i + 1, plan->suite->case_count,
                                       plan->suite->cases[i].id);
            }
            code = case_add(plan, &plan->suite->cases[i], error);
        }
    }
    question_progress_end(&plan->progress);
    if (code == STATUS_OK && plan->refused_count > 0) {
        text_format(&plan->text, "\n%d of %d cases do not fit\n", plan->refused_count, plan->case_count);
    }
    if (code == STATUS_OK && plan->case_count == 0) {
        struct text path = {0};
        shell_word_append(&path, plan->suite->path);
        code = status_set(error, STATUS_INVALID, "plan: no case of %s matches '%s'; assay plan %s --ids lists them",
                          plan->suite->path, plan->filter, text_string(&path));
        text_release(&path);
    }
    return code;
}

/* --on, --memory and --overhead; a GPU has its class too. */
static enum status_code device_read(const struct arguments *arguments, struct plan *plan, struct status *error)
{
    struct question_case question = {0};
    enum status_code code = question_device_read(arguments, &question, error);
    if (code == STATUS_OK && question.gpu != NULL) {
        plan->target = question.gpu->target;
    }
    plan->memory_bytes = code == STATUS_OK ? question_segment_bytes(&question) : 0;
    text_append(&plan->notes, text_string(&question.notes));
    text_release(&question.notes);
    arena_release(&question.arena);
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
        .progress = {.command = "plan", .pause_seconds = 0.1},
        .cases = json_array_new(),
    };
    enum status_code code = plan.catalogue == NULL || path == NULL
                                ? status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for a path")
                            : case_options_given(arguments) ? case_suite_read(arguments, plan.catalogue, &suite, error)
                                                            : suite_read(path, plan.catalogue, &suite, error);
    if (code == STATUS_OK) {
        code = device_read(arguments, &plan, error);
    }
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
        struct text reason = {0};
        text_format(&reason, "INCONCLUSIVE: %d of %d case%s cannot be predicted", plan.unknown_count, plan.case_count,
                    plan.case_count == 1 ? "" : "s");
        *exit_code = EXIT_CODE_INCONCLUSIVE;
        exit_reason_print("plan", *exit_code, text_string(&reason));
        text_release(&reason);
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
        "SUITE: a YAML file (docs/FORMAT.md); or a model with the options of a case, where lists multiply as in a\n"
        "suite: assay plan gpt2 --mode train --batch 8,16,32. The hash is equal for equal lists of cases. allocated:\n"
        "the peak that the replay of the case's tape predicts; --json has every estimator's prediction. A run\n"
        "predicts for the device that measures: --for host, or --on GPU, is what it would say there.\n",
    .options = options,
    .operand_minimum = 1,
    .operand_maximum = 1,
    .run = plan_command,
};
