/* Rounds: whether a repetition has ended as one of the last ones did. What is left out because of that is the
 * caller's. */
#include <string.h>

#include "harness/replay/repetition_inside.h"

enum status_code rounds_open(struct repetition *repetition, struct status *error)
{
    size_t count = (size_t)repetition->repeat->carry_count + 1;
    for (int i = 0; i < ROUNDS; i++) {
        struct round *round = &repetition->rounds[i];
        round->positions = arena_alloc(&repetition->arena, count * sizeof *round->positions);
        if (round->positions == NULL) {
            return status_set(error, STATUS_OUT_OF_MEMORY, "the host has no memory to note %zu tensors", count);
        }
    }
    return STATUS_OK;
}

/* The small pool does not depend on the large one, so a bare repetition has only that to compare. */
static void round_fill(const struct repetition *repetition, struct round *round)
{
    const struct replay *replay = repetition->replay;
    round->at = repetition->at;
    round->stable_to = repetition->stable_to;
    round->segment_changes = repetition->is_bare ? replay->small_segment_changes : replay->segment_changes;
    for (int i = 0; i < repetition->repeat->carry_count; i++) {
        int from = repetition->carries[i].from;
        bool counts = !repetition->is_bare || repetition->is_small[from - repetition->repeat->first_storage];
        round->positions[i] = counts ? block_position(replay->blocks[from].block) : -1;
    }
}

int64_t rounds_note(struct repetition *repetition)
{
    struct round *now = &repetition->rounds[repetition->at % ROUNDS];
    size_t bytes = (size_t)repetition->repeat->carry_count * sizeof *now->positions;
    round_fill(repetition, now);
    for (int64_t back = 1; back < ROUNDS && back < repetition->at; back++) {
        const struct round *then = &repetition->rounds[(repetition->at - back) % ROUNDS];
        if (then->at == repetition->at - back && then->stable_to == now->stable_to &&
            then->segment_changes == now->segment_changes && memcmp(then->positions, now->positions, bytes) == 0) {
            return back;
        }
    }
    return 0;
}
