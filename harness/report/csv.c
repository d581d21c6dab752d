/* CSV: one row per attempt at a case, stage and level, of a placed case per place, for spreadsheets and data frames.
 * Bytes are integers; what is not known is an empty cell. An attempt without stages (skipped, crashed) keeps one row,
 * so that it is not lost. The columns are the same in every file, those of estimators that we do not know at the end
 * apart. */
#include <string.h>

#include "harness/report/case_words.h"
#include "harness/report/cases_page.h"
#include "harness/report/escape.h"
#include "harness/report/estimator_choice.h"
#include "harness/report/estimator_look.h"
#include "harness/report/headline.h"
#include "harness/report/placed_view.h"
#include "harness/report/proof_rates.h"
#include "harness/report/search_view.h"

static void cell_add(struct text *text, const char *string)
{
    csv_append(text, string != NULL ? string : "");
    text_append_bytes(text, ",", 1);
}

static void integer_add(struct text *text, int64_t value)
{
    if (value >= 0) {
        text_integer(text, value);
    }
    text_append_bytes(text, ",", 1);
}

static void seconds_add(struct text *text, double seconds)
{
    if (seconds >= 0.0) {
        text_format(text, "%.6f", seconds);
    }
    text_append(text, ",");
}

/* Of a record of another version. */
static bool is_stranger(const char *estimator)
{
    return estimator_look_find(estimator)->name == NULL;
}

/* Whether an estimator of ours has a column: each, so that all reports have the same columns; unless some were
 * chosen. */
static bool is_shown(const struct report *report, int place)
{
    return !report->is_chosen || report_has_estimator(report, estimator_look_at(place)->name);
}

/* The fields that every record has are among the first columns, those that are left out if they are usual among the
 * last. */
static bool is_column(enum case_field field, bool is_late)
{
    return (case_field_row(field)->record == RECORD_UNUSUAL) == is_late;
}

static void keys_write(bool is_late, struct text *text)
{
    for (enum case_field field = FIELD_MODE; field < FIELD_COUNT; field++) {
        if (is_column(field, is_late)) {
            text_format(text, "%s,", case_field_key(field));
        }
    }
}

static void fields_write(const struct case_view *view, bool is_late, struct text *text)
{
    char buffer[CASE_WORD_BYTES];
    for (enum case_field field = FIELD_MODE; field < FIELD_COUNT; field++) {
        if (is_column(field, is_late)) {
            cell_add(text, case_field_said(view, field, buffer));
        }
    }
}

/* Replay, the first, has figures per stage and no total. */
static void header_write(const struct report *report, struct text *text)
{
    text_append(text, "id,model,");
    keys_write(false, text);
    text_append(text, "attention_backend,status,valid,invalid_reason,device,");
    for (int place = 1; estimator_look_at(place) != NULL; place++) {
        if (is_shown(report, place)) {
            text_format(text, "%s_total_bytes,", estimator_look_at(place)->name);
        }
    }
    text_append(text, "stage,level,measured_bytes,measured_bytes_peak,predicted_bytes,predicted_bytes_peak,"
                      "signed_error_bytes,signed_error,attempts,spread_bytes,basis,attempt,stage_seconds,"
                      "duration_seconds,target,least_bytes,proof,");
    keys_write(true, text);
    text_append(text, "at_place,budget_bytes,placed_bytes,kept_bytes,needed_bytes,found_batch,predicted_batch,tries,"
                      "per_second,per_second_lost");
    for (int index = 0; index < report->estimator_count; index++) {
        struct text name = {0};
        text_format(&name, "%s_total_bytes", report->estimators[index]);
        if (is_stranger(report->estimators[index])) {
            text_append(text, ",");
            csv_append(text, text_string(&name));
        }
        text_release(&name);
    }
    text_append(text, "\r\n");
}

static int64_t total_of(const struct case_view *view, const char *estimator)
{
    for (int at = 0; at < view->total_count; at++) {
        if (strcmp(view->totals[at].estimator, estimator) == 0) {
            return view->totals[at].total_bytes;
        }
    }
    return BYTES_UNKNOWN;
}

/* What is the same in every row of an attempt. */
static void identity_write(const struct report *report, const struct case_view *view, struct text *text)
{
    cell_add(text, view->id);
    cell_add(text, view->model);
    fields_write(view, false, text);
    cell_add(text, view->attention_backend);
    cell_add(text, case_word(view)); /* an open case is not ok, and figures of an earlier run are none of this one */
    cell_add(text, view->validity_known ? view->invalid ? "false" : "true" : "");
    cell_add(text, view->disturbance);
    cell_add(text, view->device_name != NULL ? view->device_name : view->device_kind);
    for (int place = 1; estimator_look_at(place) != NULL; place++) {
        if (is_shown(report, place)) {
            integer_add(text, total_of(view, estimator_look_at(place)->name));
        }
    }
}

