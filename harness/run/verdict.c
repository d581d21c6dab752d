/* Verdicts: the arithmetic of a comparison. What the figures mean is said in docs/FORMAT.md. */
#include "harness/run/verdict.h"

#include <string.h>

#include "harness/record/constants.h"
#include "harness/tape/tape.h"

/* What was found of a quantity, and in which stage; NULL: in none of its own. */
struct finding {
    bool known;
    int64_t bytes;
    const char *stage;
};

/* The highest figure of a member over the stages, in the first stage that reached it. */
static struct finding stages_highest(const struct json *line, const char *key)
{
    const struct json *stages = json_get(line, "stages");
    struct finding found = {0};
    for (int stage = 0; stage < STAGE_COUNT; stage++) {
        const char *name = stage_name((enum stage)stage);
        int64_t figure = json_integer_or(json_get(json_get(stages, name), key), -1);
        if (figure >= 0 && (!found.known || figure > found.bytes)) {
            found = (struct finding){.known = true, .bytes = figure, .stage = name};
        }
    }
    return found;
}

/* The highest of the readings at the ends of the stages and, of a level that has peaks, within them. */
static struct finding readings_highest(const struct json *line, enum level level)
{
    struct finding end = stages_highest(line, level_key(level));
    struct finding peak = stages_highest(line, level_peak_key(level));
    return peak.known && (!end.known || peak.bytes >= end.bytes) ? peak : end;
}

/* That, less a figure of the context: the context's own reading, or what was there before it. */
static struct finding growth_measured(const struct json *line, enum level level, const char *context_key)
{
    int64_t context = json_integer_or(json_get(json_get(line, "context"), context_key), -1);
    struct finding found = readings_highest(line, level);
    if (context < 0 || !found.known) {
        return (struct finding){0};
    }
    found.bytes = found.bytes > context ? found.bytes - context : 0;
    return found;
}

/* What was measured of a quantity, out of the fields of a case line. */
static struct finding quantity_measured(const struct json *line, enum quantity quantity)
{
    struct finding found = {0};
    enum level level = quantity_level(quantity);
    switch (quantity_measure(quantity)) {
    case QUANTITY_HIGHEST:
        return stages_highest(line, level_peak_key(level));
    case QUANTITY_GROWTH:
        return growth_measured(line, level, level_key(level));
    case QUANTITY_FOOTPRINT:
        found = readings_highest(line, LEVEL_PROCESS);
        return found.known ? found : growth_measured(line, LEVEL_DEVICE, "baseline_bytes");
    case QUANTITY_MEMBER:
        found.bytes = json_integer_or(json_get(line, quantity_name(quantity)), -1);
        found.known = found.bytes >= 0;
        break;
    }
    return found;
}

/* What the estimator predicts for the quantity. What the process or the device comes to hold is, if it has no figure
 * of its own, what the allocator is predicted to take. */
static bool quantity_predicted(const struct json *estimate, enum quantity quantity, int64_t *bytes)
{
    int64_t figure = json_integer_or(json_get(estimate, quantity_name(quantity)), -1);
    if (figure < 0 && quantity_measure(quantity) == QUANTITY_GROWTH) {
        figure = json_integer_or(json_get(estimate, quantity_name(QUANTITY_RESERVED_BYTES_PEAK)), -1);
    }
    if (figure >= 0) {
        *bytes = figure;
    }
    return figure >= 0;
}

struct figures {
    bool predicted_known;
    int64_t predicted;
    struct finding measured;
    const char *note; /* why it is not judged; NULL: it may be */
};

static const char note_invalid[] = "the row is invalid";
static const char note_of_calibration[] = "the case calibrated the constants";
static const char note_of_cudnn[] = "cuDNN computed convolutions, and what it loads is no part of the constants";

/* What cuDNN loads for its convolutions is no part of constants: the cases that make them compute in float32, which it
 * is not asked for. */
static bool cudnn_computed(const struct json *line)
{
    return json_integer_or(json_get(json_get(line, "convolutions"), "library_call_count"), 0) > 0;
}

/* Why the constants do not hold for the case of the line. NULL: they do, or there are none. */
static const char *constants_note(const struct json *line)
{
    const struct json *constants = json_get(line, "constants");
    const char *mismatch = json_string_or(json_get(constants, "mismatch"), NULL);
    bool loads_more = json_kind(constants) == JSON_KIND_OBJECT && cudnn_computed(line);
    return mismatch != NULL ? mismatch : loads_more ? note_of_cudnn : NULL;
}

