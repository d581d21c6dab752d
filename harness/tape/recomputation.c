/* Recomputation (checkpointing, as PyTorch calls it): a block keeps its input and the places of what it would have
 * saved; the second run fills them. */
#include <stdlib.h>
#include <string.h>

#include "harness/base/array.h"

#include "harness/tape/graph.h"

enum { RECOMPUTATION_HELD_MAXIMUM = 5 };

struct place {
    struct node *node;
    int index;
};

struct recomputation {
    tape_block *block;
    char context[RECOMPUTATION_CONTEXT_BYTES];
    struct value *input;
    struct value *held[RECOMPUTATION_HELD_MAXIMUM];
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

static bool place_append(struct tape *tape, struct recomputation *recomputation, struct node *node, int index)
{
    struct place *grown = arena_array_extend(&tape->arena, recomputation->places, (size_t)recomputation->place_count,
                                             &recomputation->place_capacity, sizeof *grown);
    if (grown == NULL) {
        tape_fail(tape, STATUS_OUT_OF_MEMORY, "the host has no memory for the places of a block that is recomputed");
        return false;
    }
    recomputation->places = grown;
    recomputation->places[recomputation->place_count++] = (struct place){node, index};
    node->has_place = true;
    return true;
}

bool recomputation_save(struct tape *tape, struct node *node, int index, struct value *value)
{
    struct recomputation *recomputation = tape->recording;
    if (recomputation == NULL) {
        return false;
    }
    if (!tape->refilling) {
        return place_append(tape, recomputation, node, index) || true;
    }
    if (recomputation->filled_count < recomputation->place_count) {
        const struct place *place = &recomputation->places[recomputation->filled_count++];
        if (place->index != index) {
            tape_fail(tape, STATUS_INTERNAL, "a recomputed block differs from its first run");
            return true;
        }
        node_hold(tape, place->node, index, value);
    }
    tape->stopped = recomputation->filled_count == recomputation->place_count;
    return true;
}

/* The block's second run: nothing leads to its graph, what it saves goes to the first graph's nodes. */
static void recomputation_refill(struct tape *tape, struct recomputation *recomputation)
{
    recomputation->refilled = true;
    int64_t seed = tape->seed;
    int kept_count = tape->kept_count;
    bool gradients = tape->gradients;
    int frame = tape_frame_open(tape);
    tape->seed = recomputation->seed;
    tape->gradients = true;
    tape->recording = recomputation;
    tape->refilling = true;
    const char *outside = tape->module;
    tape->module = recomputation->module;
    if (recomputation->autocast) {
        tape_autocast_open(tape, recomputation->autocast_dtype);
    }
    recomputation->block(tape, recomputation->context, recomputation->input);
    tape->stopped = false;
    if (recomputation->autocast) {
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

void recomputation_before(struct tape *tape, struct node *node)
{
    if (node->recomputation != NULL && node->has_place && !node->recomputation->refilled && !tape_failed(tape)) {
        recomputation_refill(tape, node->recomputation);
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

void tape_recomputation_argument(struct tape *tape, struct value *value)
{
    if (value != NULL && !tape_failed(tape)) {
        tape->states[value->storage].is_argument = true;
    }
}

static void recomputation_let_go(struct tape *tape, struct recomputation *recomputation)
{
    saved_discount(tape, recomputation->input);
    value_release(tape, recomputation->input);
    for (int i = 0; i < RECOMPUTATION_HELD_MAXIMUM; i++) {
        if (is_argument(tape, recomputation->held[i])) {
            saved_discount(tape, recomputation->held[i]);
        }
        value_release(tape, recomputation->held[i]);
    }
}

void recomputation_after(struct tape *tape, struct node *node)
{
    struct recomputation *recomputation = node->recomputation;
    node->recomputation = NULL;
    if (recomputation != NULL && node->has_place && --recomputation->waiting_count == 0 && !tape_failed(tape)) {
        recomputation_let_go(tape, recomputation);
    }
}

static int nodes_count(const struct tape *tape, const struct node *until, const struct recomputation *recomputation)
{
    int count = 0;
    for (const struct node *node = tape->nodes; node != until; node = node->next) {
        count += node->recomputation == recomputation && node->has_place;
    }
    return count;
}

static struct recomputation *recomputation_new(struct tape *tape, tape_block *block, const void *context,
                                               int context_bytes, struct value *const *held, int held_count,
                                               struct value *input)
{
    struct recomputation *recomputation = arena_alloc(&tape->arena, sizeof *recomputation);
    if (recomputation == NULL || context_bytes > RECOMPUTATION_CONTEXT_BYTES ||
        held_count > RECOMPUTATION_HELD_MAXIMUM) {
        tape_fail(tape, STATUS_INTERNAL, "a recomputation cannot be made");
        return NULL;
    }
    recomputation->block = block;
    memcpy(recomputation->context, context, (size_t)context_bytes);
    recomputation->input = value_retain(input);
    for (int i = 0; i < held_count; i++) {
        recomputation->held[i] = value_retain(held[i]);
        if (is_argument(tape, held[i])) {
            saved_count(tape, held[i]);
        }
    }
    saved_count(tape, input);
    recomputation->seed = tape->seed;
    recomputation->module = tape->module;
    recomputation->autocast = tape->autocast;
    recomputation->autocast_dtype = tape->autocast_dtype;
    return recomputation;
}

struct value *tape_recompute_block(struct tape *tape, tape_block *block, const void *context, int context_bytes,
                                   struct value *const *held, int held_count, struct value *input)
{
    if (input == NULL || tape_failed(tape)) {
        return NULL;
    }
    if (!tape->gradients || !tape->training) {
        return block(tape, context, input);
    }
    struct recomputation *recomputation =
        recomputation_new(tape, block, context, context_bytes, held, held_count, input);
    if (recomputation == NULL) {
        return NULL;
    }
    const struct node *before = tape->nodes;
    tape->recording = recomputation;
    struct value *result = block(tape, recomputation->context, input);
    tape->recording = NULL;
    recomputation->waiting_count = nodes_count(tape, before, recomputation);
    if (recomputation->waiting_count == 0 && !tape_failed(tape)) {
        recomputation_let_go(tape, recomputation);
    }
    return result;
}
