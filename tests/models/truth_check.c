/* Truth check: reading the lines, predicting their cases, judging the differences. It makes no figures of its own: ours
 * are those of the replay on meta, and the medians are the report's. */
#include "tests/models/truth_check.h"

#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/base/arena.h"
#include "harness/base/size.h"
#include "harness/memory/trace.h"
#include "harness/replay/peak.h"
#include "harness/report/gap.h"
#include "tests/models/shadow_lines.h"
#include "tests/support/device_use.h"
#include "tests/support/modelled.h"

enum { CASES_MAXIMUM = 4096, EXCEPTIONS_MAXIMUM = 512, NAMES_SHOWN = 6 };
enum { TRUTH_ALLOCATED, TRUTH_RESERVED, TRUTH_COUNT };

static const struct {
    const char *name, *key;
    double median_maximum, worst_maximum; /* worst 0: not judged */
} levels[TRUTH_COUNT] = {{"allocated", "allocated_bytes_peak", 0.005, 0.02},
                         {"reserved", "reserved_bytes_peak", 0.02, 0}};

/* The highest of all stages, counted over the cases; equal.txt has how many are PyTorch's to the byte. */
enum { PEAK_REQUESTED, PEAK_ALLOCATED, PEAK_RESERVED, PEAK_COUNT };

static const struct {
    const char *name, *key;
} peaks[PEAK_COUNT] = {
    {"requested", "requested_bytes_peak"}, {"allocated", "allocated_bytes_peak"}, {"reserved", "reserved_bytes_peak"}};

struct exception {
    const char *id, *stage; /* "*": the whole case */
    bool needed;
};

struct truth_check {
    struct arena arena;
    struct truth_outcome outcome;
    const struct target *target; /* of the run that the lines belong to; NULL: of no GPU */
    struct exception exceptions[EXCEPTIONS_MAXIMUM];
    int exception_count;
    const char *ids[CASES_MAXIMUM]; /* of the cases that were seen */
    int id_count;
    struct gap *gaps[STAGE_COUNT][TRUTH_COUNT]; /* in the order of the cases; PyTorch's are the base */
    int gap_count[STAGE_COUNT][TRUTH_COUNT];
    int equal_count[PEAK_COUNT];
};

static __attribute__((format(printf, 2, 3))) void fault_add(struct truth_check *check, const char *format, ...)
{
    char line[4096];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    text_format(&check->outcome.faults, "%s\n", line);
    check->outcome.fault_count++;
}

static void note_add(struct truth_check *check, const char *id, const char *what)
{
    text_format(&check->outcome.notes, "%s: %s\n", id, what);
}

/* ---- exceptions ---- */

static void exceptions_read(struct truth_check *check, const char *folder)
{
    char path[512], line[1024], id[256], stage[32], cause[8];
    snprintf(path, sizeof path, "%s/exceptions.txt", folder);
    FILE *file = fopen(path, "r");
    for (int number = 1; file != NULL && fgets(line, sizeof line, file) != NULL; number++) {
        if (line[0] == '#' || line[strspn(line, " \t\r\n")] == '\0') {
            continue;
        }
        bool is_whole = sscanf(line, "%255s %31s %7s", id, stage, cause) == 3;
        if (!is_whole || check->exception_count == EXCEPTIONS_MAXIMUM) {
            fault_add(check, "%s:%d: no exception; write CASE-ID STAGE CAUSE", path, number);
            continue;
        }
        check->exceptions[check->exception_count++] =
            (struct exception){.id = arena_copy(&check->arena, id), .stage = arena_copy(&check->arena, stage)};
    }
    if (file != NULL) {
        fclose(file);
    }
}

/* Whether there is such an exception, which is needed then. */
static bool exception_use(struct truth_check *check, const char *id, const char *stage)
{
    for (int i = 0; i < check->exception_count; i++) {
        if (strcmp(check->exceptions[i].id, id) == 0 && strcmp(check->exceptions[i].stage, stage) == 0) {
            check->exceptions[i].needed = true;
            return true;
        }
    }
    return false;
}

/* ---- one case ---- */

/* A case as a tape for the device that PyTorch had. */
static enum status_code case_predict(struct modelled *modelled, const struct json *identity,
                                     const struct target *target, struct status *error)
{
    struct workload workload;
    enum status_code code = shadow_workload_read(identity, &workload, error);
    return code == STATUS_OK ? modelled_open(modelled, shadow_text(identity, "model"), &workload, target->name, error)
                             : code;
}

