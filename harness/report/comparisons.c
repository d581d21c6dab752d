/* Comparisons: which prediction is held against which measurement, and how well each estimator did over all cases.
 * Verdicts come from the record; if the suite asked for none the comparison is made without a judgement. */
#include "harness/report/case_view.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/array.h"
#include "harness/record/constants.h"
#include "harness/report/percentile.h"
#include "harness/report/placed_view.h"

static int64_t bytes_of(const struct json *object, const char *key)
{
    int64_t bytes = json_integer_or(json_get(object, key), BYTES_UNKNOWN);
    return bytes < 0 ? BYTES_UNKNOWN : bytes;
}

static void error_compute(struct comparison *row)
{
    if (row->predicted_bytes == BYTES_UNKNOWN || row->measured_bytes == BYTES_UNKNOWN || row->measured_bytes == 0) {
        return;
    }
    row->error_bytes = row->predicted_bytes - row->measured_bytes;
    row->error = (double)row->error_bytes / (double)row->measured_bytes;
    row->error_known = true;
}

/* As a fraction of what was measured; negative if there is none. */
static double tolerance_read(const struct json *tolerance, int64_t measured_bytes)
{
    int64_t bytes = json_integer_or(json_get(tolerance, "bytes"), -1);
    if (bytes >= 0 && measured_bytes > 0) {
        return (double)bytes / (double)measured_bytes;
    }
    return json_real_or(json_get(tolerance, "fraction"), -1.0);
}

/* False if memory ran out. */
static bool verdict_read(struct report *report, const struct json *verdict, struct comparison *row)
{
    const char *note = json_string_or(json_get(verdict, "note"), NULL);
    *row = (struct comparison){
        .estimator = report_word(report, json_string_or(json_get(verdict, "estimator"), "")),
        .quantity = report_word(report, json_string_or(json_get(verdict, "quantity"), "(no quantity)")),
        .predicted_bytes = bytes_of(verdict, "predicted"),
        .measured_bytes = bytes_of(verdict, "measured"),
        .stage = report_word(report, json_string_or(json_get(verdict, "stage"), NULL)),
        .place = report_word(report, json_string_or(json_get(verdict, "place"), NULL)),
        .tolerance_bytes = bytes_of(json_get(verdict, "tolerance"), "bytes"),
        .note = report_word(report, note),
    };
    row->tolerance = tolerance_read(json_get(verdict, "tolerance"), row->measured_bytes);
    const struct json *pass = json_get(verdict, "pass");
    if (json_kind(pass) == JSON_KIND_BOOLEAN) {
        row->judgement = json_boolean_or(pass, false) ? JUDGEMENT_PASS : JUDGEMENT_FAIL;
    }
    error_compute(row);
    return row->estimator != NULL && row->quantity != NULL && (note == NULL || row->note != NULL);
}

/* In *verdicts, which the caller frees. False if memory ran out. */
static bool verdicts_read(struct report *report, const struct json *line, struct comparison **verdicts, int *count)
{
    const struct json *list = json_get(line, "verdicts");
    size_t length = json_kind(list) == JSON_KIND_ARRAY ? json_count(list) : 0;
    struct comparison *made = calloc(length + 1, sizeof *made);
    bool complete = made != NULL;
    for (size_t at = 0; complete && at < length; at++) {
        complete = verdict_read(report, json_at(list, at), &made[at]);
    }
    *verdicts = made;
    *count = (int)length;
    return complete;
}

/* A comparison without a verdict. The usual members of a placed case speak of its main place. */
static struct comparison row_bare(const struct case_view *view, const char *estimator, const char *quantity,
                                  int64_t predicted_bytes, int64_t measured_bytes)
{
    const struct placed_view *placed = view->placed;
    struct comparison row = {.estimator = estimator,
                             .quantity = quantity,
                             .place = placed != NULL && placed->main >= 0 ? placed->places[placed->main].name : NULL,
                             .predicted_bytes = predicted_bytes,
                             .measured_bytes = measured_bytes,
                             .tolerance_bytes = -1,
                             .tolerance = -1.0};
    error_compute(&row);
    return row;
}

/* The level that a quantity is the peak of; LEVEL_COUNT for any other quantity. */
static int level_of(const char *quantity)
{
    for (int level = 0; level < LEVEL_COUNTED_COUNT; level++) {
        if (strcmp(level_peak_key((enum level)level), quantity) == 0) {
            return level;
        }
    }
    return LEVEL_COUNT;
}

/* The verdicts of one case, and the rows that are made of them. */
struct comparing {
    const struct comparison *verdicts;
    int verdict_count;
    struct comparison *rows;
    int count;
};

/* The verdicts on one estimator; with level: only those on that level, LEVEL_COUNT: only those on no level. */
static void verdicts_add(struct comparing *comparing, const char *estimator, const int *level)
{
    for (int at = 0; at < comparing->verdict_count; at++) {
        const struct comparison *verdict = &comparing->verdicts[at];
        if (strcmp(verdict->estimator, estimator) == 0 && (level == NULL || level_of(verdict->quantity) == *level)) {
            comparing->rows[comparing->count] = *verdict;
            comparing->rows[comparing->count++].estimator = estimator;
        }
    }
}

