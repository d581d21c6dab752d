/* Placed replay: which lane an event belongs to, and copies between lanes. What one lane does is replay.c's. */
#include "harness/replay/placed_replay.h"

#include <stdlib.h>
#include <string.h>

#include "harness/base/clock.h"
#include "harness/device/staging.h"
#include "harness/replay/placed_given.h"
#include "harness/replay/replay_inside.h"

struct placed {
    const struct tape_view *tape;
    const struct placed_options *options;
    struct placed_given given;
    struct replay lanes[PLACE_MAXIMUM];
    const struct placed_store *stores[PLACE_MAXIMUM];
    int lane_count;
    struct staging staging; /* PLACED_STAGING_BYTES; taken when a copy needs it */
    struct placed_result *result;
};

/* -- lanes */

static enum status_code lane_of_storage(struct placed *placed, int storage, int *lane, struct status *error)
{
    if (storage < 0 || storage >= placed->tape->storage_count) {
        return status_set(error, STATUS_INTERNAL, "storage %d does not exist", storage);
    }
    *lane = placed->tape->storages[storage].place;
    if (*lane < 0 || *lane >= placed->lane_count) {
        return status_set(error, STATUS_INTERNAL, "storage %d (%s) lies in place %d, and there are %d", storage,
                          placed->tape->storages[storage].label, *lane, placed->lane_count);
    }
    return STATUS_OK;
}

static enum status_code stages_end(struct placed *placed, struct status *error)
{
    enum status_code code = STATUS_OK;
    for (int i = 0; i < placed->lane_count && code == STATUS_OK; i++) {
        code = replay_stage_end(&placed->lanes[i], error);
    }
    return code;
}

static enum status_code stages_begin(struct placed *placed, enum stage stage, struct status *error)
{
    enum status_code code = STATUS_OK;
    for (int i = 0; i < placed->lane_count && code == STATUS_OK; i++) {
        code = replay_stage_begin(&placed->lanes[i], stage, error);
    }
    return code;
}

/* -- copies between places */

struct transfer {
    int from, to; /* lanes */
    struct tensor source, target;
    struct stored_tensor stored;
    int64_t bytes;
};

static bool is_host(const struct placed *placed, int lane)
{
    return strcmp(placed->lanes[lane].properties.kind, "host") == 0;
}

/* One piece of the bytes, from `at` on, by way of the staging buffer unless one side is the host's own memory. */
static enum status_code piece_copy(struct placed *placed, const struct transfer *transfer, int64_t at, int64_t bytes,
                                   struct status *error)
{
    const struct replay *from = &placed->lanes[transfer->from], *to = &placed->lanes[transfer->to];
    const unsigned char *source = (const unsigned char *)transfer->source.data + at;
    unsigned char *target = (unsigned char *)transfer->target.data + at;
    bool from_host = is_host(placed, transfer->from), to_host = is_host(placed, transfer->to);
    const void *staged = from_host ? source : placed->staging.memory;
    enum status_code code = STATUS_OK;
    if (!from_host) {
        void *landing = to_host ? (void *)target : placed->staging.memory;
        code = from->device->table->copy_to_host(from->device, landing, source, bytes, error);
    }
    if (code == STATUS_OK && (from_host || !to_host)) {
        code = to->device->table->copy_from_host(to->device, target, staged, bytes, error);
    }
    return code;
}

/* A tensor that comes from the disk, or goes there, is whole in the host's memory: a place on the disk has no other
 * neighbour. */
static enum status_code store_copy(struct placed *placed, const struct transfer *transfer, struct status *error)
{
    const struct placed_store *source = placed->stores[transfer->from], *target = placed->stores[transfer->to];
    int host = source != NULL ? transfer->to : transfer->from;
    if (placed->stores[host] != NULL || strcmp(placed->lanes[host].properties.kind, "host") != 0) {
        return status_set(error, STATUS_INTERNAL, "'%s' goes between the disk and a device that is not the host",
                          transfer->stored.label);
    }
    return source != NULL ? source->read(source->context, &transfer->stored, transfer->target.data, error)
                          : target->write(target->context, &transfer->stored, transfer->source.data, error);
}

static bool is_stored(const struct placed *placed, const struct transfer *transfer)
{
    return placed->stores[transfer->from] != NULL || placed->stores[transfer->to] != NULL;
}

static bool is_carried_out(const struct placed *placed, const struct transfer *transfer)
{
    return is_stored(placed, transfer) ||
           (placed->lanes[transfer->from].properties.computes && placed->lanes[transfer->to].properties.computes);
}

