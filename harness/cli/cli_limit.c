/* assay limit: the largest batch, sequence or number of new tokens that fits a device. Touches no device. */
#include <inttypes.h>
#include <string.h>

#include "harness/base/nearest.h"
#include "harness/base/size.h"
#include "harness/cli/case_options.h"
#include "harness/cli/margin_option.h"
#include "harness/cli/model_notes.h"
#include "harness/cli/output.h"
#include "harness/cli/question_case.h"
#include "harness/cli/question_progress.h"
#include "harness/question/limit_range.h"

static const struct option_row options[] = {
    {"of", OPTION_VALUE, "batch|seq|new_tokens", "what is made as large as fits"},
    QUESTION_DEVICE_ROWS,
    MARGIN_OPTION_ROW,
    CASE_OPTION_ROWS,
    STRICT_OPTION_ROW,
    {"for", OPTION_VALUE, "TARGET", "with --memory: class of devices whose workspaces count (default: sm_90)"},
    {"json", OPTION_FLAG, NULL, "print one JSON document"},
    {NULL, OPTION_FLAG, NULL, NULL},
};

static enum status_code field_read(const struct arguments *arguments, enum case_field *field, struct status *error)
{
    static const enum case_field fields[] = {FIELD_BATCH, FIELD_SEQ, FIELD_NEW_TOKENS};
    const char *of = arguments_value(arguments, "of");
    if (of == NULL) {
        return status_set(error, STATUS_INVALID, "limit: --of is missing; add --of batch, seq or new_tokens");
    }
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        const char *key = case_field_key(fields[i]);
        if (name_distance(of, key) == 0) { /* in any case, with '-' or '_' */
            *field = fields[i];
            return arguments_value(arguments, key) == NULL
                       ? STATUS_OK
                       : status_set(error, STATUS_INVALID, "limit: --%s is what assay looks for; leave it out", of);
        }
    }
    const char *const keys[] = {case_field_key(fields[0]), case_field_key(fields[1]), case_field_key(fields[2]), NULL};
    const char *near[NAMES_MEANT_MAXIMUM];
    struct text meant = {0};
    names_meant_append(near, names_meant(of, keys, near), "", "", &meant);
    enum status_code code =
        meant.length > 0
            ? status_set(error, STATUS_INVALID, "limit: --of %s is not known; did you mean %s?", of,
                         text_string(&meant))
            : status_set(error, STATUS_INVALID, "limit: --of %s is not known; write batch, seq or new_tokens", of);
    text_release(&meant);
    return code;
}

static void next_lines(const struct limit *limit, struct text *text)
{
    const struct trial *trial = &limit->next_trial;
    char wanted[SIZE_TEXT_BYTES], held[SIZE_TEXT_BYTES];
    const char *key = case_field_key(limit->field);
    if (!limit->next_exists) {
        text_format(text, "bounded by %s, not by memory: %s\n", limit->is_own_bound ? "this program" : "the model",
                    limit->reason);
        return;
    }
    if (!limit->next_is_sized) {
        text_format(text, "%s %" PRId64 " has sizes beyond 2^63 bytes\n", key, limit->next);
        return;
    }
    if (limit->size == 0) { /* the line above has said that this one does not fit; no larger one fits either */
        text_append(text, "  ");
    } else {
        text_format(text, "%s %" PRId64 " does not fit: ", key, limit->next);
    }
    text_format(text, "in %s, %s wants %s while %s are held\n", stage_name(trial->stage), trial->label,
                size_format(trial->wanted_bytes, wanted), size_format(trial->held_bytes, held));
    if (limit->size == 0 && limit->excluded_from > 0) {
        return;
    }
    if (limit->excluded_from > 0) {
        text_append(text, "  and no larger one fits\n");
    } else if (limit->neighbour_count > 1) {
        text_format(text, "  %d sizes from there on were replayed, and none fits\n", limit->neighbour_count);
    }
    if (limit->refused_below > 0) {
        text_format(text, "  not monotone: %s %" PRId64 " does not fit, although larger ones do\n", key,
                    limit->refused_below);
    }
}

/* What was found, with the segments that it was searched for with. */
struct limit_answer {
    struct limit limit;
    struct limit_range range;
    int64_t segment_bytes;
};

static void range_lines(const struct limit_answer *answer, struct text *text)
{
    text_append(text, "  ");
    limit_range_words(&answer->range, case_field_key(answer->limit.field), text);
    text_append(text, "\n");
    doubt_line(answer->range.doubt, text);
}

static void limit_lines(const struct question_case *question, const struct limit_answer *answer, struct text *text)
{
    const struct limit *limit = &answer->limit;
    const char *key = case_field_key(limit->field);
    char label[64];
    question_case_heading(question, text);
    question_memory_lines(question, text);
    question_size_line(text, "for segments", answer->segment_bytes);
    if (limit->size == 0) {
        text_format(text, "\nnot even %s %" PRId64 " fits (", key, limit->next);
        question_taken_words(question, text);
        text_append(text, ")\n");
        next_lines(limit, text);
        if (answer->range.possible > 0) {
            range_lines(answer, text);
        }
        return;
    }
    text_format(text, "\nlargest %s that fits: %" PRId64 " (", key, limit->size);
    question_taken_words(question, text);
    text_append(text, ")\n");
    range_lines(answer, text);
    snprintf(label, sizeof label, "reserved at %s %" PRId64, key, limit->size);
    question_size_line(text, label, limit->trial.bounded.reserved_bytes_peak);
    managed_line(&limit->trial.bounded.managed, text);
    next_lines(limit, text);
}

