/* Estimate cases: one case in full, several as rows. Touches no device. */
#include "harness/cli/estimate_cases.h"

#include <inttypes.h>
#include <string.h>

#include "harness/base/size.h"
#include "harness/case/program.h"
#include "harness/checkpoint/checkpoint.h"
#include "harness/cli/answer_markdown.h"
#include "harness/cli/calibration_option.h"
#include "harness/cli/case_estimates.h"
#include "harness/cli/case_list.h"
#include "harness/cli/case_options.h"
#include "harness/cli/case_peak.h"
#include "harness/cli/constants_option.h"
#include "harness/cli/model_notes.h"
#include "harness/cli/output.h"
#include "harness/cli/parallel_options.h"
#include "harness/cli/question_case.h"
#include "harness/cli/question_program.h"
#include "harness/record/level.h"

static void stored_line(const struct checkpoint *checkpoint, struct text *text)
{
    char size[SIZE_TEXT_BYTES];
    if (checkpoint != NULL) {
        text_format(text, "stored in %s: %s, %" PRId64 " bytes of tensors\n", checkpoint->name,
                    size_format(checkpoint->stored_bytes, size), checkpoint->stored_bytes);
    }
}

/* The device whose readings are predicted, and what it was measured under. */
static void constants_line(const struct constants *constants, struct text *text)
{
    if (constants != NULL) {
        text_append(text, "readings as on ");
        constants_origin_append(text, constants);
        text_append(text, "\n");
    }
}

static void heading(const struct question_case *question, struct text *text)
{
    question_case_name(question, text);
    text_format(text, ", predicted for %s%s\n", question->input.target,
                parallel_divides(question->input.parallel) ? ": each of the devices it is divided among" : "");
    precision_line(&question->precision, text);
    question_program_lines(question, text);
    stored_line(question->input.checkpoint, text);
    constants_line(question->input.constants, text);
}

/* What else is asked of a case. */
struct case_extra {
    const char *peak_stage;     /* --peak; NULL: not given */
    const struct law_file *law; /* --calibration; NULL: not given */
};

/* By the law, whose weights are those of replay. */
static enum status_code law_answer(const struct question_case *question, const struct law_file *law,
                                   const struct json *estimates, struct text *text, struct json **document,
                                   struct status *error)
{
    const struct json *stages = json_get(json_get(estimates, "replay"), "stages");
    int64_t weights_bytes = json_integer_or(json_get(json_get(stages, "load"), LEVEL_KEY(requested)), -1);
    return calibration_answer(question, law, weights_bytes, text, document, error);
}

/* What most ask for, before all that it is made of: whether it fits, if a memory is named, and what will be seen. */
static void answer_line(const struct json *estimates, const struct bounds *bounds, struct text *text)
{
    const char *fits = json_string_or(json_get(json_get(estimates, "replay"), "fits"), NULL);
    bool fails = fits != NULL && strcmp(fits, "no") == 0;
    const char *verdict = fits == NULL ? "" : fails ? "does not fit" : "fits";
    if (bounds == NULL && fits == NULL) {
        return;
    }
    text_format(text, "\n%s%s", verdict, bounds != NULL && fits != NULL ? "; " : "");
    if (bounds != NULL) {
        bounds_shown_words(bounds, text);
    }
    text_append(text, "\n");
}

