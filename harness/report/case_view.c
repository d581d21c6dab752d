/* Case view: JSON lines turned into structures. Reads with fallbacks only: a record of another minor version, or one
 * that somebody edited, gives unknown figures and no failure. Nothing is rendered here. */
#include "harness/report/case_view.h"

#include <stdlib.h>
#include <string.h>

#include "harness/report/case_words.h"
#include "harness/report/estimator_look.h"
#include "harness/report/footprint_reading.h"
#include "harness/report/placed_view.h"
#include "harness/report/proof_rates.h"
#include "harness/report/search_view.h"
#include "harness/report/wording.h"

static int key_order(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static bool is_length(const char *key)
{
    enum case_field field = case_field_find(key, strlen(key));
    return field != FIELD_COUNT && case_field_row(field)->is_length;
}

/* Sorted by name, so that equal settings are equal texts whatever the order in the record; without the one of that
 * name. */
static const char *settings_read(struct filling *filling, const struct json *identity, const char *without)
{
    size_t count = json_kind(identity) == JSON_KIND_OBJECT ? json_count(identity) : 0, kept = 0;
    const char **keys = calloc(count + 1, sizeof *keys);
    const char *key = NULL;
    struct text text = {0};
    for (size_t at = 0; keys != NULL && at < count; at++) {
        key = json_key_after(identity, key);
        bool is_wanted = !is_length(key) && strcmp(key, without) != 0;
        if (is_wanted && json_kind(json_get(identity, key)) != JSON_KIND_NULL) {
            keys[kept++] = key;
        }
    }
    bool made = keys != NULL;
    if (made) {
        qsort(keys, kept, sizeof *keys, key_order);
    }
    for (size_t at = 0; made && at < kept; at++) {
        text_append(&text, "|");
        text_append(&text, keys[at]);
        text_append(&text, "=");
        made = json_write(json_get(identity, keys[at]), 0, &text, NULL) == STATUS_OK;
    }
    free(keys);
    const char *settings = made && !text.failed ? report_word(filling->report, text_string(&text)) : NULL;
    filling->failed = filling->failed || settings == NULL;
    text_release(&text);
    return settings;
}

static void device_read(struct filling *filling, const struct json *device)
{
    struct case_view *view = filling->view;
    struct text machine = {0};
    view->device_kind = word_read(filling, json_get(device, "kind"), NULL);
    view->device_name = word_read(filling, json_get(device, "name"), NULL);
    view->device_target = word_read(filling, json_get(device, "target"), NULL);
    view->device_driver = word_read(filling, json_get(device, "driver"), NULL);
    view->device_runtime = word_read(filling, json_get(device, "runtime"), NULL);
    view->device_threads = json_integer_or(json_get(device, "threads"), -1);
    view->device_total_bytes = bytes_read(device, "total_bytes");
    text_format(&machine, "%s|%s|%s|%lld", view->device_kind != NULL ? view->device_kind : "",
                view->device_name != NULL ? view->device_name : "",
                view->device_target != NULL ? view->device_target : "",
                (long long)json_integer_or(json_get(device, "threads"), 0));
    view->machine = machine.failed ? NULL : report_word(filling->report, text_string(&machine));
    filling->failed = filling->failed || view->machine == NULL;
    text_release(&machine);
}

/* Of the last stage, because all that came before is in its readings too. */
static void items_read(struct filling *filling, const struct json *stages)
{
    static const char *const keys[READING_ITEM_COUNT] = {
#define ITEM_KEY(name, stem, ...) LEVEL_KEY(stem),
        READING_ITEM_TABLE(ITEM_KEY)
#undef ITEM_KEY
    };
    const struct json *stage = json_get(stages, report_stage_name(stage_last(&filling->view->measured)));
    bool whole = json_kind(json_get(stage, "device_items")) == JSON_KIND_OBJECT;
    const struct json *items = json_get(stage, whole ? "device_items" : "process_items");
    if (json_kind(items) != JSON_KIND_OBJECT) {
        return;
    }
    struct items_view *made = arena_alloc(&filling->report->arena, sizeof *made);
    for (int item = 0; made != NULL && item < READING_ITEM_COUNT; item++) {
        made->bytes[item] = json_integer_or(json_get(items, keys[item]), 0);
    }
    if (made != NULL) {
        made->level = whole ? LEVEL_DEVICE : LEVEL_PROCESS;
    }
    filling->failed = filling->failed || made == NULL;
    filling->view->items = made;
}

/* A row that is invalid says why, also if somebody took the reasons out of the record. */
static bool validity_read(struct report *report, const struct json *line, struct case_view *view)
{
    const struct json *validity = json_get(line, "validity"), *reasons = json_get(validity, "reasons");
    struct text words = {0};
    view->validity_known = json_kind(json_get(validity, "valid")) == JSON_KIND_BOOLEAN;
    view->invalid = view->validity_known && !json_boolean_or(json_get(validity, "valid"), true);
    for (size_t index = 0; view->invalid && index < json_count(reasons); index++) {
        text_append(&words, index > 0 ? "; " : "");
        text_append(&words, json_string_or(json_at(reasons, index), "?"));
    }
    text_append(&words, view->invalid && words.length == 0 ? "no reason is recorded" : "");
    view->disturbance = words.failed ? NULL : report_word(report, text_string(&words));
    text_release(&words);
    return view->disturbance != NULL;
}

static bool tags_read(struct report *report, const struct json *line, struct case_view *view)
{
    const struct json *tags = json_get(line, "tags");
    struct text words = {0};
    for (size_t index = 0; json_kind(tags) == JSON_KIND_ARRAY && index < json_count(tags); index++) {
        text_format(&words, "%s%s", words.length > 0 ? "\n" : "", json_string_or(json_at(tags, index), ""));
    }
    view->tags = words.failed ? NULL : report_word(report, text_string(&words));
    text_release(&words);
    return view->tags != NULL;
}

/* One list of declined products; of a place after its name. */
static void declined_list(struct text *words, const struct json *rows, const char *place)
{
    for (size_t index = 0; index < json_count(rows); index++) {
        const struct json *row = json_at(rows, index);
        int64_t count = json_integer_or(json_get(row, "count"), 0);
        text_format(words, "%s%s%s%s %lld time%s (%s: %s)", words->length > 0 ? ", " : "", place != NULL ? place : "",
                    place != NULL ? ": " : "", json_string_or(json_get(row, "operation"), "?"), (long long)count,
                    count == 1 ? "" : "s", json_string_or(json_get(row, "library"), "?"),
                    json_string_or(json_get(row, "status"), "?"));
    }
}

/* A placed case says it of each place; the line's own list is that of the main one. */
static bool declined_read(struct report *report, const struct json *line, struct case_view *view)
{
    const struct json *places = json_get(line, "places");
    struct text words = {0};
    for (size_t index = 0; index < json_count(places); index++) {
        const struct json *place = json_at(places, index);
        declined_list(&words, json_get(place, "declined_products"), json_string_or(json_get(place, "place"), "?"));
    }
    if (words.length == 0) {
        declined_list(&words, json_get(line, "declined_products"), NULL);
    }
    view->declined = words.failed ? NULL : report_word(report, text_string(&words));
    text_release(&words);
    return view->declined != NULL;
}

/* The label, and of a placed case the one without its place. False: no memory. */
static bool label_make(struct report *report, struct case_view *view)
{
    struct text label = {0}, title = {0};
    case_label_append(&label, view, FIELD_MODEL);
    view->label =
        label.failed ? NULL : arena_copy(&report->arena, view->model != NULL ? text_string(&label) : view->id);
    if (view->placed != NULL) {
        case_label_append(&title, view, FIELD_PLACE);
        view->placed->title = title.failed ? NULL : report_word(report, text_string(&title));
    }
    text_release(&label);
    text_release(&title);
    return view->label != NULL && (view->placed == NULL || view->placed->title != NULL);
}

/* The report's own pointer for a name, so that names can be compared by address; NULL if the list is full, or memory
 * is. */
static const char *estimator_intern(struct report *report, const char *name)
{
    for (int index = 0; index < report->estimator_count; index++) {
        if (strcmp(report->estimators[index], name) == 0) {
            return report->estimators[index];
        }
    }
    if (report->estimator_count == ESTIMATOR_MAXIMUM) {
        return NULL;
    }
    const char *kept = report_word(report, name);
    if (kept != NULL) {
        report->estimators[report->estimator_count++] = kept;
    }
    return kept;
}

void report_estimators_order(struct report *report)
{
    for (int index = 1; index < report->estimator_count; index++) {
        const char *name = report->estimators[index];
        int at = index;
        for (; at > 0 && estimator_place(report->estimators[at - 1]) > estimator_place(name); at--) {
            report->estimators[at] = report->estimators[at - 1];
        }
        report->estimators[at] = name;
    }
}

static void estimates_read(struct filling *filling, const struct json *line)
{
    struct case_view *view = filling->view;
    const struct json *estimates = json_get(line, "estimates");
    struct estimator_total totals[ESTIMATOR_MAXIMUM];
    const char *key = NULL;
    while (json_kind(estimates) == JSON_KIND_OBJECT && (key = json_key_after(estimates, key)) != NULL) {
        const struct json *estimate = json_get(estimates, key);
        const char *name = estimator_intern(filling->report, key);
        int64_t total_bytes = bytes_read(estimate, "total_bytes");
        if (name != NULL && strcmp(name, "replay") == 0) {
            footprint_read(filling, estimate, WALK_PREDICTED, &view->predicted);
        } else if (name != NULL && total_bytes != BYTES_UNKNOWN) {
            totals[view->total_count++] = (struct estimator_total){
                .estimator = name, .total_bytes = total_bytes, .weights_bytes = bytes_read(estimate, "weights_bytes")};
        }
    }
    struct estimator_total *kept = arena_alloc(&filling->report->arena, (size_t)view->total_count * sizeof *kept);
    if (kept != NULL && view->total_count > 0) {
        memcpy(kept, totals, (size_t)view->total_count * sizeof *kept);
    }
    filling->failed = filling->failed || kept == NULL;
    view->totals = kept;
    const struct json *verdicts = json_get(line, "verdicts");
    for (size_t index = 0; index < json_count(verdicts); index++) {
        const char *name = json_string_or(json_get(json_at(verdicts, index), "estimator"), NULL);
        if (name != NULL) {
            (void)estimator_intern(filling->report, name);
        }
    }
}

/* As a record says, and of an older record by its device. */
static const char *basis_read(const char *basis, const char *device_kind)
{
    return basis == NULL                        ? basis_of_device(device_kind)
           : strcmp(basis, BASIS_REPLAYED) == 0 ? BASIS_REPLAYED
                                                : BASIS_MEASURED;
}

/* How the case stands, and why: what failed and what is open in the words of today, whatever program wrote the
 * record. */
static void outcome_read(struct filling *filling, const struct json *line)
{
    struct case_view *view = filling->view;
    struct text why = {0};
    view->standing = case_standing(line);
    view->is_retried = case_was_retried(line);
    if (view->standing == STANDING_FAIL) {
        case_failures_append(&why, line, 0);
    } else if (view->standing == STANDING_OPEN) {
        case_open_append(&why, line);
    }
    if (why.length > 0) {
        view->reason = report_word(filling->report, text_string(&why));
        filling->failed = filling->failed || why.failed || view->reason == NULL;
    }
    text_release(&why);
}

bool case_view_read(struct report *report, const struct json *line, const char *id, struct case_view *view)
{
    struct filling filling = {.report = report, .view = view};
    *view = (struct case_view){.id = id};
    view->status = word_read(&filling, json_get(line, "status"), "error");
    view->reason = word_read(&filling, json_get(line, "reason"), "");
    view->suite_line = json_integer_or(json_get(line, "suite_line"), -1);
    view->family = word_read(&filling, json_get(line, "family"), NULL);
    case_fields_read(&filling, json_get(line, "identity"));
    view->settings = settings_read(&filling, json_get(line, "identity"), "");
    view->attention_backend = word_read(&filling, json_get(line, "attention_backend"), NULL);
    view->sequence = word_read(&filling, json_get(line, "sequence_hash"), NULL);
    bool is_whole = view->status != NULL && (strcmp(view->status, "ok") == 0 || strcmp(view->status, "fail") == 0);
    const enum walk walk = is_whole ? WALK_WHOLE : WALK_CUT;
    footprint_read(&filling, line, walk, &view->measured);
    footprint_read(&filling, NULL, WALK_PREDICTED, &view->predicted);
    items_read(&filling, json_get(line, "stages"));
    placed_view_read(&filling, line, walk, &view->placed);
    if (json_kind(json_get(line, "search")) == JSON_KIND_OBJECT) {
        const char *settings = settings_read(&filling, json_get(line, "identity"), "find_batch");
        search_view_read(&filling, json_get(line, "search"), settings, &view->search);
    }
    causes_read(json_get(json_get(line, "causes"), "load"), &view->causes_at_load);
    causes_read(json_get(json_get(line, "causes"), "end"), &view->causes_at_end);
    for (int level = 0; level < LEVEL_COUNT; level++) {
        view->context_bytes[level] = bytes_read(json_get(line, "context"), level_key((enum level)level));
    }
    const struct json *oom = json_get(line, "oom");
    view->oom_wanted_bytes = bytes_read(oom, "wanted_bytes");
    view->oom_free_bytes = bytes_read(oom, "free_bytes");
    view->oom_held_bytes = bytes_read(oom, "held_bytes");
    view->oom_stage = word_read(&filling, json_get(oom, "stage"), NULL);
    view->oom_label = word_read(&filling, json_get(oom, "label"), NULL);
    view->duration_seconds = seconds_read(line, "duration_s");
    device_read(&filling, json_get(line, "device"));
    view->constants_mismatch = word_read(&filling, json_get(json_get(line, "constants"), "mismatch"), NULL);
    view->basis = basis_read(json_string_or(json_get(line, "basis"), NULL), view->device_kind);
    view->attempt = json_integer_or(json_get(line, "attempt"), -1);
    outcome_read(&filling, line);
    estimates_read(&filling, line);
    return !filling.failed && proof_view_read(report, line, &view->proof) && validity_read(report, line, view) &&
           declined_read(report, line, view) && tags_read(report, line, view) && label_make(report, view);
}