/* Only where neither end is the host's own memory are there pieces in between. */
static enum status_code staging_ensure(struct placed *placed, const struct transfer *transfer, struct status *error)
{
    if (placed->staging.memory != NULL || is_stored(placed, transfer) || is_host(placed, transfer->from) ||
        is_host(placed, transfer->to)) {
        return STATUS_OK;
    }
    return staging_take(placed->lanes[transfer->from].device, PLACED_STAGING_BYTES, &placed->staging, error);
}

static enum status_code bytes_move(struct placed *placed, const struct transfer *transfer, struct status *error)
{
    if (is_stored(placed, transfer)) {
        return store_copy(placed, transfer, error);
    }
    enum status_code code = STATUS_OK;
    for (int64_t at = 0; at < transfer->bytes && code == STATUS_OK; at += PLACED_STAGING_BYTES) {
        int64_t left = transfer->bytes - at;
        code = piece_copy(placed, transfer, at, left < PLACED_STAGING_BYTES ? left : PLACED_STAGING_BYTES, error);
    }
    return code;
}

static enum status_code transfer_read(struct placed *placed, const struct op *op, struct transfer *transfer,
                                      struct status *error)
{
    const struct operand *operand = &placed->tape->operands[op->first_operand];
    enum status_code code =
        replay_operand_resolve(&placed->lanes[transfer->from], op->first_operand, &transfer->source, error);
    if (code == STATUS_OK) {
        code = replay_operand_resolve(&placed->lanes[transfer->to], op->first_operand + 1, &transfer->target, error);
    }
    if (code != STATUS_OK) {
        return code;
    }
    transfer->bytes = tensor_element_count(&transfer->source) * dtype_bytes(transfer->source.dtype);
    if (!tensor_is_dense(&transfer->source) || !tensor_is_dense(&transfer->target) ||
        transfer->source.dtype != transfer->target.dtype ||
        tensor_element_count(&transfer->target) != tensor_element_count(&transfer->source)) {
        return status_set(error, STATUS_INTERNAL, "a copy between devices of tensors that differ or are not dense");
    }
    transfer->stored = (struct stored_tensor){.label = given_label(&placed->given, operand->storage),
                                              .dtype = operand->dtype,
                                              .rank = operand->rank,
                                              .bytes = transfer->bytes};
    memcpy(transfer->stored.size, operand->size, sizeof transfer->stored.size);
    return STATUS_OK;
}

/* Waits for both devices. */
static enum status_code ends_wait(struct placed *placed, const struct transfer *transfer, struct status *error)
{
    enum status_code code = STATUS_OK;
    for (int i = 0; i < 2 && code == STATUS_OK; i++) {
        struct device *device = placed->lanes[i == 0 ? transfer->from : transfer->to].device;
        code = device->table->synchronize(device, error);
    }
    return code;
}

static enum status_code copy_across(struct placed *placed, const struct op *op, struct transfer *transfer,
                                    struct status *error)
{
    double seconds = 0.0;
    enum status_code code = transfer_read(placed, op, transfer, error);
    if (code == STATUS_OK) {
        code =
            ends_wait(placed, transfer, error); /* what the devices still do must not be overtaken, nor is it counted */
    }
    bool is_made = is_carried_out(placed, transfer);
    code = code == STATUS_OK && is_made ? staging_ensure(placed, transfer, error) : code;
    if (code == STATUS_OK && is_made) {
        double begin = clock_seconds();
        code = bytes_move(placed, transfer, error);
        code = code == STATUS_OK ? ends_wait(placed, transfer, error) : code;
        seconds = clock_seconds() - begin;
    }
    if (code == STATUS_OK) {
        placed->result->copy_count++;
        placed->result->copy_counts[transfer->from][transfer->to]++;
        placed->result->copy_seconds[transfer->from][transfer->to] += seconds;
        placed->result->copied_bytes[transfer->from][transfer->to] += transfer->bytes;
    }
    return code;
}

/* -- events */

static bool is_loading(const struct placed *placed)
{
    return placed->lanes[0].ledger.stage == STAGE_LOAD;
}

/* The lanes of the first operand and of another that lies elsewhere. */
static enum status_code lanes_find(struct placed *placed, const struct op *op, int lanes[2], struct status *error)
{
    const struct tape_view *tape = placed->tape;
    lanes[0] = lanes[1] = 0;
    for (int i = 0; i < op->operand_count; i++) {
        int at = op->first_operand + i;
        if (at < 0 || at >= tape->operand_count) {
            return status_set(error, STATUS_INTERNAL, "operand %d does not exist", at);
        }
        int lane = 0;
        enum status_code code = lane_of_storage(placed, tape->operands[at].storage, &lane, error);
        if (code != STATUS_OK) {
            return code;
        }
        if (i == 0) {
            lanes[0] = lanes[1] = lane;
        }
        lanes[1] = lane != lanes[0] ? lane : lanes[1];
    }
    return STATUS_OK;
}

