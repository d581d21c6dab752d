/* Environment: what a result was measured under, property by property, in words. Strings are raw: writers escape
 * them. */
#ifndef ASSAY_REPORT_ENVIRONMENT_H
#define ASSAY_REPORT_ENVIRONMENT_H

#include <stdbool.h>

#include "harness/base/arena.h"
#include "harness/report/report.h"

/* X(NAME, key in JSON, words, of what the run line says an object, "" for the line itself, and its
 * members): what two results may have been
 * measured under. The others are what the cases say of their devices. */
#define ENVIRONMENT_TABLE(X)                                                                                           \
    X(DEVICE, "device", "device", NULL, NULL, NULL)                                                                    \
    X(DRIVER, "driver", "driver", NULL, NULL, NULL)                                                                    \
    X(RUNTIME, "runtime", "runtime", NULL, NULL, NULL)                                                                 \
    X(KERNEL, "kernel", "kernel of the host", "host", "system", "kernel")                                              \
    X(LIBRARIES, "libraries", "libraries", NULL, NULL, NULL)                                                           \
    X(VARIABLES, "variables", "variables", NULL, NULL, NULL)                                                           \
    X(PROGRAM, "program", "program", "tool", "name", "version")                                                        \
    X(REVISION, "revision", "program revision", "tool", "revision", NULL)                                              \
    X(SUITE, "suite", "suite", "suite", "name", NULL)                                                                  \
    X(PLAN_HASH, "plan_hash", "suite hash", "suite", "plan_hash", NULL)                                                \
    X(MEMORY, "memory", "device memory", NULL, NULL, NULL)                                                             \
    X(THREADS, "threads", "threads", NULL, NULL, NULL)                                                                 \
    X(HOST, "host", "host", "host", "name", NULL)                                                                      \
    X(TARGET, "target", "target", NULL, NULL, NULL)                                                                    \
    X(TOLERANCES, "tolerances", "tolerances", "suite", "tolerances", NULL)                                             \
    X(ATTEMPTS, "attempts", "attempts", "suite", "attempts", NULL)                                                     \
    X(CONSTANTS, "constants", "constants", "", "constants", NULL)                                                      \
    X(NOTE_CALIBRATED, "note_calibrated", "--note-calibrated", "", "note_calibrated", NULL)                            \
    X(FITTING, "fitting", "--fitting", "", "fitting", NULL)                                                            \
    X(PROOF, "proof", "proof", "", "proof", NULL)                                                                      \
    X(JOBS, "jobs", "jobs", "", "jobs", NULL)

enum environment {
#define ENVIRONMENT_ENUM(name, key, words, object, first, second) ENVIRONMENT_##name,
    ENVIRONMENT_TABLE(ENVIRONMENT_ENUM)
#undef ENVIRONMENT_ENUM
        ENVIRONMENT_COUNT
};

const char *environment_key(enum environment property);   /* "plan_hash": for programs */
const char *environment_words(enum environment property); /* "suite hash": for people */

/* Of every case that stands in the report the values of each property, sorted, with ", " between different ones:
 * "cuda (NVIDIA H100 80GB HBM3), host"; NULL: not recorded. Strings are in arena. False if memory ran out. */
bool environment_read(const struct report *report, struct arena *arena, const char *values[ENVIRONMENT_COUNT]);

#endif
