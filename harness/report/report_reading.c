/* Report reading: records of a file or folder, line by line into views. Not what is told of them, and not the run that
 * made the records. */
#include "harness/report/report.h"

#include <stdlib.h>
#include <string.h>

#include "harness/base/array.h"
#include "harness/record/record.h"
#include "harness/report/case_order.h"
#include "harness/report/case_view.h"
#include "harness/report/headline.h"
#include "harness/report/search_view.h"
#include "harness/report/selection.h"
#include "harness/report/spread.h"
#include "harness/report/wording.h"

/* What is known of a case beside its view, until all records are read. */
struct reading_case {
    int run; /* of its last attempt */
    struct spread_sum spread;
    struct case_attempt *last_earlier; /* the end of the list of earlier attempts */
};

struct reading {
    struct report *report;
    const char *run_id; /* of the one run that is read; NULL: all are */
    bool is_in_run;     /* the line that was read last is of it */
    struct arena arena;
    struct name_table ids; /* their numbers are those of the cases */
    struct selection selection;
    struct reading_case *cases;
    size_t view_room, room; /* of the report's list of cases and of this one */
};

static enum status_code memory_error(struct status *error, const char *path)
{
    return status_set(error, STATUS_OUT_OF_MEMORY, "%s: no memory for its records", path);
}

/* Room for one more case in both lists. */
static bool room_make(struct reading *reading)
{
    struct report *report = reading->report;
    size_t count = (size_t)report->case_count;
    struct case_view *views = array_extend(report->cases, count, &reading->view_room, sizeof *views);
    struct reading_case *cases = array_extend(reading->cases, count, &reading->room, sizeof *cases);
    report->cases = views != NULL ? views : report->cases;
    reading->cases = cases != NULL ? cases : reading->cases;
    return views != NULL && cases != NULL;
}

/* Puts an attempt behind the earlier ones of the case that shown is of. */
static bool earlier_add(struct reading *reading, struct reading_case *one, const struct case_view *before,
                        struct case_view *shown)
{
    struct case_attempt *attempt = arena_alloc(&reading->report->arena, sizeof *attempt);
    if (attempt == NULL) {
        return false;
    }
    *attempt = (struct case_attempt){.view = *before};
    attempt->view.earlier = NULL;
    attempt->view.comparisons = NULL;
    attempt->view.comparison_count = 0;
    *(shown->earlier == NULL ? &shown->earlier : &one->last_earlier->next) = attempt;
    one->last_earlier = attempt;
    return true;
}

/* Of several attempts at one case the last stays, at the place of the first; of those of one run the one that ended
 * worst, so that a case which failed once is not shown as one that never did. The spread is that of the attempts of the
 * last run alone, because another run is of another day, another driver or another program. */
static bool attempt_add(struct reading *reading, const struct record_line *line)
{
    struct report *report = reading->report;
    struct case_view view;
    const char *id = json_string_or(json_get(line->value, "id"), "(no id)");
    int number = room_make(reading) ? name_table_add(&reading->ids, &report->arena, id) : -1;
    if (number < 0 || !case_view_read(report, line->value, reading->ids.entries[number].text, &view)) {
        return false;
    }
    struct reading_case *one = &reading->cases[number];
    struct case_view *kept = &report->cases[number];
    bool is_new = number == report->case_count;
    bool again = !is_new && one->run == line->run;
    one->spread = again ? one->spread : (struct spread_sum){0};
    one->run = line->run;
    view.run = line->run;
    view.line = line->place;
    bool made = spread_add(&one->spread, &reading->arena, again ? kept : NULL, &view);
    if (again && view.standing < kept->standing) {
        return made && earlier_add(reading, one, &view, kept);
    }
    if (again) {
        view.earlier = kept->earlier;
        made = made && earlier_add(reading, one, kept, &view);
    }
    case_view_judged(line->value, &view);
    made = made && (report->is_side || case_view_compare(report, line->value, &view));
    *kept = view;
    report->case_count += is_new ? 1 : 0;
    return made;
}

