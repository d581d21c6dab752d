/* Calibration: which readings count, and their spread. Not what is predicted from it: harness/estimate. */
#include "harness/report/calibration.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/record/record.h"
#include "harness/report/headline.h"
#include "harness/report/selection.h"

struct figure {
    bool known;
    int64_t bytes;
};

enum { FIGURE_CONTEXT_PROCESS, FIGURE_CONTEXT_DEVICE, FIGURE_GROWTH_PROCESS, FIGURE_GROWTH_DEVICE, FIGURE_COUNT };

struct reading {
    const char *mode; /* borrowed from the case line */
    struct figure figures[FIGURE_COUNT];
};

struct calibration {
    struct record_file files[CALIBRATION_FILES_MAXIMUM];
    const char *const *paths;
    const char *filter;
    bool by_tag;    /* the filter named a case by a tag alone */
    int file_count; /* that were read */
    struct reading *readings;
    int64_t *sorted; /* as many as readings */
    int reading_count;
    struct constants made;
    struct status *error;
};

/* ---- one reading ---- */

/* Unknown too where it is so large that a difference of two might not be written to a file of constants: no machine has so
 * much memory. */
static struct figure figure_of(const struct json *object, const char *key)
{
    int64_t bytes = json_integer_or(json_get(object, key), -1);
    bool known = bytes >= 0 && bytes <= CONSTANTS_BYTES_MAXIMUM / 2;
    return (struct figure){.known = known, .bytes = known ? bytes : 0};
}

static struct figure figure_less(struct figure figure, struct figure other)
{
    return (struct figure){.known = figure.known && other.known, .bytes = figure.bytes - other.bytes};
}

/* What a stage's reading exceeds its segments by, where that reading is the highest of those seen so far; of equal
 * readings the one with more segments counts. */
static void highest_take(const struct json *stage, const char *key, const char *reserved_key, struct figure *highest,
                         struct figure *beyond)
{
    struct figure reading = figure_of(stage, key);
    struct figure more = figure_less(reading, figure_of(stage, reserved_key));
    if (!more.known || (highest->known && reading.bytes < highest->bytes)) {
        return;
    }
    if (!highest->known || reading.bytes > highest->bytes || more.bytes < beyond->bytes) {
        *highest = reading;
        *beyond = more;
    }
}

/* key, peak_key: a level's readings; peak_key may be NULL. */
static struct figure growth_of(const struct json *line, const char *key, const char *peak_key)
{
    const struct json *stages = json_get(line, "stages");
    struct figure highest = {0}, beyond = {0};
    bool is_object = json_kind(stages) == JSON_KIND_OBJECT;
    for (const char *name = is_object ? json_key_after(stages, NULL) : NULL; name != NULL;
         name = json_key_after(stages, name)) {
        const struct json *stage = json_get(stages, name);
        highest_take(stage, key, "reserved_bytes", &highest, &beyond);
        if (peak_key != NULL) {
            highest_take(stage, peak_key, "reserved_bytes_peak", &highest, &beyond);
        }
    }
    return figure_less(beyond, figure_of(json_get(line, "context"), key));
}

static struct reading reading_of(const struct json *line)
{
    const struct json *context = json_get(line, "context");
    struct reading reading = {.mode = json_string_or(json_get(json_get(line, "identity"), "mode"), "")};
    struct figure *figures = reading.figures;
    figures[FIGURE_CONTEXT_PROCESS] = figure_of(context, "process_bytes");
    figures[FIGURE_CONTEXT_DEVICE] =
        figure_less(figure_of(context, "device_bytes"), figure_of(context, "baseline_bytes"));
    if (figures[FIGURE_CONTEXT_DEVICE].bytes < 0) { /* somebody else gave memory back meanwhile */
        figures[FIGURE_CONTEXT_DEVICE].known = false;
    }
    figures[FIGURE_GROWTH_PROCESS] = growth_of(line, "process_bytes", "process_bytes_peak");
    figures[FIGURE_GROWTH_DEVICE] = growth_of(line, "device_bytes", NULL);
    return reading;
}

