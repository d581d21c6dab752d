/* Checkpointing: a block keeps its input and the places of what it would have saved; the second run fills them. */
#include <stdlib.h>
#include <string.h>

#include "harness/base/array.h"

#include "harness/tape/graph.h"

enum { CHECKPOINT_HELD_MAXIMUM = 5 };

struct place {
    struct node *node;
    int index;
};

struct checkpoint {
    tape_block *block;
    char context[CHECKPOINT_CONTEXT_BYTES];
    struct value *input;
    struct value *held[CHECKPOINT_HELD_MAXIMUM];
    struct place *places; /* in the order in which they were saved; arena memory */
    int place_count, filled_count;
    size_t place_capacity;
    int waiting_count; /* nodes of the block with places that have not run */
    bool refilled;
    int64_t seed;
    bool autocast;
    enum dtype autocast_dtype;
    const char *module;
};

static bool place_append(struct tape *tape, struct checkpoint *checkpoint, struct node *node, int index)
{
    struct place *grown = arena_array_extend(&tape->arena, checkpoint->places, (size_t)checkpoint->place_count,
                                             &checkpoint->place_capacity, sizeof *grown);
    if (grown == NULL) {
        tape_fail(tape, STATUS_OUT_OF_MEMORY, "the host has no memory for a checkpoint");
        return false;
    }
    checkpoint->places = grown;
    checkpoint->places[checkpoint->place_count++] = (struct place){node, index};
    node->has_place = true;
    return true;
}

bool checkpoint_save(struct tape *tape, struct node *node, int index, struct value *value)
{
    struct checkpoint *checkpoint = tape->recording;
    if (checkpoint == NULL) {
        return false;
    }
    if (!tape->refilling) {
        return place_append(tape, checkpoint, node, index) || true;
    }
    if (checkpoint->filled_count < checkpoint->place_count) {
        const struct place *place = &checkpoint->places[checkpoint->filled_count++];
        if (place->index != index) {
            tape_fail(tape, STATUS_INTERNAL, "a recomputed block differs from its first run");
            return true;
        }
        node_hold(tape, place->node, index, value);
    }
    tape->stopped = checkpoint->filled_count == checkpoint->place_count;
    return true;
}

/* The block's second run: nothing leads to its graph, what it saves goes to the first graph's nodes. */
static void checkpoint_refill(struct tape *tape, struct checkpoint *checkpoint)
{
    checkpoint->refilled = true;
    int64_t seed = tape->seed;
    int kept_count = tape->kept_count;
    bool gradients = tape->gradients;
    int frame = tape_frame_open(tape);
    tape->seed = checkpoint->seed;
    tape->gradients = true;
    tape->recording = checkpoint;
    tape->refilling = true;
    const char *outside = tape->module;
    tape->module = checkpoint->module;
    if (checkpoint->autocast) {
        tape_autocast_open(tape, checkpoint->autocast_dtype);
    }
    checkpoint->block(tape, checkpoint->context, checkpoint->input);
    tape->stopped = false;
    if (checkpoint->autocast) {
        tape_autocast_close(tape);
    }
    tape->recording = NULL;
    tape->refilling = false;
    tape->module = outside;
    tape->gradients = gradients;
    tape->seed = seed;
    kept_release(tape, kept_count);
    tape_frame_close(tape, frame, NULL);
}

void checkpoint_before(struct tape *tape, struct node *node)
{
    if (node->checkpoint != NULL && node->has_place && !node->checkpoint->refilled && !tape_failed(tape)) {
        checkpoint_refill(tape, node->checkpoint);
    }
}

static void saved_count(struct tape *tape, const struct value *value)
{
    struct storage *storage = &tape->storages[value->storage];
    if (storage->kept_by == NULL) {
        storage->kept_by = "checkpoint";
        storage->kept_as = KEEP_INPUT;
    }
    if (tape->states[value->storage].saved++ == 0) {
        tape->saved_bytes += storage->bytes;
    }
    if (storage->category == CATEGORY_TEMPORARIES) {
        storage->category = CATEGORY_ACTIVATIONS;
    }
}

