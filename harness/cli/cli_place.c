/* assay place: which module goes to which device, as accelerate decides it or as a replay needs it. Touches no device
 * but with --run. */
#include <stdlib.h>
#include <string.h>

#include "harness/base/size.h"
#include "harness/cli/command.h"
#include "harness/cli/model_notes.h"
#include "harness/cli/output.h"
#include "harness/cli/place_check.h"
#include "harness/cli/place_execution.h"
#include "harness/cli/place_options.h"
#include "harness/cli/place_table.h"
#include "harness/placement/plan_json.h"

static const struct option_row options[] = {
    {"max-memory", OPTION_VALUE, "DEVICE=SIZE,...", "budgets: 0=10GB,1=10GiB,cpu=50GB; sizes as accelerate reads them"},
    {"on", OPTION_VALUE, "GPU", "instead: GPUs by their name, \"RTX 4090\", \"A100 80GB x4\""},
    {"head", OPTION_VALUE, "bare|lm", "without or with the head of the task (default: lm)"},
    {"precision", OPTION_VALUE, "P", "as stored, else float32; or float16, bfloat16, int8, int4, fp8"},
    {"no-split", OPTION_LIST, "CLASS", "classes that stay whole (default: the model's own); none: nothing does"},
    {"special-dtypes", OPTION_VALUE, "NAME=DTYPE,...", "tensors of another type, as lm_head.weight=float32"},
    {"balanced", OPTION_FLAG, NULL, "all GPUs get about as much (default), as device_map=\"auto\""},
    {"balanced-low-0", OPTION_FLAG, NULL, "the same, but GPU 0 gets only what the others leave"},
    {"sequential", OPTION_FLAG, NULL, "fill one GPU after the other"},
    {"offload-buffers", OPTION_FLAG, NULL, "buffers of modules on cpu and disk lie there too"},
    {"fallback", OPTION_FLAG, NULL, "look for something smaller for a device that would stay empty"},
    {"no-clean", OPTION_FLAG, NULL, "keep every key, even if all below a module go to one device"},
    {"check", OPTION_VALUE, "FILE.json", "instead of planning: whether this device map covers the model"},
    PLACE_CASE_ROWS,
    {"verbose", OPTION_FLAG, NULL, "tell each step and why"},
    STRICT_OPTION_ROW,
    {"json", OPTION_FLAG, NULL, "print one JSON document"},
    {NULL, OPTION_FLAG, NULL, NULL},
};

enum { PYTHON_COLUMNS = 96 };

static const char *strategy_name(enum placement_strategy strategy)
{
    return strategy == PLACEMENT_BALANCED         ? "balanced"
           : strategy == PLACEMENT_BALANCED_LOW_0 ? "balanced_low_0"
                                                  : "sequential";
}

static enum status_code json_print(const struct place_case *place, const struct device_plan *plan, struct status *error)
{
    struct json *document = json_object_new();
    bool made = device_plan_set(plan, document) &&
                json_set(document, "strategy", json_string_new(strategy_name(place->request.strategy))) &&
                json_set(document, "model", json_string_new(place->model.config.name)) &&
                json_set(document, "head", json_string_new(head_name(place->skeleton.head))) &&
                json_set(document, "precision", json_string_new(place->request.width->name)) &&
                json_set(document, "warnings", notes_json(&plan->warnings)) &&
                json_set(document, "notes", notes_json(&place->notes));
    if (place->request.wants_steps) {
        made = made && json_set(document, "steps", notes_json(&plan->steps));
    }
    document = json_made(document, made);
    enum status_code code = output_json(document, error);
    json_release(document);
    return code;
}

static enum status_code lines_print(const struct place_case *place, const struct device_plan *plan,
                                    struct status *error)
{
    struct text text = {0};
    char size[SIZE_TEXT_BYTES];
    int64_t bits = 0;
    int columns = table_width();
    for (int i = 0; i < plan->share_count; i++) {
        const struct placement_share *share = &plan->shares[i];
        bits =
            size_add(bits, share->weight_bits, &bits) && size_add(bits, share->buffer_bits, &bits) ? bits : INT64_MAX;
    }
    if (place->request.wants_steps) {
        text_format(&text, "%s\n", text_string(&plan->steps));
    }
    text_format(&text, "%s (%s) in %s, %s: %s of weights and buffers\n\n", place->model.config.name,
                place->skeleton.head == HEAD_BARE ? "bare" : "with head", place->request.width->name,
                strategy_name(place->request.strategy), size_format(bits_to_bytes(bits), size));
    place_table_append(plan, columns, &text);
    text_append(&text, "\n");
    place_python_append(&plan->map, columns < PYTHON_COLUMNS ? columns : PYTHON_COLUMNS, &text);
    enum status_code code = output_lines(&text, error);
    text_release(&text);
    return code;
}

