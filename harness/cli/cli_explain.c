/* assay explain: every byte at the peak of a case, by tensor, module, category, stage or dtype. Touches no device. */
#include <inttypes.h>
#include <string.h>

#include "harness/base/file_replace.h"
#include "harness/base/nearest.h"
#include "harness/base/size.h"
#include "harness/cli/case_options.h"
#include "harness/cli/model_notes.h"
#include "harness/cli/output.h"
#include "harness/cli/question_case.h"
#include "harness/cli/question_progress.h"
#include "harness/question/explain.h"
#include "harness/question/habit_cost.h"

static const struct option_row options[] = {
    {"at", OPTION_VALUE, "STAGE", "load, forward, backward, step, generate; highest (default): of all stages"},
    {"by", OPTION_VALUE, "WHAT", "tensor (default), module, category, stage (in which it was taken), dtype"},
    {"all", OPTION_FLAG, NULL, "every row, and modules with their numbers, instead of the largest"},
    {"folded", OPTION_VALUE, "FILE", "write stacks for flamegraph.pl or speedscope, whose sum is the peak"},
    QUESTION_DEVICE_ROWS,
    CASE_OPTION_ROWS,
    STRICT_OPTION_ROW,
    {"for", OPTION_VALUE, "TARGET", "class of devices whose workspaces are predicted (default: sm_90)"},
    {"json", OPTION_FLAG, NULL, "print one JSON document"},
    {NULL, OPTION_FLAG, NULL, NULL},
};

enum { ROWS_SHOWN = 25, LINE_COLUMNS = 80, LEFT_COLUMNS = 29, RULE_COLUMNS = 15 };

static enum status_code stage_read(const struct arguments *arguments, enum stage *stage, struct status *error)
{
    const char *at = arguments_value(arguments, "at");
    *stage = STAGE_COUNT;
    if (at == NULL || strcmp(at, "highest") == 0 || (stage_find(at, stage) && *stage != STAGE_CONTEXT)) {
        return STATUS_OK;
    }
    return status_set(error, STATUS_INVALID,
                      "explain: --at: '%s' is no stage; use load, forward, backward, step, generate or highest", at);
}

static enum status_code by_read(const struct arguments *arguments, enum explain_by *by, struct status *error)
{
    const char *word = arguments_value(arguments, "by");
    *by = EXPLAIN_TENSOR;
    for (int i = 0; word != NULL && i < EXPLAIN_BY_COUNT; i++) {
        if (name_distance(word, explain_by_name((enum explain_by)i)) == 0) {
            *by = (enum explain_by)i;
            return STATUS_OK;
        }
    }
    return word == NULL
               ? STATUS_OK
               : status_set(error, STATUS_INVALID,
                            "explain: --by: '%s' is not known; use tensor, module, category, stage or dtype", word);
}

/* A row that is too long for a line goes on below, from the rule on. */
static void group_line(const struct explain_group *group, int64_t whole_bytes, struct text *text)
{
    char size[SIZE_TEXT_BYTES];
    double percent = whole_bytes > 0 ? 100.0 * (double)group->bytes / (double)whole_bytes : 0.0;
    text_format(text, "%12s %5.1f %% ", size_format(group->bytes, size), percent);
    if (group->count > 0) {
        text_format(text, "%5d x ", group->count);
    } else {
        text_format(text, "%-*s", LEFT_COLUMNS - 21, "      -");
    }
    const char *rule = strstr(group->name, ": ");
    size_t line_columns = table_width() < LINE_COLUMNS ? (size_t)table_width() : LINE_COLUMNS;
    if (LEFT_COLUMNS + strlen(group->name) <= line_columns || rule == NULL) {
        text_format(text, "%s\n", group->name);
    } else {
        text_format(text, "%.*s\n%*s%s\n", (int)(rule + 1 - group->name), group->name, RULE_COLUMNS, "", rule + 2);
    }
}