/* "; alive at our peak: 3 x 12.00 MiB linear, ...". */
static void peak_append(struct text *text, const struct tape_view *tape, enum stage stage)
{
    struct peak peak = {0};
    struct status error = {0};
    char size[SIZE_TEXT_BYTES];
    if (peak_find(tape, stage, &peak, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    text_append(text, "; alive at our peak:");
    for (int i = 0; i < peak.tensor_count && i < NAMES_SHOWN; i++) {
        const struct peak_tensor *tensor = &peak.tensors[i];
        text_format(text, "%s %d x %s %s", i > 0 ? "," : "", tensor->count, size_format(tensor->bytes, size),
                    tensor->name);
    }
    text_format(text, "%s", peak.tensor_count > NAMES_SHOWN ? ", ..." : "");
    peak_release(&peak);
}

static void gap_judge(struct truth_check *check, const struct gap *gap, enum stage stage, int level,
                      const struct tape_view *tape)
{
    double relative = 0.0;
    bool known = gap_relative(gap, &relative);
    double magnitude = relative < 0.0 ? -relative : relative;
    if (levels[level].worst_maximum <= 0 || (known && magnitude <= levels[level].worst_maximum) ||
        exception_use(check, gap->name, stage_name(stage))) {
        return;
    }
    struct text alive = {0};
    peak_append(&alive, tape, stage);
    fault_add(check, "%s: %s %s peak: %lld, PyTorch %lld (%+.2f %%)%s", gap->name, stage_name(stage),
              levels[level].name, (long long)gap->new_bytes, (long long)gap->base_bytes, 100.0 * relative,
              text_string(&alive));
    text_release(&alive);
}

static int64_t ours_of(const struct replay_stage *stage, int level)
{
    return level == TRUTH_ALLOCATED ? stage->allocated_bytes_peak : stage->reserved_bytes_peak;
}

static void equal_count(struct truth_check *check, const struct json *stages, const struct replay_result *result)
{
    const int64_t ours[PEAK_COUNT] = {result->requested_bytes_peak, result->allocated_bytes_peak,
                                      result->reserved_bytes_peak};
    for (int peak = 0; peak < PEAK_COUNT; peak++) {
        int64_t theirs = -1;
        for (int stage = STAGE_LOAD; stage < STAGE_COUNT; stage++) {
            int64_t bytes =
                json_integer_or(json_get(json_get(stages, stage_name((enum stage)stage)), peaks[peak].key), -1);
            theirs = bytes > theirs ? bytes : theirs;
        }
        check->equal_count[peak] += theirs == ours[peak] ? 1 : 0;
    }
}

/* How many figures of the line were compared. */
static int stages_compare(struct truth_check *check, const struct json *line, const char *id,
                          const struct tape_view *tape)
{
    struct replay_result result = replay_on(tape, "meta");
    int compared = 0;
    for (int stage = STAGE_LOAD; stage < STAGE_COUNT; stage++) {
        const struct json *theirs = json_get(json_get(line, "stages"), stage_name((enum stage)stage));
        if (theirs != NULL && !result.stages[stage].present) {
            fault_add(check, "%s: PyTorch has a stage %s, which is not predicted", id, stage_name((enum stage)stage));
            continue;
        }
        for (int level = 0; level < TRUTH_COUNT; level++) {
            struct gap gap = {id, json_integer_or(json_get(theirs, levels[level].key), -1),
                              ours_of(&result.stages[stage], level)};
            if (gap.base_bytes >= 0) {
                check->gaps[stage][level][check->gap_count[stage][level]++] = gap;
                gap_judge(check, &gap, (enum stage)stage, level, tape);
                compared++;
            }
        }
    }
    equal_count(check, json_get(line, "stages"), &result);
    return compared;
}

static void case_compare(struct truth_check *check, const struct json *line, const char *id)
{
    struct modelled predicted = {0};
    struct status error = {0};
    if (check->target == NULL) {
        note_add(check, id, "no figures: no GPU was read");
        return;
    }
    if (case_predict(&predicted, json_get(line, "identity"), check->target, &error) == STATUS_OK) {
        struct tape_view view = tape_view(predicted.tape);
        int compared = stages_compare(check, line, id, &view);
        check->outcome.case_count += compared > 0 ? 1 : 0;
        if (compared == 0) {
            note_add(check, id, "no figures: all are null");
        }
    } else if (!exception_use(check, id, "*")) {
        fault_add(check, "%s: cannot be predicted: %s", id, error.text);
    }
    modelled_close(&predicted);
}

static bool id_is_new(struct truth_check *check, const char *id)
{
    for (int i = 0; i < check->id_count; i++) {
        if (strcmp(check->ids[i], id) == 0) {
            return false;
        }
    }
    assert_true(check->id_count < CASES_MAXIMUM);
    check->ids[check->id_count++] = id;
    return true;
}

/* The first measurement of a case counts: how far the others are from it says nothing of us. */
static void case_take(struct truth_check *check, const struct json *line)
{
    const char *id = arena_copy(&check->arena, json_string_or(json_get(line, "id"), "(no id)"));
    const char *status = json_string_or(json_get(line, "status"), "(no status)");
    if (strcmp(status, "ok") != 0) {
        const char *reason = json_string_or(json_get(line, "error"), "no reason told");
        text_format(&check->outcome.notes, "%s: not measured: %s: %s\n", id, status, reason);
    } else if (!json_boolean_or(json_get(line, "traced"), false) && id_is_new(check, id)) {
        case_compare(check, line, id);
    }
}

/* ---- files ---- */

/* "9.0" is sm_90; no GPU in a rehearsal, and none that we have no row for. */
static void run_take(struct truth_check *check, const struct json *line, const char *path)
{
    int major = 0, minor = 0;
    char name[32];
    struct status error = {0};
    const char *capability = json_string_or(json_get(json_get(line, "device"), "capability"), NULL);
    check->target = NULL;
    if (capability != NULL && sscanf(capability, "%d.%d", &major, &minor) == 2) {
        snprintf(name, sizeof name, "sm_%d%d", major, minor);
        if (target_find(name, &check->target, &error) != STATUS_OK) {
            fault_add(check, "%s: %s", path, error.text);
        }
    }
}

/* A line that is no JSON is forgiven where a killed run leaves it: at the end, or before the next run. */
static void file_take(struct truth_check *check, const char *path)
{
    FILE *file = fopen(path, "r");
    char *text = NULL;
    size_t capacity = 0;
    int damaged_line = 0;
    assert_non_null(file);
    for (int number = 1; getline(&text, &capacity, file) > 0; number++) {
        struct json *line = NULL;
        bool is_whole = json_parse_text(path, text, strlen(text), &line, NULL) == STATUS_OK;
        const char *type = json_string_or(json_get(line, "type"), "");
        bool is_run = strcmp(type, "run") == 0;
        if (damaged_line > 0 && !is_run) {
            fault_add(check, "%s:%d: not JSON", path, damaged_line);
        } else if (damaged_line > 0) {
            note_add(check, path, "a line is cut, of a run that was killed");
        }
        damaged_line = is_whole ? 0 : number;
        if (is_run) {
            run_take(check, line, path);
        } else if (strcmp(type, "case") == 0 && json_get(line, "turn") != NULL) { /* others are probes and records */
            case_take(check, line);
        }
        json_release(line);
    }
    if (damaged_line > 0) {
        note_add(check, path, "its last line is cut");
    }
    free(text);
    fclose(file);
}

static void trace_take(struct truth_check *check, const char *path)
{
    struct trace trace = {0};
    struct trace_result result;
    struct trace_comparison comparison = {0};
    struct status error = {0};
    enum status_code code = trace_read(path, TRACE_DEVICE_ONLY, &trace, &error);
    if (code == STATUS_OK && !trace_has_record(&trace)) {
        code = status_set(&error, STATUS_INVALID, "%s: nothing of PyTorch's to compare with", path);
    }
    if (code == STATUS_OK) {
        code = trace_compare(&trace, &result, &comparison, &error);
    }
    if (code != STATUS_OK) {
        fault_add(check, "%s", error.text);
    } else if (!trace_comparison_is_equal(&comparison)) {
        fault_add(check, "%s: event %zu: PyTorch %s, assay %s", path, comparison.first_event, comparison.first_pytorch,
                  comparison.first_assay);
    }
    check->outcome.trace_count += code == STATUS_OK ? 1 : 0;
    trace_comparison_release(&comparison);
    trace_release(&trace);
}

static void files_take(struct truth_check *check, const char *folder, const char *pattern,
                       void (*take)(struct truth_check *check, const char *path))
{
    char path[512];
    glob_t found = {0};
    snprintf(path, sizeof path, "%s/%s", folder, pattern);
    int outcome = glob(path, 0, NULL, &found);
    assert_true(outcome == 0 || outcome == GLOB_NOMATCH);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        take(check, found.gl_pathv[i]);
    }
    globfree(&found);
}

/* ---- all cases ---- */

static void medians_judge(struct truth_check *check)
{
    for (int stage = 0; stage < STAGE_COUNT; stage++) {
        for (int level = 0; level < TRUTH_COUNT; level++) {
            struct gap_summary summary;
            struct status error = {0};
            const char *name = stage_name((enum stage)stage);
            int count = check->gap_count[stage][level];
            if (gap_summarise(check->gaps[stage][level], count, &summary, &error) != STATUS_OK) {
                fail_msg("%s", error.text);
            }
            if (summary.median > levels[level].median_maximum) {
                fault_add(check, "%s %s peak: the median of %d cases is %.2f %%, allowed %.2f %%", name,
                          levels[level].name, summary.count, 100 * summary.median, 100 * levels[level].median_maximum);
            }
            if (count > 0) {
                text_format(&check->outcome.notes, "%s %s peak: %d of %d equal, median %.3f %%, worst %+.3f %% (%s)\n",
                            name, levels[level].name, summary.equal_count, count, 100 * summary.median,
                            100 * summary.worst, summary.worst_name != NULL ? summary.worst_name : "none");
            }
        }
    }
}

static void needless_judge(struct truth_check *check)
{
    for (int i = 0; i < check->exception_count; i++) {
        if (!check->exceptions[i].needed) {
            fault_add(check, "exceptions.txt: %s %s is no longer needed", check->exceptions[i].id,
                      check->exceptions[i].stage);
        }
    }
}

/* Lines "allocated 176": as many cases have PyTorch's peak to the byte, neither fewer nor, unsaid, more. */
static void equal_judge(struct truth_check *check, const char *folder)
{
    char path[512], line[128], name[32];
    snprintf(path, sizeof path, "%s/equal.txt", folder);
    FILE *file = fopen(path, "r");
    for (int peak = 0; peak < PEAK_COUNT; peak++) {
        text_format(&check->outcome.notes, "%s peak: equal in %d of %d cases\n", peaks[peak].name,
                    check->equal_count[peak], check->outcome.case_count);
    }
    for (int number = 1; file != NULL && fgets(line, sizeof line, file) != NULL; number++) {
        int wanted = 0, peak = 0;
        bool is_whole = sscanf(line, "%31s %d", name, &wanted) == 2;
        while (peak < PEAK_COUNT && strcmp(peaks[peak].name, name) != 0) {
            peak++;
        }
        if (!is_whole || peak == PEAK_COUNT) {
            fault_add(check, "%s:%d: no figure; write requested, allocated or reserved and how many cases are equal",
                      path, number);
        } else if (check->equal_count[peak] != wanted) {
            fault_add(check, "%s:%d: the %s peak is PyTorch's in %d cases, not in %d", path, number, name,
                      check->equal_count[peak], wanted);
        }
    }
    if (file != NULL) {
        fclose(file);
    }
}

struct truth_outcome truth_folder_check(const char *folder)
{
    struct truth_check *check = calloc(1, sizeof *check);
    assert_non_null(check);
    for (int stage = 0; stage < STAGE_COUNT; stage++) {
        for (int level = 0; level < TRUTH_COUNT; level++) {
            check->gaps[stage][level] = arena_alloc(&check->arena, CASES_MAXIMUM * sizeof(struct gap));
            assert_non_null(check->gaps[stage][level]);
        }
    }
    exceptions_read(check, folder);
    files_take(check, folder, "*.jsonl", file_take);
    files_take(check, folder, "traces/*.json", trace_take);
    if (check->outcome.case_count + check->outcome.trace_count == 0) {
        fault_add(check, "%s: nothing was compared", folder);
    }
    medians_judge(check);
    needless_judge(check);
    equal_judge(check, folder);
    struct truth_outcome outcome = check->outcome;
    arena_release(&check->arena);
    free(check);
    return outcome;
}

void truth_outcome_release(struct truth_outcome *outcome)
{
    text_release(&outcome->faults);
    text_release(&outcome->notes);
    *outcome = (struct truth_outcome){0};
}
