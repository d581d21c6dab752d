/* OpenMetrics: the figures of every case as gauges. One text for both who read it: OpenMetrics, which wants units and
 * "# EOF", and the textfile collector of Prometheus, which takes those lines for comments and knows no type but gauge
 * for what is told here. No sample has a time of its own: a collector says when it read them, and the records when
 * they were made. What is not known has no sample, and so have readings that something disturbed. */
#include <inttypes.h>
#include <string.h>

#include "harness/report/cases_page.h"
#include "harness/report/environment.h"
#include "harness/report/escape.h"

static void family_append(struct text *text, const char *name, const char *unit, const char *help)
{
    text_format(text, "# TYPE %s gauge\n", name);
    if (unit != NULL) {
        text_format(text, "# UNIT %s %s\n", name, unit);
    }
    text_format(text, "# HELP %s %s\n", name, help);
}

/* name="value" behind a comma, if it is not the first; what ends a value is escaped, control characters are gone. */
static void label_append(struct text *text, const char *separator, const char *name, const char *value)
{
    struct text clean = {0};
    terminal_append(&clean, value != NULL ? value : "");
    text_format(text, "%s%s=\"", separator, name);
    for (const char *at = text_string(&clean); *at != '\0'; at++) {
        if (*at == '\\' || *at == '"') {
            text_append(text, "\\");
        }
        text_append_bytes(text, at, 1);
    }
    text_append(text, "\"");
    text->failed = text->failed || clean.failed;
    text_release(&clean);
}

static void case_labels_append(struct text *text, const struct case_view *view)
{
    label_append(text, "{", "case", view->id);
    label_append(text, ",", "model", view->model);
    label_append(text, ",", "mode", view->mode);
    label_append(text, ",", "precision", view->precision);
    label_append(text, ",", "device", view->device_name);
}

static void peaks_append(struct text *text, const struct case_view *view, const struct footprint_view *footprint,
                         const char *source)
{
    for (int level = 0; level < LEVEL_COUNT; level++) {
        const bool is_disturbed = view->invalid && level_is_reading((enum level)level);
        if (footprint->peak_bytes[level] != BYTES_UNKNOWN && !is_disturbed) {
            text_append(text, "assay_peak_bytes");
            case_labels_append(text, view);
            label_append(text, ",", "level", level_name((enum level)level));
            label_append(text, ",", "source", source);
            text_append(text, "} ");
            text_integer(text, footprint->peak_bytes[level]);
            text_append(text, "\n");
        }
    }
}

/* Whether the last run made it: what is there of another night is not told as if it were of this one. */
static bool is_told(const struct case_view *view)
{
    return view->missing == NULL || view->missing->made_count > 0;
}

static void cases_append(struct text *text, const struct report *report)
{
    family_append(text, "assay_peak_bytes", "bytes",
                  "Highest bytes of a case over its stages, measured or predicted by replay.");
    for (int i = 0; i < report->case_count; i++) {
        const struct case_view *view = &report->cases[i];
        if (is_told(view)) {
            peaks_append(text, view, &view->measured, view->basis);
            peaks_append(text, view, &view->predicted, "replay");
        }
    }
    family_append(text, "assay_case_status", NULL, "1 for the way in which a case ended.");
    for (int i = 0; i < report->case_count; i++) {
        const struct case_view *view = &report->cases[i];
        text_append(text, "assay_case_status");
        case_labels_append(text, view);
        label_append(text, ",", "status", case_word(view));
        text_append(text, "} 1\n");
    }
}

static void count_append(struct text *text, const char *status, int count)
{
    text_append(text, "assay_cases");
    label_append(text, "{", "status", status);
    text_format(text, "} %d\n", count);
}

static void counts_write(struct text *text, const struct report *report)
{
    const struct report_counts counts = report_count(report);
    family_append(text, "assay_cases", NULL, "Cases of the run by the way in which they ended.");
    count_append(text, "ok", counts.ok);
    count_append(text, "fail", counts.fail);
    count_append(text, "open", counts.open);
    count_append(text, "error", counts.error);
    count_append(text, "oom", counts.oom);
    count_append(text, "timeout", counts.timeout);
    count_append(text, "skip", counts.skip);
    count_append(text, "missing", counts.missing);
    family_append(text, "assay_run_complete", NULL, "1 if the run came to its end, 0 if it was cut short.");
    text_format(text, "assay_run_complete %d\n", counts.ended ? 1 : 0);
}

static void run_append(struct text *text, const struct report *report)
{
    const char *values[ENVIRONMENT_COUNT];
    struct arena arena = {0};
    int64_t seconds = 0;
    const char *started = json_string_or(json_get(report_run(report), "started"), NULL);
    if (record_time_read(started, &seconds) && seconds >= 0) {
        family_append(text, "assay_run_start_seconds", "seconds", "When the run began, in seconds since 1970.");
        text_format(text, "assay_run_start_seconds %" PRId64 "\n", seconds);
    }
    family_append(text, "assay_environment", NULL, "1, with what the run was measured under.");
    text_append(text, "assay_environment");
    const char *separator = "{";
    if (!environment_read(report, &arena, values)) {
        text->failed = true;
        arena_release(&arena);
        return;
    }
    for (int i = 0; i < ENVIRONMENT_COUNT; i++) {
        if (values[i] != NULL) {
            label_append(text, separator, environment_key((enum environment)i), values[i]);
            separator = ",";
        }
    }
    text_append(text, separator[0] == ',' ? "} 1\n" : " 1\n");
    arena_release(&arena);
}

void openmetrics_write(const void *subject, const struct report_style *style, struct text *text)
{
    const struct report *report = ((const struct cases_subject *)subject)->report;
    (void)style;
    cases_append(text, report);
    counts_write(text, report);
    run_append(text, report);
    text_append(text, "# EOF\n");
}
