/* Stage walk: one block after another, each recomputed if the workload asks for that. What a block does is its
 * family's. */
#include "models/forward/stage_walk.h"

#include <inttypes.h>
#include <stdio.h>

#include "models/forward/module_visit.h"

struct value *stage_run(const struct forward *forward, const struct stage_names *names, int stage, tape_block *block,
                        struct value *input)
{
    struct tape *tape = forward->tape;
    char path[STAGE_PATH_BYTES];
    snprintf(path, sizeof path, "%s%d", names->stage, stage + 1);
    struct module_visit visit = module_enter(forward, path);
    struct value *x = module_argument(forward, visit, input);
    for (int64_t index = 0; index < forward->config->depths[stage]; index++) {
        struct stage_block context = {.forward = forward, .stage = stage, .index = index};
        snprintf(context.path, sizeof context.path, "%s%d.%s%" PRId64, names->stage, stage + 1, names->block,
                 index + names->first_block);
        const char *outside = tape_module_open(tape, context.path);
        struct value *next = forward_block(forward, block, context.path, &context, sizeof context, NULL, 0, x);
        tape_module_close(tape, outside);
        if (index > 0) {
            tape_drop(tape, x);
        }
        x = next;
    }
    return module_leave(forward, visit, x);
}