/* Why the figures of a line are not judged on a quantity that driver or kernel count: something else may have falsified
 * the reading, the prediction was made from this very case, or it was made with constants that hold for something else
 * (they are in those figures that replay has as its own). NULL: they may be. */
static const char *quantity_note(const struct json *line, const char *estimator, enum quantity quantity, bool own)
{
    if (!quantity_is_reading(quantity)) {
        return NULL;
    }
    if (!json_boolean_or(json_get(json_get(line, "validity"), "valid"), true)) {
        return note_invalid;
    }
    const struct json *constants = json_get(line, "constants");
    bool hangs_on_them = own && strcmp(estimator, "replay") == 0;
    return json_boolean_or(json_get(constants, "calibrated"), false) ? note_of_calibration
           : hangs_on_them                                           ? constants_note(line)
                                                                     : NULL;
}

/* Why a figure that the suite wants judged is not there, and what would bring it; the estimator's own word if it has
 * one. NULL: both are there. */
static const char *absence_note(const struct json *line, const struct json *estimate, enum quantity quantity,
                                const struct figures *figures)
{
    if (!figures->measured.known) {
        return quantity_is_reading(quantity) ? "the device gives no such reading; take the tolerance away"
                                             : "nothing of the kind was measured; take the tolerance away";
    }
    if (!figures->predicted_known) {
        bool constants = json_kind(json_get(line, "constants")) == JSON_KIND_OBJECT;
        bool reading = quantity_is_reading(quantity);
        const char *own = json_string_or(json_get(estimate, "note"), NULL);
        return own != NULL ? own
               : reading && constants
                   ? "the constants of this device do not have this mode; assay calibrate makes others"
               : reading ? "no constants of this device are known; assay calibrate makes them, --constants names them"
                         : "the estimator has no such figure for this case; take the tolerance away";
    }
    return NULL;
}

static struct json *integer_or_null(bool known, int64_t value)
{
    return known ? json_integer_new(value) : json_null_new();
}

static struct json *string_or_null(const char *string)
{
    return string != NULL ? json_string_new(string) : json_null_new();
}

/* What one verdict is about. */
struct subject {
    const struct suite_case *case_;
    bool note_calibrated;
    const struct json *line;  /* the case's: what may have disturbed it */
    const struct json *found; /* what has the measured stages: the line, or one of its places */
    const char *place;        /* NULL: the case is not placed */
};

static struct json *verdict_make(const struct subject *subject, const char *estimator, enum quantity quantity,
                                 const struct figures *figures, const struct tolerance *tolerance)
{
    const struct finding *measured = &figures->measured;
    bool known = figures->predicted_known && measured->known;
    int64_t error = known ? figures->predicted - measured->bytes : 0;
    bool relative = known && measured->bytes > 0;
    bool judged = known && tolerance != NULL && figures->note == NULL;
    struct json *object = json_object_new();
    bool made =
        json_set(object, "estimator", json_string_new(estimator)) &&
        json_set(object, "quantity", json_string_new(quantity_name(quantity))) &&
        json_set(object, "predicted", integer_or_null(figures->predicted_known, figures->predicted)) &&
        json_set(object, "measured", integer_or_null(measured->known, measured->bytes)) &&
        json_set(object, "stage", string_or_null(measured->stage)) &&
        json_set(object, "signed_error_bytes", integer_or_null(known, error)) &&
        json_set(object, "signed_error",
                 relative ? json_real_new((double)error / (double)measured->bytes) : json_null_new()) &&
        json_set(object, "tolerance", tolerance_json(tolerance)) &&
        json_set(object, "pass",
                 judged ? json_boolean_new(tolerance_holds(tolerance, error, measured->bytes)) : json_null_new()) &&
        json_set(object, "note", string_or_null(figures->note)) &&
        (subject->place == NULL || json_set(object, "place", json_string_new(subject->place)));
    return json_made(object, made);
}

/* Of a GPU whose constants hold, which a suite may judge apart: where there are none, nothing is missing; where NVML
 * lists not even our own process, as in a Linux of Windows, others may use the GPU unseen. both: the figures are
 * known. */
static const struct tolerance *calibrated_tolerance(const struct subject *subject, const char *estimator,
                                                    enum quantity quantity, bool both)
{
    const struct json *line = subject->line, *constants = json_get(line, "constants");
    bool holds = json_kind(constants) == JSON_KIND_OBJECT && constants_note(line) == NULL &&
                 strcmp(json_string_or(json_get(json_get(line, "device"), "kind"), ""), "cuda") == 0;
    bool told = readings_highest(subject->found, LEVEL_PROCESS).known;
    return both && holds && told && strcmp(estimator, "replay") == 0 && quantity_is_reading(quantity)
               ? suite_case_tolerance(subject->case_, TOLERANCE_CALIBRATED_GPU, quantity)
               : NULL;
}