/* Where a run went on: its run_id, and of what is told of it the members of the same names. */
static bool resumption_add(struct report *report, const struct json *run_id, const struct json *number,
                           const struct json *started, const struct json *host)
{
    struct json *value = json_object_new();
    bool made = json_set(value, "run_id", run_id != NULL ? json_copy_new(run_id) : json_null_new()) &&
                json_set(value, "number", number != NULL ? json_copy_new(number) : json_null_new()) &&
                json_set(value, "started", started != NULL ? json_copy_new(started) : json_null_new()) &&
                json_set(value, "host", host != NULL ? json_copy_new(host) : json_null_new());
    return json_append(report->resumptions, json_made(value, made));
}

/* The runs of the shards that a merged run is made of. */
static bool shards_resumptions_add(struct report *report, const struct json *line)
{
    const struct json *runs = json_get(json_get(line, "merged"), "runs");
    bool made = true;
    for (size_t i = 0; i < json_count(runs) && made; i++) {
        const struct json *run = json_at(runs, i), *list = json_get(run, "resumptions");
        size_t count = json_kind(list) == JSON_KIND_ARRAY ? json_count(list) : 0;
        for (size_t k = 0; k < count && made; k++) {
            const struct json *one = json_at(list, k);
            made = resumption_add(report, json_get(run, "run_id"), json_get(one, "number"), json_get(one, "started"),
                                  json_get(one, "host"));
        }
    }
    return made;
}

static bool line_take(struct reading *reading, const struct record_line *line)
{
    struct report *report = reading->report;
    selection_add(&reading->selection, line);
    switch (line->type) {
    case RECORD_LINE_RUN:
        report->ended = false;
        return json_append(report->runs, json_copy_new(line->value)) && shards_resumptions_add(report, line->value);
    case RECORD_LINE_RESUMED:
        report->ended = false;
        return resumption_add(report, json_get(line->value, "run_id"), json_get(line->value, "resumption"),
                              json_get(line->value, "started"), json_get(json_get(line->value, "host"), "name"));
    case RECORD_LINE_CASE:
        return attempt_add(reading, line);
    case RECORD_LINE_END:
        report->ended = !json_boolean_or(json_get(line->value, "interrupted"), false);
        break;
    case RECORD_LINE_SELECTED:
    case RECORD_LINE_NONE:
        break;
    }
    return true;
}

/* A line of the file: of the one run alone, which then is the first, or of any. */
static bool line_choose(struct reading *reading, const struct record_line *line)
{
    if (reading->run_id == NULL) {
        return line_take(reading, line);
    }
    if (line->type == RECORD_LINE_RUN) {
        reading->is_in_run = strcmp(json_string_or(json_get(line->value, "run_id"), ""), reading->run_id) == 0;
    }
    struct record_line own = *line;
    own.run = (int)json_count(reading->report->runs) - (line->type == RECORD_LINE_RUN ? 0 : 1);
    return !reading->is_in_run || line_take(reading, &own);
}

/* When all estimators and all attempts are known. */
static bool cases_finish(struct reading *reading)
{
    struct report *report = reading->report;
    bool made = true;
    report_estimators_order(report);
    for (int index = 0; made && index < report->case_count; index++) {
        const struct reading_case *one = &reading->cases[index];
        struct case_view *view = &report->cases[index];
        made = spread_make(&one->spread, &report->arena, &view->spread);
        case_view_order(report, view);
    }
    return made && search_series_settle(report);
}

/* "(replayed for sm_90)" behind the label; NULL: no memory. */
static const char *replayed_title(struct report *report, const struct case_view *view)
{
    struct text words = {0};
    replayed_append(&words, view);
    const char *title = arena_format(&report->arena, "%s (%s)", view->label, text_string(&words));
    title = words.failed ? NULL : title;
    text_release(&words);
    return title;
}

/* What the figures of the report are; if some cases are measured and some replayed, or replayed for another target,
 * one heading cannot say it, and the titles do. False if memory ran out. */
