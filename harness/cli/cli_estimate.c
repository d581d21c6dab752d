/* assay estimate: accelerate's table of a model, or every estimator's prediction for a case. Touches no device. */
#include "harness/cli/answer_markdown.h"
#include "harness/cli/calibration_option.h"
#include "harness/cli/case_options.h"
#include "harness/cli/command.h"
#include "harness/cli/estimate_cases.h"
#include "harness/cli/estimate_table.h"
#include "harness/cli/model_notes.h"
#include "harness/cli/parallel_options.h"
#include "harness/cli/question_case.h"
#include "harness/cli/resource_path.h"
#include "models/find/model.h"

static const struct option_row options[] = {
    CASE_OPTION_ROWS,
    PARALLEL_OPTION_ROWS,
    {"for", OPTION_VALUE, "TARGET", "class of devices whose workspaces are predicted, or a GPU (default: sm_90)"},
    {"peak", OPTION_VALUE, "STAGE", "what its peak holds: load, forward, backward, step, generate or highest"},
    QUESTION_DEVICE_ROWS,
    CALIBRATION_OPTION_ROW,
    {"dtypes", OPTION_LIST, "DTYPE", "without --mode: float32, float16, int8, int4 (default: all)"},
    {"rule", OPTION_VALUE, "current|0.23", "without --mode: release of accelerate whose training column is printed"},
    {"transformers", OPTION_VALUE, "RELEASE", "without --mode: whose classes count: current, 4.31 ..., file (its own)"},
    STRICT_OPTION_ROW,
    {"json", OPTION_FLAG, NULL, "print one JSON document"},
    FORMAT_OPTION_ROW,
    {NULL, OPTION_FLAG, NULL, NULL},
};

static const char *const table_options[] = {"dtypes", "rule", "transformers"};

/* If nothing says which model a file holds, there is a table of what it stores, but no case. */
static enum status_code unread_take(const struct arguments *arguments, const struct status *unread, struct text *notes,
                                    struct status *error)
{
    char line[STATUS_LINE_BYTES];
    if (arguments_value(arguments, "strict") != NULL) {
        return status_copy(error, unread->code, unread);
    }
    note_give("estimate", notes, "%s; assay weighs what is stored, without what a model adds to it",
              status_line(unread, line));
    return STATUS_OK;
}

static enum status_code table_of_model(const struct arguments *arguments, struct status *error)
{
    struct arena arena = {0};
    struct model model = {0};
    struct text notes = {0};
    struct status unread = {0};
    const struct model_places places = {.catalogue_dir = resource_path(&arena, "models/catalogue")};
    enum status_code code = places.catalogue_dir == NULL
                                ? status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for a path")
                                : model_open(&places, arguments->operands[0], &model, &unread, error);
    if (code == STATUS_OK && model.config.family == NULL) {
        code = unread_take(arguments, &unread, &notes, error);
    } else if (code == STATUS_OK) {
        code = model_notes_give(arguments, &model, &notes, error);
    }
    code = checkpoint_hint(arguments->operands[0], code, error);
    if (code == STATUS_OK) {
        code = estimate_table_print(arguments, &model, &notes, error);
    }
    text_release(&notes);
    model_release(&model);
    arena_release(&arena);
    return code;
}

static enum status_code estimate_run(const struct arguments *arguments, enum exit_code *exit_code, struct status *error)
{
    static const char *const case_words[] = {"for", "peak", "constants", "on", "memory", "overhead", "calibration"};
    (void)exit_code;
    enum answer_format format;
    enum status_code code = answer_format_read(arguments, &format, error);
    if (code != STATUS_OK) {
        return code;
    }
    bool is_case = case_options_given(arguments) || parallel_options_given(arguments);
    for (size_t i = 0; i < sizeof case_words / sizeof case_words[0]; i++) {
        is_case = is_case || arguments_value(arguments, case_words[i]) != NULL;
    }
    for (size_t i = 0; i < sizeof table_options / sizeof table_options[0] && is_case; i++) {
        if (arguments_value(arguments, table_options[i]) != NULL) {
            return status_set(error, STATUS_INVALID,
                              "estimate: --%s belongs to the table without --mode; leave one out", table_options[i]);
        }
    }
    return is_case ? estimate_cases_print(arguments, error) : table_of_model(arguments, error);
}

const struct command command_estimate = {
    .name = "estimate",
    .operands = "MODEL",
    .summary = "what a model, or a case of it, will occupy",
    .details = "MODEL: a name of the catalogue, a config.json of Hugging Face, a folder that holds one, a .gguf,\n"
               "or OWNER/NAME[@REVISION][/FILE] of its hub (HF_ENDPOINT, HF_TOKEN, HF_HUB_OFFLINE, HF_HOME). If a\n"
               ".safetensors has no config.json, its tensors say what the model is, or its stored bytes are\n"
               "weighed.\n"
               "\n"
               "Without --mode: the table of accelerate estimate-memory. With --mode: what every estimator\n"
               "predicts; assay estimators lists them. Lists, as --batch 8,16,32 --precision bf16,fp16, give a row\n"
               "for each case.\n"
               "\n"
               "--on and --memory predict for a device of that memory, on which the allocator gives back what it\n"
               "only caches; without them there is no limit. If devices divide the model, the figures are those of\n"
               "the device that holds most.\n"
               "\n"
               "What is predicted is PyTorch in eager mode: torch.compile and CUDA graphs take other memory, which\n"
               "is not modelled. docs/NUMBERS.md derives every number.\n",
    .options = options,
    .operand_minimum = 1,
    .operand_maximum = 1,
    .run = estimate_run,
};
