/* Assumptions page: each row with what was seen, what it means and what to do, for people and for programs. */
#include "harness/report/assumptions_view.h"
#include "harness/report/page_format.h"

enum { DETAIL_INDENT = 2 };

static const char *row_remedy(const struct assumption_row *row, enum assumption_verdict verdict)
{
    return verdict == ASSUMPTION_NOTED && !row->advises
               ? "nothing; the records are worth sending, as of the first GPU of its class: docs/GPU.md, For volunteers"
               : row->otherwise;
}

static void row_say(struct page *page, const struct assumptions *assumptions, int at)
{
    const struct assumption_row *row = &assumption_rows[at];
    enum assumption_verdict verdict = assumptions->verdicts[at];
    page_say(page, BLOCK_ITEM, MEDIUM_TERMINAL, "%s: %s: %s", assumption_verdict_word(verdict), row->name,
             text_string(&assumptions->seen[at]));
    /* One that is open because the run was disturbed has nothing to mend in itself. */
    bool is_own = verdict == ASSUMPTION_OTHERWISE || verdict == ASSUMPTION_NOTED ||
                  (verdict == ASSUMPTION_OPEN && row->is_of_run);
    if (verdict == ASSUMPTION_HOLDS || is_own) {
        page_line(page, DETAIL_INDENT, "assumed: %s", row->assumed);
    }
    if (is_own) {
        page_line(page, DETAIL_INDENT, "what to do: %s", row_remedy(row, verdict));
    }
}

static void table_say(struct page *page, const struct assumptions *assumptions)
{
    static const struct page_column columns[] = {{.title = "", .kind = CELL_WORD},
                                                 {.title = "assumption", .kind = CELL_WORD},
                                                 {.title = "seen", .kind = CELL_WORD},
                                                 {.title = "assumed", .kind = CELL_WORD},
                                                 {.title = "if it is otherwise", .kind = CELL_WORD}};
    struct page_table *table = page_table_add(page, MEDIA_READ, columns, 5);
    for (int at = 0; at < assumptions->row_count; at++) {
        const struct assumption_row *row = &assumption_rows[at];
        const struct cell cells[] = {cell_word(assumption_verdict_word(assumptions->verdicts[at])),
                                     cell_word(row->name), cell_word(text_string(&assumptions->seen[at])),
                                     cell_word(row->assumed), cell_word(row->otherwise)};
        page_row_add(page, table, cells);
    }
}

static void assumptions_describe(const void *subject, struct page *page)
{
    const struct assumptions *assumptions = subject;
    struct text reason = {0};
    enum run_outcome outcome = assumptions_outcome(assumptions, &reason);
    page_say(page, BLOCK_TITLE, MEDIUM_ALL, "What is assumed of a GPU: %s",
             assumptions->evidence.device[0] != '\0' ? assumptions->evidence.device : "there was none");
    for (int at = 0; outcome != RUN_SKIPPED && at < assumptions->row_count; at++) {
        row_say(page, assumptions, at);
    }
    if (outcome != RUN_SKIPPED) {
        table_say(page, assumptions);
    }
    if (outcome == RUN_PASS) {
        text_append(&reason, "PASS: what could be asked of this GPU is as assumed");
    }
    page_words_move(page, BLOCK_LEAD, MEDIUM_ALL, &reason);
}

static struct json *spread_value(const struct figure_spread *spread)
{
    if (spread->known_count == 0) {
        return json_null_new();
    }
    struct json *value = json_object_new();
    bool made = json_set(value, "low", json_integer_new(spread->low)) &&
                json_set(value, "high", json_integer_new(spread->high)) &&
                json_set(value, "widest_in_a_run", json_integer_new(spread->widest)) &&
                json_set(value, "count", json_integer_new(spread->known_count)) &&
                json_set(value, "unknown_count", json_integer_new(spread->unknown_count));
    return json_made(value, made);
}

static struct json *figures_value(const struct assumption_evidence *evidence)
{
    struct json *value = json_object_new();
    bool made = json_set(value, "baseline_bytes", spread_value(&evidence->baseline)) &&
                json_set(value, "context_bytes", spread_value(&evidence->context)) &&
                json_set(value, "process_bytes", spread_value(&evidence->process)) &&
                json_set(value, "device_less_process_bytes", spread_value(&evidence->apart)) &&
                json_set(value, "kernel_bytes", spread_value(&evidence->kernel)) &&
                json_set(value, "library_bytes", spread_value(&evidence->library)) &&
                json_set(value, "remainder_bytes", spread_value(&evidence->remainder)) &&
                json_set(value, "device_error_bytes", spread_value(&evidence->device_error)) &&
                json_set(value, "process_error_bytes", spread_value(&evidence->process_error)) &&
                json_set(value, "start_ms", spread_value(&evidence->start_ms));
    return json_made(value, made);
}

static struct json *row_value(const struct assumptions *assumptions, int at)
{
    const struct assumption_row *row = &assumption_rows[at];
    struct json *value = json_object_new();
    bool made = json_set(value, "name", json_string_new(row->name)) &&
                json_set(value, "verdict", json_string_new(assumption_verdict_word(assumptions->verdicts[at]))) &&
                json_set(value, "decides", json_boolean_new(!row->advises)) &&
                json_set(value, "seen", json_string_new(text_string(&assumptions->seen[at]))) &&
                json_set(value, "assumed", json_string_new(row->assumed)) &&
                json_set(value, "otherwise", json_string_new(row->otherwise));
    return json_made(value, made);
}

static struct json *assumptions_value(const void *subject)
{
    const struct assumptions *assumptions = subject;
    const struct assumption_evidence *evidence = &assumptions->evidence;
    struct text reason = {0};
    enum run_outcome outcome = assumptions_outcome(assumptions, &reason);
    struct json *value = json_object_new(), *rows = json_array_new();
    bool made = rows != NULL;
    for (int at = 0; made && at < assumptions->row_count; at++) {
        made = json_append(rows, row_value(assumptions, at));
    }
    made =
        json_set(value, "device", evidence->device[0] != '\0' ? json_string_new(evidence->device) : json_null_new()) &&
        json_set(value, "class_is_measured", json_boolean_new(evidence->class_is_measured)) &&
        json_set(value, "uuid", evidence->uuid[0] != '\0' ? json_string_new(evidence->uuid) : json_null_new()) &&
        json_set(value, "outcome", json_string_new(run_outcome_name(outcome))) &&
        json_set(value, "reason", reason.length > 0 ? json_string_new(text_string(&reason)) : json_null_new()) &&
        json_set(value, "case_count", json_integer_new(evidence->line_count)) &&
        json_set(value, "figures", figures_value(evidence)) && json_set(value, "assumptions", rows) && made;
    text_release(&reason);
    return json_made(value, made);
}

static const struct page_kind assumptions_kind = {
    .name = "the assumptions",
    .what = "the assumptions",
    .describe = assumptions_describe,
    .value = assumptions_value,
};

enum status_code assumptions_format_parse(const char *name, enum report_format *format, struct status *error)
{
    return page_format_parse(&assumptions_kind, name, format, error);
}

enum status_code assumptions_render(const struct assumptions *assumptions, enum report_format format,
                                    const struct report_style *style, struct text *text, struct status *error)
{
    return page_render(&assumptions_kind, assumptions, format, style, text, error);
}