static void warnings_print(const struct device_plan *plan)
{
    for (const char *line = text_string(&plan->warnings); *line != '\0';) {
        int length = (int)strcspn(line, "\n");
        output_warning("assay: place: %.*s", length, line);
        line += length + (line[length] == '\n' ? 1 : 0);
    }
}

static enum status_code plan_print(const struct arguments *arguments, struct place_case *place, struct status *error)
{
    struct device_plan plan;
    enum status_code code = device_plan_make(&place->skeleton, &place->request, &plan, error);
    if (code != STATUS_OK) {
        status_prefix(error, "place");
        return code;
    }
    warnings_print(&plan);
    code =
        arguments_value(arguments, "json") != NULL ? json_print(place, &plan, error) : lines_print(place, &plan, error);
    device_plan_release(&plan);
    return code;
}

static enum status_code execution_print(const struct arguments *arguments, const struct place_execution *execution,
                                        struct status *error)
{
    if (arguments_value(arguments, "json") != NULL) {
        struct json *document = place_execution_json(execution);
        enum status_code code = output_json(document, error);
        json_release(document);
        return code;
    }
    struct text text = {0};
    place_execution_lines(execution, table_width(), &text);
    enum status_code code = output_lines(&text, error);
    text_release(&text);
    return code;
}

/* The plan, carried out. Exit code 1: it runs out of memory, or the bytes are not those that were predicted. */
static enum status_code plan_execute(const struct arguments *arguments, const struct place_case *place,
                                     enum exit_code *exit_code, struct status *error)
{
    struct place_execution *execution = calloc(1, sizeof *execution);
    if (execution == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for a plan");
    }
    enum status_code code = place_execution_make(arguments, place, execution, error);
    if (code == STATUS_OK) {
        if (execution->plan.has_accelerate) {
            warnings_print(&execution->plan.accelerate);
        }
        code = execution_print(arguments, execution, error);
        const struct placed_outcome *outcome =
            execution->runs ? &execution->plan.main.measured : &execution->plan.main.predicted;
        bool agrees = place_trial_agrees(execution);
        if (code == STATUS_OK && (!outcome->fits || !agrees)) {
            *exit_code = EXIT_CODE_FAIL;
            exit_reason_print("place", EXIT_CODE_FAIL,
                              !agrees ? "what was measured is not what was predicted"
                                      : "the map runs out of memory within these budgets");
        }
        place_execution_release(execution);
    } else if (execution->site.is_interrupted) {
        char line[STATUS_LINE_BYTES];
        output_warning("assay: %s; nothing is left of it",
                       error != NULL ? status_line(error, line) : "the run was interrupted");
        *exit_code = EXIT_CODE_INCOMPLETE;
        code = STATUS_OK;
    }
    free(execution);
    return code;
}

static enum status_code place_run(const struct arguments *arguments, enum exit_code *exit_code, struct status *error)
{
    struct place_case place;
    bool is_check = arguments_value(arguments, "check") != NULL, executes = false;
    enum status_code code = place_execution_wanted(arguments, &executes, error);
    if (code == STATUS_OK && is_check && executes) {
        code = status_set(error, STATUS_INVALID,
                          "place: --check looks at a map of your own, which is not carried out; leave --check out, or "
                          "--run, --predict and --exact");
    }
    if (code == STATUS_OK) {
        code = place_case_open(arguments, !is_check, &place, error);
    }
    if (code != STATUS_OK) {
        return code;
    }
    code = is_check   ? place_check(arguments, &place, exit_code, error)
           : executes ? plan_execute(arguments, &place, exit_code, error)
                      : plan_print(arguments, &place, error);
    place_case_close(&place);
    return code;
}

const struct command command_place = {
    .name = "place",
    .operands = "MODEL",
    .summary = "which module goes to which device, as accelerate decides it",
    .details = "The device map is that of get_balanced_memory and infer_auto_device_map (accelerate 1.15), key for\n"
               "key. Without a budget for the cpu, what the GPUs do not hold goes to the disk. placed: bytes as\n"
               "the planner counts them. kept free: room for the largest layer that was still to come, on the\n"
               "first GPU and the cpu. needs: the least budget with which the device would run through.\n"
               "\n"
               "--run carries the plan out: every GPU is cuda:N, or the host's memory if there is none, and is\n"
               "bounded to its budget. What goes to the disk is kept in --offload-folder, else in a temporary one.\n"
               "\n"
               "--exact keeps nothing free for a largest layer: it puts as much on faster devices as a replay of\n"
               "this batch and length allows.\n"
               "\n"
               "Exit codes:\n"
               "  1  tensors have no device (--check), or a device runs out of memory or is not as predicted\n"
               "  2  an option or the model is wrong, or accelerate raises an exception, which the message names\n"
               "  5  another run has a GPU\n"
               "  7  the run was interrupted\n",
    .options = options,
    .operand_minimum = 1,
    .operand_maximum = 1,
    .computes = true,
    .run = place_run,
};