static void saved_discount(struct tape *tape, const struct value *value)
{
    if (--tape->states[value->storage].saved == 0) {
        tape->saved_bytes -= tape->storages[value->storage].bytes;
    }
}

static bool is_argument(const struct tape *tape, const struct value *value)
{
    return value != NULL && tape->states[value->storage].is_argument;
}

bool tape_recomputes(const struct tape *tape)
{
    return tape->refilling;
}

void tape_checkpoint_argument(struct tape *tape, struct value *value)
{
    if (value != NULL && !tape_failed(tape)) {
        tape->states[value->storage].is_argument = true;
    }
}

static void checkpoint_let_go(struct tape *tape, struct checkpoint *checkpoint)
{
    saved_discount(tape, checkpoint->input);
    value_release(tape, checkpoint->input);
    for (int i = 0; i < CHECKPOINT_HELD_MAXIMUM; i++) {
        if (is_argument(tape, checkpoint->held[i])) {
            saved_discount(tape, checkpoint->held[i]);
        }
        value_release(tape, checkpoint->held[i]);
    }
}

void checkpoint_after(struct tape *tape, struct node *node)
{
    struct checkpoint *checkpoint = node->checkpoint;
    node->checkpoint = NULL;
    if (checkpoint != NULL && node->has_place && --checkpoint->waiting_count == 0 && !tape_failed(tape)) {
        checkpoint_let_go(tape, checkpoint);
    }
}

static int nodes_count(const struct tape *tape, const struct node *until, const struct checkpoint *checkpoint)
{
    int count = 0;
    for (const struct node *node = tape->nodes; node != until; node = node->next) {
        count += node->checkpoint == checkpoint && node->has_place;
    }
    return count;
}

static struct checkpoint *checkpoint_new(struct tape *tape, tape_block *block, const void *context, int context_bytes,
                                         struct value *const *held, int held_count, struct value *input)
{
    struct checkpoint *checkpoint = arena_alloc(&tape->arena, sizeof *checkpoint);
    if (checkpoint == NULL || context_bytes > CHECKPOINT_CONTEXT_BYTES || held_count > CHECKPOINT_HELD_MAXIMUM) {
        tape_fail(tape, STATUS_INTERNAL, "a checkpoint cannot be made");
        return NULL;
    }
    checkpoint->block = block;
    memcpy(checkpoint->context, context, (size_t)context_bytes);
    checkpoint->input = value_retain(input);
    for (int i = 0; i < held_count; i++) {
        checkpoint->held[i] = value_retain(held[i]);
        if (is_argument(tape, held[i])) {
            saved_count(tape, held[i]);
        }
    }
    saved_count(tape, input);
    checkpoint->seed = tape->seed;
    checkpoint->module = tape->module;
    checkpoint->autocast = tape->autocast;
    checkpoint->autocast_dtype = tape->autocast_dtype;
    return checkpoint;
}

struct value *tape_checkpoint(struct tape *tape, tape_block *block, const void *context, int context_bytes,
                              struct value *const *held, int held_count, struct value *input)
{
    if (input == NULL || tape_failed(tape)) {
        return NULL;
    }
    if (!tape->gradients || !tape->training) {
        return block(tape, context, input);
    }
    struct checkpoint *checkpoint = checkpoint_new(tape, block, context, context_bytes, held, held_count, input);
    if (checkpoint == NULL) {
        return NULL;
    }
    const struct node *before = tape->nodes;
    tape->recording = checkpoint;
    struct value *result = block(tape, checkpoint->context, input);
    tape->recording = NULL;
    checkpoint->waiting_count = nodes_count(tape, before, checkpoint);
    if (checkpoint->waiting_count == 0 && !tape_failed(tape)) {
        checkpoint_let_go(tape, checkpoint);
    }
    return result;
}
