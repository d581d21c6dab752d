/* assay plan: the cases of a suite and what is predicted of them. Touches no device and writes no record. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/ordered_work.h"
#include "harness/base/size.h"
#include "harness/cli/case_options.h"
#include "harness/cli/case_suite.h"
#include "harness/cli/choice_options.h"
#include "harness/cli/command.h"
#include "harness/cli/model_notes.h"
#include "harness/cli/output.h"
#include "harness/cli/question_case.h"
#include "harness/cli/question_progress.h"
#include "harness/cli/resource_path.h"
#include "harness/cli/shard_option.h"
#include "harness/run/prediction.h"
#include "harness/run/run.h"
#include "harness/suite/suite.h"
#include "harness/tape/target.h"
#include "models/find/model_shelf.h"

enum { DOCUMENT_INDENT = 2 };

static const struct option_row options[] = {
    CHOICE_OPTION_ROWS,
    SHARD_OPTION_ROW,
    {"for", OPTION_VALUE, "TARGET", "class of devices that is predicted (default: the suite's, else sm_90)"},
    {"on", OPTION_VALUE, "GPU", "as on this GPU: its class and memory, less what context and libraries take"},
    {"memory", OPTION_VALUE, "SIZE", "what segments may take together (default: the suite's, else no bound)"},
    {"overhead", OPTION_VALUE, "SIZE", "what context and libraries take of it"},
    CASE_OPTION_ROWS,
    {"find-batch", OPTION_VALUE, "halve|0.9|bisect", "look for a batch that fits, from --batch on (docs/BATCH.md)"},
    {"ids", OPTION_FLAG, NULL, "the ids alone, without predictions"},
    STRICT_OPTION_ROW,
    {"json", OPTION_FLAG, NULL, "print one JSON document"},
    {NULL, OPTION_FLAG, NULL, NULL},
};

struct plan {
    const struct suite *suite;
    const char *catalogue, *target;
    const char *common_target; /* of all cases; NULL: they have several */
    const struct gpu *gpu;     /* --on; NULL: none */
    int64_t memory_bytes;      /* --on, --memory: what segments may take; 0: the suite decides */
    int64_t whole_bytes; /* that with a published overhead, which differs if a case loads modules eagerly; 0: no */
    bool with_estimates, as_json;
    struct shard_wish part;             /* --shard; count 0: the whole */
    const struct suite_case **selected; /* by --filter and --not */
    int selected_count;
    int unknown_count; /* of these, without a prediction by some estimator */
    int refused_count; /* of these, do not fit */
    struct model_shelf *shelf;
    struct text text; /* lines; of a document the elements of its list of cases */
    struct text notes;
    struct status error; /* of the first case that has one */
    struct question_progress progress;
};

static const char *case_target(const struct plan *plan, const struct suite_case *case_)
{
    return plan->target != NULL              ? plan->target
           : case_->settings->target != NULL ? case_->settings->target
                                             : target_at(0)->name;
}

static int64_t case_memory(const struct plan *plan, const struct suite_case *case_)
{
    const struct workload *workload = &case_->identity.workload;
    const struct target *target = NULL;
    if (plan->whole_bytes > 0 && workload->module_loading == MODULE_LOADING_EAGER &&
        target_find(case_target(plan, case_), &target, NULL) == STATUS_OK) {
        struct context_program program = context_program_of(NULL, workload);
        program.use = CONTEXT_TRAINING; /* whose libraries are the largest, as device_read has it */
        struct overhead overhead = overhead_of_device(NULL, plan->gpu, target, MODE_TRAIN, &program);
        return overhead_rest(plan->whole_bytes, overhead.high_bytes);
    }
    return plan->memory_bytes > 0 ? plan->memory_bytes : case_->settings->memory_bytes;
}

/* The output of one case, made by any thread. */
struct plan_row {
    struct text text;    /* a line, or the element of the document */
    struct json *bounds; /* with the estimates; NULL: not asked for */
    struct prediction prediction;
    struct status error; /* the plan ends here */
};

static struct json *case_bounds(const struct plan *plan, const struct estimate_input *input,
                                const struct json *estimates)
{
    struct bounds_device device = {.target = target_at(0), .gpu = plan->gpu};
    struct bounds bounds;
    bool found = target_find(input->target, &device.target, NULL) == STATUS_OK &&
                 bounds_find(json_get(estimates, "replay"), &device, input->config, input->workload, &bounds);
    return bounds_to_json(found ? &bounds : NULL);
}

