/* assay factor: what to use in place of 1.2 x the weights, for each case of a grid and for all of it. Touches no
 * device. */
#include <string.h>

#include "harness/case/program.h"
#include "harness/cli/case_list.h"
#include "harness/cli/case_options.h"
#include "harness/cli/model_notes.h"
#include "harness/cli/output.h"
#include "harness/cli/page_sink.h"
#include "harness/cli/question_case.h"
#include "harness/question/factor.h"

static const struct option_row options[] = {
    {"on", OPTION_VALUE, "GPU", "a GPU by its name: \"NVIDIA H200\", \"RTX 4090\", \"A100 80GB\""},
    {"for", OPTION_VALUE, "TARGET", "instead: a class of devices (default: sm_90)"},
    CASE_OPTION_ROWS,
    STRICT_OPTION_ROW,
    {"json", OPTION_FLAG, NULL, "the same as --format json"},
    {"format", OPTION_VALUE, "FORMAT", "table (default), md, html, latex, csv or json"},
    {"output", OPTION_VALUE, "FILE", "write to FILE"},
    {NULL, OPTION_FLAG, NULL, NULL},
};

static enum status_code format_read(const struct arguments *arguments, enum report_format *format, struct status *error)
{
    const char *name = arguments_value(arguments, "format");
    bool as_json = arguments_value(arguments, "json") != NULL;
    enum status_code code = STATUS_OK;
    *format = as_json ? REPORT_JSON : REPORT_TABLE;
    if (name != NULL) {
        code = page_format_parse(&factor_page, name, format, error);
        if (code != STATUS_OK) {
            status_prefix(error, "factor: --format");
        } else if (as_json && *format != REPORT_JSON) {
            code = status_set(error, STATUS_INVALID, "factor: --json and --format %s name two formats; leave one out",
                              name);
        }
    }
    return code;
}

/* Inference, if nobody says what. */
static struct arguments mode_supply(const struct arguments *arguments)
{
    struct arguments supplied = *arguments;
    for (int row = 0; arguments->command->options[row].name != NULL; row++) {
        if (strcmp(arguments->command->options[row].name, "mode") == 0 && supplied.values[row] == NULL) {
            supplied.values[row] = "infer";
        }
    }
    return supplied;
}

static enum status_code mode_check(const struct workload *workload, struct status *error)
{
    return workload->mode == MODE_INFER || workload->mode == MODE_GENERATE
               ? STATUS_OK
               : status_set(error, STATUS_INVALID,
                            "factor: 1.2 x the weights is a rule of inference; --mode is infer or generate, and assay "
                            "estimate answers for the others");
}

static bool document_add(const struct question_case *question, const struct factor_case *one, struct json *all)
{
    struct json *object = json_object_new();
    bool made = question_case_set(question, object) && factor_case_set(one, question->gpu != NULL, object);
    return json_append(all, json_made(object, made));
}

/* A case of the list; index 0 is open already. */
static enum status_code case_find(const struct case_list *list, int index, struct question_case *question,
                                  struct factor_case *one, struct json *all, struct status *error)
{
    const struct arguments typed = case_list_at(list, index);
    struct text id = {0};
    enum status_code code = index == 0 ? STATUS_OK : question_case_vary(&typed, question, error);
    code = code == STATUS_OK ? mode_check(question->input.workload, error) : code;
    if (code == STATUS_OK) {
        const struct bounds_device device = question_bounds_device(question);
        question_positions_note(&typed, question);
        code = factor_case_find(&question->input, &device, one, error);
    }
    if (code == STATUS_OK) {
        question_case_name(question, &id);
        one->name = arena_copy(&question->arena, text_string(&id) + strlen(question->identity.model) + 1);
        if (id.failed || one->name == NULL || !document_add(question, one, all)) {
            code = status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for the cases");
        }
    }
    text_release(&id);
    return code;
}

static enum status_code grid_give(const struct arguments *arguments, const struct factor_grid *grid,
                                  enum report_format format, struct status *error)
{
    const struct report_style style = {.width = terminal_width(stdout)};
    struct page_sink sink;
    enum status_code code = page_sink_open(arguments_value(arguments, "output"), &sink, error);
    code = code == STATUS_OK ? page_render(&factor_page, grid, format, &style, &sink.text, error) : code;
    return page_sink_close(&sink, code, error);
}

static enum status_code factors_print(const struct arguments *arguments, const struct case_list *list,
                                      enum report_format format, struct status *error)
{
    const struct arguments first = case_list_at(list, 0);
    struct question_case question;
    struct text program = {0};
    enum status_code code = question_case_open(&first, &question, error);
    if (code != STATUS_OK) {
        return code;
    }
    struct json *documents = json_array_new();
    struct factor_case *cases = arena_alloc(&question.arena, (size_t)list->count * sizeof *cases);
    program_line(&question.identity.workload, question.identity.fields, &program);
    const char *line = text_string(&program);
    const char *said = arena_format(&question.arena, "%.*s", (int)strcspn(line, "\n"), line);
    if (cases == NULL || documents == NULL || said == NULL) {
        code = status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for the cases");
    }
    for (int at = 0; at < list->count && code == STATUS_OK; at++) {
        code = case_find(list, at, &question, &cases[at], documents, error);
    }
    if (code == STATUS_OK) {
        const struct factor_grid grid = {.model = question.identity.model,
                                         .device = question.gpu != NULL ? question.gpu->name : question.input.target,
                                         .program = said,
                                         .is_gpu = question.gpu != NULL,
                                         .cases = cases,
                                         .count = list->count,
                                         .cases_json = documents};
        code = grid_give(arguments, &grid, format, error);
    }
    json_release(documents);
    text_release(&program);
    question_case_close(&question);
    return code;
}

static enum status_code factor_run(const struct arguments *arguments, enum exit_code *exit_code, struct status *error)
{
    const struct arguments supplied = mode_supply(arguments);
    struct case_list list = {0};
    enum report_format format = REPORT_TABLE;
    (void)exit_code;
    enum status_code code = format_read(arguments, &format, error);
    code = code == STATUS_OK ? case_list_make(&supplied, &list, error) : code;
    code = code == STATUS_OK ? factors_print(arguments, &list, format, error) : code;
    case_list_release(&list);
    return code;
}

const struct command command_factor = {
    .name = "factor",
    .operands = "MODEL",
    .summary = "what to use in place of 1.2 x the weights for inference",
    .details =
        "MODEL as in assay estimate. Lists, as --batch 1,4,16 --seq 128,1024 --precision bf16,int8, make a grid.\n"
        "\n"
        "For each case: the peak of its tensors and what nvidia-smi shows, each over the weights, and the range\n"
        "of the latter. Above them: the least factor that is enough for the whole grid, and for how many of its\n"
        "cases EleutherAI's 1.2, which accelerate's documentation repeats, is too little.\n"
        "\n"
        "The figures are replay's; docs/PUBLISHED.md holds them against measurements. --mode generate answers\n"
        "for generation.\n",
    .options = options,
    .operand_minimum = 1,
    .operand_maximum = 1,
    .run = factor_run,
};