/* One attempt at a case, and what is the same in all its rows. */
struct csv_attempt {
    const struct case_view *view;
    const struct spread *spread; /* of all attempts at the case */
    int attempt_count;           /* at the case, in its run, however they ended; negative: it was not attempted */
    struct text identity;        /* the first columns */
    struct text circumstances;   /* those from the seconds that it took to the late fields */
    struct text end;             /* the last columns */
};

/* How many attempts at the case the run made, and how much those that were measured differ if they are several.
 * stage: STAGE_COUNT for none. */
static void spread_write(const struct csv_attempt *attempt, int stage, int level, struct text *text)
{
    const struct spread *spread = attempt->spread;
    bool known = stage < STAGE_COUNT && spread->attempt_count > 1;
    int64_t bytes = known ? spread->stage_bytes[stage][level] : BYTES_UNKNOWN;
    integer_add(text, attempt->attempt_count);
    integer_add(text, bytes);
}

static void circumstances_write(const struct case_view *view, struct text *text)
{
    const struct proof_view *proof = view->proof;
    seconds_add(text, view->duration_seconds);
    cell_add(text, view->device_target);
    integer_add(text, proof != NULL ? proof->least_bytes : BYTES_UNKNOWN);
    text_format(text, "%s,", proof != NULL ? proof->word : "");
    fields_write(view, true, text);
}

/* What a search found, and the estimators that are strangers. */
static void end_write(const struct report *report, const struct case_view *view, struct text *text)
{
    const struct search_view *search = view->search;
    integer_add(text, search != NULL ? search->found : -1);
    integer_add(text, search != NULL ? search->predicted : -1);
    integer_add(text, search != NULL ? search->try_count : -1);
    seconds_add(text, search != NULL ? search->per_second : -1.0);
    if (search != NULL && search_loss(search) >= 0.0) {
        text_format(text, "%.6f", search_loss(search));
    }
    for (int index = 0; index < report->estimator_count; index++) {
        if (is_stranger(report->estimators[index])) {
            int64_t total_bytes = total_of(view, report->estimators[index]);
            text_append(text, ",");
            if (total_bytes != BYTES_UNKNOWN) {
                text_integer(text, total_bytes);
            }
        }
    }
    text_append(text, "\r\n");
}

/* The columns behind the figures: what those under measured_bytes are (empty if no device opened), of which attempt,
 * and of a placed case the place that they are of, with what is kept there. */
static void row_end(const struct csv_attempt *attempt, const struct place_view *place, double stage_seconds,
                    struct text *text)
{
    text_append(text, attempt->view->device_kind != NULL ? attempt->view->basis : "");
    text_append_bytes(text, ",", 1);
    integer_add(text, attempt->view->attempt);
    seconds_add(text, stage_seconds);
    text_append_bytes(text, text_string(&attempt->circumstances), attempt->circumstances.length);
    cell_add(text, place != NULL ? place->name : NULL);
    integer_add(text, place != NULL ? place->budget_bytes : -1);
    integer_add(text, place != NULL ? place->placed_bytes : -1);
    integer_add(text, place != NULL ? place->kept_bytes : -1);
    integer_add(text, place != NULL ? place->needed_bytes : -1);
    text_append_bytes(text, text_string(&attempt->end), attempt->end.length);
}

static void figures_write(const struct stage_view *measured, const struct stage_view *predicted, int level,
                          struct text *text)
{
    int64_t measured_bytes = measured->peak_bytes[level], predicted_bytes = predicted->peak_bytes[level];
    integer_add(text, measured->end_bytes[level]);
    integer_add(text, measured_bytes);
    integer_add(text, predicted->end_bytes[level]);
    integer_add(text, predicted_bytes);
    if (measured_bytes != BYTES_UNKNOWN && predicted_bytes != BYTES_UNKNOWN) {
        int64_t difference_bytes = predicted_bytes - measured_bytes;
        text_integer(text, difference_bytes);
        text_append(text, ",");
        if (measured_bytes > 0) {
            text_format(text, "%.6f", (double)difference_bytes / (double)measured_bytes);
        }
    } else {
        text_append(text, ",");
    }
    text_append(text, ",");
}

