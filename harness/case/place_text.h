/* Place text: how a case says where the parts of its model lie, as suites write it (`place`).
 *
 * "[STRATEGY:]DEVICE=SIZE,...[,offload-buffers]" is a device map that is planned from budgets, as accelerate does it
 * from max_memory: "0=300MB,cpu=1GB", "sequential:0=300MB,1=200MB,cpu=1GB,offload-buffers". "cpu-offload" and
 * "disk-offload" are accelerate's functions of these names: everything is kept there, and runs on device 0. A GPU has a
 * budget always: a list of YAML without quotes takes a text apart at its commas, and a part without one is refused. */
#ifndef ASSAY_CASE_PLACE_TEXT_H
#define ASSAY_CASE_PLACE_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/status.h"

/* X(NAME, word): what is done with the budgets; the last two have none. */
#define PLACE_WAY_TABLE(X)                                                                                             \
    X(BALANCED, "balanced")             /* get_balanced_memory, then infer_auto_device_map */                          \
    X(BALANCED_LOW_0, "balanced-low-0") /* the same with low_zero */                                                   \
    X(SEQUENTIAL, "sequential")         /* infer_auto_device_map alone */                                              \
    X(EXACT, "exact")                   /* our own planner, by what a replay needs */                                  \
    X(CPU_OFFLOAD, "cpu-offload")                                                                                      \
    X(DISK_OFFLOAD, "disk-offload")

enum place_way {
#define PLACE_WAY_ENUM(name, word) PLACE_WAY_##name,
    PLACE_WAY_TABLE(PLACE_WAY_ENUM)
#undef PLACE_WAY_ENUM
        PLACE_WAY_COUNT
};

enum { PLACE_TEXT_BUDGETS_MAXIMUM = 18, PLACE_TEXT_NAME_BYTES = 8 };

struct place_text {
    enum place_way way;
    struct place_text_budget {
        char name[PLACE_TEXT_NAME_BYTES]; /* "0" to "99", "cpu", "disk" */
        int64_t bytes;
    } budgets[PLACE_TEXT_BUDGETS_MAXIMUM]; /* as they are written; each device once */
    int budget_count;
    bool offload_buffers;
};

const char *place_way_name(enum place_way way);

/* place may be NULL: the text is only checked. STATUS_INVALID with what is wrong and what would be right. */
enum status_code place_text_parse(const char *text, struct place_text *place, struct status *error);

#endif
