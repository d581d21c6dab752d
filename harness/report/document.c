/* Document: the report as one JSON value. The cases stand in it as they were recorded, with the summary beside them. */
#include "harness/report/cases_page.h"
#include "harness/report/proof_rates.h"
#include "harness/report/side_tables.h"
#include "harness/report/spread.h"

static struct json *counts_value(const struct report *report)
{
    struct report_counts counts = report_count(report);
    struct json *value = json_object_new();
    bool made = value != NULL && json_set(value, "cases", json_integer_new(counts.cases)) &&
                json_set(value, "ok", json_integer_new(counts.ok)) &&
                json_set(value, "fail", json_integer_new(counts.fail)) &&
                json_set(value, "error", json_integer_new(counts.error)) &&
                json_set(value, "oom", json_integer_new(counts.oom)) &&
                json_set(value, "timeout", json_integer_new(counts.timeout)) &&
                json_set(value, "skip", json_integer_new(counts.skip)) &&
                json_set(value, "open", json_integer_new(counts.open)) &&
                json_set(value, "earlier", json_integer_new(counts.earlier)) &&
                json_set(value, "invalid", json_integer_new(counts.invalid)) &&
                json_set(value, "missing", json_integer_new(counts.missing)) &&
                json_set(value, "missing_attempts", json_integer_new(counts.attempts_missing)) &&
                json_set(value, "damaged_lines", json_integer_new(counts.damaged_lines)) &&
                json_set(value, "ended", json_boolean_new(counts.ended));
    return json_made(value, made);
}

static struct json *accuracy_value(const struct accuracy *row)
{
    bool known = row->case_count > 0;
    struct json *value = json_object_new();
    bool made = value != NULL && json_set(value, "estimator", json_string_new(row->estimator)) &&
                json_set(value, "quantity", json_string_new(row->quantity)) &&
                json_set(value, "cases", json_integer_new(row->case_count)) &&
                json_set(value, "median_error", known ? json_real_new(row->median_error) : json_null_new()) &&
                json_set(value, "worst_error", known ? json_real_new(row->worst_error) : json_null_new()) &&
                json_set(value, "worst_case", known ? json_string_new(row->worst_case) : json_null_new()) &&
                json_set(value, "under_estimates", json_integer_new(row->under_count)) &&
                json_set(value, "failed_verdicts", json_integer_new(row->failed_count));
    return json_made(value, made);
}

static struct json *summary_value(const struct accuracy *rows, int count)
{
    struct json *value = json_array_new();
    for (int index = 0; value != NULL && index < count; index++) {
        if (!json_append(value, accuracy_value(&rows[index]))) {
            json_release(value);
            value = NULL;
        }
    }
    return value;
}

/* {"id": ..., "attempts": 10, "requested_bytes": 0, ..., "sequences_equal": true} */
static struct json *spread_value(const struct case_view *view)
{
    const struct spread *spread = &view->spread;
    struct json *value = json_object_new();
    bool made = value != NULL && json_set(value, "id", json_string_new(view->id)) &&
                json_set(value, "attempts", json_integer_new(spread->attempt_count));
    for (int level = 0; level < LEVEL_COUNT && made; level++) {
        int64_t bytes = spread_widest(spread, (enum level)level);
        made = json_set(value, level_key((enum level)level),
                        bytes == BYTES_UNKNOWN ? json_null_new() : json_integer_new(bytes));
    }
    bool known = spread->sequences != SEQUENCES_UNKNOWN;
    made = made && json_set(value, "sequences_equal",
                            known ? json_boolean_new(spread->sequences == SEQUENCES_EQUAL) : json_null_new());
    return json_made(value, made);
}

/* Of the cases that were repeated. */
static struct json *spreads_value(const struct report *report)
{
    struct json *value = json_array_new();
    bool made = value != NULL;
    for (int index = 0; made && index < report->case_count; index++) {
        made = report->cases[index].spread.attempt_count < 2 || json_append(value, spread_value(&report->cases[index]));
    }
    return json_made(value, made);
}

enum { INDENT = 2 };