/* The levels in their order, with the verdict if there is one; then whatever else was judged. */
static void replay_add(const struct case_view *view, const char *replay, struct comparing *comparing)
{
    static const int no_level = LEVEL_COUNT;
    for (int level = 0; level < LEVEL_COUNTED_COUNT; level++) {
        int before = comparing->count;
        verdicts_add(comparing, replay, &level);
        if (comparing->count == before && view->predicted.peak_bytes[level] != BYTES_UNKNOWN) {
            comparing->rows[comparing->count++] =
                row_bare(view, replay, level_peak_key((enum level)level), view->predicted.peak_bytes[level],
                         view->measured.peak_bytes[level]);
        }
    }
    verdicts_add(comparing, replay, &no_level);
}

/* A total without a verdict is held against the allocated peak. */
static void total_add(const struct case_view *view, const char *estimator, struct comparison *rows, int *count)
{
    for (int at = 0; at < view->total_count; at++) {
        if (strcmp(view->totals[at].estimator, estimator) == 0) {
            rows[(*count)++] = row_bare(view, estimator, level_peak_key(LEVEL_ALLOCATED), view->totals[at].total_bytes,
                                        view->measured.peak_bytes[LEVEL_ALLOCATED]);
        }
    }
}

/* Where a row stands among those of its estimator: those of the whole case first, then place by place. */
static int place_rank(const struct case_view *view, const struct comparison *row)
{
    const struct place_view *place = row->place != NULL ? place_find(view->placed, row->place) : NULL;
    return row->place == NULL ? -1 : place != NULL ? (int)(place - view->placed->places) : INT_MAX;
}

/* The rows from first on, of one estimator, place by place; else in their order. */
static void places_sort(const struct case_view *view, struct comparison *rows, int first, int count)
{
    for (int at = first + 1; view->placed != NULL && at < count; at++) {
        struct comparison row = rows[at];
        int to = at;
        for (; to > first && place_rank(view, &rows[to - 1]) > place_rank(view, &row); to--) {
            rows[to] = rows[to - 1];
        }
        rows[to] = row;
    }
}

/* All rows of a case, into comparing->rows, which have room for them. */
static void rows_make(const struct report *report, const struct case_view *view, struct comparing *comparing)
{
    for (int index = 0; index < report->estimator_count; index++) {
        const char *estimator = report->estimators[index];
        int before = comparing->count;
        if (strcmp(estimator, "replay") == 0) {
            replay_add(view, estimator, comparing);
        } else {
            verdicts_add(comparing, estimator, NULL);
        }
        if (comparing->count == before && strcmp(estimator, "replay") != 0) {
            total_add(view, estimator, comparing->rows, &comparing->count);
        }
        places_sort(view, comparing->rows, before, comparing->count);
    }
}

bool case_view_compare(struct report *report, const struct json *line, struct case_view *view)
{
    struct comparison *verdicts = NULL, *kept = NULL;
    struct comparing comparing = {0};
    if (verdicts_read(report, line, &verdicts, &comparing.verdict_count)) {
        comparing.verdicts = verdicts;
        comparing.rows =
            calloc((size_t)comparing.verdict_count + LEVEL_COUNT + (size_t)view->total_count, sizeof *comparing.rows);
    }
    if (comparing.rows != NULL) {
        rows_make(report, view, &comparing);
        const size_t size = (size_t)comparing.count * sizeof *kept;
        kept = arena_alloc(&report->arena, size);
        if (kept != NULL) {
            memcpy(kept, comparing.rows, size);
        }
    }
    free(comparing.rows);
    free(verdicts);
    view->comparisons = kept;
    view->comparison_count = kept != NULL ? comparing.count : 0;
    return kept != NULL;
}

void case_view_judged(const struct json *line, struct case_view *view)
{
    const struct json *verdicts = json_get(line, "verdicts");
    const size_t count = json_kind(verdicts) == JSON_KIND_ARRAY ? json_count(verdicts) : 0;
    for (size_t at = 0; at < count; at++) {
        const struct json *verdict = json_at(verdicts, at);
        if (json_kind(json_get(verdict, "pass")) == JSON_KIND_BOOLEAN) {
            view->judged |= 1U << level_of(json_string_or(json_get(verdict, "quantity"), ""));
        }
    }
}

static int estimator_rank(const struct report *report, const struct comparison *row)
{
    int rank = 0;
    while (rank < report->estimator_count && report->estimators[rank] != row->estimator) {
        rank++;
    }
    return rank;
}

void case_view_order(const struct report *report, struct case_view *view)
{
    for (int at = 1; at < view->comparison_count; at++) {
        const struct comparison row = view->comparisons[at];
        const int rank = estimator_rank(report, &row);
        int to = at;
        for (; to > 0 && estimator_rank(report, &view->comparisons[to - 1]) > rank; to--) {
            view->comparisons[to] = view->comparisons[to - 1];
        }
        view->comparisons[to] = row;
    }
}