static enum status_code case_predict(const struct plan *plan, const struct suite_case *case_, struct json **estimates,
                                     struct plan_row *row)
{
    struct shelf_item item = {0};
    enum status_code code =
        model_shelf_take(plan->shelf, case_->identity.model, &case_->identity.workload, &item, &row->error);
    if (code == STATUS_OK) {
        struct estimate_input input = {.config = &item.model->config,
                                       .checkpoint = item.model->checkpoint,
                                       .skeleton = item.skeleton,
                                       .bare = item.bare,
                                       .workload = &case_->identity.workload,
                                       .target = case_target(plan, case_),
                                       .memory_bytes = case_memory(plan, case_)};
        code = prediction_make(&input, estimates, &row->prediction, &row->error);
        if (code == STATUS_OK && estimates != NULL) {
            row->bounds = case_bounds(plan, &input, *estimates);
        }
    }
    model_shelf_give_back(plan->shelf, &item);
    return code;
}

/* How a search for a batch will go: ": batch 320 after 9 tries". */
static void search_append(const struct json *search, struct text *text)
{
    int64_t found = json_integer_or(json_get(search, "found"), 0);
    size_t count = json_count(json_get(search, "tries"));
    if (search != NULL && found > 0) {
        text_format(text, ": batch %" PRId64 " after", found);
    } else if (search != NULL) {
        text_append(text, ": a batch of 1 does not fit, zero after");
    }
    if (search != NULL) {
        text_format(text, " %zu tr%s", count, count == 1 ? "y" : "ies");
    }
}

static void case_line(const struct plan *plan, const struct suite_case *case_, const struct prediction *prediction,
                      struct text *text)
{
    const struct prediction_peak *peak = &prediction->peak;
    char size[SIZE_TEXT_BYTES];
    text_format(text, "%12s  %s", peak->is_known ? size_format(peak->allocated_bytes, size) : "-", case_->id);
    if (plan->common_target == NULL) {
        text_format(text, ", for %s", case_target(plan, case_));
    }
    search_append(prediction->search, text);
    text_append(text, peak->is_refused && prediction->search == NULL ? ": does not fit\n" : "\n");
}

/* As an element of the list in the document, in row->text. estimates and the row's search may be NULL: they were not
 * asked for, or there is none. */
static bool case_json(const struct plan *plan, const struct suite_case *case_, struct json *estimates,
                      struct plan_row *row)
{
    int64_t memory_bytes = case_memory(plan, case_);
    struct json *search = row->prediction.search;
    struct json *object = json_object_new();
    bool made = json_set(object, "id", json_string_new(case_->id)) &&
                json_set(object, "identity", identity_json(&case_->identity)) &&
                json_set(object, "target", json_string_new(case_target(plan, case_))) &&
                json_set(object, "memory_bytes", memory_bytes > 0 ? json_integer_new(memory_bytes) : json_null_new()) &&
                (search == NULL || json_set(object, "search", json_share(search))) &&
                (estimates == NULL || (json_set(object, "estimates", json_share(estimates)) &&
                                       json_set(object, "bounds", json_share(row->bounds))));
    if (made) {
        json_write_below(object, DOCUMENT_INDENT, 2, &row->text);
    }
    json_release(object);
    return made && !row->text.failed;
}

