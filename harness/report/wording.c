/* Wording: numbers to words. Not for machine formats, which take integer bytes. */
#include "harness/report/wording.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/size.h"
#include "harness/record/constants.h"
#include "harness/record/quantity.h"
#include "harness/report/counted_cases.h"
#include "harness/report/headline.h"
#include "harness/report/placed_view.h"

const char *bytes_word(int64_t bytes, bool brief, char text[WORDING_BYTES])
{
    char size[SIZE_TEXT_BYTES];
    if (bytes == BYTES_UNKNOWN) {
        snprintf(text, WORDING_BYTES, "-");
        return text;
    }
    snprintf(text, WORDING_BYTES, "%s", size_format(bytes, size));
    char *zeros = brief ? strstr(text, ".00 ") : NULL;
    if (zeros != NULL) {
        memmove(zeros, zeros + 3, strlen(zeros + 3) + 1);
    }
    return text;
}

const char *error_word(bool known, double error, char text[WORDING_BYTES])
{
    char percentage[SIZE_TEXT_BYTES];
    snprintf(text, WORDING_BYTES, "%s", known ? percentage_format(error, percentage) : "-");
    return text;
}

const char *quantity_word(const char *quantity, char text[WORDING_BYTES])
{
    struct text words = {0};
    quantity_words_append(&words, quantity);
    snprintf(text, WORDING_BYTES, "%s", text_string(&words));
    text_release(&words);
    return text;
}

const char *peaks_words(const struct report *report)
{
    int index = 0;
    while (index < report->case_count &&
           (report->cases[index].placed == NULL || report->cases[index].placed->place_count == 0)) {
        index++;
    }
    return index < report->case_count ? "peaks over all stages, of a placed case on its main place"
                                      : "peaks over all stages";
}

void place_prefix_append(struct text *text, const struct comparison *row)
{
    if (row->place != NULL) {
        text_format(text, "%s: ", row->place);
    }
}

void places_counted_append(struct text *text, const struct accuracy *rows, int count)
{
    int at = 0;
    while (at < count && rows[at].place_count == 0) {
        at++;
    }
    text_append(text, at < count ? "Of a placed case each place counts as one." : "");
}

const char *difference_word(int64_t old_bytes, int64_t new_bytes, char text[WORDING_BYTES])
{
    if (old_bytes == BYTES_UNKNOWN || new_bytes == BYTES_UNKNOWN) {
        snprintf(text, WORDING_BYTES, "-");
        return text;
    }
    char size[WORDING_BYTES];
    int64_t distance = new_bytes > old_bytes ? new_bytes - old_bytes : old_bytes - new_bytes;
    const char *sign = new_bytes > old_bytes ? "+" : new_bytes < old_bytes ? "-" : "";
    bytes_word(distance, false, size);
    snprintf(text, WORDING_BYTES, "%s%.*s", sign, WORDING_BYTES - 2, size);
    return text;
}

static void cause_append(struct text *text, bool *first, const char *format, const char *figure)
{
    text_append(text, *first ? ": " : ", ");
    text_format(text, format, figure);
    *first = false;
}

/* Why allocated exceeds requested; the parts that the allocator itemises, and what they leave. */
static void slack_append(struct text *text, int64_t slack_bytes, const struct causes_view *causes)
{
    char figure[WORDING_BYTES];
    bool first = true;
    int64_t left_bytes = slack_bytes;
    if (causes->rounding_bytes > 0) {
        cause_append(text, &first, "%s of rounding", bytes_word(causes->rounding_bytes, true, figure));
        left_bytes -= causes->rounding_bytes;
    }
    if (causes->remainder_bytes > 0) {
        bytes_word(causes->remainder_bytes, true, figure);
        if (causes->remainder_count == 1) {
            cause_append(text, &first, "one unsplit %s remainder", figure);
        } else if (causes->remainder_count > 1) {
            cause_append(text, &first, "%s in unsplit remainders", figure);
            text_format(text, " (%" PRId64 " of them)", causes->remainder_count);
        } else {
            cause_append(text, &first, "%s in unsplit remainders", figure);
        }
        left_bytes -= causes->remainder_bytes;
    }
    if (left_bytes > 0) {
        cause_append(text, &first, "%s not explained", bytes_word(left_bytes, true, figure));
    } else if (left_bytes < 0) {
        cause_append(text, &first, "causes exceed the difference by %s", bytes_word(-left_bytes, true, figure));
    }
}

