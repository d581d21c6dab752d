/* Calibration readings: out of one line. Which of them count is decided in calibration.c. */
#include "harness/report/calibration_reading.h"

#include <stdio.h>

#include "harness/record/constants.h"
#include "harness/record/level.h"

/* Unknown too if it is so large that a difference of two might not be written to a file of constants: no machine has
 * so much memory. */
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

/* What a stage's reading exceeds its segments by, if that reading is the highest of those seen so far; of equal
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

static struct figure growth_of(const struct json *line, enum level level)
{
    const struct json *stages = json_get(line, "stages");
    struct figure highest = {0}, beyond = {0};
    bool is_object = json_kind(stages) == JSON_KIND_OBJECT;
    for (const char *name = is_object ? json_key_after(stages, NULL) : NULL; name != NULL;
         name = json_key_after(stages, name)) {
        const struct json *stage = json_get(stages, name);
        highest_take(stage, level_key(level), level_key(LEVEL_RESERVED), &highest, &beyond);
        if (level_has_peak(level)) {
            highest_take(stage, level_peak_key(level), level_peak_key(LEVEL_RESERVED), &highest, &beyond);
        }
    }
    return figure_less(beyond, figure_of(json_get(line, "context"), level_key(level)));
}

struct reading reading_of(const struct json *line)
{
    const struct json *context = json_get(line, "context");
    struct reading reading = {0};
    snprintf(reading.mode, sizeof reading.mode, "%s", json_string_or(json_get(json_get(line, "identity"), "mode"), ""));
    struct figure *figures = reading.figures;
    figures[FIGURE_CONTEXT_PROCESS] = figure_of(context, level_key(LEVEL_PROCESS));
    figures[FIGURE_CONTEXT_DEVICE] =
        figure_less(figure_of(context, level_key(LEVEL_DEVICE)), figure_of(context, "baseline_bytes"));
    if (figures[FIGURE_CONTEXT_DEVICE].bytes < 0) { /* somebody else gave memory back meanwhile */
        figures[FIGURE_CONTEXT_DEVICE].known = false;
    }
    figures[FIGURE_GROWTH_PROCESS] = growth_of(line, LEVEL_PROCESS);
    figures[FIGURE_GROWTH_DEVICE] = growth_of(line, LEVEL_DEVICE);
    return reading;
}
