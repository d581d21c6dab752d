/* assay fit: whether a case fits a device, with what margin, and what its peak is made of. Touches no device. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/size.h"
#include "harness/cli/answer_markdown.h"
#include "harness/cli/case_options.h"
#include "harness/cli/margin_option.h"
#include "harness/cli/model_notes.h"
#include "harness/cli/output.h"
#include "harness/cli/question_case.h"
#include "harness/estimate/replay_quantities.h"
#include "harness/question/device_count.h"
#include "harness/question/fit.h"

static const struct option_row options[] = {
    QUESTION_DEVICE_ROWS,
    MARGIN_OPTION_ROW,
    CASE_OPTION_ROWS,
    STRICT_OPTION_ROW,
    {"for", OPTION_VALUE, "TARGET", "with --memory: class of devices whose workspaces count (default: sm_90)"},
    {"json", OPTION_FLAG, NULL, "print one JSON document"},
    FORMAT_OPTION_ROW,
    {NULL, OPTION_FLAG, NULL, NULL},
};

/* "1.00 GiB to 2.00 GiB"; the smaller one first. */
static void range_append(int64_t first, int64_t last, struct text *text)
{
    char words[SIZE_TEXT_BYTES];
    text_append(text, size_format(first, words));
    if (first != last) {
        text_format(text, " to %s", size_format(last, words));
    }
}

/* What is missing with the least and with the most overhead: "at least 1.00 GiB to 2.00 GiB too little". */
static void missing_append(const struct fit *fit, int64_t first, int64_t last, struct text *text)
{
    text_append(text, fit->missing_is_least && !fit->missing_is_exact ? "at least " : "");
    range_append(first, last, text);
    text_append(text, fit->missing_is_least || fit->missing_is_exact ? " too little"
                                                                     : " too little for the segment that is refused");
}

/* What is left. If segments are given back: beside the blocks alone, because a cache fills all the memory. */
static void left_append(const struct fit *fit, bool with_most, struct text *text)
{
    bool gives_back = fit_gives_back(fit);
    int64_t high = gives_back ? fit->left_high_bytes : fit->margin_high_bytes;
    int64_t low = gives_back ? fit->left_low_bytes : fit->margin_low_bytes;
    range_append(with_most ? low : high, high, text);
    text_append(text, gives_back ? " left beside what is allocated" : " left");
}

static void verdict_words(const struct fit *fit, struct text *text)
{
    if (fit->verdict == FIT_YES) {
        text_append(text, "fits: ");
        left_append(fit, true, text);
    } else if (fit->verdict == FIT_UNDECIDED) {
        text_append(text, "depends: if it takes the most that it may, ");
        missing_append(fit, -fit->margin_low_bytes, -fit->margin_low_bytes, text);
        text_append(text, "; if it takes the least, ");
        left_append(fit, false, text);
    } else {
        text_append(text, "does not fit: ");
        missing_append(fit, -fit->margin_high_bytes, -fit->margin_low_bytes, text);
    }
}

/* What was allowed for beside the overhead, and what the answer depends on. */
static void doubt_lines(const struct fit *fit, struct text *text)
{
    doubt_line(fit->doubt, text);
    if (fit->verdict == FIT_UNDECIDED && fit->overhead.kind == OVERHEAD_PUBLISHED) {
        text_append(text, "  context and libraries are a range; --overhead SIZE takes one size\n");
    }
}

/* False if the class is no GPU. */
static bool fit_bounds_find(const struct question_case *question, const struct replay_result *result,
                            struct bounds *bounds)
{
    struct bounds_device device = question_bounds_device(question);
    struct estimate estimate = {.estimator = "replay"};
    estimate_add_replay(&estimate, result);
    struct json *replay = estimate_to_json(&estimate);
    bool found = bounds_find(replay, &device, question->input.config, question->input.workload, bounds);
    json_release(replay);
    return found;
}

/* Of a case that fits: what somebody will see. */
static void shown_line(const struct question_case *question, const struct fit *fit, struct text *text)
{
    const struct trial *fitting = fit->verdict == FIT_YES ? &fit->trial : &fit->least;
    struct bounds bounds;
    if (fit->verdict != FIT_NO && fit_bounds_find(question, &fitting->bounded, &bounds)) {
        text_append(text, "  ");
        bounds_shown_words(&bounds, text);
        text_append(text, "\n");
    }
}

static void verdict_lines(const struct question_case *question, const struct fit *fit, struct text *text)
{
    char wanted[SIZE_TEXT_BYTES], held[SIZE_TEXT_BYTES];
    verdict_words(fit, text);
    text_append(text, " (");
    question_taken_words(question, text);
    text_append(text, ")\n");
    shown_line(question, fit, text);
    doubt_lines(fit, text);
    if (fit->verdict == FIT_NO) {
        text_format(text, "  in %s, %s wants %s while %s are held\n", stage_name(fit->trial.stage), fit->trial.label,
                    size_format(fit->trial.wanted_bytes, wanted), size_format(fit->trial.held_bytes, held));
    }
    if (fit_gives_back(fit)) {
        text_append(
            text,
            "  this includes segments that are only cached; the allocator gives them back when memory is short\n");
    }
}