void causes_append(struct text *text, const struct stage_view *stage, const struct causes_view *causes)
{
    char figure[WORDING_BYTES];
    int64_t requested_bytes = stage->end_bytes[LEVEL_REQUESTED];
    int64_t allocated_bytes = stage->end_bytes[LEVEL_ALLOCATED];
    int64_t reserved_bytes = stage->end_bytes[LEVEL_RESERVED];
    if (!causes->present || requested_bytes == BYTES_UNKNOWN || allocated_bytes == BYTES_UNKNOWN) {
        return;
    }
    text_format(text, "%s requested, ", bytes_word(requested_bytes, false, figure));
    text_format(text, "%s allocated", bytes_word(allocated_bytes, false, figure));
    slack_append(text, allocated_bytes - requested_bytes, causes);
    if (reserved_bytes != BYTES_UNKNOWN) {
        text_format(text, "; %s reserved", bytes_word(reserved_bytes, false, figure));
        int64_t cached_bytes = causes->cached_bytes > 0 ? causes->cached_bytes : 0;
        int64_t left_bytes = reserved_bytes - allocated_bytes - cached_bytes;
        if (cached_bytes > 0) {
            text_format(text, ": %s cached", bytes_word(cached_bytes, false, figure));
        }
        if (left_bytes > 0) {
            text_append(text, cached_bytes > 0 ? ", " : ": ");
            text_format(text, "%s not explained", bytes_word(left_bytes, false, figure));
        }
    }
}

void oom_append(struct text *text, const struct case_view *view)
{
    char figure[WORDING_BYTES];
    bool known = view->oom_wanted_bytes != BYTES_UNKNOWN;
    if (!known && view->oom_stage == NULL) {
        return;
    }
    text_append(text, text->length > 0 ? "; " : "");
    text_format(text, "wanted %s", known ? bytes_word(view->oom_wanted_bytes, false, figure) : "memory");
    if (view->oom_label != NULL) {
        text_format(text, " for %s", view->oom_label);
    }
    if (view->oom_stage != NULL) {
        text_format(text, " in %s", view->oom_stage);
    }
    if (view->placed != NULL && view->placed->oom_place != NULL) {
        text_format(text, " on place %s", view->placed->oom_place);
    }
    if (view->oom_held_bytes != BYTES_UNKNOWN) {
        text_format(text, " while %s were held", bytes_word(view->oom_held_bytes, false, figure));
    }
    if (view->oom_free_bytes != BYTES_UNKNOWN) {
        text_format(text, " and %s free", bytes_word(view->oom_free_bytes, false, figure));
    }
}

/* Whether a verdict on a reading of the driver or the kernel was asked for, and left open. */
static bool reading_is_open(const struct case_view *view)
{
    enum quantity quantity;
    bool is_open = false;
    for (int at = 0; at < view->comparison_count && !is_open; at++) {
        const struct comparison *comparison = &view->comparisons[at];
        is_open = comparison->note != NULL && comparison->tolerance >= 0.0 &&
                  quantity_from_name(comparison->quantity, &quantity) && quantity_is_reading(quantity);
    }
    return is_open;
}

/* "; process and device not judged in 12 cases: the constants were measured under driver ...", of the first that says
 * so, if that was asked for. */
static void mismatches_append(struct text *text, const struct report *report)
{
    const char *first = NULL;
    int count = 0;
    for (int index = 0; index < report->case_count; index++) {
        const struct case_view *view = &report->cases[index];
        bool counts = view->constants_mismatch != NULL && reading_is_open(view);
        first = first == NULL && counts ? view->constants_mismatch : first;
        count += counts;
    }
    if (count > 0) {
        text_format(text, "; process and device not judged in %d case%s: %s", count, count == 1 ? "" : "s", first);
    }
}

