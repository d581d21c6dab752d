/* Levels: what follows from their rows. Nothing is measured here. */
#include "harness/record/level.h"

#include <stddef.h>
#include <string.h>

enum { END, PEAK };

/* Members and arrays of the macros of level.h name the same bytes. */
struct figures_layout {
    LEVEL_FIGURES(levels);
};
struct peaks_layout {
    LEVEL_PEAKS(peaks);
};
struct readings_layout {
    LEVEL_READINGS(levels);
};
#define LAYOUT_COUNTED(name, stem, ...)                                                                                \
    _Static_assert(offsetof(struct figures_layout, stem##_bytes) ==                                                    \
                           offsetof(struct figures_layout, levels[LEVEL_##name].bytes) &&                              \
                       offsetof(struct figures_layout, stem##_bytes_peak) ==                                           \
                           offsetof(struct figures_layout, levels[LEVEL_##name].bytes_peak) &&                         \
                       offsetof(struct peaks_layout, stem##_bytes_peak) ==                                             \
                           offsetof(struct peaks_layout, peaks[LEVEL_##name]),                                         \
                   "a counted level by name and by number");
#define LAYOUT_READING(name, stem, ...)                                                                                \
    _Static_assert(offsetof(struct readings_layout, stem##_valid) ==                                                   \
                           offsetof(struct readings_layout, levels[LEVEL_##name - LEVEL_COUNTED_COUNT].valid) &&       \
                       offsetof(struct readings_layout, stem##_peak_bytes) ==                                          \
                           offsetof(struct readings_layout, levels[LEVEL_##name - LEVEL_COUNTED_COUNT].peak_bytes),    \
                   "a reading by name and by number");
LEVEL_COUNTED_TABLE(LAYOUT_COUNTED)
LEVEL_READING_TABLE(LAYOUT_READING)
LEVEL_NOTED_TABLE(LAYOUT_READING)

static const struct {
    const char *name, *key, *peak_key, *peak_name;
    bool has_peak;
} LEVELS[LEVEL_RECORDED_COUNT] = {
#define LEVEL_ROW(name, stem, peak, words, ...)                                                                        \
    {#stem, LEVEL_KEY(stem), (peak) == PEAK ? LEVEL_PEAK_KEY(stem) : LEVEL_KEY(stem), words, (peak) == PEAK},
    LEVEL_TABLE(LEVEL_ROW)
#undef LEVEL_ROW
};

static const char *const NAMES[LEVEL_COUNT + 1] = {
#define LEVEL_TEXT(name, stem, ...) #stem,
    LEVEL_COUNTED_TABLE(LEVEL_TEXT) LEVEL_READING_TABLE(LEVEL_TEXT)
#undef LEVEL_TEXT
        NULL};

const char *level_name(enum level level)
{
    return LEVELS[level].name;
}

const char *level_key(enum level level)
{
    return LEVELS[level].key;
}

const char *level_peak_name(enum level level)
{
    return LEVELS[level].peak_name;
}

const char *level_peak_key(enum level level)
{
    return LEVELS[level].peak_key;
}

bool level_has_peak(enum level level)
{
    return LEVELS[level].has_peak;
}

const char *const *level_names(void)
{
    return NAMES;
}

bool level_from_name(const char *name, enum level *level)
{
    for (int i = 0; i < LEVEL_COUNT; i++) {
        if (strcmp(NAMES[i], name) == 0) {
            *level = (enum level)i;
            return true;
        }
    }
    return false;
}

bool level_is_reading(enum level level)
{
    return level >= (enum level)LEVEL_COUNTED_COUNT;
}

void level_peaks_raise(int64_t *peaks, const struct level_figure *figures)
{
    for (int level = 0; level < LEVEL_COUNTED_COUNT; level++) {
        peaks[level] = figures[level].bytes_peak > peaks[level] ? figures[level].bytes_peak : peaks[level];
    }
}

bool level_figures_set(struct json *object, const struct level_figure figures[LEVEL_COUNTED_COUNT])
{
    bool made = true;
    for (int level = 0; made && level < LEVEL_COUNTED_COUNT; level++) {
        made = json_set(object, LEVELS[level].key, json_integer_new(figures[level].bytes)) &&
               json_set(object, LEVELS[level].peak_key, json_integer_new(figures[level].bytes_peak));
    }
    return made;
}

bool level_peaks_set(struct json *object, const int64_t *peaks)
{
    bool made = true;
    for (int level = 0; made && level < LEVEL_COUNTED_COUNT; level++) {
        made =
            json_set(object, LEVELS[level].peak_key, peaks != NULL ? json_integer_new(peaks[level]) : json_null_new());
    }
    return made;
}
