/* JUnit XML: the report for CI servers. A verdict that failed is a failure; error, out of memory, timeout, a judged
 * figure that is not known and a selected case that is missing are errors; a skipped case is skipped. No report is
 * greener than the exit code of its run. Times are plain decimals and timestamps have no zone, as the schema wants. */
#include <stdio.h>
#include <string.h>

#include "harness/report/cases_page.h"
#include "harness/report/escape.h"
#include "harness/report/headline.h"
#include "harness/report/proof_rates.h"
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

/* "2026-11-20T02:00:00", from a time stamp with or without a zone; a fixed one if the run has none, because the
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

/* In the words of the message, and how it was judged. */
static void verdict_append(struct text *text, const struct case_view *view, const struct comparison *row)
{
    struct text line = {0};
    const struct verdict_words words = {.estimator = row->estimator,
                                        .quantity = row->quantity,
                                        .basis = view->basis,
                                        .stage = row->stage,
                                        .place = row->place,
                                        .note = row->note,
                                        .predicted_bytes = row->predicted_bytes,
                                        .measured_bytes = row->measured_bytes,
                                        .tolerance_bytes = row->tolerance_bytes,
                                        .tolerance_fraction = row->tolerance};
    verdict_words_append(&line, &words);
    text_append(&line, row->judgement == JUDGEMENT_FAIL ? ": FAIL" : row->judgement == JUDGEMENT_PASS ? ": pass" : "");
    xml_append(text, text_string(&line));
    text_append(text, "\n");
    text_release(&line);
}

/* All figures of a case, those that failed first. */
static void verdicts_append(struct text *text, const struct case_view *view)
{
    for (int failed = 1; failed >= 0; failed--) {
        for (int index = 0; index < view->comparison_count; index++) {
            if ((view->comparisons[index].judgement == JUDGEMENT_FAIL) == (failed == 1)) {
                verdict_append(text, view, &view->comparisons[index]);
            }
        }
    }
}

/* What a test case may hold, by how the case stands; NULL: nothing, it passed. */
static const char *element_of(const struct case_view *view)
{
    switch (view->standing) {
    case STANDING_FAIL:
        return "failure";
    case STANDING_BROKEN:
    case STANDING_OPEN: /* the exit code is 3: a server must not show it as passed */
        return "error";
    case STANDING_SKIP:
        return "skipped";
    case STANDING_OK:
        break;
    }
    return NULL;
}

/* Whether nothing is wrong with its attempts, but that some of them are missing. */
static bool is_short(const struct case_view *view)
{
    return view->missing != NULL && view->standing == STANDING_BROKEN && case_is_measured(view);
}

/* The element that says how a case ended; nothing for one that is ok. */
static void outcome_append(struct text *text, const struct case_view *view)
{
    const char *element = element_of(view);
    if (element == NULL) {
        return;
    }
    struct text message = {0};
    text_append(&message, view->reason);
    if (view->standing == STANDING_OPEN && view->constants_mismatch != NULL &&
        strstr(view->reason, view->constants_mismatch) != NULL) {
        text_append(&message, ": calibrate again, or run with --constants none");
    }
    oom_append(&message, view);
    text_format(text, "      <%s", element);
    attribute_append(text, "message", message.length > 0 ? text_string(&message) : case_word(view));
    text_release(&message);
    if (view->standing == STANDING_SKIP) {
        text_append(text, "/>\n");
        return;
    }
    attribute_append(text, "type", is_short(view) ? "missing" : case_word(view)); /* attempts that are not there */
    text_append(text, ">");
    verdicts_append(text, view);
    text_format(text, "</%s>\n", element);
}

/* No failure: what was judged stands, and what the readings cannot say was not judged. */
static void invalid_append(struct text *text, const struct case_view *view)
{
    struct text words = {0};
    validity_append(&words, view);
    declined_append(&words, view);
    if (words.length > 0) {
        text_append(text, "      <system-out>");
        xml_append(text, text_string(&words));
        text_append(text, "</system-out>\n");
    }
    text_release(&words);
}

static void case_begin(struct text *text, const char *class_name, const char *name, double duration_seconds)
{
    char seconds[64];
    snprintf(seconds, sizeof seconds, "%.3f", duration_seconds >= 0.0 ? duration_seconds : 0.0);
    text_append(text, "    <testcase");
    attribute_append(text, "classname", class_name);
    attribute_append(text, "name", name);
    attribute_append(text, "time", seconds);
    text_append(text, ">\n");
}

static void case_append(struct text *text, const struct case_view *view)
{
    case_begin(text, view->model != NULL ? view->model : "assay", view->id, view->duration_seconds);
    outcome_append(text, view);
    invalid_append(text, view);
    text_append(text, "    </testcase>\n");
}

/* A test case of something that is not there. */
static void absence_append(struct text *text, const char *class_name, const char *name, const char *message,
                           const char *type)
{
    case_begin(text, class_name, name, 0.0);
    text_append(text, "      <error");
    attribute_append(text, "message", message);
    attribute_append(text, "type", type);
    text_append(text, "/>\n    </testcase>\n");
}

static bool missing_is_there(const struct missing_case *one)
{
    return one->made_count > 0 || one->has_older; /* as a case of its own, which says it */
}