static void case_work(void *context, int index, void *result)
{
    const struct plan *plan = context;
    const struct suite_case *case_ = plan->selected[index];
    struct plan_row *row = result;
    struct json *estimates = NULL;
    enum status_code code = STATUS_OK;
    if (plan->with_estimates) {
        code = case_predict(plan, case_, plan->as_json ? &estimates : NULL, row);
    }
    if (code == STATUS_OK && plan->as_json && !case_json(plan, case_, estimates, row)) {
        status_set(&row->error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for the plan");
    } else if (code == STATUS_OK && !plan->as_json && plan->with_estimates) {
        case_line(plan, case_, &row->prediction, &row->text);
    } else if (code == STATUS_OK && !plan->as_json) {
        text_format(&row->text, "%s\n", case_->id);
    }
    json_release(estimates);
}

static void case_drop(void *context, void *result)
{
    struct plan_row *row = result;
    (void)context;
    text_release(&row->text);
    json_release(row->bounds);
    prediction_release(&row->prediction);
}

/* Says which case it waits for. */
static void case_show(struct plan *plan, int index)
{
    if (plan->with_estimates && index < plan->selected_count) {
        question_progress_show(&plan->progress, "[%d/%d] %s", index + 1, plan->selected_count,
                               plan->selected[index]->id);
    }
}

static bool case_take(void *context, int index, void *result)
{
    struct plan *plan = context;
    const struct suite_case *case_ = plan->selected[index];
    struct plan_row *row = result;
    if (row->error.code != STATUS_OK) {
        plan->error = row->error;
    } else if (row->prediction.failure.code != STATUS_OK) {
        char line[STATUS_LINE_BYTES];
        question_progress_end(&plan->progress);
        output_warning("assay: plan: %s cannot be predicted: %s", case_->id,
                       status_line(&row->prediction.failure, line));
        plan->unknown_count++;
    } else {
        plan->refused_count += row->prediction.peak.is_refused ? 1 : 0;
    }
    if (plan->as_json && plan->error.code == STATUS_OK) {
        text_format(&plan->text, "%s\n%*s", index > 0 ? "," : "", 2 * DOCUMENT_INDENT, "");
    }
    text_append_bytes(&plan->text, text_string(&row->text), row->text.length);
    case_drop(context, result);
    case_show(plan, index + 1);
    return plan->error.code == STATUS_OK && !plan->text.failed;
}

/* The list of cases stands last. It may be long, and goes out as it is. */
static enum status_code document_give(struct plan *plan, struct status *error)
{
    struct text head = {0};
    struct json *document = json_object_new();
    bool made = json_set(document, "suite", json_string_new(plan->suite->name)) &&
                json_set(document, "description", json_string_new(plan->suite->description)) &&
                json_set(document, "plan_hash", json_string_new(plan->suite->plan_hash)) &&
                json_set(document, "suite_case_count", json_integer_new(plan->suite->case_count)) &&
                json_set(document, "case_count", json_integer_new(plan->selected_count)) &&
                json_set(document, "notes", notes_json(&plan->notes));
    enum status_code code = made ? json_write(document, DOCUMENT_INDENT, &head, error)
                                 : status_set(error, STATUS_OUT_OF_MEMORY, "the host has no memory for the output");
    if (code == STATUS_OK) {
        head.length -= 2; /* "\n}" comes behind the cases */
        text_format(&head, ",\n%*s\"cases\": [", DOCUMENT_INDENT, "");
        text_format(&plan->text, "\n%*s]\n}\n", DOCUMENT_INDENT, "");
        code = output_text(&head, error);
    }
    if (code == STATUS_OK) {
        code = output_text(&plan->text, error);
    }
    text_release(&head);
    json_release(document);
    return code;
}

static void common_target_find(struct plan *plan)
{
    for (int i = 0; i < plan->selected_count; i++) {
        const char *target = case_target(plan, plan->selected[i]);
        bool same = i == 0 || (plan->common_target != NULL && strcmp(plan->common_target, target) == 0);
        plan->common_target = same ? target : NULL;
    }
}

static void heading(struct plan *plan)
{
    char size[SIZE_TEXT_BYTES];
    text_format(&plan->text, "%12s  %s, %d case%s, plan %s, predicted for %s", "allocated", plan->suite->name,
                plan->suite->case_count, plan->suite->case_count == 1 ? "" : "s", plan->suite->plan_hash,
                plan->common_target != NULL ? plan->common_target : "several classes of devices");
    if (plan->memory_bytes > 0) {
        text_format(&plan->text, " with %s for segments", size_format(plan->memory_bytes, size));
    }
    if (plan->part.count > 0) {
        text_format(&plan->text, "; shard %d of %d has %d of them", plan->part.index, plan->part.count,
                    plan->selected_count);
    }
    text_append(&plan->text, "\n");
}

/* In order, however many of them are made at a time. */
static enum status_code cases_make(struct plan *plan, struct status *error)
{
    const struct ordered_work work = {
        .count = plan->selected_count,
        .worker_count = plan->with_estimates ? ordered_work_workers(plan->selected_count) : 0,
        .result_bytes = sizeof(struct plan_row),
        .context = plan,
        .work = case_work,
        .take = case_take,
        .drop = case_drop,
    };
    case_show(plan, 0);
    enum status_code code = ordered_work_run(&work, error);
    question_progress_end(&plan->progress);
    if (code == STATUS_OK && plan->error.code != STATUS_OK) {
        code = status_copy(error, plan->error.code, &plan->error);
    }
    return code == STATUS_OK ? text_status(&plan->text, "the plan", error) : code;
}

/* The part that --shard names, divided as a run on a GPU divides it; with --for host as one on the host. */
static enum status_code shard_choose(const struct arguments *arguments, struct plan *plan, struct case_choice *choice,
                                     struct status *error)
{
    struct shard_plan shards = {0};
    const struct shard_question question = {.suite = plan->suite,
                                            .device = plan->target != NULL && strcmp(plan->target, "host") == 0 ? "host"
                                                                                                                : NULL,
                                            .options = "",
                                            .catalogue_dir = plan->catalogue};
    enum status_code code = shard_option_read(arguments, &plan->part, error);
    if (code == STATUS_OK) {
        code = shard_take(&plan->part, &question, choice, &shards, error);
    }
    shard_plan_release(&shards);
    return code;
}

static enum status_code cases_select(const struct arguments *arguments, struct plan *plan, struct arena *arena,
                                     struct status *error)
{
    struct case_choice choice = {0};
    enum status_code code = choice_options_read(arguments, plan->suite, &choice, error);
    if (code == STATUS_OK) {
        code = shard_choose(arguments, plan, &choice, error);
    }
    if (code != STATUS_OK) {
        case_choice_release(&choice);
        return code;
    }
    plan->selected = arena_alloc(arena, (size_t)plan->suite->case_count * sizeof(const struct suite_case *));
    if (plan->selected == NULL) {
        code = status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for the plan");
    }
    for (int i = 0; code == STATUS_OK && i < plan->suite->case_count; i++) {
        if (choice.attempts[i] > 0) {
            plan->selected[plan->selected_count++] = &plan->suite->cases[i];
        }
    }
    case_choice_release(&choice);
    return code;
}

static enum status_code plan_make(const struct arguments *arguments, struct plan *plan, struct arena *arena,
                                  struct status *error)
{
    const struct target *target = NULL;
    enum status_code code = suite_tolerances_check(plan->suite, &case_runner_measure, error);
    if (code == STATUS_OK && plan->target != NULL) {
        code = target_find(plan->target, &target, error);
        plan->target = code == STATUS_OK ? target->name : plan->target;
        if (code != STATUS_OK) {
            status_prefix(error, "plan: --for");
        }
    }
    if (code == STATUS_OK) {
        code = cases_select(arguments, plan, arena, error);
    }
    if (code == STATUS_OK) {
        common_target_find(plan);
        if (plan->with_estimates && !plan->as_json) {
            heading(plan);
        }
        code = cases_make(plan, error);
    }
    if (code == STATUS_OK && plan->refused_count > 0 && !plan->as_json) {
        text_format(&plan->text, "\n%d of %d cases do not fit\n", plan->refused_count, plan->selected_count);
    }
    return code;
}

/* --on, --memory and --overhead; a GPU has its class too. */
static enum status_code device_read(const struct arguments *arguments, struct plan *plan, struct status *error)
{
    struct question_case question = {.identity.workload.mode = MODE_TRAIN}; /* whose libraries are the largest */
    enum status_code code = question_device_read(arguments, &question, error);
    if (code == STATUS_OK && question.gpu != NULL) {
        plan->target = target_of_gpu(question.gpu)->name;
        plan->gpu = question.gpu;
    }
    plan->memory_bytes = code == STATUS_OK ? question_segment_bytes(&question) : 0;
    if (code == STATUS_OK && question.gpu != NULL && question.overhead.kind == OVERHEAD_PUBLISHED) {
        plan->whole_bytes = question.memory_bytes;
    }
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
        .target = arguments_value(arguments, "for"),
        .with_estimates = arguments_value(arguments, "ids") == NULL,
        .as_json = arguments_value(arguments, "json") != NULL,
        .progress = {.command = "plan", .pause_seconds = 0.1},
    };
    struct model_places places = {.catalogue_dir = plan.catalogue};
    enum status_code code = plan.catalogue == NULL || path == NULL
                                ? status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for a path")
                            : case_options_given(arguments) ? case_suite_read(arguments, plan.catalogue, &suite, error)
                                                            : suite_read(path, plan.catalogue, &suite, error);
    if (code == STATUS_INVALID && path != NULL && !case_options_given(arguments)) {
        suite_hint(arguments, error);
    }
    if (code == STATUS_OK) {
        code = device_read(arguments, &plan, error);
    }
    if (code == STATUS_OK) {
        code = suite_notes_give(arguments, &suite, plan.catalogue, &plan.notes, error);
    }
    if (code == STATUS_OK) {
        places.folder = suite.folder;
        code = model_shelf_open(&places, &plan.shelf, error);
    }
    if (code == STATUS_OK) {
        code = plan_make(arguments, &plan, &arena, error);
    }
    if (code == STATUS_OK) {
        code = plan.as_json ? document_give(&plan, error) : output_lines(&plan.text, error);
    }
    if (code == STATUS_OK && plan.unknown_count > 0) {
        struct text reason = {0};
        text_format(&reason, "INCONCLUSIVE: %d of %d case%s cannot be predicted", plan.unknown_count,
                    plan.selected_count, plan.selected_count == 1 ? "" : "s");
        *exit_code = EXIT_CODE_INCONCLUSIVE;
        exit_reason_print("plan", *exit_code, text_string(&reason));
        text_release(&reason);
    }
    model_shelf_close(plan.shelf);
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
    .details = "SUITE: a YAML file (docs/FORMAT.md), or a model with the options of a case, whose lists multiply\n"
               "as in a suite: assay plan gpt2 --mode train --batch 8,16,32. Equal lists of cases have equal\n"
               "hashes.\n"
               "\n"
               "allocated: the peak that the replay of the case's tape predicts; --json has every estimator's\n"
               "prediction. A run predicts for the device that it measures on: --for host or --on GPU shows what\n"
               "it would say there.\n",
    .options = options,
    .operand_minimum = 1,
    .operand_maximum = 1,
    .run = plan_command,
};
