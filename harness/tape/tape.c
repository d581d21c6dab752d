/* The finished tape: names and access. Not the building of one. */
#include "harness/tape/tape.h"

#include <stdlib.h>
#include <string.h>

#include "harness/tape/graph.h"

const char *category_name(enum category category)
{
    static const char *const names[CATEGORY_COUNT] = {
#define CATEGORY_TEXT(name, text) [CATEGORY_##name] = text,
        CATEGORY_TABLE(CATEGORY_TEXT)
#undef CATEGORY_TEXT
    };
    return names[category];
}

const char *stage_name(enum stage stage)
{
    static const char *const names[STAGE_COUNT] = {
#define STAGE_TEXT(name, text) [STAGE_##name] = text,
        STAGE_TABLE(STAGE_TEXT)
#undef STAGE_TEXT
    };
    return names[stage];
}

bool stage_find(const char *name, enum stage *stage)
{
    for (int i = 0; i < STAGE_COUNT; i++) {
        if (strcmp(stage_name((enum stage)i), name) == 0) {
            *stage = (enum stage)i;
            return true;
        }
    }
    return false;
}

struct tape_view tape_view(const struct tape *tape)
{
    return (struct tape_view){
        .storages = tape->storages,
        .ops = tape->ops,
        .operands = tape->operands,
        .events = tape->events,
        .repeats = tape->repeats,
        .carries = tape->carries,
        .storage_count = tape->storage_count,
        .op_count = tape->op_count,
        .operand_count = tape->operand_count,
        .event_count = tape->event_count,
        .repeat_count = tape->repeat_count,
        .carry_count = tape->carry_count,
        .saved_for_backward_bytes = tape->saved_for_backward_bytes,
        .loss_operand = tape->form.bare ? -1 : tape->loss_operand,
        .managed = tape->managed,
        .not_run = tape->not_run,
        .attention_backend = tape->attention_backend,
        .searches = tape->searched_count > 0,
    };
}

void tape_release(struct tape *tape)
{
    if (tape == NULL) {
        return;
    }
    free(tape->storages);
    free(tape->states);
    free(tape->ops);
    free(tape->operands);
    free(tape->events);
    free(tape->repeats);
    free(tape->carries);
    free(tape->values);
    snapshot_release(&tape->before);
    snapshot_release(&tape->now);
    free(tape->limits);
    free(tape->frame);
    free(tape->casts);
    free(tape->searched);
    free(tape->kept);
    name_table_release(&tape->modules);
    arena_release(&tape->arena);
    free(tape);
}