/* The rows of one walk of a tape; the main place of a placed case has those of the case. Whether there are any. */
static bool stages_write(const struct csv_attempt *attempt, const struct footprint_view *measured_all,
                         const struct footprint_view *predicted_all, const struct place_view *place, struct text *text)
{
    bool any = false;
    for (int stage = 0; stage < STAGE_COUNT; stage++) {
        const struct stage_view *measured = measured_all->stages[stage];
        const struct stage_view *predicted = predicted_all->stages[stage];
        if (!measured->present && !predicted->present) {
            continue;
        }
        for (int level = 0; level < LEVEL_COUNT; level++) {
            bool is_case = measured_all == &attempt->view->measured;
            text_append_bytes(text, text_string(&attempt->identity), attempt->identity.length);
            cell_add(text, report_stage_name(stage));
            cell_add(text, level_name((enum level)level));
            figures_write(measured, predicted, level, text);
            spread_write(attempt, is_case ? stage : STAGE_COUNT, level, text);
            row_end(attempt, place, measured->seconds, text);
        }
        any = true;
    }
    return any;
}

static void rows_write(const struct csv_attempt *attempt, struct text *text)
{
    const struct placed_view *placed = attempt->view->placed;
    const struct place_view *first = placed != NULL && placed->main >= 0 ? &placed->places[placed->main] : NULL;
    bool is_told = attempt->view->predicted.present || first == NULL; /* else what its place says of it */
    const struct footprint_view *predicted = is_told ? &attempt->view->predicted : &first->predicted;
    bool any = stages_write(attempt, &attempt->view->measured, predicted, first, text);
    for (int at = 0; placed != NULL && at < placed->place_count; at++) {
        const struct place_view *place = &placed->places[at];
        any = (place != first && stages_write(attempt, &place->measured, &place->predicted, place, text)) || any;
    }
    if (!any) {
        text_append_bytes(text, text_string(&attempt->identity), attempt->identity.length);
        text_append(text, ",,,,,,,,");
        spread_write(attempt, STAGE_COUNT, 0, text);
        row_end(attempt, first, -1.0, text);
    }
}

static void attempt_write(const struct report *report, struct csv_attempt *attempt, struct text *text)
{
    identity_write(report, attempt->view, &attempt->identity);
    circumstances_write(attempt->view, &attempt->circumstances);
    end_write(report, attempt->view, &attempt->end);
    rows_write(attempt, text);
    text->failed = text->failed || attempt->identity.failed || attempt->circumstances.failed || attempt->end.failed;
    text_release(&attempt->identity);
    text_release(&attempt->circumstances);
    text_release(&attempt->end);
}

#define ABSENT_NAME(member)
#define ABSENT_COUNT(member) .member = -1,
#define ABSENT_SWITCH(member)
#define ABSENT_SHARE(member) .member = -1,
#define ABSENT_TEXT(member)
#define ABSENT(name, member, kind, ...) ABSENT_##kind(member)

/* The cases that were selected and are not in the records: an id, and "missing" as their status. */
static void missing_write(const struct report *report, struct text *text)
{
    for (int index = 0; index < report->missing_count; index++) {
        const struct missing_case *one = &report->missing[index];
        const struct case_view absent = {.id = one->id,
                                         .status = "missing",
                                         .reason = "",
                                         .disturbance = "",
                                         CASE_FIELD_TABLE(ABSENT) /* no counts */
                                             .measured = footprint_none,
                                         .predicted = footprint_none,
                                         .attempt = -1,
                                         .duration_seconds = -1.0};
        struct csv_attempt attempt = {.view = &absent, .spread = &absent.spread, .attempt_count = -1};
        if (one->made_count == 0 && !one->has_older) {
            attempt_write(report, &attempt, text);
        }
    }
}

void csv_write(const void *subject, const struct report_style *style, struct text *text)
{
    const struct report *report = ((const struct cases_subject *)subject)->report;
    (void)style;
    header_write(report, text);
    for (int index = 0; index < report->case_count; index++) {
        const struct case_view *view = &report->cases[index];
        struct csv_attempt attempt = {.spread = &view->spread, .attempt_count = 1};
        for (const struct case_attempt *earlier = view->earlier; earlier != NULL; earlier = earlier->next) {
            attempt.attempt_count++;
        }
        for (const struct case_attempt *earlier = view->earlier; earlier != NULL; earlier = earlier->next) {
            attempt.view = &earlier->view;
            attempt_write(report, &attempt, text);
        }
        attempt.view = view;
        attempt_write(report, &attempt, text);
    }
    missing_write(report, text);
}
