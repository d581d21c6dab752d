/* Calibration: which readings count, and their spread. Not what is predicted from it: harness/estimate. */
#include "harness/report/calibration.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/array.h"
#include "harness/record/record.h"
#include "harness/report/calibration_reading.h"
#include "harness/report/headline.h"
#include "harness/report/selection.h"

struct calibration {
    const char *const *paths;
    const char *filter;
    bool by_tag; /* the filter named a case by a tag alone */
    struct selection selections[CALIBRATION_FILES_MAXIMUM];
    struct arena arena; /* of run_ids */
    struct name_table run_ids;
    struct json *tool; /* of the run that is being read; NULL: it does not say */
    struct reading *readings;
    int64_t *sorted; /* as many as readings */
    int reading_count;
    size_t reading_room;
    struct constants made;
    struct status *error;
};

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
    if (json_count(json_get(line, "places")) > 0 || json_count(json_get(line, "search")) > 0) {
        return case_refuse(calibration, file, line,
                           "its process held several devices, or tried several batches; choose other cases with "
                           "--filter GLOB");
    }
    if (!json_boolean_or(json_get(validity, "valid"), true)) {
        return case_refuse(calibration, file, line, "the row is invalid: %.300s; run it again on a quiet device",
                           json_string_or(json_at(json_get(validity, "reasons"), 0), "no reason was given"));
    }
    return STATUS_OK;
}

