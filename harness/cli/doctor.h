/* Doctor: what was found about this machine, one finding for each thing that decides what runs here. The checks are in
 * doctor_gpu.c and doctor_host.c; what is printed, in cli_doctor.c. */
#ifndef ASSAY_CLI_DOCTOR_H
#define ASSAY_CLI_DOCTOR_H

#include <stdbool.h>

#include "harness/base/arena.h"

/* X(STATE, word) */
#define FINDING_STATE_TABLE(X)                                                                                         \
    X(OK, "ok")                                                                                                        \
    X(NOTE, "note")       /* runs, but with less, or with figures that are not known */                                \
    X(MISSING, "missing") /* nothing of its area runs before it is mended */

enum finding_state {
#define FINDING_STATE_ENUM(name, word) FINDING_##name,
    FINDING_STATE_TABLE(FINDING_STATE_ENUM)
#undef FINDING_STATE_ENUM
};

const char *finding_state_word(enum finding_state state);

enum finding_area { AREA_GPU, AREA_HOST, AREA_TOOLS, AREA_COUNT };

struct finding {
    enum finding_area area;
    enum finding_state state;
    const char *topic; /* "driver" */
    const char *seen;
    const char *remedy; /* what mends it, a command where there is one; NULL: nothing is to be mended */
};

enum { FINDINGS_MAXIMUM = 128, GPU_NAME_BYTES = 24 };

struct doctor {
    struct arena arena;
    struct finding findings[FINDINGS_MAXIMUM];
    int count;
    bool has_gpu;       /* one is there, be it that it can be used or not */
    int usable_gpus;    /* that opened, or are taken by another run */
    bool host_computes; /* on the host */
    bool plots, asks_hub, writes_results;
};

/* remedy is a format; NULL: none. What there is no memory for is left out. */
__attribute__((format(printf, 5, 6))) void finding_add(struct doctor *doctor, enum finding_area area,
                                                       enum finding_state state, const char *topic, const char *seen,
                                                       ...);

/* The remedy of the finding that was added last. */
__attribute__((format(printf, 2, 3))) void remedy_set(struct doctor *doctor, const char *remedy, ...);

/* A finding of a status, of which what stands behind the last "; " is the remedy. */
void finding_of_status(struct doctor *doctor, enum finding_area area, enum finding_state state, const char *topic,
                       const char *words);

/* A spec of device_open or NULL: each GPU that is there. */
void doctor_gpus_look(struct doctor *doctor, const char *device, const char *lock_folder);
void doctor_host_look(struct doctor *doctor);
void doctor_tools_look(struct doctor *doctor);

#endif
