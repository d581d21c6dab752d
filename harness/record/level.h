/* Levels: the counts of bytes of docs/NUMBERS.md. The rows below are the only place that spells them: the keys of
 * records and documents, the members of structs, the names in reports, suites and options follow from them
 * (docs/ADDING.md). */
#ifndef ASSAY_RECORD_LEVEL_H
#define ASSAY_RECORD_LEVEL_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/json.h"

/* X(NAME, stem, PEAK or END, name of the highest figure for people, REQUIRED or OPTIONAL).
 *
 * The stem "requested" makes the key "requested_bytes" of what was there at the end of a stage, and
 * "requested_bytes_peak" of the highest while it lasted. END: nothing counts the highest within a stage, so the second
 * key does not exist. OPTIONAL: older records do not have the level. */

/* Counted by the allocator. The tape decides them: the same case has the same bytes each time. */
#define LEVEL_COUNTED_TABLE(X)                                                                                         \
    X(REQUESTED, requested, PEAK, "requested peak", REQUIRED) /* of the tensors */                                     \
    X(ALLOCATED, allocated, PEAK, "allocated peak", REQUIRED) /* of the blocks handed out for them */                  \
    X(RESERVED, reserved, PEAK, "reserved peak", REQUIRED)    /* of the segments that the blocks lie in */

/* Readings of the driver or the kernel. */
#define LEVEL_READING_TABLE(X)                                                                                         \
    X(DEVICE, device, END, "device used", REQUIRED)     /* on the whole device */                                      \
    X(PROCESS, process, PEAK, "process peak", REQUIRED) /* by this process, on a host its resident bytes */

/* Readings that records keep and that no report compares. */
#define LEVEL_NOTED_TABLE(X)                                                                                           \
    X(CGROUP, cgroup, PEAK, "cgroup peak", OPTIONAL) /* by all processes of the cgroup, page cache included */

#define LEVEL_TABLE(X) LEVEL_COUNTED_TABLE(X) LEVEL_READING_TABLE(X) LEVEL_NOTED_TABLE(X)

/* The counted levels come first; those below LEVEL_COUNT are the ones that reports, suites and options know. */
enum level {
#define LEVEL_ENUM(name, ...) LEVEL_##name,
#define LEVEL_ONE(name, ...)  +1
    LEVEL_TABLE(LEVEL_ENUM) LEVEL_RECORDED_COUNT,
    LEVEL_COUNTED_COUNT = 0 LEVEL_COUNTED_TABLE(LEVEL_ONE),
    LEVEL_COUNT = LEVEL_COUNTED_COUNT LEVEL_READING_TABLE(LEVEL_ONE),
    LEVEL_READING_COUNT = LEVEL_RECORDED_COUNT - LEVEL_COUNTED_COUNT
#undef LEVEL_ONE
#undef LEVEL_ENUM
};

/* The keys as string literals, for tables: LEVEL_PEAK_KEY(allocated). */
#define LEVEL_KEY(stem)      #stem "_bytes"
#define LEVEL_PEAK_KEY(stem) #stem "_bytes_peak"

/* What the allocator counts of one level. */
struct level_figure {
    int64_t bytes, bytes_peak;
};

/* What the driver or the kernel counts of one level. A figure that could not be taken is not valid, and never 0. */
struct level_reading {
    bool valid;
    int64_t bytes;
    bool peak_valid; /* of the highest since the last reset */
    int64_t peak_bytes;
};

/* Members of a struct, each by its name and by its level: requested_bytes is by_level[LEVEL_REQUESTED].bytes, and so
 * on with requested_bytes_peak, allocated_bytes, ... */
#define LEVEL_FIGURE_MEMBERS(name, stem, ...) int64_t stem##_bytes, stem##_bytes_peak;
#define LEVEL_FIGURES(by_level)                                                                                        \
    union {                                                                                                            \
        struct {                                                                                                       \
            LEVEL_COUNTED_TABLE(LEVEL_FIGURE_MEMBERS)                                                                  \
        };                                                                                                             \
        struct level_figure by_level[LEVEL_COUNTED_COUNT];                                                             \
    }

/* The same of the peaks alone: requested_bytes_peak is by_level[LEVEL_REQUESTED]. */
#define LEVEL_PEAK_MEMBER(name, stem, ...) int64_t stem##_bytes_peak;
#define LEVEL_PEAKS(by_level)                                                                                          \
    union {                                                                                                            \
        struct {                                                                                                       \
            LEVEL_COUNTED_TABLE(LEVEL_PEAK_MEMBER)                                                                     \
        };                                                                                                             \
        int64_t by_level[LEVEL_COUNTED_COUNT];                                                                         \
    }

/* And of the readings: device_valid, device_bytes, device_peak_valid and device_peak_bytes are those of
 * by_level[LEVEL_DEVICE - LEVEL_COUNTED_COUNT]. */
#define LEVEL_READING_MEMBERS(name, stem, ...)                                                                         \
    bool stem##_valid;                                                                                                 \
    int64_t stem##_bytes;                                                                                              \
    bool stem##_peak_valid;                                                                                            \
    int64_t stem##_peak_bytes;
#define LEVEL_READINGS(by_level)                                                                                       \
    union {                                                                                                            \
        struct {                                                                                                       \
            LEVEL_READING_TABLE(LEVEL_READING_MEMBERS) LEVEL_NOTED_TABLE(LEVEL_READING_MEMBERS)                        \
        };                                                                                                             \
        struct level_reading by_level[LEVEL_READING_COUNT];                                                            \
    }

const char *level_name(enum level level);      /* "requested", ... */
const char *level_key(enum level level);       /* "requested_bytes", ... */
const char *level_peak_name(enum level level); /* "requested peak", ..., "device used" */

/* "requested_bytes_peak", ...; of a level without one the key of the figure at the end, "device_bytes". */
const char *level_peak_key(enum level level);

bool level_has_peak(enum level level);

/* The names of those below LEVEL_COUNT, ended by NULL. */
const char *const *level_names(void);

/* False, and *level untouched, for a name that is none of these. */
bool level_from_name(const char *name, enum level *level);

/* Whether it is a reading of the driver or the kernel. */
bool level_is_reading(enum level level);

/* Raises each peak to that of the figures if that is higher; both have LEVEL_COUNTED_COUNT elements. */
void level_peaks_raise(int64_t *peaks, const struct level_figure *figures);

/* Sets both keys of each counted level. False where memory ran out. */
bool level_figures_set(struct json *object, const struct level_figure figures[LEVEL_COUNTED_COUNT]);

/* Sets the peak of each counted level; null for all of them where peaks is NULL. False where memory ran out. */
bool level_peaks_set(struct json *object, const int64_t *peaks);

#endif
