/* Given weights: a tape takes each weight and fills it, and makes in the host's memory what it sends to the disk. Where
 * the weight is there already, its block is taken over, and neither is done. Which weights are there is the giver's to
 * say. */
#include "harness/replay/placed_given.h"

#include <stdlib.h>

enum status_code given_open(const struct tape_view *tape, const struct placed_weights *weights,
                            struct placed_given *given, struct status *error)
{
    size_t count = tape->storage_count > 0 ? (size_t)tape->storage_count : 1;
    *given = (struct placed_given){.tape = tape, .weights = weights};
    if (weights != NULL && (given->by_storage = calloc(count, sizeof *given->by_storage)) == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "the host has no memory for the list of weights that are given");
    }
    return STATUS_OK;
}

void given_release(struct placed_given *given)
{
    free(given->by_storage);
    given->by_storage = NULL;
}

static bool fills(const struct op *op)
{
    return op->input_count == 0 && op->operand_count == 1;
}

/* The first operation on a new storage says whether it is made where it lies or copied from another. */
static bool is_made_here(const struct tape_view *tape, const struct event *event)
{
    const struct event *next = event + 1;
    if (next >= tape->events + tape->event_count || next->kind != EVENT_RUN || next->index < 0 ||
        next->index >= tape->op_count) {
        return false;
    }
    const struct op *op = &tape->ops[next->index];
    return fills(op) && op->first_operand >= 0 && op->first_operand < tape->operand_count &&
           tape->operands[op->first_operand].storage == event->index;
}

static enum status_code bytes_check(const struct storage *storage, const struct given_weight *weight,
                                    struct status *error)
{
    return weight->bytes == storage->bytes
               ? STATUS_OK
               : status_set(
                     error, STATUS_INVALID,
                     "'%s' was loaded as %s, %lld bytes, and is run with in %lld bytes; load it in the precision of "
                     "the run",
                     storage->label, weight->type, (long long)weight->bytes, (long long)storage->bytes);
}

enum status_code given_take(struct placed_given *given, const struct event *event, struct replay *replay, int lane,
                            bool *is_done, struct status *error)
{
    const struct storage *storage = &given->tape->storages[event->index];
    bool is_weight = storage->category == CATEGORY_WEIGHTS || storage->category == CATEGORY_BUFFERS;
    *is_done = false;
    if (given->weights == NULL || !is_weight) {
        return STATUS_OK;
    }
    struct given_weight weight = {.kind = WEIGHT_OWN};
    given->weights->find(given->weights->context, storage->label, &weight);
    bool is_made = is_made_here(given->tape, event);
    if (weight.kind == WEIGHT_OWN || (!is_made && !(weight.kind == WEIGHT_STORED && weight.lane == lane))) {
        return STATUS_OK; /* the tape makes it, or copies it from one that is given */
    }
    enum status_code code = bytes_check(storage, &weight, error);
    given->by_storage[event->index] = weight;
    if (code != STATUS_OK || !is_made) {
        return code;
    }
    *is_done = true;
    if (weight.kind == WEIGHT_STORED) {
        return STATUS_OK;
    }
    return weight.lane == lane
               ? replay_storage_adopt(replay, event->index, weight.block, error)
               : status_set(
                     error, STATUS_INVALID,
                     "'%s' was loaded to place %d, and the run wants it in place %d; load it by the map of the run",
                     storage->label, weight.lane, lane);
}

static const struct given_weight *weight_of(const struct placed_given *given, int storage)
{
    static const struct given_weight own = {.kind = WEIGHT_OWN};
    bool is_there = given->weights != NULL && storage >= 0 && storage < given->tape->storage_count;
    return is_there ? &given->by_storage[storage] : &own;
}

bool given_passes(const struct placed_given *given, int storage)
{
    /* What lies on the disk has a storage there, which is taken, and one in the host's memory, which is not. */
    const struct given_weight *weight = weight_of(given, storage);
    return weight->kind == WEIGHT_STORED && given->tape->storages[storage].place != weight->lane;
}

enum status_code given_run(const struct placed_given *given, const struct op *op, bool *is_done, struct status *error)
{
    const struct operand *operand = &given->tape->operands[op->first_operand];
    *is_done = false;
    if (given->weights == NULL || op->operand_count < 1) {
        return STATUS_OK;
    }
    const struct given_weight *weight = weight_of(given, operand->storage);
    if (weight->kind == WEIGHT_OWN) {
        return STATUS_OK;
    }
    const char *label = given->tape->storages[operand->storage].label;
    if (fills(op)) {
        *is_done = true;
        return weight->has_dtype && weight->dtype == operand->dtype
                   ? STATUS_OK
                   : status_set(error, STATUS_INVALID,
                                "'%s' was loaded as %s, and is run with in %s; load it in the precision of the run",
                                label, weight->type, dtype_name(operand->dtype));
    }
    if (given_passes(given, operand->storage)) {
        *is_done = op->opcode == OPCODE_COPY && weight_of(given, operand[1].storage)->kind == WEIGHT_STORED;
        return *is_done
                   ? STATUS_OK
                   : status_set(error, STATUS_INTERNAL, "'%s' lies on the disk, and %s takes it from the host's memory",
                                label, opcode_name(op->opcode));
    }
    return STATUS_OK;
}

const char *given_label(const struct placed_given *given, int storage)
{
    const struct given_weight *weight = weight_of(given, storage);
    return weight->kind == WEIGHT_STORED ? weight->label : given->tape->storages[storage].label;
}