/* The document of one case, and lines for people. *document: the caller's to release. */
static enum status_code case_answer(const struct question_case *question, const struct case_extra *extra,
                                    struct json **document, struct text *text, struct status *error)
{
    const struct estimate_input *input = &question->input;
    struct json *object = json_object_new();
    struct json *estimates = json_object_new();
    struct json *peak = json_null_new(), *law = json_null_new();
    struct text figures = {0};
    heading(question, text);
    question_bound_line(question, text);
    enum status_code code = case_estimates(input, estimates, &figures, error);
    struct bounds_device device = question_bounds_device(question);
    struct bounds bounds;
    bool bounded = code == STATUS_OK && !parallel_divides(input->parallel) &&
                   bounds_find(json_get(estimates, "replay"), &device, input->config, input->workload, &bounds);
    answer_line(estimates, bounded ? &bounds : NULL, text);
    text_append(text, text_string(&figures));
    text->failed = text->failed || figures.failed;
    text_release(&figures);
    if (bounded) {
        bounds_lines(&bounds, text);
    }
    if (code == STATUS_OK && extra->law != NULL) {
        code = law_answer(question, extra->law, estimates, text, &law, error);
    }
    if (code == STATUS_OK && extra->peak_stage != NULL) {
        code = case_peak(input, extra->peak_stage, &peak, text, error);
    }
    bool made = code == STATUS_OK && question_case_set(question, object) &&
                (input->checkpoint == NULL ||
                 json_set(object, "stored_bytes", json_integer_new(input->checkpoint->stored_bytes))) &&
                (input->parallel == NULL || json_set(object, "parallel", parallel_json(input->parallel))) &&
                json_set(object, "estimates", json_share(estimates)) &&
                json_set(object, "bounds", bounds_to_json(bounded ? &bounds : NULL)) &&
                (extra->law == NULL || json_set(object, "calibration", json_share(law))) &&
                (extra->peak_stage == NULL || json_set(object, "peak", json_share(peak)));
    if (code == STATUS_OK && !made) {
        code = status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for the estimates");
    }
    json_release(law);
    json_release(peak);
    json_release(estimates);
    if (code == STATUS_OK) {
        *document = object;
    } else {
        json_release(object);
    }
    return code;
}

/* "1.50 GiB", "-" if it is not known. */
static void figure_append(const struct json *figures, const char *name, struct text *text)
{
    char size[SIZE_TEXT_BYTES];
    const struct json *value = json_get(figures, name);
    text_format(text, "%12s",
                json_kind(value) == JSON_KIND_INTEGER ? size_format(json_integer_or(value, 0), size) : "-");
}

static void case_row(const struct question_case *question, const struct json *document, struct text *text)
{
    const struct json *replay = json_get(json_get(document, "estimates"), "replay");
    const char *fits = json_string_or(json_get(replay, "fits"), "yes");
    figure_append(replay, level_peak_key(LEVEL_ALLOCATED), text);
    figure_append(replay, level_peak_key(LEVEL_RESERVED), text);
    const struct json *law = json_get(document, "calibration");
    if (law != NULL) {
        figure_append(law, level_peak_key(LEVEL_ALLOCATED), text);
    }
    text_format(text, "  %-9s ", json_string_or(json_get(replay, "peak_stage"), "-"));
    question_case_name(question, text);
    text_append(text, *fits == 'n' ? ": does not fit\n" : "\n");
}

/* --peak and a device need one device that has the whole model. */
static enum status_code parallel_take(const struct arguments *arguments, const struct config *config,
                                      struct parallel *parallel, struct status *error)
{
    static const char *const whole[] = {"peak", "constants", "on", "memory", "calibration"};
    enum status_code code = parallel_options_read(arguments, config, parallel, error);
    for (size_t i = 0; i < sizeof whole / sizeof whole[0] && code == STATUS_OK; i++) {
        if (arguments_value(arguments, whole[i]) != NULL && parallel_divides(parallel)) {
            code = status_set(error, STATUS_INVALID,
                              "estimate: --%s is about one device with the whole model; leave it or the degrees out",
                              whole[i]);
        }
    }
    return code;
}