bool mismatch_is_told(const struct report *report)
{
    for (int index = 0; index < report->case_count; index++) {
        if (report->cases[index].constants_mismatch != NULL && reading_is_open(&report->cases[index])) {
            return true;
        }
    }
    return false;
}

/* Marks the quantities of replay that no summary counts because the case has constants of something else; whether there
 * are any. */
static bool uncounted_find(const struct case_view *view, bool found[QUANTITY_COUNT])
{
    bool any = false;
    for (int at = 0; at < view->comparison_count && view->constants_mismatch != NULL; at++) {
        const struct comparison *comparison = &view->comparisons[at];
        enum quantity quantity;
        if (comparison->note != NULL && strcmp(comparison->note, view->constants_mismatch) == 0 &&
            strcmp(comparison->estimator, "replay") == 0 && quantity_from_name(comparison->quantity, &quantity)) {
            found[quantity] = any = true;
        }
    }
    return any;
}

void uncounted_append(struct text *text, const struct report *report)
{
    bool found[QUANTITY_COUNT] = {false};
    const char *cause = NULL, *separator = "Not counted of replay: ";
    int count = 0;
    for (int index = 0; index < report->case_count; index++) {
        const struct case_view *view = &report->cases[index];
        if (uncounted_find(view, found)) {
            cause = cause == NULL ? view->constants_mismatch : cause;
            count++;
        }
    }
    for (int quantity = 0; quantity < QUANTITY_COUNT; quantity++) {
        if (found[quantity]) {
            text_append(text, separator);
            quantity_words_append(text, quantity_name((enum quantity)quantity));
            separator = ", ";
        }
    }
    if (count > 0) {
        text_format(text, " in %d case%s, because %s", count, count == 1 ? "" : "s", cause);
    }
}

/* "; beyond calibrated-gpu, and not judged, in 2 cases": --note-calibrated asked for that. */
static void noted_append(struct text *text, const struct report *report)
{
    int count = 0;
    for (int index = 0; index < report->case_count; index++) {
        const struct case_view *view = &report->cases[index];
        bool found = false;
        for (int at = 0; at < view->comparison_count && !found; at++) {
            const char *note = view->comparisons[at].note;
            found = note != NULL && strcmp(note, CONSTANTS_NOTED) == 0;
        }
        count += found;
    }
    if (count > 0) {
        text_format(text, "; beyond calibrated-gpu, and not judged, in %d case%s", count, count == 1 ? "" : "s");
    }
}

void counts_append(struct text *text, const struct report *report)
{
    statuses_append(text, report);
    mismatches_append(text, report);
    noted_append(text, report);
}

void course_append(struct text *text, const struct report *report)
{
    counts_append(text, report);
    size_t count = json_count(report->resumptions);
    if (count > 0) {
        const struct json *last = json_at(report->resumptions, 0);
        for (size_t at = 1; at < count; at++) { /* those of shards are not in the order of time */
            const struct json *one = json_at(report->resumptions, at);
            last =
                strcmp(json_string_or(json_get(one, "started"), ""), json_string_or(json_get(last, "started"), "")) >= 0
                    ? one
                    : last;
        }
        const char *started = json_string_or(json_get(last, "started"), NULL);
        const char *host = json_string_or(json_get(last, "host"), NULL);
        text_append(text, "; a run was cut short, and went on");
        if (count > 1) {
            text_format(text, " %zu times, last", count);
        }
        text_format(text, "%s%s%s%s", started != NULL ? " at " : "", started != NULL ? started : "",
                    host != NULL ? " on " : "", host != NULL ? host : "");
    }
}

/* "19 cases: 17 ok, 1 fail, 1 open" */
static void words_count(struct text *text, const struct report *report)
{
    const struct report_counts counts = report_count(report);
    const struct {
        const char *word;
        int count;
    } rows[] = {{"ok", counts.ok},           {"fail", counts.fail}, {"error", counts.error},     {"oom", counts.oom},
                {"timeout", counts.timeout}, {"open", counts.open}, {"missing", counts.earlier}, {"skip", counts.skip}};
    text_format(text, "%d case%s", report->case_count, report->case_count == 1 ? "" : "s");
    const char *separator = ": ";
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        if (rows[row].count > 0) {
            text_format(text, "%s%d %s", separator, rows[row].count, rows[row].word);
            separator = ", ";
        }
    }
}