/* count NULL: it fits one. */
static void device_lines(const struct fit *fit, const struct device_count *count, struct text *text)
{
    char bytes[SIZE_TEXT_BYTES], undivided[SIZE_TEXT_BYTES];
    if (count == NULL) {
        return;
    }
    size_format(count->bytes, bytes);
    if (fit->overhead.high_bytes >= fit->memory_bytes) {
        text_format(text,
                    "devices: any number is too few: the overhead alone, %s, is as large as the memory or larger\n",
                    size_format(fit->overhead.high_bytes, bytes));
    } else if (!count->has_rule) {
        text_append(text, "devices: no rule for how several would divide it\n");
    } else if (count->found) {
        text_format(text,
                    "devices: %" PRId64
                    ", which divide weights and what training keeps beside them (FSDP2), %s on each, by formula\n",
                    count->count, bytes);
    } else {
        text_format(text, "devices: %d are not enough; of %s on each, %s are not divided\n", DEVICE_COUNT_MAXIMUM,
                    bytes, size_format(count->undivided_bytes, undivided));
    }
}

/* How much of a paged optimizer's states has room beside what decides. */
static void managed_lines(const struct fit *fit, const struct managed_memory *managed, struct text *text)
{
    managed_line(managed, text);
    if (managed->tensor_count > 0 && fit->verdict == FIT_YES) {
        int64_t low = fit_gives_back(fit) ? fit->left_low_bytes : fit->margin_low_bytes;
        int64_t high = fit_gives_back(fit) ? fit->left_high_bytes : fit->margin_high_bytes;
        text_append(text, low >= managed->bytes ? "  beside the rest the GPU has room for all of it\n"
                          : high < managed->bytes
                              ? "  beside the rest the GPU has no room for all of it: each step moves some\n"
                              : "  beside the rest the GPU may have room for all of it\n");
    }
}

/* The answer first, and then how it comes about. */
static void fit_lines(const struct question_case *question, const struct fit *fit, const struct device_count *count,
                      struct text *text)
{
    const struct replay_result *result = &fit->trial.unbounded;
    question_case_heading(question, text);
    verdict_lines(question, fit, text);
    managed_lines(fit, &result->managed, text);
    device_lines(fit, count, text);
    text_append(text, "\n");
    question_memory_lines(question, text);
    question_size_line(text, "reserved at the peak", result->reserved_bytes_peak);
    text_append(text, fit->verdict != FIT_YES || fit_gives_back(fit)
                          ? "  by an allocator that has no bound, and so gives nothing back\n"
                          : "  what decides: segments, which the allocator takes whole\n");
    if (fit->trial.fits && fit->trial.bounded.reserved_bytes_peak < result->reserved_bytes_peak) {
        question_size_line(text, "  after giving back", fit->trial.bounded.reserved_bytes_peak);
    }
    question_size_line(text, "allocated at the peak", result->allocated_bytes_peak);
    text_format(text, "in stage %s, requested bytes:\n", stage_name(result->peak_stage));
    for (int i = 0; i < CATEGORY_COUNT; i++) {
        if (result->categories_at_peak[i] > 0) {
            text_append(text, "  ");
            question_size_line(text, category_name((enum category)i), result->categories_at_peak[i]);
        }
    }
}

static struct json *categories_json(const struct replay_result *result)
{
    struct json *object = json_object_new();
    bool made = object != NULL;
    for (int i = 0; i < CATEGORY_COUNT && made; i++) {
        made = json_set(object, category_name((enum category)i), json_integer_new(result->categories_at_peak[i]));
    }
    return json_made(object, made);
}

static struct json *refusal_json(const struct trial *trial)
{
    struct json *object = json_object_new();
    bool made = json_set(object, "stage", json_string_new(stage_name(trial->stage))) &&
                json_set(object, "tensor", json_string_new(trial->label)) &&
                json_set(object, "wanted_bytes", json_integer_new(trial->wanted_bytes)) &&
                json_set(object, "held_bytes", json_integer_new(trial->held_bytes));
    return json_made(object, made);
}

/* null if one is enough, or there is no rule. */
static struct json *devices_json(const struct device_count *count)
{
    if (count == NULL || !count->has_rule) {
        return json_null_new();
    }
    struct json *object = json_object_new();
    bool made = json_set(object, "count", count->found ? json_integer_new(count->count) : json_null_new()) &&
                json_set(object, "bytes", json_integer_new(count->bytes)) &&
                json_set(object, "undivided_bytes", json_integer_new(count->undivided_bytes)) &&
                json_set(object, "states_bytes", json_integer_new(count->states_bytes)) &&
                json_set(object, "gathered_bytes", json_integer_new(count->gathered_bytes)) &&
                json_set(object, "slack_bytes", json_integer_new(count->slack_bytes));
    return json_made(object, made);
}

