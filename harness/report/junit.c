/* JUnit XML: the report for CI servers. A verdict that failed is a failure; error, out of memory and timeout are errors;
 * a skipped case is skipped. Times are plain decimals and timestamps have no zone, as the schema wants. */
#include <stdio.h>
#include <string.h>

#include "harness/report/case_view.h"
#include "harness/report/escape.h"
#include "harness/report/wording.h"

static void attribute_append(struct text *text, const char *name, const char *value)
{
    text_format(text, " %s=\"", name);
    xml_append(text, value);
    text_append(text, "\"");
}

static void property_append(struct text *text, const char *name, const char *value)
{
    if (value != NULL) {
        text_append(text, "      <property");
        attribute_append(text, "name", name);
        attribute_append(text, "value", value);
        text_append(text, "/>\n");
    }
}

/* "2026-11-20T02:00:00", from a time stamp with or without a zone; a fixed one where the run has none, because the
 * attribute is required and the report must not depend on the clock. */
static void timestamp_append(struct text *text, const struct json *run)
{
    const char *started = json_string_or(json_get(run, "started"), "");
    size_t length = strspn(started, "0123456789-T:");
    char stamp[20] = "1970-01-01T00:00:00";
    if (length >= sizeof stamp - 1 && started[10] == 'T') {
        memcpy(stamp, started, sizeof stamp - 1);
    }
    attribute_append(text, "timestamp", stamp);
}

static void verdicts_append(struct text *text, const struct case_view *view)
{
    char predicted[WORDING_BYTES], measured[WORDING_BYTES], error[WORDING_BYTES], quantity[WORDING_BYTES];
    for (int index = 0; index < view->comparison_count; index++) {
        const struct comparison *row = &view->comparisons[index];
        struct text line = {0};
        text_format(&line, "%s %s: predicted %s, %s %s, error %s", row->estimator,
                    quantity_word(row->quantity, quantity), bytes_word(row->predicted_bytes, false, predicted),
                    view->basis, bytes_word(row->measured_bytes, false, measured),
                    error_word(row->error_known, row->error, error));
        if (row->tolerance >= 0.0) {
            text_format(&line, ", tolerance %.2f %%", row->tolerance * 100.0);
        }
        text_append(&line, row->judgement == JUDGEMENT_FAIL   ? ": FAIL"
                           : row->judgement == JUDGEMENT_PASS ? ": pass"
                                                              : "");
        xml_append(text, text_string(&line));
        text_append(text, "\n");
        text_release(&line);
    }
}

/* The element that says how a case ended; nothing for one that is ok. */
static void outcome_append(struct text *text, const struct case_view *view)
{
    bool failed = strcmp(view->status, "fail") == 0, skipped = strcmp(view->status, "skip") == 0;
    if (strcmp(view->status, "ok") == 0) {
        return;
    }
    const char *element = failed ? "failure" : skipped ? "skipped" : "error";
    struct text message = {0};
    text_append(&message, view->reason);
    oom_append(&message, view);
    text_format(text, "      <%s", element);
    attribute_append(text, "message", message.length > 0 ? text_string(&message) : view->status);
    text_release(&message);
    if (skipped) {
        text_append(text, "/>\n");
        return;
    }
    attribute_append(text, "type", view->status);
    text_append(text, ">");
    verdicts_append(text, view);
    text_format(text, "</%s>\n", element);
}

/* No failure: what was judged stands, and what the readings cannot say was not judged. */
static void invalid_append(struct text *text, const struct case_view *view)
{
    struct text words = {0};
    validity_append(&words, view);
    if (words.length > 0) {
        text_append(text, "      <system-out>");
        xml_append(text, text_string(&words));
        text_append(text, "</system-out>\n");
    }
    text_release(&words);
}

static void case_append(struct text *text, const struct case_view *view)
{
    char seconds[64];
    snprintf(seconds, sizeof seconds, "%.3f", view->duration_seconds >= 0.0 ? view->duration_seconds : 0.0);
    text_append(text, "    <testcase");
    attribute_append(text, "classname", view->model != NULL ? view->model : "assay");
    attribute_append(text, "name", view->id);
    attribute_append(text, "time", seconds);
    text_append(text, ">\n");
    outcome_append(text, view);
    invalid_append(text, view);
    text_append(text, "    </testcase>\n");
}

/* From the hardware of the run line. */
static const char *host_name(const struct json *run)
{
    return json_string_or(json_get(json_get(run, "hardware"), "host"), "unknown");
}

static void suite_append(struct text *text, const struct report *report)
{
    struct report_counts counts = report_count(report);
    const struct json *run = report_run(report), *suite = json_get(run, "suite");
    double seconds = 0.0;
    for (int index = 0; index < report->case_count; index++) {
        seconds += report->cases[index].duration_seconds > 0.0 ? report->cases[index].duration_seconds : 0.0;
    }
    text_append(text, "  <testsuite");
    attribute_append(text, "name", json_string_or(json_get(suite, "name"), "assay"));
    text_format(text, " tests=\"%d\" failures=\"%d\" errors=\"%d\" skipped=\"%d\" time=\"%.3f\"", counts.cases,
                counts.fail, counts.error + counts.oom + counts.timeout, counts.skip, seconds);
    timestamp_append(text, run);
    attribute_append(text, "hostname", host_name(run));
    text_append(text, " id=\"0\" package=\"assay\">\n    <properties>\n");
    struct text device = {0};
    device_append(&device, report);
    property_append(text, "device", device.length > 0 ? text_string(&device) : NULL);
    text_release(&device);
    property_append(text, "basis", report->basis);
    property_append(text, "version", json_string_or(json_get(json_get(run, "tool"), "version"), NULL));
    text_append(text, "    </properties>\n");
    for (int index = 0; index < report->case_count; index++) {
        case_append(text, &report->cases[index]);
    }
    text_append(text, "    <system-out>");
    counts_append(&device, report);
    xml_append(text, text_string(&device));
    text_release(&device);
    text_append(text, "</system-out>\n    <system-err/>\n  </testsuite>\n");
}

void junit_write(const struct report *report, struct text *text)
{
    text_append(text, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
    suite_append(text, report);
    text_append(text, "</testsuites>\n");
}