/* ---- what may calibrate ---- */

__attribute__((format(printf, 4, 5))) static enum status_code
case_refuse(const struct calibration *calibration, int file, const struct json *line, const char *format, ...)
{
    char cause[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(cause, sizeof cause, format, arguments);
    va_end(arguments);
    return status_set(calibration->error, STATUS_INVALID, "%s: case %s: %s", calibration->paths[file],
                      json_string_or(json_get(line, "id"), "?"), cause);
}

static bool id_matches(const char *id, const char *filter)
{
    return filter == NULL || fnmatch(filter, id, 0) == 0;
}

/* As suites are filtered. */
static bool line_matches(const struct json *line, const char *filter)
{
    const struct json *tags = json_get(line, "tags");
    bool matches = id_matches(json_string_or(json_get(line, "id"), ""), filter);
    for (size_t i = 0; !matches && json_kind(tags) == JSON_KIND_ARRAY && i < json_count(tags); i++) {
        matches = fnmatch(filter, json_string_or(json_at(tags, i), ""), 0) == 0;
    }
    return matches;
}

static enum status_code measured_check(const struct calibration *calibration, int file, const struct json *line)
{
    const char *status = json_string_or(json_get(line, "status"), "");
    const struct json *validity = json_get(line, "validity");
    if (strcmp(status, "ok") != 0 && strcmp(status, "fail") != 0) {
        return case_refuse(calibration, file, line,
                           "its status is %.16s; only cases that were measured calibrate: run the suite again", status);
    }
    if (!json_boolean_or(json_get(validity, "valid"), true)) {
        return case_refuse(calibration, file, line, "the row is invalid: %.300s; run it again on a quiet device",
                           json_string_or(json_at(json_get(validity, "reasons"), 0), "no reason was given"));
    }
    return STATUS_OK;
}

/* Adds the id where it is new. */
static enum status_code case_add(struct calibration *calibration, int file, const struct json *line)
{
    struct constants *made = &calibration->made;
    const char *id = json_string_or(json_get(line, "id"), "");
    if (constants_have_case(made, id)) {
        return STATUS_OK;
    }
    if (made->case_count == CONSTANTS_CASES_MAXIMUM) {
        return case_refuse(calibration, file, line, "is one more than %d cases; leave some out, to judge by them",
                           CONSTANTS_CASES_MAXIMUM);
    }
    if (strlen(id) >= CONSTANTS_ID_BYTES) {
        return case_refuse(calibration, file, line, "its id has more than %d bytes; name the model by the catalogue",
                           CONSTANTS_ID_BYTES - 1);
    }
    snprintf(made->cases[made->case_count++], CONSTANTS_ID_BYTES, "%s", id);
    return STATUS_OK;
}

static enum status_code mode_add(struct calibration *calibration, int file, const struct json *line)
{
    struct constants *made = &calibration->made;
    const char *mode = json_string_or(json_get(json_get(line, "identity"), "mode"), "");
    if (constants_growth_of(made, mode) != NULL) {
        return STATUS_OK;
    }
    struct constants_growth *row = &made->growth[made->growth_count];
    if (made->growth_count == CONSTANTS_MODES_MAXIMUM || strlen(mode) >= sizeof row->mode) {
        return case_refuse(calibration, file, line, "the mode '%.40s' is not known; use load, infer, generate or train",
                           mode);
    }
    snprintf(row->mode, sizeof row->mode, "%s", mode);
    made->growth_count++;
    return STATUS_OK;
}

/* The first case names the device, and every other one must have been measured on its like. */
static enum status_code device_add(struct calibration *calibration, int file, const struct json *line, bool is_first)
{
    struct constants_device *device = &calibration->made.device;
    const struct {
        const char *key;
        char *text;
    } rows[] = {{"kind", device->kind},
                {"name", device->name},
                {"target", device->target},
                {"driver", device->driver},
                {"runtime", device->runtime}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *text = json_string_or(json_get(json_get(line, "device"), rows[i].key), "");
        if (strlen(text) >= CONSTANTS_NAME_BYTES) {
            return case_refuse(calibration, file, line, "the device's %s has more than %d bytes", rows[i].key,
                               CONSTANTS_NAME_BYTES - 1);
        }
        if (is_first) {
            snprintf(rows[i].text, CONSTANTS_NAME_BYTES, "%s", text);
        } else if (strcmp(rows[i].text, text) != 0) {
            return case_refuse(calibration, file, line,
                               "the %s of its device is '%s', of the cases before '%s'; calibrate one class of devices "
                               "under one driver at a time",
                               rows[i].key, text, rows[i].text);
        }
    }
    return STATUS_OK;
}

/* Each thread has buffers: other constants. */
static enum status_code threads_add(struct calibration *calibration, int file, const struct json *line, bool is_first)
{
    struct constants_device *device = &calibration->made.device;
    int64_t thread_count = json_integer_or(json_get(json_get(line, "device"), "threads"), 0);
    if (is_first) {
        device->thread_count = thread_count;
    }
    if (device->thread_count != thread_count) {
        return case_refuse(calibration, file, line,
                           "its device had %" PRId64 " threads, that of the cases before %" PRId64
                           "; calibrate one number of threads at a time",
                           thread_count, device->thread_count);
    }
    return STATUS_OK;
}

static enum status_code line_take(struct calibration *calibration, int file, const struct json *line)
{
    enum status_code code = measured_check(calibration, file, line);
    if (code == STATUS_OK) {
        code = device_add(calibration, file, line, calibration->reading_count == 0);
    }
    if (code == STATUS_OK) {
        code = threads_add(calibration, file, line, calibration->reading_count == 0);
    }
    if (code == STATUS_OK) {
        code = case_add(calibration, file, line);
    }
    if (code == STATUS_OK) {
        code = mode_add(calibration, file, line);
    }
    if (code == STATUS_OK) {
        calibration->readings[calibration->reading_count++] = reading_of(line);
    }
    return code;
}

/* Its readings would count twice. */
static enum status_code repetition_check(const struct calibration *calibration, int file, int run)
{
    const char *id = json_string_or(json_get(calibration->files[file].runs[run].run, "run_id"), "");
    for (int i = 0; i <= file; i++) {
        int end = i < file ? calibration->files[i].run_count : run;
        for (int j = 0; j < end; j++) {
            if (strcmp(json_string_or(json_get(calibration->files[i].runs[j].run, "run_id"), ""), id) == 0) {
                return status_set(calibration->error, STATUS_INVALID,
                                  "%s: run %.64s is there twice; name each result once", calibration->paths[file], id);
            }
        }
    }
    return STATUS_OK;
}

/* Another program on the same device (PyTorch's records) has a context and libraries of its own, and another version of ours
 * may have other kernels. The constants are of the version that measured, whichever calibrates. */
static enum status_code tool_add(struct calibration *calibration, int file, const struct json *run,
                                 const struct json *line)
{
    char *known = calibration->made.tool_version;
    const char *tool = json_string_or(json_get(json_get(run, "tool"), "name"), "assay");
    const char *version = json_string_or(json_get(json_get(run, "tool"), "version"), "unknown");
    if (strcmp(tool, "assay") != 0) {
        return case_refuse(calibration, file, line,
                           "was measured by %.64s; constants are of assay's own process: name "
                           "records of assay run",
                           tool);
    }
    if (calibration->reading_count > 0 && strcmp(known, version) != 0) {
        return case_refuse(calibration, file, line,
                           "was measured by assay %.64s, the cases before by %.64s; calibrate one version at a time",
                           version, known);
    }
    snprintf(known, CONSTANTS_NAME_BYTES, "%.64s", version);
    return STATUS_OK;
}

static enum status_code file_take(struct calibration *calibration, int file)
{
    const struct record_file *records = &calibration->files[file];
    enum status_code code = STATUS_OK;
    for (int i = 0; i < records->run_count && code == STATUS_OK; i++) {
        code = repetition_check(calibration, file, i);
        for (int j = 0; j < records->runs[i].case_count && code == STATUS_OK; j++) {
            const struct json *line = records->runs[i].cases[j];
            if (line_matches(line, calibration->filter)) {
                const char *id = json_string_or(json_get(line, "id"), "");
                calibration->by_tag = calibration->by_tag || !id_matches(id, calibration->filter);
                code = tool_add(calibration, file, records->runs[i].run, line);
                code = code == STATUS_OK ? line_take(calibration, file, line) : code;
            }
        }
    }
    return code;
}

/* ---- what is missing ---- */

static void runs_select(const struct record_file *file, struct selection *selection)
{
    for (int i = 0; i < file->run_count; i++) {
        const struct record_run *run = &file->runs[i];
        selection_add(selection, &(struct record_line){.type = RECORD_LINE_RUN, .value = run->run, .run = i});
        for (size_t j = 0; run->selected != NULL && j < json_count(run->selected); j++) {
            const struct json *line = json_at(run->selected, j);
            selection_add(selection, &(struct record_line){.type = RECORD_LINE_SELECTED, .value = line, .run = i});
        }
        for (int j = 0; j < run->case_count; j++) {
            selection_add(selection, &(struct record_line){.type = RECORD_LINE_CASE, .value = run->cases[j], .run = i});
        }
        if (run->end != NULL) {
            selection_add(selection, &(struct record_line){.type = RECORD_LINE_END, .value = run->end, .run = i});
        }
    }
}

/* Takes out of the report what the filter passes over. The tags of a case that was not made are not recorded: where the filter
 * names cases by a tag, each of them may have it. */
static void missing_filter(const struct calibration *calibration, struct report *report)
{
    int kept = 0;
    for (int i = 0; i < report->missing_count; i++) {
        if (calibration->by_tag || id_matches(report->missing[i].id, calibration->filter)) {
            report->missing[kept++] = report->missing[i];
        }
    }
    report->missing_count = kept;
}

static enum status_code missing_refuse(const struct calibration *calibration, int file, const struct report *report)
{
    enum { NAMES_MAXIMUM = 3 };
    struct text names = {0};
    missing_names_append(&names, report, NAMES_MAXIMUM);
    enum status_code code = status_set(calibration->error, STATUS_INVALID,
                                       "%s: the run is not complete, %s; %.400s: run the suite again, or choose by "
                                       "their ids, with --filter, the cases "
                                       "that were measured",
                                       calibration->paths[file],
                                       report->missing_cause != NULL ? report->missing_cause
                                                                     : "cases that it selected are not in the records",
                                       text_string(&names));
    text_release(&names);
    return code;
}

/* Constants of half a suite lack modes, or have a spread that is too small, and nobody sees it. */
static enum status_code completeness_check(const struct calibration *calibration, int file)
{
    struct selection selection = {0};
    struct report report = {0}; /* holds what is missing, and nothing else */
    enum status_code code = STATUS_OK;
    runs_select(&calibration->files[file], &selection);
    if (!selection_settle(&selection, &report)) {
        code = status_set(calibration->error, STATUS_OUT_OF_MEMORY, "%s: no memory for its cases",
                          calibration->paths[file]);
    } else {
        missing_filter(calibration, &report);
        if (report.missing_count + report.unnamed_missing_count > 0) {
            code = missing_refuse(calibration, file, &report);
        }
    }
    selection_release(&selection);
    arena_release(&report.arena);
    free(report.missing);
    return code;
}

/* ---- their spread ---- */

static int bytes_order(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

/* mode NULL: of all. */
static struct constants_spread figure_spread(struct calibration *calibration, int which, const char *mode)
{
    int64_t *sorted = calibration->sorted;
    int count = 0;
    for (int i = 0; i < calibration->reading_count; i++) {
        const struct reading *reading = &calibration->readings[i];
        if (reading->figures[which].known && (mode == NULL || strcmp(reading->mode, mode) == 0)) {
            sorted[count++] = reading->figures[which].bytes;
        }
    }
    if (count == 0) {
        return (struct constants_spread){0};
    }
    qsort(sorted, (size_t)count, sizeof *sorted, bytes_order);
    int64_t below = sorted[(count - 1) / 2], above = sorted[count / 2];
    return (struct constants_spread){.known = true,
                                     .median = below + (above - below) / 2,
                                     .minimum = sorted[0],
                                     .maximum = sorted[count - 1],
                                     .count = count};
}

static int name_order(const void *left, const void *right)
{
    return strcmp(left, right);
}

/* Sorted, so that the order of the records does not show. */
static enum status_code spreads_make(struct calibration *calibration)
{
    struct constants *made = &calibration->made;
    made->context.process = figure_spread(calibration, FIGURE_CONTEXT_PROCESS, NULL);
    made->context.device = figure_spread(calibration, FIGURE_CONTEXT_DEVICE, NULL);
    bool known = made->context.process.known || made->context.device.known;
    qsort(made->cases, (size_t)made->case_count, sizeof made->cases[0], name_order);
    qsort(made->growth, (size_t)made->growth_count, sizeof made->growth[0], name_order);
    for (int i = 0; i < made->growth_count; i++) {
        struct constants_growth *row = &made->growth[i];
        row->levels.process = figure_spread(calibration, FIGURE_GROWTH_PROCESS, row->mode);
        row->levels.device = figure_spread(calibration, FIGURE_GROWTH_DEVICE, row->mode);
        known = known || row->levels.process.known || row->levels.device.known;
    }
    if (calibration->reading_count == 0 && calibration->filter != NULL) {
        return status_set(calibration->error, STATUS_INVALID,
                          "%s: no case matches '%.200s'; write an id, a tag, or a pattern of either",
                          calibration->paths[0], calibration->filter);
    }
    if (!known) {
        return status_set(calibration->error, STATUS_INVALID,
                          "%s: no reading of a driver or a kernel is in it; run the suite on a device that gives them, "
                          "one case at a time",
                          calibration->paths[0]);
    }
    return STATUS_OK;
}

static enum status_code files_read(struct calibration *calibration, int count)
{
    size_t lines = 1; /* room is never of size 0 */
    for (int i = 0; i < count; i++) {
        enum status_code code = record_file_read(calibration->paths[i], &calibration->files[i], calibration->error);
        if (code != STATUS_OK) {
            return code;
        }
        calibration->file_count++;
        for (int j = 0; j < calibration->files[i].run_count; j++) {
            lines += (size_t)calibration->files[i].runs[j].case_count;
        }
    }
    calibration->readings = calloc(lines, sizeof *calibration->readings);
    calibration->sorted = calloc(lines, sizeof *calibration->sorted);
    if (calibration->readings == NULL || calibration->sorted == NULL) {
        return status_set(calibration->error, STATUS_OUT_OF_MEMORY, "no memory for %zu readings", lines);
    }
    return STATUS_OK;
}

enum status_code calibration_make(const char *const *paths, int count, const char *filter, struct constants *constants,
                                  struct status *error)
{
    struct calibration calibration = {.paths = paths, .filter = filter, .error = error};
    if (count < 1 || count > CALIBRATION_FILES_MAXIMUM) {
        return status_set(error, STATUS_INVALID, "%d results; name 1 to %d", count, CALIBRATION_FILES_MAXIMUM);
    }
    enum status_code code = files_read(&calibration, count);
    for (int i = 0; i < count && code == STATUS_OK; i++) {
        code = file_take(&calibration, i);
    }
    for (int i = 0; i < count && code == STATUS_OK; i++) {
        code = completeness_check(&calibration, i);
    }
    if (code == STATUS_OK) {
        code = spreads_make(&calibration);
    }
    if (code == STATUS_OK) {
        *constants = calibration.made;
    }
    for (int i = 0; i < calibration.file_count; i++) {
        record_file_release(&calibration.files[i]);
    }
    free(calibration.readings);
    free(calibration.sorted);
    return code;
}
