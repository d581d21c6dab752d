/* assay replay: a recorded sequence of allocations and frees through the allocator, without a device, and beside what
 * PyTorch recorded of it. */
#include <inttypes.h>
#include <string.h>

#include "harness/base/size.h"
#include "harness/cli/command.h"
#include "harness/cli/output.h"
#include "harness/memory/trace_peak.h"
#include "harness/report/escape.h"

static const struct option_row options[] = {
    {"allocator", OPTION_VALUE, "caching|plain", "whose rules: PyTorch's (default), or one segment for each block"},
    {"device", OPTION_VALUE, "N", "the GPU to replay, if a PyTorch snapshot has the histories of several"},
    {"peak", OPTION_VALUE, "STAGE", "list the sizes alive at the peak of a stage; highest: of the whole trace"},
    {"json", OPTION_FLAG, NULL, "print one JSON document"},
    {NULL, OPTION_FLAG, NULL, NULL},
};

static enum status_code policy_parse(const char *name, enum allocator_policy *policy, struct status *error)
{
    for (int i = 0; i < ALLOCATOR_POLICY_COUNT; i++) {
        if (strcmp(name, allocator_policy_name((enum allocator_policy)i)) == 0) {
            *policy = (enum allocator_policy)i;
            return STATUS_OK;
        }
    }
    return status_set(error, STATUS_INVALID, "replay: '%s' is not an allocator; write caching or plain", name);
}

static void size_line(struct text *text, const char *what, int64_t bytes)
{
    char size[SIZE_TEXT_BYTES];
    text_format(text, "%-15s %13s %20" PRId64 " bytes\n", what, size_format(bytes, size), bytes);
}

static void result_lines(struct text *text, const struct trace_result *result)
{
    for (int i = 0; i < LEVEL_COUNTED_COUNT; i++) {
        enum level level = (enum level)i;
        size_line(text, level_name(level), result->levels[level].bytes);
        if (trace_result_has_peak(level)) {
            size_line(text, level_peak_name(level), result->levels[level].bytes_peak);
        }
    }
    text_format(text, "%-15s %13" PRId64 "\n", "segments", result->segment_count);
}

enum { STAGE_COLUMNS = 24, FIGURE_COLUMNS = 17 };

/* Ours less theirs, of the three figures from first on; "-" if PyTorch's record has none. */
static void difference_cells(struct text *text, const int64_t *ours, const int64_t *theirs, int first)
{
    for (int i = first; i < first + LEVEL_COUNTED_COUNT; i++) {
        int64_t difference = ours[i] - theirs[i];
        if (theirs[i] == TRACE_UNKNOWN) {
            text_format(text, " %*s", FIGURE_COLUMNS, "-");
        } else {
            text_format(text, difference == 0 ? " %*" PRId64 : " %+*" PRId64, FIGURE_COLUMNS, difference);
        }
    }
    text_append(text, "\n");
}

static bool peaks_are_told(const struct trace_counters *row)
{
    bool told = false;
    for (int i = LEVEL_COUNTED_COUNT; i < TRACE_FIGURE_COUNT; i++) {
        told = told || row->bytes[i] != TRACE_UNKNOWN;
    }
    return told;
}

/* A row, and one for its peaks; the name of a stage comes from outside. */
static void difference_rows(struct text *text, const struct trace_counters *theirs, const int64_t *ours)
{
    struct text label = {0};
    if (theirs->stage != NULL) {
        terminal_append(&label, theirs->stage);
    } else {
        text_format(&label, "event %zu", theirs->event_number);
    }
    cell_append(text, text_string(&label), STAGE_COLUMNS, false);
    difference_cells(text, ours, theirs->bytes, 0);
    if (peaks_are_told(theirs)) {
        cell_append(text, "  peak", STAGE_COLUMNS, false);
        difference_cells(text, ours, theirs->bytes, LEVEL_COUNTED_COUNT);
    }
    text_release(&label);
}