void statuses_append(struct text *text, const struct report *report)
{
    struct report_counts counts = report_count(report);
    words_count(text, report);
    if (counts.invalid > 0) {
        text_format(text, "; %d with invalid readings", counts.invalid);
    }
    if (counts.missing > 0) {
        text_format(text, "; %d selected case%s missing", counts.missing, counts.missing == 1 ? " is" : "s are");
    }
    if (counts.short_cases > 0) {
        text_append(text, "; ");
        attempts_missing_append(text, counts.attempts_missing, counts.attempts_wanted, counts.short_cases);
    }
    text_format(text, "%s%s", report->missing_cause != NULL ? "; " : "",
                report->missing_cause != NULL ? report->missing_cause : "");
    if (counts.damaged_lines > 0) {
        text_format(text, "; %d line%s could not be read", counts.damaged_lines, counts.damaged_lines == 1 ? "" : "s");
    }
    text_format(text, "%s%s", report->notes[0] != '\0' ? "; " : "", report->notes);
}

void validity_append(struct text *text, const struct case_view *view)
{
    if (view->invalid) {
        text_format(text, "invalid readings: %s", view->disturbance);
    }
}

void declined_append(struct text *text, const struct case_view *view)
{
    if (view->declined[0] != '\0') {
        text_format(text, "%sdeclined products: %s", text->length > 0 ? "; " : "", view->declined);
    }
}

enum level items_append(struct text *text, const struct case_view *view)
{
    static const char *const words[READING_ITEM_COUNT] = {
#define ITEM_WORD(name, stem, word) word,
        READING_ITEM_TABLE(ITEM_WORD)
#undef ITEM_WORD
    };
    char figure[WORDING_BYTES];
    int stage = stage_last(&view->measured);
    enum level level = view->items != NULL ? view->items->level : LEVEL_PROCESS;
    int64_t total_bytes = view->measured.stages[stage]->end_bytes[level];
    if (view->items == NULL || total_bytes == BYTES_UNKNOWN) {
        return LEVEL_COUNT;
    }
    text_format(text, "%s at the end of %s", bytes_word(total_bytes, false, figure), report_stage_name(stage));
    const char *separator = ": ";
    for (int item = 0; item < READING_ITEM_COUNT; item++) {
        if (view->items->bytes[item] != 0) {
            text_format(text, "%s%s %s", separator, size_format(view->items->bytes[item], figure), words[item]);
            separator = ", ";
        }
    }
    return level;
}

static bool words_equal(const char *a, const char *b)
{
    return strcmp(a != NULL ? a : "", b != NULL ? b : "") == 0;
}

void replayed_append(struct text *text, const struct case_view *view)
{
    text_append(text, BASIS_REPLAYED);
    text_format(text, view->device_target != NULL ? " for %s" : "%s",
                view->device_target != NULL ? view->device_target : "");
}

/* The name of a device says its class; meta stands for any. */
bool case_devices_equal(const struct case_view *a, const struct case_view *b)
{
    return words_equal(a->device_kind, b->device_kind) && words_equal(a->device_name, b->device_name) &&
           (!case_is_meta(a) || words_equal(a->device_target, b->device_target));
}

void case_device_append(struct text *text, const struct case_view *view)
{
    text_append(text, view->device_kind != NULL ? view->device_kind : "");
    if (case_is_meta(view)) {
        text_append(text, " (");
        replayed_append(text, view);
        text_append(text, ")");
    } else if (view->device_name != NULL && !words_equal(view->device_name, view->device_kind)) {
        text_format(text, " (%s)", view->device_name);
    }
}

void device_append(struct text *text, const struct report *report)
{
    const struct case_view *named = NULL;
    for (int index = 0; index < report->case_count; index++) {
        const struct case_view *view = &report->cases[index];
        if (view->device_kind == NULL) {
            continue;
        }
        if (named != NULL && !case_devices_equal(named, view)) {
            text_append(text, " and others");
            return;
        }
        if (named == NULL) {
            named = view;
            case_device_append(text, view);
        }
    }
}