static void sum_lines(const struct explanation *explanation, struct text *text)
{
    const struct moment *moment = &explanation->moment;
    char wanted[SIZE_TEXT_BYTES], held[SIZE_TEXT_BYTES];
    if (moment->is_refused) {
        text_format(text, "does not fit: in %s, %s wants %s while %s are held, which are:\n", stage_name(moment->stage),
                    explanation->wanted, size_format(moment->wanted_bytes, wanted),
                    size_format(moment->reserved_bytes, held));
    } else {
        text_format(text, "at the peak, in stage %s:\n", stage_name(moment->stage));
    }
    question_size_line(text, "requested by tensors", moment->requested_bytes);
    question_size_line(text, "allocated in blocks", moment->allocated_bytes);
    question_size_line(text, "reserved in segments", moment->reserved_bytes);
    text_append(text, "\n");
}

/* False if there is nothing to say: it was refused, or the class is no GPU. */
static bool explanation_bounds(const struct question_case *question, const struct explanation *explanation,
                               struct bounds *bounds)
{
    struct bounds_device device = question_bounds_device(question);
    if (explanation->moment.is_refused || device.target->capability == 0) {
        return false;
    }
    const struct bounds_figures figures = {.certain_bytes = explain_certain_bytes(explanation),
                                           .reserved_bytes = explanation->moment.reserved_bytes,
                                           .search_bytes = explanation->search_bytes,
                                           .managed = explanation->managed};
    *bounds = bounds_make(&figures, &device, question->input.config, question->input.workload);
    return true;
}

/* What of these bytes is certain, what a rule, and what comes beside them. */
static void bounds_text(const struct question_case *question, const struct explanation *explanation, struct text *text)
{
    const struct moment *moment = &explanation->moment;
    struct bounds bounds;
    char size[SIZE_TEXT_BYTES];
    if (!explanation_bounds(question, explanation, &bounds)) {
        return;
    }
    text_append(text, "\nof these bytes, and beside them:\n");
    text_format(text, "  %-31s %11s\n", "certain: tensors", size_format(bounds.certain_bytes, size));
    text_format(text, "  %-31s %11s\n", "rule: scratch, workspaces",
                size_format(moment->requested_bytes - bounds.certain_bytes, size));
    text_format(text, "  %-31s %11s\n", "rule: the allocator",
                size_format(moment->reserved_bytes - moment->requested_bytes, size));
    bounds_beside_lines(&bounds, text);
}

static void group_lines(const struct moment *moment, const struct explain_group *groups, int count, bool all,
                        struct text *text)
{
    char size[SIZE_TEXT_BYTES];
    int64_t rest_bytes = 0;
    int shown = all || count < ROWS_SHOWN ? count : ROWS_SHOWN;
    for (int i = 0; i < shown; i++) {
        group_line(&groups[i], moment->reserved_bytes, text);
    }
    for (int i = shown; i < count; i++) {
        rest_bytes += groups[i].bytes;
    }
    if (shown < count) {
        text_format(text, "%12s in %d more rows; --all shows them\n", size_format(rest_bytes, size), count - shown);
    }
    text_format(text, "%12s together, %" PRId64 " bytes\n", size_format(moment->reserved_bytes, size),
                moment->reserved_bytes);
}

static struct json *groups_json(const struct explain_group *groups, int count)
{
    struct json *rows = json_array_new();
    bool made = rows != NULL;
    for (int i = 0; i < count && made; i++) {
        struct json *row = json_object_new();
        bool written = json_set(row, "name", json_string_new(groups[i].name)) &&
                       json_set(row, "bytes", json_integer_new(groups[i].bytes)) &&
                       json_set(row, "count", json_integer_new(groups[i].count));
        made = json_append(rows, json_made(row, written));
    }
    return json_made(rows, made);
}

static enum status_code json_print(const struct question_case *question, const struct explanation *explanation,
                                   enum explain_by by, const struct explain_group *groups, int count,
                                   struct status *error)
{
    struct habit_costs costs;
    enum status_code found = habit_costs_find(&question->input, question->identity.fields, &costs, error);
    struct json *document = found == STATUS_OK ? json_object_new() : NULL;
    if (found != STATUS_OK) {
        return found;
    }
    struct bounds bounds;
    bool bounded = explanation_bounds(question, explanation, &bounds);
    bool made = question_case_set(question, document) && json_set(document, "peak", explain_to_json(explanation)) &&
                json_set(document, "bounds", bounds_to_json(bounded ? &bounds : NULL)) &&
                (explanation->managed.tensor_count == 0 ||
                 json_set(document, "managed", managed_json(&explanation->managed))) &&
                json_set(document, "by", json_string_new(explain_by_name(by))) &&
                json_set(document, "groups", groups_json(groups, count)) &&
                json_set(document, "habits", habit_costs_json(&costs));
    enum status_code code = output_json(made ? document : NULL, error);
    json_release(document);
    return code;
}