static void difference_table(struct text *text, const struct trace_comparison *comparison)
{
    const struct trace *trace = comparison->trace;
    text_append(text, "\nassay's bytes less PyTorch's\n");
    text_format(text, "%-*s", STAGE_COLUMNS, "");
    for (int level = 0; level < LEVEL_COUNTED_COUNT; level++) {
        text_format(text, " %*s", FIGURE_COLUMNS, level_name((enum level)level));
    }
    text_append(text, "\n");
    for (size_t i = 0; i < trace->counters_count; i++) {
        difference_rows(text, &trace->counters[i], comparison->bytes[i]);
    }
}

static void count_append(struct text *text, const char *joint, int64_t count, const char *what)
{
    text_format(text, "%s%" PRId64 " %s%s", joint, count, what, count == 1 ? "" : "s");
}

/* Counts only what the record has. */
static void equality_line(struct text *text, const struct trace_comparison *comparison)
{
    text_append(text, "\nall ");
    if (comparison->figures.count > 0) {
        count_append(text, "", comparison->figures.count, "figure");
    }
    if (comparison->trace->has_addresses) {
        count_append(text, comparison->figures.count > 0 ? ", " : "", comparison->placements.count, "placement");
        count_append(text, " and ", comparison->segments.count, "segment event");
    }
    text_append(text, " equal PyTorch's\n");
}

static void tally_line(struct text *text, const char *what, const struct trace_tally *tally)
{
    text_format(text, "  %-15s %10" PRId64 " of %" PRId64 "\n", what, tally->unequal_count, tally->count);
}

static void comparison_lines(struct text *text, const struct trace_comparison *comparison)
{
    if (comparison->trace->counters_count > 0) {
        difference_table(text, comparison);
    }
    if (trace_comparison_is_equal(comparison)) {
        equality_line(text, comparison);
        return;
    }
    text_format(text, "\nfirst difference: event %zu\n  PyTorch %s\n  assay   %s\n\ndifferent\n",
                comparison->first_event, comparison->first_pytorch, comparison->first_assay);
    tally_line(text, "figures", &comparison->figures);
    tally_line(text, "placements", &comparison->placements);
    tally_line(text, "segment events", &comparison->segments);
}

enum { PEAK_ROWS_SHOWN = 30 };

static void peak_lines(struct text *text, const struct trace_peak *peak)
{
    char size[SIZE_TEXT_BYTES];
    text_format(text, "\nalive at the peak of requested bytes, %s, largest first:\n",
                size_format(peak->requested_bytes, size));
    for (size_t i = 0; i < peak->row_count && i < PEAK_ROWS_SHOWN; i++) {
        const struct trace_peak_row *row = &peak->rows[i];
        text_format(text, "  %12s %6" PRId64 " x %12" PRId64 "\n", size_format(row->bytes * row->count, size),
                    row->count, row->bytes);
    }
    if (peak->row_count > PEAK_ROWS_SHOWN) {
        text_format(text, "  %zu more rows; --json has all\n", peak->row_count - PEAK_ROWS_SHOWN);
    }
}

/* comparison is NULL if nothing was compared, peak if none was asked for. */
static enum status_code result_print(const struct trace_result *result, const struct trace_comparison *comparison,
                                     const struct trace_peak *peak, struct status *error)
{
    struct text text = {0};
    result_lines(&text, result);
    if (comparison != NULL) {
        comparison_lines(&text, comparison);
    }
    if (peak != NULL) {
        peak_lines(&text, peak);
    }
    enum status_code code = output_text(&text, error);
    text_release(&text);
    return code;
}

static enum status_code result_print_json(const struct trace_result *result, const struct trace_comparison *comparison,
                                          const struct trace_peak *peak, struct status *error)
{
    struct json *document = trace_result_to_json(result);
    bool made = document != NULL;
    made = made && (comparison == NULL || json_set(document, "pytorch", trace_comparison_to_json(comparison)));
    made = made && (peak == NULL || json_set(document, "peak", trace_peak_to_json(peak)));
    document = json_made(document, made);
    enum status_code code = output_json(document, error);
    json_release(document);
    return code;
}