/* null if nothing is given back, or it does not fit. */
static bool left_set(const struct fit *fit, struct json *object)
{
    bool most = fit_gives_back(fit) && fit->verdict == FIT_YES, least = fit_gives_back(fit);
    return json_set(object, "left_beside_allocated_low_bytes",
                    most ? json_integer_new(fit->left_low_bytes) : json_null_new()) &&
           json_set(object, "left_beside_allocated_high_bytes",
                    least ? json_integer_new(fit->left_high_bytes) : json_null_new());
}

/* Of the case without a bound, whether it fits or not. */
static struct json *fit_bounds_json(const struct question_case *question, const struct replay_result *result)
{
    struct bounds bounds;
    return bounds_to_json(fit_bounds_find(question, result, &bounds) ? &bounds : NULL);
}

static struct json *fit_json(const struct question_case *question, const struct fit *fit,
                             const struct device_count *count)
{
    const struct replay_result *result = &fit->trial.unbounded;
    const struct trial *trial = &fit->trial;
    struct json *object = json_object_new();
    bool made = question_case_set(question, object) &&
                json_set(object, "answer", json_string_new(fit_verdict_name(fit->verdict))) &&
                json_set(object, "fits",
                         fit->verdict == FIT_UNDECIDED ? json_null_new() : json_boolean_new(fit->verdict == FIT_YES)) &&
                json_set(object, "margin_low_bytes", json_integer_new(fit->margin_low_bytes)) &&
                json_set(object, "margin_high_bytes", json_integer_new(fit->margin_high_bytes)) &&
                left_set(fit, object) && level_peaks_set(object, result->peaks) &&
                json_set(object, "doubt", doubt_to_json(fit->doubt)) &&
                json_set(object, "bounds", fit_bounds_json(question, result)) &&
                json_set(object, "bounded_reserved_bytes_peak",
                         trial->fits ? json_integer_new(trial->bounded.reserved_bytes_peak) : json_null_new()) &&
                json_set(object, "peak_stage", json_string_new(stage_name(result->peak_stage))) &&
                (result->managed.tensor_count == 0 || json_set(object, "managed", managed_json(&result->managed))) &&
                json_set(object, "categories_at_peak", categories_json(result)) &&
                json_set(object, "refusal", trial->fits ? json_null_new() : refusal_json(trial)) &&
                json_set(object, "devices", devices_json(count));
    return json_made(object, made);
}

static enum status_code fit_print(const struct arguments *arguments, const struct question_case *question,
                                  enum exit_code *exit_code, struct status *error)
{
    struct fit fit;
    struct device_count several;
    const struct device_count *count = NULL;
    struct text text = {0};
    enum answer_format format = ANSWER_TABLE;
    enum status_code code = answer_format_read(arguments, &format, error);
    if (code == STATUS_OK) {
        code = question_case_needs_memory(arguments, question, error);
    }
    struct fit_device device = {.memory_bytes = question->memory_bytes, .overhead = question->overhead};
    if (code == STATUS_OK) {
        code = margin_read(arguments, question, &device.doubt, error);
    }
    if (code == STATUS_OK) {
        code = fit_find(&question->input, &device, &fit, error);
    }
    if (code == STATUS_OK && fit.verdict != FIT_YES) {
        int64_t bytes = question_segment_bytes(question);
        code = device_count_find(&question->input, &fit.trial.unbounded, bytes, &several, error);
        count = &several;
    }
    if (code == STATUS_OK && format != ANSWER_TABLE) {
        struct json *document = fit_json(question, &fit, count);
        code = output_answer(document, format, fit_markdown, error);
        json_release(document);
    } else if (code == STATUS_OK) {
        fit_lines(question, &fit, count, &text);
        code = output_lines(&text, error);
    }
    if (code == STATUS_OK) {
        *exit_code = fit.verdict == FIT_YES  ? EXIT_CODE_PASS
                     : fit.verdict == FIT_NO ? EXIT_CODE_FAIL
                                             : EXIT_CODE_INCONCLUSIVE;
    }
    text_release(&text);
    return code;
}

static enum status_code fit_run(const struct arguments *arguments, enum exit_code *exit_code, struct status *error)
{
    struct question_case question;
    enum status_code code = question_case_open(arguments, &question, error);
    if (code == STATUS_OK) {
        question_positions_note(arguments, &question);
        code = fit_print(arguments, &question, exit_code, error);
        question_case_close(&question);
    }
    return code;
}

const struct command command_fit = {
    .name = "fit",
    .operands = "MODEL",
    .summary = "whether a case fits a device, and with what margin",
    .details = "What decides are the segments that the allocator takes (reserved bytes), in a replay that is\n"
               "bounded to what driver, context and libraries leave of the device. Two things are not known to\n"
               "the byte: these, and what no rule explains of the segments (--margin). The answer is yes with\n"
               "the most of both, no with the least, else it depends. docs/PUBLISHED.md says how often a yes was\n"
               "wrong.\n"
               "\n"
               "Exit codes:\n"
               "  0  it fits\n"
               "  1  it does not fit\n"
               "  3  it depends: it fits with the least that it may take, and not with the most\n",
    .options = options,
    .operand_minimum = 1,
    .operand_maximum = 1,
    .run = fit_run,
};