/* The cases that were selected and are not in the records. */
static void missing_append(struct text *text, const struct report *report)
{
    struct text message = {0};
    text_format(&message, "selected, but not attempted: %s",
                report->missing_cause != NULL ? report->missing_cause : "");
    for (int index = 0; index < report->missing_count; index++) {
        const struct missing_case *one = &report->missing[index];
        struct text model = {0};
        if (!missing_is_there(one)) {
            missing_model_append(&model, one->id);
            absence_append(text, text_string(&model), one->id, text_string(&message), "missing");
        }
        text_release(&model);
    }
    text_release(&message);
    if (report->unnamed_missing_count > 0) {
        text_format(&message, "%d selected cases are missing, and the records do not say which: %s",
                    report->unnamed_missing_count, report->missing_cause != NULL ? report->missing_cause : "");
        absence_append(text, "assay", "missing cases", text_string(&message), "missing");
        text_release(&message);
    }
}

struct element_counts {
    int tests, failures, errors, skipped;
    bool of_run; /* one more element says what no case says */
};

static struct element_counts elements_count(const struct report *report)
{
    struct element_counts counts = {.tests = report->case_count};
    for (int index = 0; index < report->case_count; index++) {
        enum standing standing = report->cases[index].standing;
        counts.failures += standing == STANDING_FAIL ? 1 : 0;
        counts.errors += standing == STANDING_BROKEN || standing == STANDING_OPEN ? 1 : 0;
        counts.skipped += standing == STANDING_SKIP ? 1 : 0;
    }
    int absent_count = report->unnamed_missing_count > 0 ? 1 : 0;
    for (int index = 0; index < report->missing_count; index++) {
        absent_count += missing_is_there(&report->missing[index]) ? 0 : 1;
    }
    counts.tests += absent_count;
    counts.errors += absent_count;
    struct outcome outcome;
    report_outcome_make(report, &outcome);
    enum run_outcome decided = outcome_decide(&outcome);
    counts.of_run = (decided == RUN_INCONCLUSIVE || decided == RUN_INCOMPLETE) && counts.errors == 0;
    outcome_release(&outcome);
    counts.tests += counts.of_run ? 1 : 0;
    counts.errors += counts.of_run ? 1 : 0;
    return counts;
}

/* From the hardware of the run line. */
static const char *host_name(const struct json *run)
{
    return json_string_or(json_get(json_get(run, "hardware"), "host"), "unknown");
}

static void suite_append(struct text *text, const struct report *report)
{
    struct element_counts counts = elements_count(report);
    const struct json *run = report_run(report), *suite = json_get(run, "suite");
    double seconds = 0.0;
    for (int index = 0; index < report->case_count; index++) {
        seconds += report->cases[index].duration_seconds > 0.0 ? report->cases[index].duration_seconds : 0.0;
    }
    text_append(text, "  <testsuite");
    attribute_append(text, "name", json_string_or(json_get(suite, "name"), "assay"));
    text_format(text, " tests=\"%d\" failures=\"%d\" errors=\"%d\" skipped=\"%d\" time=\"%.3f\"", counts.tests,
                counts.failures, counts.errors, counts.skipped, seconds);
    timestamp_append(text, run);
    attribute_append(text, "hostname", host_name(run));
    text_append(text, " id=\"0\" package=\"assay\">\n    <properties>\n");
    struct text device = {0};
    device_append(&device, report);
    property_append(text, "device", device.length > 0 ? text_string(&device) : NULL);
    text_release(&device);
    struct text outcome = {0};
    headline_append(&outcome, report);
    property_append(text, "outcome", outcome.length > 0 ? text_string(&outcome) : NULL);
    text_release(&outcome);
    property_append(text, "basis", report->basis);
    property_append(text, "version", json_string_or(json_get(json_get(run, "tool"), "version"), NULL));
    property_append(text, "revision", json_string_or(json_get(json_get(run, "tool"), "revision"), NULL));
    text_append(text, "    </properties>\n");
    struct text headline = {0};
    headline_append(&headline, report);
    if (counts.of_run) {
        absence_append(text, "assay", "the run", text_string(&headline), "inconclusive");
    }
    text_release(&headline);
    for (int place = 0; place < report->case_count; place++) {
        case_append(text, report_case(report, place));
    }
    missing_append(text, report);
    enum { REPORT_TEXT_COLUMNS = 120 };
    text_append(text, "    <system-out>");
    course_append(&device, report);
    proof_rates_paragraphs(report, REPORT_TEXT_COLUMNS, &device);
    xml_append(text, text_string(&device));
    text_release(&device);
    text_append(text, "</system-out>\n    <system-err/>\n  </testsuite>\n");
}

void report_nothing_junit(const char *suite, const char *why, bool is_error, struct text *text)
{
    int count = is_error ? 1 : 0;
    text_append(text, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite");
    attribute_append(text, "name", suite);
    text_format(text, " tests=\"%d\" failures=\"0\" errors=\"%d\" skipped=\"0\" time=\"0.000\"", count, count);
    timestamp_append(text, NULL);
    attribute_append(text, "hostname", "unknown");
    text_append(text, " id=\"0\" package=\"assay\">\n    <properties/>\n");
    if (is_error) {
        absence_append(text, "assay", "the run", why, "not begun");
    }
    text_append(text, "    <system-out>");
    xml_append(text, why);
    text_append(text, "</system-out>\n    <system-err/>\n  </testsuite>\n</testsuites>\n");
}

void junit_write(const void *subject, const struct report_style *style, struct text *text)
{
    const struct cases_subject *all = subject;
    (void)style;
    text_append(text, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
    suite_append(text, all->report);
    text_append(text, "</testsuites>\n");
}