/* Puts a case of the list into a document; rows: for a list of several cases. */
static enum status_code listed_answer(const struct case_list *list, int index, struct question_case *question,
                                      const struct law_file *law, struct json *documents, struct text *text,
                                      struct status *error)
{
    const struct arguments one = case_list_at(list, index);
    const struct case_extra extra = {.peak_stage = arguments_value(&one, "peak"), .law = law};
    struct text full = {0};
    struct parallel parallel = parallel_single();
    struct json *document = NULL;
    enum status_code code = index == 0 ? STATUS_OK : question_case_vary(&one, question, error);
    if (code == STATUS_OK) {
        code = parallel_take(&one, question->input.config, &parallel, error);
    }
    if (code == STATUS_OK) {
        question_positions_note(&one, question);
        question->input.parallel = parallel_options_given(&one) ? &parallel : NULL;
        question->input.memory_bytes = question_segment_bytes(question);
        code = case_answer(question, &extra, &document, &full, error);
    }
    if (code == STATUS_OK && list->axis_count > 0) {
        case_row(question, document, text);
    } else if (code == STATUS_OK) {
        text_append(text, text_string(&full));
    }
    if (code == STATUS_OK && !json_append(documents, document)) {
        code = status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for the estimates");
    } else if (code != STATUS_OK) {
        json_release(document);
    }
    question->input.parallel = NULL;
    text_release(&full);
    return code;
}

static void list_heading(const struct question_case *question, int count, bool by_law, struct text *text)
{
    text_format(text, "%d cases of %s, predicted by replay for %s; a single case, or --json, has every estimator\n",
                count, question->identity.model, question->input.target);
    question_bound_line(question, text);
    text_append(text, by_law ? "by law: allocated bytes by the law of the calibration\n" : "");
}

/* The program of the first case that has one, and the columns. */
static void columns_heading(const struct text *program, bool by_law, struct text *text)
{
    text_append(text, text_string(program));
    text_format(text, "\n%12s%12s", "allocated", "reserved");
    text_append(text, by_law ? "      by law" : "");
    text_format(text, "  %-9s %s\n", "peak in", "case");
}

/* One document; of a list, an object with all of them. */
static enum status_code documents_output(struct json *documents, bool is_list, enum answer_format format,
                                         struct status *error)
{
    struct json *all = NULL;
    if (is_list) {
        all = json_object_new();
        bool made = json_set(all, "cases", json_share(documents));
        all = json_made(all, made);
    }
    enum status_code code = output_answer(is_list ? all : json_at(documents, 0), format, estimate_markdown, error);
    json_release(all);
    return code;
}

enum status_code estimate_cases_print(const struct arguments *arguments, struct status *error)
{
    struct case_list list;
    struct question_case question;
    struct text text = {0}, rows = {0}, program = {0};
    struct json *documents = json_array_new();
    enum answer_format format = ANSWER_TABLE;
    enum status_code code = case_list_make(arguments, &list, error);
    code = code == STATUS_OK ? answer_format_read(arguments, &format, error) : code;
    const char *calibration = arguments_value(arguments, "calibration");
    struct law_file law = {0};
    code = code == STATUS_OK && calibration != NULL ? law_file_read(calibration, &law, error) : code;
    struct arguments first = code == STATUS_OK ? case_list_at(&list, 0) : *arguments;
    if (code == STATUS_OK) {
        code = question_case_open(&first, &question, error);
    }
    bool is_open = code == STATUS_OK;
    if (is_open) {
        question.input.memory_bytes = question_segment_bytes(&question);
    }
    if (is_open && list.axis_count > 0) {
        list_heading(&question, list.count, calibration != NULL, &text);
    }
    for (int i = 0; i < list.count && code == STATUS_OK; i++) {
        code = listed_answer(&list, i, &question, calibration != NULL ? &law : NULL, documents, &rows, error);
        if (code == STATUS_OK && list.axis_count > 0 && program.length == 0) {
            program_line(&question.identity.workload, question.identity.fields, &program);
        }
    }
    if (is_open && list.axis_count > 0) {
        columns_heading(&program, calibration != NULL, &text);
    }
    text_append(&text, text_string(&rows));
    if (code == STATUS_OK) {
        code = format != ANSWER_TABLE ? documents_output(documents, list.axis_count > 0, format, error)
                                      : output_lines(&text, error);
    }
    if (is_open) {
        question_case_close(&question);
    }
    law_file_release(&law);
    json_release(documents);
    text_release(&program);
    text_release(&rows);
    text_release(&text);
    case_list_release(&list);
    return code;
}