static bool basis_mark(struct report *report)
{
    int replayed_count = 0, device_count = 0;
    const struct case_view *first = NULL; /* that was replayed */
    bool targets_differ = false;
    for (int index = 0; index < report->case_count; index++) {
        const struct case_view *view = &report->cases[index];
        device_count += view->device_kind != NULL ? 1 : 0;
        if (strcmp(view->basis, BASIS_REPLAYED) == 0) {
            replayed_count++;
            first = first == NULL ? view : first;
            targets_differ = targets_differ || !case_devices_equal(first, view);
        }
    }
    bool is_replayed = replayed_count > 0 && replayed_count == device_count, made = true;
    report->basis = is_replayed ? BASIS_REPLAYED : BASIS_MEASURED;
    for (int index = 0; made && index < report->case_count; index++) {
        struct case_view *view = &report->cases[index];
        bool is_odd = (!is_replayed || targets_differ) && strcmp(view->basis, BASIS_REPLAYED) == 0;
        view->title = is_odd ? replayed_title(report, view) : view->label;
        made = view->title != NULL;
    }
    return made;
}

/* The reason of a case, and what is missing of it. */
static bool reason_lengthen(struct report *report, struct case_view *view)
{
    struct text reason = {0};
    text_append(&reason, view->reason);
    missing_note_append(&reason, report, view);
    view->reason = reason.failed ? NULL : report_word(report, text_string(&reason));
    text_release(&reason);
    return view->reason != NULL;
}

/* What is missing, at the cases that are there all the same: from an earlier run, or with fewer attempts. */
static bool missing_mark(struct reading *reading)
{
    struct report *report = reading->report;
    bool made = selection_settle(&reading->selection, report);
    for (int index = 0; made && index < report->missing_count; index++) {
        int number = name_table_add(&reading->ids, &report->arena, report->missing[index].id);
        made = number >= 0;
        if (made && number < report->case_count) {
            struct case_view *view = &report->cases[number];
            view->missing = &report->missing[index];
            view->standing = view->standing < STANDING_BROKEN ? STANDING_BROKEN : view->standing;
            made = reason_lengthen(report, view);
        }
    }
    return made;
}

static bool cases_order(struct report *report)
{
    int count = 0;
    report->order = calloc((size_t)report->case_count + 1, sizeof *report->order);
    for (int urgency = 0; report->order != NULL && urgency < CASE_URGENCIES; urgency++) {
        for (int index = 0; index < report->case_count; index++) {
            if (case_urgency(&report->cases[index]) == urgency) {
                report->order[count++] = index;
            }
        }
    }
    return report->order != NULL;
}

/* What is read of a stream: all lines, those of one run_id, or the run that follows. */
struct reading_part {
    const char *run_id;      /* NULL: of every run */
    bool is_next;            /* the run whose line is in `line`, up to the next one of another run_id */
    int first_run;           /* of the file */
    struct record_line line; /* of is_next alone */
};

static const char *run_id_of(const struct json *run)
{
    return json_string_or(json_get(run, "run_id"), "");
}

/* Whether the line that stands in part begins another run than the one that the report has. */
static bool part_has_ended(const struct report *report, const struct reading_part *part)
{
    return part->is_next && part->line.type == RECORD_LINE_RUN && json_count(report->runs) > 0 &&
           strcmp(run_id_of(part->line.value), run_id_of(report_run(report))) != 0;
}

/* The lines of the part, one after the other. *made: false if memory ran out. */
static enum status_code part_read(struct reading *reading, struct reading_part *part, bool *made, struct status *error)
{
    struct report *report = reading->report;
    bool is_held = part->is_next; /* the first line was read by whoever looked for the next run */
    enum status_code code = STATUS_OK;
    do {
        if (!is_held) {
            code = record_stream_next(report->stream, &part->line, error);
        }
        is_held = false;
        if (code != STATUS_OK || part->line.type == RECORD_LINE_NONE || part_has_ended(report, part)) {
            break;
        }
        struct record_line line = part->line;
        line.run -= part->first_run;
        *made = line_choose(reading, &line);
    } while (*made);
    return code;
}

static enum status_code records_read(struct report *report, struct reading_part *part, struct status *error)
{
    struct reading reading = {.report = report, .run_id = part->run_id};
    const int damaged_before = part->is_next ? record_stream_damaged_count(report->stream) : 0;
    bool made = true;
    enum status_code code = part_read(&reading, part, &made, error);
    if (code == STATUS_OK && made && part->run_id != NULL && json_count(report->runs) == 0) {
        code = status_set(error, STATUS_INVALID, "%s: the run %.40s is not in it", report->source, part->run_id);
    }
    if (code == STATUS_OK &&
        !(made && cases_finish(&reading) && missing_mark(&reading) && basis_mark(report) && cases_order(report))) {
        code = memory_error(error, report->source);
    }
    report->damaged_line_count = record_stream_damaged_count(report->stream) - damaged_before;
    arena_release(&reading.arena);
    name_table_release(&reading.ids);
    selection_release(&reading.selection);
    free(reading.cases);
    return code;
}