/* Writes one member of the document and releases its value; NULL: memory ran out, and *made is false. */
static void member_write(struct text *text, const char *key, struct json *value, bool *made)
{
    text_format(text, "%s\n%*s\"%s\": ", text->length == 1 ? "" : ",", INDENT, "",
                key); /* behind "{" alone: the first */
    *made = *made && value != NULL;
    json_write_below(value, INDENT, 1, text);
    json_release(value);
}

static struct json *text_value(const char *string)
{
    return string[0] != '\0' ? json_string_new(string) : json_null_new();
}

/* What the cases come to, by the rule of docs/FORMAT.md under "end", and what stands in the records twice. */
static void outcome_write(struct text *head, const struct report *report, bool *made)
{
    struct text reason = {0};
    const char *name = run_outcome_name(report_outcome(report, &reason));
    member_write(head, "outcome", json_string_new(name), made);
    member_write(head, "outcome_reason", text_value(text_string(&reason)), made);
    member_write(head, "notes", text_value(report->notes), made);
    text_release(&reason);
}

/* [{"id": ..., "attempts": 3, "made": 1}, ...] */
static struct json *missing_value(const struct report *report)
{
    struct json *value = json_array_new();
    bool made = value != NULL;
    for (int index = 0; made && index < report->missing_count; index++) {
        const struct missing_case *one = &report->missing[index];
        struct json *object = json_object_new();
        bool set = json_set(object, "id", json_string_new(one->id)) &&
                   json_set(object, "attempts", json_integer_new(one->wanted_count)) &&
                   json_set(object, "made", json_integer_new(one->made_count));
        made = json_append(value, json_made(object, set));
    }
    return json_made(value, made);
}

/* "tables": {"places": [...], "transfers": [...], ...} */
static void tables_write(const struct report *report, struct text *text)
{
    const struct side_table *table;
    text_format(text, ",\n%*s\"tables\": {", INDENT, "");
    for (int index = 0; (table = side_table_at(index)) != NULL; index++) {
        text_format(text, "%s\n%*s\"%s\": ", index > 0 ? "," : "", 2 * INDENT, "", table->name);
        side_table_json(table, report, 2, text);
    }
    text_format(text, "\n%*s}", INDENT, "");
}

/* The records as they stand in their file, of which one at a time is in memory. */
static enum status_code cases_write(const struct report *report, struct text *text, struct status *error)
{
    enum status_code code = STATUS_OK;
    text_format(text, ",\n%*s\"cases\": [", INDENT, "");
    for (int index = 0; code == STATUS_OK && index < report->case_count; index++) {
        const struct record_place *line = &report->cases[index].line;
        const char *bytes = NULL;
        code = record_stream_again(report->stream, line, &bytes, error);
        if (code == STATUS_OK) {
            text_format(text, "%s\n%*s", index > 0 ? "," : "", 2 * INDENT, "");
            json_indent_below(bytes, line->length, INDENT, 2, text);
        }
    }
    if (report->case_count > 0) {
        text_format(text, "\n%*s", INDENT, "");
    }
    text_append(text, "]\n}\n");
    return code;
}

enum status_code document_write(const void *subject, struct text *text, struct status *error)
{
    const struct cases_subject *all = subject;
    const struct report *report = all->report;
    bool made = true;
    struct text head = {0};
    text_append(&head, "{");
    member_write(&head, "runs", json_share(report->runs), &made);
    member_write(&head, "resumptions", json_share(report->resumptions), &made);
    member_write(&head, "basis", json_string_new(report->basis), &made);
    outcome_write(&head, report, &made);
    member_write(&head, "counts", counts_value(report), &made);
    member_write(&head, "missing", missing_value(report), &made);
    member_write(&head, "summary", summary_value(all->rows, all->row_count), &made);
    member_write(&head, "spreads", spreads_value(report), &made);
    member_write(&head, "proofs", proof_rates_json(report), &made);
    text_append_bytes(text, text_string(&head), head.length);
    made = made && !head.failed;
    text_release(&head);
    tables_write(report, text);
    return made ? cases_write(report, text, error)
                : status_set(error, STATUS_OUT_OF_MEMORY, "no memory for a JSON document of %d cases",
                             report->case_count);
}