/* Whether the figures are beyond that tolerance, and are to be noted and not judged; then they have the note. */
static bool calibrated_note(const struct subject *subject, const struct tolerance *tolerance, struct figures *figures)
{
    int64_t measured = figures->measured.bytes;
    bool is_noted = subject->note_calibrated && tolerance != NULL && figures->note == NULL &&
                    !tolerance_holds(tolerance, figures->predicted - measured, measured);
    figures->note = is_noted ? CONSTANTS_NOTED : figures->note;
    return is_noted;
}

/* The quantities of one estimator. False if memory ran out. */
static bool estimator_judge(struct json *verdicts, const struct subject *subject, const char *estimator,
                            const struct json *estimate)
{
    const struct suite_case *case_ = subject->case_;
    const struct json *line = subject->line;
    bool made = true;
    for (int i = 0; i < QUANTITY_COUNT && made; i++) {
        enum quantity quantity = (enum quantity)i;
        struct figures figures = {.measured = quantity_measured(subject->found, quantity)};
        figures.predicted_known = quantity_predicted(estimate, quantity, &figures.predicted);
        bool own = json_kind(json_get(estimate, quantity_name(quantity))) == JSON_KIND_INTEGER;
        bool both = figures.predicted_known && figures.measured.known; /* the kernel's count against the allocator's */
        figures.note = quantity_note(line, estimator, quantity, own);
        const struct tolerance *tolerance = /* nothing is missing if a case has only calibrated: no unknown */
            figures.note != note_of_calibration ? suite_case_tolerance(case_, estimator, quantity) : NULL;
        if (tolerance == NULL && figures.note != note_of_calibration) {
            tolerance = calibrated_tolerance(subject, estimator, quantity, own && both);
            tolerance = calibrated_note(subject, tolerance, &figures) ? NULL : tolerance;
        }
        bool is_judged = tolerance != NULL && strcmp(estimator, "expected") != 0;
        bool applies = quantity != QUANTITY_SAVED_FOR_BACKWARD_BYTES || case_->identity.workload.mode == MODE_TRAIN;
        if (!applies || (!own && !both && !is_judged)) {
            continue;
        }
        if (figures.note == NULL && tolerance != NULL) {
            figures.note = absence_note(line, estimate, quantity, &figures);
        }
        made = json_append(verdicts, verdict_make(subject, estimator, quantity, &figures, tolerance));
    }
    return made;
}

/* Of the estimates of the subject, all; or those that no place has its own of (without). */
static bool estimates_judge(struct json *verdicts, const struct subject *subject, const struct json *estimates,
                            const struct json *without)
{
    bool made = true;
    const char *estimator = json_key_after(estimates, NULL);
    for (; made && estimator != NULL; estimator = json_key_after(estimates, estimator)) {
        made = json_get(without, estimator) != NULL ||
               estimator_judge(verdicts, subject, estimator, json_get(estimates, estimator));
    }
    return made;
}

/* The main place has the figures of the line; its name is that of the first place. */
static bool line_verdicts(struct json *verdicts, const struct suite_case *case_, bool note_calibrated,
                          const struct json *line)
{
    const struct json *places = json_get(line, "places");
    struct subject subject = {.case_ = case_, .note_calibrated = note_calibrated, .line = line, .found = line};
    bool made = true;
    for (size_t i = 0; made && i < json_count(places); i++) {
        subject.found = json_at(places, i);
        subject.place = json_string_or(json_get(subject.found, "place"), "?");
        made = estimates_judge(verdicts, &subject, json_get(subject.found, "estimates"), NULL);
    }
    subject.found = line;
    subject.place = json_string_or(json_get(json_at(places, 0), "place"), NULL);
    return made &&
           estimates_judge(verdicts, &subject, json_get(line, "estimates"), json_get(json_at(places, 0), "estimates"));
}

struct json *verdicts_make(const struct suite_case *case_, bool note_calibrated, const struct json *line)
{
    struct json *verdicts = json_array_new();
    if (verdicts == NULL || !line_verdicts(verdicts, case_, note_calibrated, line)) {
        json_release(verdicts);
        return NULL;
    }
    return verdicts;
}

int verdicts_failed_count(const struct json *verdicts)
{
    int count = 0;
    for (size_t i = 0; i < json_count(verdicts); i++) {
        count += json_boolean_or(json_get(json_at(verdicts, i), "pass"), true) ? 0 : 1;
    }
    return count;
}