static enum status_code op_play(struct placed *placed, int index, struct status *error)
{
    const struct op *op = &placed->tape->ops[index];
    int lanes[2];
    bool is_done = false;
    enum status_code code = lanes_find(placed, op, lanes, error);
    if (code == STATUS_OK && is_loading(placed)) {
        code = given_run(&placed->given, op, &is_done, error);
    }
    if (code != STATUS_OK || is_done) {
        return code;
    }
    if (lanes[1] == lanes[0]) {
        return replay_op_run(&placed->lanes[lanes[0]], index, error);
    }
    if (op->opcode != OPCODE_COPY || op->operand_count != 2) {
        return status_set(error, STATUS_INTERNAL, "op %d (%s) has operands in places %d and %d", index,
                          opcode_name(op->opcode), lanes[0], lanes[1]);
    }
    struct transfer transfer = {.from = lanes[0], .to = lanes[1]};
    code = copy_across(placed, op, &transfer, error);
    if (code != STATUS_OK) {
        status_prefix(error, "stage %s: op %d (copy from place %d to %d)", stage_name(placed->lanes[0].ledger.stage),
                      index, lanes[0], lanes[1]);
    }
    return code;
}

static enum status_code storage_play(struct placed *placed, const struct event *event, struct status *error)
{
    int lane = 0;
    enum status_code code = lane_of_storage(placed, event->index, &lane, error);
    if (code != STATUS_OK) {
        return code;
    }
    struct replay *replay = &placed->lanes[lane];
    bool is_done = false;
    if (event->kind == EVENT_FREE) {
        return given_passes(&placed->given, event->index) ? STATUS_OK
                                                          : replay_storage_free(replay, event->index, error);
    }
    if (is_loading(placed)) {
        code = given_take(&placed->given, event, replay, lane, &is_done, error);
    }
    return code != STATUS_OK || is_done ? code : replay_storage_alloc(replay, event->index, error);
}

/* What is given lies in the lanes' memory from the begin, and belongs to the load: before it there are no figures. */
static enum status_code stage_play(struct placed *placed, int stage, struct status *error)
{
    bool is_first = placed->lanes[0].ledger.stage == STAGE_CONTEXT && placed->given.weights != NULL;
    enum status_code code = stages_end(placed, error);
    for (int i = 0; i < placed->lane_count && is_first; i++) {
        placed->lanes[i].result.stages[STAGE_CONTEXT] = (struct replay_stage){0};
    }
    return code == STATUS_OK ? stages_begin(placed, (enum stage)stage, error) : code;
}

static enum status_code event_play(struct placed *placed, const struct event *event, struct status *error)
{
    int index = event->index;
    switch (event->kind) {
    case EVENT_ALLOC:
    case EVENT_FREE:
        return storage_play(placed, event, error);
    case EVENT_RUN:
        if (index >= 0 && index < placed->tape->op_count) {
            return op_play(placed, index, error);
        }
        break;
    case EVENT_STAGE:
        if (index < 0 || index >= STAGE_COUNT) {
            break;
        }
        return stage_play(placed, index, error);
    case EVENT_TRIM:
        if (index >= 0 && index < placed->lane_count) {
            return allocator_trim(placed->lanes[index].allocator, error);
        }
        break;
    case EVENT_TOKEN:
        placed->lanes[0].result.token_count++;
        return STATUS_OK;
    case EVENT_REPEAT:
        return status_set(error, STATUS_INTERNAL, "a tape over several places tells a repetition once");
    }
    return status_set(error, STATUS_INTERNAL, "an event of kind %d points at %d", (int)event->kind, index);
}

static enum status_code stop_ask(const struct placed *placed, const struct event *event, struct status *error)
{
    const struct placed_options *options = placed->options;
    bool stops = event->kind == EVENT_RUN && options->stops != NULL && options->stops(options->context);
    return stops ? status_set(error, STATUS_UNAVAILABLE, "the run was interrupted in stage %s",
                              stage_name(placed->lanes[0].ledger.stage))
                 : STATUS_OK;
}

static enum status_code tape_play(struct placed *placed, struct status *error)
{
    enum status_code code = stages_begin(placed, STAGE_CONTEXT, error);
    for (int i = 0; i < placed->tape->event_count && code == STATUS_OK; i++) {
        const struct event *event = &placed->tape->events[i];
        code = stop_ask(placed, event, error);
        code = code == STATUS_OK ? event_play(placed, event, error) : code;
    }
    return code == STATUS_OK ? stages_end(placed, error) : code;
}

/* -- from open to close */

