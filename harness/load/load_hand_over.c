/* Load hand-over: a loaded checkpoint as the weights of a placed replay, and the same without a byte for its
 * prediction. */
#include <stdlib.h>

#include "harness/load/load_draft.h"
#include "harness/load/load_inside.h"

enum status_code load_lay(const struct load_plan *plan, const struct replay_lane *lanes, const struct load_watch *watch,
                          struct loaded **made, struct status *error)
{
    struct loaded *loaded = calloc(1, sizeof *loaded);
    if (loaded == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "the host has no memory for a prediction");
    }
    loaded->plan = plan;
    loaded->watch = watch;
    enum status_code code = lanes_open(loaded, lanes, false, error);
    code = code == STATUS_OK ? blocks_take(loaded, false, error) : code;
    code = code == STATUS_OK ? blocks_take(loaded, true, error) : code;
    if (code != STATUS_OK) {
        loaded_release(loaded, NULL);
        return code;
    }
    for (int i = 0; i < plan->place_count; i++) {
        loaded->result.shares[i].stored_bytes = loaded->lanes[i].is_disk ? plan->places[i].bytes : 0;
    }
    result_complete(loaded);
    *made = loaded;
    return STATUS_OK;
}

/* The target of this name's storage; -1: nothing was loaded into it. */
static int target_find(const struct load_plan *plan, const char *label)
{
    int tensor = skeleton_find(plan->skeleton, label);
    int owner = tensor >= 0 ? storage_owner(plan->skeleton, tensor) : -1;
    for (int i = 0; i < plan->target_count && owner >= 0; i++) {
        if (storage_owner(plan->skeleton, plan->targets[i].tensor) == owner) {
            return i;
        }
    }
    return -1;
}

static void weight_find(void *context, const char *label, struct given_weight *weight)
{
    const struct loaded *loaded = context;
    int index = target_find(loaded->plan, label);
    if (index < 0) {
        return;
    }
    const struct load_target *target = &loaded->plan->targets[index];
    bool is_disk = loaded->lanes[target->place].is_disk;
    *weight = (struct given_weight){.kind = is_disk ? WEIGHT_STORED : WEIGHT_BLOCK,
                                    .lane = loaded->lane_of[target->place],
                                    .block = is_disk ? NULL : loaded->blocks[index],
                                    .label = target->path,
                                    .type = target->type->name,
                                    .has_dtype = target->type->has_dtype,
                                    .dtype = target->type->dtype,
                                    .bytes = target->bytes};
}

void loaded_hand_over(struct loaded *loaded, const int *lane_of, struct placed_weights *weights)
{
    *weights = (struct placed_weights){.find = weight_find, .context = loaded};
    for (int i = 0; i < loaded->plan->place_count; i++) {
        loaded->lane_of[i] = lane_of[i];
        if (!loaded->lanes[i].is_disk) {
            weights->allocators[lane_of[i]] = loaded->lanes[i].allocator;
            loaded->lanes[i].allocator = NULL;
        }
    }
}