/* An empty report; NULL: no memory. */
static struct report *report_begin(const char *path, bool is_side)
{
    struct report *made = calloc(1, sizeof *made);
    if (made != NULL) {
        made->is_side = is_side;
        made->estimators[made->estimator_count++] = "replay";
        made->source = arena_copy(&made->arena, path);
        made->runs = json_array_new();
        made->resumptions = json_array_new();
        if (made->source == NULL || made->runs == NULL || made->resumptions == NULL) {
            report_release(made);
            made = NULL;
        }
    }
    return made;
}

static enum status_code report_read(const char *path, const char *run_id, bool is_side, struct report **report,
                                    struct status *error)
{
    struct reading_part part = {.run_id = run_id};
    struct report *made = report_begin(path, is_side);
    enum status_code code = made == NULL ? memory_error(error, path) : record_stream_open(path, &made->stream, error);
    if (code == STATUS_OK) {
        code = records_read(made, &part, error);
    }
    if (code != STATUS_OK) {
        report_release(made);
        return code;
    }
    *report = made;
    return STATUS_OK;
}

/* ---- run by run ---- */

struct runs_visit {
    const char *path;
    struct record_stream *stream;
    struct reading_part part;
    struct name_table seen; /* run_ids */
    struct arena arena;
    report_visitor *visit;
    void *context;
};

/* A run that goes on behind another one, with all its parts. */
static enum status_code parts_visit(struct runs_visit *visit, const char *run_id, struct status *error)
{
    struct report *whole = NULL;
    enum status_code code = report_read(visit->path, run_id, true, &whole, error);
    if (code == STATUS_OK) {
        code = visit->visit(whole, visit->context, error);
        report_release(whole);
    }
    return code;
}

/* The run whose line is in the part; the stream goes on to the next report. */
static enum status_code run_visit(struct runs_visit *visit, struct status *error)
{
    struct report *made = report_begin(visit->path, true);
    if (made == NULL) {
        return memory_error(error, visit->path);
    }
    made->stream = visit->stream;
    visit->part.first_run = visit->part.line.run;
    enum status_code code = records_read(made, &visit->part, error);
    if (code == STATUS_OK) {
        const size_t known = visit->seen.count;
        const char *run_id = run_id_of(report_run(made));
        const int number = name_table_add(&visit->seen, &visit->arena, run_id);
        code = number < 0                ? memory_error(error, visit->path)
               : (size_t)number == known ? visit->visit(made, visit->context, error)
                                         : parts_visit(visit, run_id, error);
    }
    made->stream = NULL;
    report_release(made);
    return code;
}

enum status_code report_each_run(const char *path, report_visitor *visit, void *context, struct status *error)
{
    struct runs_visit all = {.path = path, .part = {.is_next = true}, .visit = visit, .context = context};
    enum status_code code = record_stream_open(path, &all.stream, error);
    if (code == STATUS_OK) {
        code = record_stream_next(all.stream, &all.part.line, error);
    }
    while (code == STATUS_OK && all.part.line.type != RECORD_LINE_NONE) {
        code = run_visit(&all, error);
    }
    record_stream_close(all.stream);
    name_table_release(&all.seen);
    arena_release(&all.arena);
    return code;
}

enum status_code report_open(const char *path, struct report **report, struct status *error)
{
    return report_read(path, NULL, false, report, error);
}

enum status_code report_open_side(const char *path, struct report **report, struct status *error)
{
    return report_read(path, NULL, true, report, error);
}

enum status_code report_open_run(const char *path, const char *run_id, struct report **report, struct status *error)
{
    return report_read(path, run_id, false, report, error);
}

void report_release(struct report *report)
{
    if (report == NULL) {
        return;
    }
    record_stream_close(report->stream);
    json_release(report->runs);
    json_release(report->resumptions);
    name_table_release(&report->words);
    arena_release(&report->arena);
    free(report->missing);
    free(report->order);
    free(report->cases);
    free(report);
}