static enum status_code placed_open(struct placed *placed, const struct replay_lane *lanes, struct status *error)
{
    const struct replay_observer *observers = placed->options->observers;
    struct storage_block *blocks = NULL;
    const struct placed_weights *weights = placed->options->weights;
    enum status_code code = replay_blocks_new(placed->tape, &blocks, error);
    for (int i = 0; i < placed->lane_count; i++) {
        placed->lanes[i] = (struct replay){.tape = placed->tape,
                                           .device = lanes[i].device,
                                           .observer = observers != NULL ? &observers[i] : NULL,
                                           .ledger = ledger_new(),
                                           .allocator = weights != NULL ? weights->allocators[i] : NULL,
                                           .blocks = blocks};
        placed->stores[i] = lanes[i].store;
    }
    code = code == STATUS_OK ? given_open(placed->tape, weights, &placed->given, error) : code;
    for (int i = 0; i < placed->lane_count && code == STATUS_OK; i++) {
        code = replay_open(&placed->lanes[i], lanes[i].policy, error);
        if (code != STATUS_OK) {
            status_prefix(error, "place %d", i);
        }
    }
    return code;
}

/* Frees what is alive at the end of the tape, each on its lane. */
static enum status_code remaining_free(struct placed *placed, struct status *error)
{
    enum status_code code = STATUS_OK;
    for (int i = 0; i < placed->tape->storage_count && code == STATUS_OK; i++) {
        if (placed->lanes[0].blocks[i].state == STORAGE_LIVE) {
            code = storage_play(placed, &(struct event){EVENT_FREE, i}, error);
        }
    }
    for (int i = 0; i < placed->lane_count && code == STATUS_OK; i++) {
        if (ledger_bytes(&placed->lanes[i].ledger) != 0 || placed->lanes[i].ledger.live_count != 0) {
            code = status_set(error, STATUS_INTERNAL, "the ledger of place %d is not empty at the end", i);
        }
    }
    return code;
}

/* Every lane is closed, also on failure: the first error stays. */
static enum status_code placed_close(struct placed *placed, enum status_code code, struct status *error)
{
    enum status_code given = staging_give_back(&placed->staging, code == STATUS_OK ? error : NULL);
    code = code == STATUS_OK ? given : code;
    for (int i = 0; i < placed->lane_count; i++) {
        enum status_code closing = allocator_close(placed->lanes[i].allocator, code == STATUS_OK ? error : NULL);
        code = code == STATUS_OK ? closing : code;
    }
    given_release(&placed->given);
    free(placed->lanes[0].blocks);
    return code;
}

/* Which lane was refused memory. A copy that found no memory on the host is none of a lane's: the first is named. */
static int lane_refused(const struct placed *placed)
{
    for (int i = 0; i < placed->lane_count; i++) {
        if (placed->lanes[i].refusal_noted) {
            return i;
        }
    }
    return 0;
}

enum status_code placed_replay_carry_out(const struct placed_order *order, struct placed_result *result,
                                         struct status *error)
{
    int lane_count = order->lane_count;
    if (lane_count < 1 || lane_count > PLACE_MAXIMUM) {
        return status_set(error, STATUS_INTERNAL, "a placed replay has 1 to %d places, not %d", PLACE_MAXIMUM,
                          lane_count);
    }
    struct placed *placed = calloc(1, sizeof *placed);
    struct placed_result *made = calloc(1, sizeof *made);
    if (placed == NULL || made == NULL) {
        free(placed);
        free(made);
        return status_set(error, STATUS_OUT_OF_MEMORY, "the host has no memory for a placed replay");
    }
    placed->tape = order->tape;
    placed->options = &order->options;
    placed->lane_count = lane_count;
    placed->result = made;
    enum status_code code = placed_open(placed, order->lanes, error);
    if (code == STATUS_OK) {
        code = tape_play(placed, error);
    }
    made->oom_lane = code == STATUS_OUT_OF_MEMORY ? lane_refused(placed) : -1;
    if (code == STATUS_OK || code == STATUS_OUT_OF_MEMORY) {
        for (int i = 0; i < lane_count; i++) {
            replay_result_complete(&placed->lanes[i], placed->lanes[i].ledger.sequence_hash);
            made->lanes[i] = placed->lanes[i].result;
        }
    }
    if (code == STATUS_OK) {
        code = remaining_free(placed, error);
    }
    code = placed_close(placed, code, error);
    if (code == STATUS_OK || code == STATUS_OUT_OF_MEMORY) {
        *result = *made;
    }
    free(made);
    free(placed);
    return code;
}

enum status_code placed_replay_run(const struct tape_view *tape, const struct replay_lane *lanes, int lane_count,
                                   const struct replay_observer *observers, struct placed_result *result,
                                   struct status *error)
{
    const struct placed_order order = {tape, lanes, lane_count, {.observers = observers}};
    return placed_replay_carry_out(&order, result, error);
}