static enum status_code replay_options(const struct arguments *arguments, enum allocator_policy *policy,
                                       int64_t *device, struct status *error)
{
    const char *name = arguments_value(arguments, "allocator");
    const char *number = arguments_value(arguments, "device");
    enum status_code code = name != NULL ? policy_parse(name, policy, error) : STATUS_OK;
    if (code == STATUS_OK && number != NULL) {
        code = integer_parse(number, 0, INT32_MAX, device, error);
        if (code != STATUS_OK) {
            status_prefix(error, "replay: --device");
        }
    }
    return code;
}

/* Plays the trace and prints the result; beside PyTorch's record, if the trace has one and the rules are PyTorch's.
 * peak_stage: a word of --peak, or NULL. */
static enum status_code trace_show(const struct trace *trace, enum allocator_policy policy, const char *peak_stage,
                                   bool as_json, enum exit_code *exit_code, struct status *error)
{
    bool compares = policy == ALLOCATOR_CACHING && trace_has_record(trace);
    bool of_all = peak_stage != NULL && strcmp(peak_stage, "highest") == 0;
    struct trace_result result;
    struct trace_comparison comparison = {0};
    struct trace_peak found = {0};
    enum status_code code =
        compares ? trace_compare(trace, &result, &comparison, error) : trace_replay(trace, policy, &result, error);
    if (code == STATUS_OK && peak_stage != NULL) {
        code = trace_peak_find(trace, of_all ? NULL : peak_stage, &found, error);
    }
    if (code == STATUS_OK) {
        const struct trace_comparison *compared = compares ? &comparison : NULL;
        const struct trace_peak *peak = peak_stage != NULL ? &found : NULL;
        code =
            as_json ? result_print_json(&result, compared, peak, error) : result_print(&result, compared, peak, error);
    }
    if (code == STATUS_OK && compares && !trace_comparison_is_equal(&comparison)) {
        *exit_code = EXIT_CODE_FAIL;
    }
    trace_peak_release(&found);
    trace_comparison_release(&comparison);
    return code;
}

static enum status_code replay_command(const struct arguments *arguments, enum exit_code *exit_code,
                                       struct status *error)
{
    enum allocator_policy policy = ALLOCATOR_CACHING;
    int64_t device = TRACE_DEVICE_ONLY;
    struct trace trace = {0};
    enum status_code code = replay_options(arguments, &policy, &device, error);
    if (code == STATUS_OK) {
        code = trace_read(arguments->operands[0], device, &trace, error);
    }
    if (code == STATUS_OK) {
        code = trace_show(&trace, policy, arguments_value(arguments, "peak"),
                          arguments_value(arguments, "json") != NULL, exit_code, error);
    }
    trace_release(&trace);
    return code;
}

const struct command command_replay = {
    .name = "replay",
    .operands = "TRACE.json",
    .summary = "send an alloc/free trace through the allocator",
    .details = "TRACE.json: {\"events\": [[\"malloc\", id, bytes] | [\"free\", id], ...]}; an id is any integer.\n"
               "  requested  the sum of live sizes\n"
               "  allocated  the blocks handed out\n"
               "  reserved   the segments taken\n"
               "\n"
               "TRACE.json may also be what PyTorch recorded: the pickle of torch.cuda.memory._dump_snapshot(), of\n"
               "which nothing is executed, the same as JSON, or events with PyTorch's segments and counters among\n"
               "them (docs/FORMAT.md). The replay is then compared with that record: the address of every block,\n"
               "every segment, every counter.\n"
               "\n"
               "Exit codes: 0 all equal, 1 something differs.\n",
    .options = options,
    .operand_minimum = 1,
    .operand_maximum = 1,
    .run = replay_command,
};