/* Adds the id if it is new. */
static enum status_code case_add(struct calibration *calibration, int file, const struct json *line)
{
    struct constants *made = &calibration->made;
    const char *id = json_string_or(json_get(line, "id"), "");
    if (constants_have_case(made, id)) {
        return STATUS_OK;
    }
    if (made->case_count == CONSTANTS_CASES_MAXIMUM) {
        return case_refuse(calibration, file, line,
                           "is one more than the %d cases that constants may come from; choose fewer with "
                           "--filter GLOB: the cases that are left out can then be judged by the constants",
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
        const char *key, *words;
        char *text;
    } rows[] = {{"kind", "kind", device->kind},
                {"name", "name", device->name},
                {"target", "target", device->target},
                {"driver", driver_word(device->kind), device->driver},
                {"runtime", "runtime", device->runtime}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *text = json_string_or(json_get(json_get(line, "device"), rows[i].key), "");
        if (strlen(text) >= CONSTANTS_NAME_BYTES) {
            return case_refuse(calibration, file, line, "the device's %s has more than %d bytes", rows[i].words,
                               CONSTANTS_NAME_BYTES - 1);
        }
        if (is_first) {
            snprintf(rows[i].text, CONSTANTS_NAME_BYTES, "%s", text);
        } else if (strcmp(rows[i].text, text) != 0) {
            return case_refuse(calibration, file, line,
                               "the %s of its device is '%s', of the cases before '%s'; calibrate one class of devices "
                               "under one %s at a time",
                               rows[i].words, text, rows[i].text, driver_word(device->kind));
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

static enum status_code memory_fail(const struct calibration *calibration, int file)
{
    return status_set(calibration->error, STATUS_OUT_OF_MEMORY, "%s: no memory for its cases",
                      calibration->paths[file]);
}

static enum status_code reading_add(struct calibration *calibration, int file, const struct json *line)
{
    struct reading *readings = array_extend(calibration->readings, (size_t)calibration->reading_count,
                                            &calibration->reading_room, sizeof *readings);
    if (readings == NULL) {
        return memory_fail(calibration, file);
    }
    calibration->readings = readings;
    calibration->readings[calibration->reading_count++] = reading_of(line);
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
        code = reading_add(calibration, file, line);
    }
    return code;
}

/* Of several revisions none is told. */
static void revision_add(struct calibration *calibration, const char *revision)
{
    char *known = calibration->made.tool_revision;
    if (calibration->reading_count == 0) {
        snprintf(known, CONSTANTS_NAME_BYTES, "%.64s", revision);
    } else if (strcmp(known, revision) != 0) {
        known[0] = '\0';
    }
}

/* Another program on the same device (PyTorch's records) has a context and libraries of its own, and another version of
 * ours may have other kernels. The constants are of the version that measured, whichever calibrates. */
static enum status_code tool_add(struct calibration *calibration, int file, const struct json *line)
{
    char *known = calibration->made.tool_version;
    const char *tool = json_string_or(json_get(calibration->tool, "name"), "assay");
    const char *version = json_string_or(json_get(calibration->tool, "version"), "unknown");
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
    revision_add(calibration, json_string_or(json_get(calibration->tool, "revision"), ""));
    return STATUS_OK;
}

/* A run that is there twice: its readings would count twice. */
static enum status_code run_add(struct calibration *calibration, int file, const struct json *run)
{
    const char *id = json_string_or(json_get(run, "run_id"), "");
    const struct json *tool = json_get(run, "tool");
    size_t known = calibration->run_ids.count;
    int number = name_table_add(&calibration->run_ids, &calibration->arena, id);
    json_release(calibration->tool);
    calibration->tool = tool != NULL ? json_copy_new(tool) : NULL;
    if (number < 0 || (tool != NULL && calibration->tool == NULL)) {
        return memory_fail(calibration, file);
    }
    if ((size_t)number < known) {
        return status_set(calibration->error, STATUS_INVALID, "%s: run %.64s is there twice; name each result once",
                          calibration->paths[file], id);
    }
    return STATUS_OK;
}

static enum status_code case_take(struct calibration *calibration, int file, const struct json *line)
{
    if (!line_matches(line, calibration->filter)) {
        return STATUS_OK;
    }
    calibration->by_tag =
        calibration->by_tag || !id_matches(json_string_or(json_get(line, "id"), ""), calibration->filter);
    enum status_code code = tool_add(calibration, file, line);
    return code == STATUS_OK ? line_take(calibration, file, line) : code;
}

/* Line by line: of a case its reading is kept, and its name to see what is missing. */
static enum status_code file_take(struct calibration *calibration, int file)
{
    struct record_stream *stream = NULL;
    struct record_line line = {.type = RECORD_LINE_RUN};
    enum status_code code = record_stream_open(calibration->paths[file], &stream, calibration->error);
    while (code == STATUS_OK && line.type != RECORD_LINE_NONE) {
        code = record_stream_next(stream, &line, calibration->error);
        if (code == STATUS_OK) {
            selection_add(&calibration->selections[file], &line);
        }
        if (code == STATUS_OK && line.type == RECORD_LINE_RUN) {
            code = run_add(calibration, file, line.value);
        } else if (code == STATUS_OK && line.type == RECORD_LINE_CASE) {
            code = case_take(calibration, file, line.value);
        }
    }
    record_stream_close(stream);
    return code;
}

/* ---- what is missing ---- */

/* Takes out of the report what the filter passes over. The tags of a case that was not made are not recorded: if the
 * filter names cases by a tag, each of them may have it. */
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
static enum status_code completeness_check(struct calibration *calibration, int file)
{
    struct report report = {0}; /* holds what is missing, and nothing else */
    enum status_code code = STATUS_OK;
    if (!selection_settle(&calibration->selections[file], &report)) {
        code = memory_fail(calibration, file);
    } else {
        missing_filter(calibration, &report);
        if (report.missing_count + report.unnamed_missing_count > 0) {
            code = missing_refuse(calibration, file, &report);
        }
    }
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
    calibration->sorted = calloc((size_t)calibration->reading_count + 1, sizeof *calibration->sorted);
    if (calibration->sorted == NULL) {
        return memory_fail(calibration, 0);
    }
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

enum status_code calibration_make(const char *const *paths, int count, const char *filter, struct constants *constants,
                                  struct status *error)
{
    struct calibration calibration = {.paths = paths, .filter = filter, .error = error};
    if (count < 1 || count > CALIBRATION_FILES_MAXIMUM) {
        return status_set(error, STATUS_INVALID,
                          "calibrate: %d RECORDS; constants are made of 1 to %d (a law of any number: --law)", count,
                          CALIBRATION_FILES_MAXIMUM);
    }
    enum status_code code = STATUS_OK;
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
    for (int i = 0; i < count; i++) {
        selection_release(&calibration.selections[i]);
    }
    name_table_release(&calibration.run_ids);
    arena_release(&calibration.arena);
    json_release(calibration.tool);
    free(calibration.readings);
    free(calibration.sorted);
    return code;
}
