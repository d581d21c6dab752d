/* Reading items: what a reading of the driver or the kernel consists of, by cause. Internal to harness/run.
 *
 * The items of a reading sum to it exactly, because the last is what is left. Worked, on a GPU: 1,000 MiB used at the
 * end of a stage, 20 before our context was made, 520 when it had been made; kernels loaded since took 30 and libraries
 * 64; 300 are reserved, 34 of them blocks of workspaces: baseline 20, context 500, kernel 30, library 64, workspace 34,
 * segment 266, remainder 86. */
#ifndef ASSAY_RUN_READING_ITEMS_H
#define ASSAY_RUN_READING_ITEMS_H

#include "harness/base/json.h"
#include "harness/record/reading_item.h"
#include "harness/replay/replay.h"

struct reading_items {
    bool valid[READING_ITEM_COUNT]; /* an item that is not valid is inside the remainder */
    int64_t bytes[READING_ITEM_COUNT];
};

enum reading_total { READING_TOTAL_DEVICE, READING_TOTAL_PROCESS };

/* The items of the reading at the end of stage; context: STAGE_CONTEXT of the same replay. loads_valid: false where
 * what was loaded cannot be told from what others took meanwhile. False, and *items untouched, where the reading itself
 * is not valid. */
bool reading_itemise(enum reading_total total, const struct replay_stage *context, const struct replay_stage *stage,
                     bool loads_valid, struct reading_items *items);

/* {"baseline_bytes": ..., ...}, null for an item that is not valid; NULL where memory ran out. The process has no
 * baseline. */
struct json *reading_items_json(enum reading_total total, const struct reading_items *items);

#endif