static enum status_code habits_append(const struct question_case *question, struct text *text, struct status *error)
{
    struct habit_costs costs;
    enum status_code code = habit_costs_find(&question->input, question->identity.fields, &costs, error);
    if (code == STATUS_OK) {
        habit_costs_lines(&costs, &question->identity.workload, text);
    }
    return code;
}

static enum status_code folded_write(const struct explanation *explanation, const char *path, struct status *error)
{
    struct text text = {0};
    explain_folded(explanation, &text);
    enum status_code code = file_replace(path, FILE_NAMED, &text, error);
    text_release(&text);
    return code;
}

static enum status_code explanation_print(const struct arguments *arguments, const struct question_case *question,
                                          enum explain_by by, struct explanation *explanation, struct status *error)
{
    struct explain_group *groups = NULL;
    int count = 0;
    bool all = arguments_value(arguments, "all") != NULL;
    const char *folded = arguments_value(arguments, "folded");
    enum status_code code = explain_group(explanation, by, all, &groups, &count, error);
    if (code == STATUS_OK && folded != NULL) {
        code = folded_write(explanation, folded, error);
    }
    if (code != STATUS_OK) {
        return code;
    }
    if (arguments_value(arguments, "json") != NULL) {
        return json_print(question, explanation, by, groups, count, error);
    }
    struct text text = {0};
    question_case_heading(question, &text);
    question_bound_line(question, &text);
    sum_lines(explanation, &text);
    group_lines(&explanation->moment, groups, count, all, &text);
    managed_line(&explanation->managed, &text);
    bounds_text(question, explanation, &text);
    code = habits_append(question, &text, error);
    code = code == STATUS_OK ? output_lines(&text, error) : code;
    text_release(&text);
    return code;
}

static enum status_code explain_run(const struct arguments *arguments, enum exit_code *exit_code, struct status *error)
{
    (void)exit_code;
    struct question_case question;
    struct explanation explanation = {0};
    enum stage stage = STAGE_COUNT;
    enum explain_by by = EXPLAIN_TENSOR;
    enum status_code code = stage_read(arguments, &stage, error);
    code = code == STATUS_OK ? by_read(arguments, &by, error) : code;
    code = code == STATUS_OK ? question_case_open(arguments, &question, error) : code;
    if (code != STATUS_OK) {
        return code;
    }
    question_positions_note(arguments, &question);
    question.input.memory_bytes = question_segment_bytes(&question);
    struct question_progress progress = {.command = "explain"};
    question_progress_show(&progress, "the case is replayed, event by event");
    code = explain_find(&question.input, stage, &explanation, error);
    question_progress_end(&progress);
    if (code == STATUS_OK) {
        code = explanation_print(arguments, &question, by, &explanation, error);
    }
    explanation_release(&explanation);
    question_case_close(&question);
    return code;
}

const struct command command_explain = {
    .name = "explain",
    .operands = "MODEL",
    .summary = "every byte at the peak of a case, down to tensor and rule",
    .details = "The moment is the one with the most reserved bytes and, while these last, the most allocated\n"
               "bytes. All rows together are the reserved bytes: tensors, and what the allocator adds.\n"
               "\n"
               "--on and --memory explain the case on a device of that memory. If it does not fit, the moment is\n"
               "that of the tensor that is refused, whatever --at says.\n"
               "\n"
               "Below it stands what each habit of the program comes to: the case is predicted once more without it.\n"
               "\n"
               "docs/NUMBERS.md, section 16, has an example by hand.\n",
    .options = options,
    .operand_minimum = 1,
    .operand_maximum = 1,
    .run = explain_run,
};