const struct comparison *comparison_of_peak(const struct case_view *view, const char *estimator)
{
    const char *wanted = strcmp(estimator, "replay") == 0 ? level_peak_key(LEVEL_ALLOCATED) : "total_bytes";
    const struct comparison *bare = NULL;
    for (int index = 0; index < view->comparison_count; index++) {
        const struct comparison *row = &view->comparisons[index];
        if (strcmp(row->estimator, estimator) != 0 || !comparison_is_main(view, row)) {
            continue;
        }
        if (strcmp(row->quantity, wanted) == 0) {
            return row;
        }
        bare = strcmp(row->quantity, level_peak_key(LEVEL_ALLOCATED)) == 0 ? row : bare;
    }
    return bare;
}

/* Everything known about one estimator and quantity while it is collected. */
struct collection {
    struct accuracy row;
    double *errors;
    size_t room; /* of errors */
    const struct case_view *worst_view;
    const char *worst_place;
};

static struct collection *collection_find(struct collection *all, int *count, int room, const struct comparison *row)
{
    for (int index = 0; index < *count; index++) {
        if (strcmp(all[index].row.estimator, row->estimator) == 0 &&
            strcmp(all[index].row.quantity, row->quantity) == 0) {
            return &all[index];
        }
    }
    if (*count == room) {
        return NULL;
    }
    all[*count].row = (struct accuracy){.estimator = row->estimator, .quantity = row->quantity};
    return &all[(*count)++];
}

static double magnitude(double value)
{
    return value < 0.0 ? -value : value;
}

static bool collection_add(struct collection *one, const struct case_view *view, const struct comparison *row)
{
    struct accuracy *sum = &one->row;
    sum->failed_count += row->judgement == JUDGEMENT_FAIL ? 1 : 0;
    bool is_noted = row->note != NULL && strcmp(row->note, CONSTANTS_NOTED) == 0; /* its error is as real as others */
    if (!row->error_known || (row->note != NULL && !is_noted)) {
        return true;
    }
    double *errors = array_extend(one->errors, (size_t)sum->case_count, &one->room, sizeof *errors);
    if (errors == NULL) {
        return false;
    }
    one->errors = errors;
    if (sum->case_count == 0 || magnitude(row->error) > magnitude(sum->worst_error)) {
        sum->worst_error = row->error;
        one->worst_view = view;
        one->worst_place = row->place;
    }
    sum->under_count += row->error_bytes < 0 ? 1 : 0;
    sum->place_count += row->place != NULL ? 1 : 0;
    one->errors[sum->case_count++] = row->error;
    return true;
}

/* "gpt2 infer float32 b1 s128", and of a placed case ", place 1" behind it. False: no memory. */
static bool worst_name(struct arena *arena, struct collection *one)
{
    if (one->worst_view != NULL && one->worst_place != NULL) {
        one->row.worst_case = arena_format(arena, "%s, place %s", one->worst_view->label, one->worst_place);
        return one->row.worst_case != NULL;
    }
    one->row.worst_case = one->worst_view != NULL ? one->worst_view->label : NULL;
    return true;
}

/* In the order of the report's estimators; quantities of one estimator in order of appearance. Returns how many; -1: no
 * memory. */
static int accuracy_arrange(const struct report *report, struct arena *arena, struct collection *all, int count,
                            struct accuracy *rows)
{
    int kept = 0;
    for (int estimator = 0; estimator < report->estimator_count; estimator++) {
        for (int index = 0; index < count; index++) {
            struct collection *one = &all[index];
            if (strcmp(one->row.estimator, report->estimators[estimator]) != 0) {
                continue;
            }
            if (one->row.case_count > 0) {
                one->row.median_error = values_median(one->errors, one->row.case_count);
            }
            if (!worst_name(arena, one)) {
                return -1;
            }
            rows[kept++] = one->row;
        }
    }
    return kept;
}

enum status_code report_accuracy(const struct report *report, struct arena *arena, struct accuracy **rows, int *count,
                                 struct status *error)
{
    enum { ROOM = 256 };
    struct collection *all = arena_alloc(arena, ROOM * sizeof *all);
    struct accuracy *made = arena_alloc(arena, ROOM * sizeof *made);
    int found = 0, kept = -1;
    bool complete = all != NULL && made != NULL;
    for (int index = 0; complete && index < report->case_count; index++) {
        const struct case_view *view = &report->cases[index];
        for (int at = 0; complete && at < view->comparison_count; at++) {
            struct collection *one = collection_find(all, &found, ROOM, &view->comparisons[at]);
            complete = one == NULL || collection_add(one, view, &view->comparisons[at]);
        }
    }
    kept = complete ? accuracy_arrange(report, arena, all, found, made) : -1;
    for (int index = 0; index < found; index++) {
        free(all[index].errors);
    }
    if (kept < 0) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "no memory for the summary of %d cases", report->case_count);
    }
    *count = kept;
    *rows = made;
    return STATUS_OK;
}