static struct json *trial_json(const struct trial *trial, int64_t size)
{
    struct json *object = json_object_new();
    const struct replay_result *result = trial->fits ? &trial->bounded : &trial->unbounded;
    bool made = json_set(object, "size", json_integer_new(size)) &&
                json_set(object, "fits", json_boolean_new(trial->fits)) && level_peaks_set(object, result->peaks) &&
                json_set(object, "peak_stage", json_string_new(stage_name(result->peak_stage))) &&
                (result->managed.tensor_count == 0 || json_set(object, "managed", managed_json(&result->managed)));
    if (!trial->fits) {
        made = made && json_set(object, "stage", json_string_new(stage_name(trial->stage))) &&
               json_set(object, "tensor", json_string_new(trial->label)) &&
               json_set(object, "wanted_bytes", json_integer_new(trial->wanted_bytes)) &&
               json_set(object, "held_bytes", json_integer_new(trial->held_bytes));
    }
    return json_made(object, made);
}

static const char *bound_word(const struct limit *limit)
{
    return limit->next_exists ? "memory" : limit->is_own_bound ? "program" : "model";
}

static struct json *limit_json(const struct question_case *question, const struct limit_answer *answer)
{
    const struct limit *limit = &answer->limit;
    bool found = limit->size > 0, sized = limit->next_exists && limit->next_is_sized;
    struct json *object = json_object_new();
    bool made = question_case_set(question, object) &&
                json_set(object, "of", json_string_new(case_field_key(limit->field))) &&
                json_set(object, "segment_bytes", json_integer_new(answer->segment_bytes)) &&
                json_set(object, "limit", found ? json_integer_new(limit->size) : json_null_new()) &&
                json_set(object, "bounded_by", json_string_new(bound_word(limit))) &&
                json_set(object, "found", found ? trial_json(&limit->trial, limit->size) : json_null_new()) &&
                json_set(object, "next", sized ? trial_json(&limit->next_trial, limit->next) : json_null_new()) &&
                json_set(object, "refused_in_a_row", json_integer_new(limit->neighbour_count)) &&
                json_set(object, "excluded_from",
                         limit->excluded_from > 0 ? json_integer_new(limit->excluded_from) : json_null_new()) &&
                json_set(object, "refused_below",
                         limit->refused_below > 0 ? json_integer_new(limit->refused_below) : json_null_new()) &&
                limit_range_set(&answer->range, object);
    return json_made(object, made);
}

static void look_show(void *context, enum case_field field, int64_t size)
{
    question_progress_show(context, "%s %" PRId64 " is replayed", case_field_key(field), size);
}

static enum status_code answer_find(const struct arguments *arguments, const struct question_case *question,
                                    enum case_field field, struct limit_answer *answer, struct status *error)
{
    struct question_progress progress = {.command = "limit"};
    const struct look_observer observer = {look_show, &progress};
    struct fit_device device = {.memory_bytes = question->memory_bytes, .overhead = question->overhead};
    answer->segment_bytes = question_segment_bytes(question);
    enum status_code code = margin_read(arguments, question, &device.doubt, error);
    if (code == STATUS_OK) {
        code = limit_find(&question->input, field, answer->segment_bytes, &observer, &answer->limit, error);
    }
    if (code == STATUS_OK) {
        code = limit_range_find(&question->input, &device, &answer->limit, answer->segment_bytes, &observer,
                                &answer->range, error);
    }
    question_progress_end(&progress);
    return code;
}

static enum status_code limit_print(const struct arguments *arguments, struct question_case *question,
                                    enum exit_code *exit_code, struct status *error)
{
    enum case_field field = FIELD_BATCH;
    struct limit_answer answer;
    struct text text = {0};
    enum status_code code = field_read(arguments, &field, error);
    if (code == STATUS_OK) {
        code = question_case_needs_memory(arguments, question, error);
    }
    if (code == STATUS_OK) {
        code = answer_find(arguments, question, field, &answer, error);
    }
    if (code != STATUS_OK) {
        return code;
    }
    const struct limit *limit = &answer.limit;
    question->identity.workload =
        limit_workload(&question->identity.workload, field, limit->size > 0 ? limit->size : limit->next);
    question_positions_note(arguments, question);
    if (arguments_value(arguments, "json") != NULL) {
        struct json *document = limit_json(question, &answer);
        code = output_json(document, error);
        json_release(document);
    } else {
        limit_lines(question, &answer, &text);
        code = output_lines(&text, error);
    }
    text_release(&text);
    *exit_code = limit->size > 0 ? EXIT_CODE_PASS : EXIT_CODE_FAIL;
    return code;
}

static enum status_code limit_run(const struct arguments *arguments, enum exit_code *exit_code, struct status *error)
{
    struct question_case question;
    enum status_code code = question_case_open(arguments, &question, error);
    if (code == STATUS_OK) {
        code = limit_print(arguments, &question, exit_code, error);
        question_case_close(&question);
    }
    return code;
}

const struct command command_limit = {
    .name = "limit",
    .operands = "MODEL",
    .summary = "the largest batch, sequence or text that fits a device",
    .details = "A replay that is bounded to that many bytes of segments runs the size that was found, and not the\n"
               "next one. Segments need not grow with the size, so larger sizes are replayed too, until tensors\n"
               "alone are too much or 64 sizes in a row do not fit. If what context and libraries take is a range,\n"
               "the most of it is taken off.\n"
               "\n"
               "Two more sizes are named: the largest of which assay fit says yes, and the largest of which it\n"
               "does not say no. Between them only a measurement tells.\n"
               "\n"
               "Exit code 1: no size fits.\n",
    .options = options,
    .operand_minimum = 1,
    .operand_maximum = 1,
    .run = limit_run,
};
