/* Replay: carries out a tape's events one after another. It decides nothing about lifetimes (the tape does), nothing
 * about blocks (the allocator does) and computes nothing (the device does); it takes the figures. */
#include "harness/replay/replay.h"

#include <stdlib.h>
#include <string.h>

#include "harness/base/clock.h"
#include "harness/base/size.h"
#include "harness/replay/operand_view.h"
#include "harness/replay/repetition_inside.h"

void replay_stop_note(struct replay *replay, const struct repeat *repeat, int64_t at)
{
    replay->is_stopped = true;
    replay->unfolds = replay->stop_count == REPLAY_STOPS;
    if (!replay->unfolds) {
        replay->stops[replay->stop_count++] = (struct replay_stop){repeat, at};
    }
}

/* Segments that come or go, of each pool: the size tells which one it is. */
static void segment_count_change(struct replay *replay, int64_t bytes, enum status_code code)
{
    if (code == STATUS_OK) {
        replay->segment_changes++;
        replay->small_segment_changes += bytes == ALLOCATOR_SMALL_SEGMENT_BYTES;
    }
}

static enum status_code device_segment_alloc(void *context, int64_t bytes, void **address, struct status *error)
{
    struct replay *replay = context;
    enum status_code code = replay->device->table->segment_alloc(replay->device, bytes, address, error);
    replay->refused_segment_bytes = code == STATUS_OUT_OF_MEMORY ? bytes : replay->refused_segment_bytes;
    if (code == STATUS_OUT_OF_MEMORY && replay->repetition != NULL && replay->repetition->is_bare) {
        replay_stop_note(replay, replay->repetition->repeat, replay->repetition->at);
        code = status_set(error, STATUS_INTERNAL, "memory is refused in a repetition that was to be left out");
    } else if (code == STATUS_OUT_OF_MEMORY && replay->repetition != NULL) {
        /* What is cached is given back next: blocks must be where they would be. */
        enum status_code made = repetition_make_good(replay->repetition, error);
        code = made == STATUS_OK ? code : made;
    }
    segment_count_change(replay, bytes, code);
    return code;
}

static enum status_code device_segment_free(void *context, void *address, int64_t bytes, struct status *error)
{
    struct replay *replay = context;
    enum status_code code = replay->device->table->segment_free(replay->device, address, bytes, error);
    segment_count_change(replay, bytes, code);
    return code;
}

static const struct segment_source_table device_segment_table = {.alloc = device_segment_alloc,
                                                                 .free = device_segment_free};

static struct replay_causes causes_now(const struct replay *replay)
{
    const struct allocator_counters *counters = allocator_counters(replay->allocator);
    return (struct replay_causes){
        .rounding_bytes = counters->rounding_bytes,
        .unsplit_remainder_bytes = counters->unsplit_remainder_bytes,
        .unsplit_remainder_count = counters->unsplit_remainder_count,
        .cached_bytes = counters->reserved_bytes - counters->allocated_bytes,
    };
}

enum status_code replay_stage_begin(struct replay *replay, enum stage stage, struct status *error)
{
    struct device *device = replay->device;
    ledger_begin_stage(&replay->ledger, stage);
    allocator_reset_peaks(replay->allocator);
    enum status_code code = STATUS_OK;
    if (device->table->reset_peak != NULL) {
        code = device->table->reset_peak(device, error);
    }
    replay->stage_start_seconds = clock_seconds();
    return code;
}

static void stage_figures(const struct replay *replay, struct replay_stage *figures)
{
    const struct allocator_counters *counters = allocator_counters(replay->allocator);
    const struct ledger_stage *stage = &replay->ledger.stages[replay->ledger.stage];
    figures->present = true;
    memcpy(figures->levels, counters->levels, sizeof figures->levels);
    figures->requested_bytes = stage->bytes; /* as the tape counts them, which has no blocks */
    figures->requested_bytes_peak = stage->bytes_peak;
    figures->workspace_allocated_bytes = replay->workspace_allocated_bytes;
    memcpy(figures->categories_at_peak, stage->categories_at_peak, sizeof figures->categories_at_peak);
}

/* Takes the figures of the stage that lasts. The work is waited for first: a reading is of memory that was used. */
enum status_code replay_stage_end(struct replay *replay, struct status *error)
{
    struct device *device = replay->device;
    struct replay_stage figures = {0};
    enum stage stage = replay->ledger.stage;
    enum status_code code = device->table->synchronize(device, error);
    if (code == STATUS_OK) {
        figures.seconds = replay->properties.computes ? clock_seconds() - replay->stage_start_seconds : 0;
        code = device->table->read_memory(device, &figures.reading, error);
    }
    if (code != STATUS_OK) {
        status_prefix(error, "end of stage %s", stage_name(stage));
        return code;
    }
    stage_figures(replay, &figures);
    replay->result.stages[stage] = figures;
    level_peaks_raise(replay->result.peaks_ever, figures.levels);
    replay->result.segment_count = allocator_counters(replay->allocator)->live_segment_count;
    replay->result.causes_at_end = causes_now(replay);
    if (stage == STAGE_LOAD) {
        replay->result.causes_at_load = replay->result.causes_at_end;
    }
    if (replay->observer != NULL && replay->observer->stage_ended != NULL) {
        replay->observer->stage_ended(replay->observer->context, stage, &replay->result.stages[stage]);
    }
    return STATUS_OK;
}

void replay_refusal_note(struct replay *replay, int64_t wanted_bytes, const char *label, struct status *error)
{
    struct replay_result *result = &replay->result;
    struct device *device = replay->device;
    struct device_reading reading = {0};
    char wanted[SIZE_TEXT_BYTES], held[SIZE_TEXT_BYTES];
    replay->refusal_noted = true;
    result->oom_wanted_bytes = wanted_bytes;
    result->oom_segment_bytes = wanted_bytes > 0 ? replay->refused_segment_bytes : 0;
    result->oom_live_bytes = ledger_bytes(&replay->ledger);
    result->oom_held_bytes = replay->allocator != NULL ? allocator_counters(replay->allocator)->reserved_bytes : 0;
    result->oom_stage = replay->ledger.stage;
    result->oom_label = label;
    if (device->table->read_memory(device, &reading, NULL) == STATUS_OK) {
        result->oom_free_valid = reading.free_valid;
        result->oom_free_bytes = reading.free_bytes;
    }
    size_format(result->oom_held_bytes, held);
    if (wanted_bytes > 0) {
        status_prefix(error, "stage %s: %s wants %s while %s are held", stage_name(result->oom_stage), label,
                      size_format(wanted_bytes, wanted), held);
    } else {
        status_prefix(error, "stage %s: %s runs out of memory while %s are held", stage_name(result->oom_stage),
                      label != NULL ? label : "device or host", held);
    }
}

static enum status_code storage_fault(const struct replay *replay, int index, const char *what, struct status *error)
{
    return status_set(error, STATUS_INTERNAL, "stage %s: storage %d (%s) %s", stage_name(replay->ledger.stage), index,
                      replay->tape->storages[index].label, what);
}

static enum status_code storage_check(const struct replay *replay, int index, struct status *error)
{
    const struct storage *storage = &replay->tape->storages[index];
    const struct storage_block *slot = &replay->blocks[index];
    if (slot->state != STORAGE_UNTOUCHED) {
        return storage_fault(replay, index, "is taken twice", error);
    }
    if ((unsigned)storage->category >= CATEGORY_COUNT || storage->bytes < 0) {
        return storage_fault(replay, index, "has no category or a negative size", error);
    }
    return STATUS_OK;
}

static enum status_code block_adopt(struct replay *replay, int index, struct block *block, int64_t bytes,
                                    struct status *error)
{
    const struct storage *storage = &replay->tape->storages[index];
    replay->blocks[index] = (struct storage_block){
        .state = STORAGE_LIVE, .block = block, .bytes = bytes, .block_bytes = block_bytes(block)};
    replay->workspace_allocated_bytes += storage->category == CATEGORY_WORKSPACE ? block_bytes(block) : 0;
    return ledger_add(&replay->ledger, index, storage->category, bytes, block_position(block), error);
}

enum status_code replay_storage_adopt(struct replay *replay, int index, struct block *block, struct status *error)
{
    enum status_code code = storage_check(replay, index, error);
    return code == STATUS_OK ? block_adopt(replay, index, block, replay->tape->storages[index].bytes, error) : code;
}

/* *bytes: what is asked for, then what was had. */
static enum status_code block_ask(struct replay *replay, bool gives_way, int64_t *bytes, struct block **block,
                                  struct status *error)
{
    enum status_code code = allocator_alloc(replay->allocator, *bytes, block, gives_way ? NULL : error);
    while (gives_way && code == STATUS_OUT_OF_MEMORY && *bytes > 1) {
        *bytes /= 2;
        code = allocator_alloc(replay->allocator, *bytes, block, *bytes > 1 ? NULL : error);
    }
    return code;
}

enum status_code replay_storage_alloc(struct replay *replay, int index, struct status *error)
{
    const struct storage *storage = &replay->tape->storages[index];
    struct block *block = NULL;
    enum status_code code = storage_check(replay, index, error);
    if (code != STATUS_OK) {
        return code;
    }
    int64_t bytes = storage->bytes;
    code = block_ask(replay, storage->gives_way, &bytes, &block, error);
    if (code == STATUS_OUT_OF_MEMORY) {
        replay_refusal_note(replay, storage->bytes, storage->label, error);
        return code;
    }
    if (code != STATUS_OK) {
        status_prefix(error, "stage %s: storage %d (%s)", stage_name(replay->ledger.stage), index, storage->label);
        return code;
    }
    return block_adopt(replay, index, block, bytes, error);
}

enum status_code replay_storage_free(struct replay *replay, int index, struct status *error)
{
    const struct storage *storage = &replay->tape->storages[index];
    struct storage_block *slot = &replay->blocks[index];
    if (slot->state != STORAGE_LIVE) {
        return storage_fault(replay, index,
                             slot->state == STORAGE_DEAD ? "is freed twice" : "is freed before it is taken", error);
    }
    enum status_code code =
        ledger_remove(&replay->ledger, index, storage->category, slot->bytes, block_position(slot->block), error);
    if (code != STATUS_OK) {
        return code;
    }
    slot->state = STORAGE_DEAD;
    replay->workspace_allocated_bytes -= storage->category == CATEGORY_WORKSPACE ? block_bytes(slot->block) : 0;
    return allocator_free(replay->allocator, slot->block, error);
}

enum status_code replay_operand_resolve(const struct replay *replay, int index, struct tensor *tensor,
                                        struct status *error)
{
    const struct tape_view *tape = replay->tape;
    if (index < 0 || index >= tape->operand_count) {
        return status_set(error, STATUS_INTERNAL, "operand %d does not exist", index);
    }
    const struct operand *operand = &tape->operands[index];
    if (operand->storage < 0 || operand->storage >= tape->storage_count) {
        return status_set(error, STATUS_INTERNAL, "operand %d: storage %d does not exist", index, operand->storage);
    }
    const struct storage *storage = &tape->storages[operand->storage];
    const struct storage_block *slot = &replay->blocks[operand->storage];
    if (slot->state != STORAGE_LIVE) {
        return status_set(error, STATUS_INTERNAL, "operand %d: storage %d (%s) is not alive", index, operand->storage,
                          storage->label);
    }
    enum status_code code = operand_view(operand, block_address(slot->block), slot->bytes, tensor, error);
    if (code != STATUS_OK) {
        status_prefix(error, "operand %d: storage %d (%s)", index, operand->storage, storage->label);
    }
    return code;
}

enum status_code replay_op_run(struct replay *replay, int index, struct status *error)
{
    const struct op *op = &replay->tape->ops[index];
    struct operation_call call; /* not cleared: its tensors beyond tensor_count are a kilobyte that nobody reads */
    enum status_code code = STATUS_OK;
    if ((unsigned)op->opcode >= OPCODE_COUNT || op->operand_count < 0 ||
        op->operand_count > OPERATION_TENSORS_MAXIMUM || op->input_count < 0 || op->input_count > op->operand_count) {
        return status_set(error, STATUS_INTERNAL, "stage %s: op %d: opcode %d with %d inputs of %d operands",
                          stage_name(replay->ledger.stage), index, (int)op->opcode, op->input_count, op->operand_count);
    }
    call.opcode = op->opcode;
    call.input_count = op->input_count;
    call.tensor_count = op->operand_count;
    call.attributes = op->attributes;
    for (int i = 0; i < op->operand_count && code == STATUS_OK; i++) {
        code = replay_operand_resolve(replay, op->first_operand + i, &call.tensors[i], error);
    }
    if (code == STATUS_OK) {
        code = replay->device->table->run(replay->device, &call, error);
    }
    if (code == STATUS_OUT_OF_MEMORY) {
        replay_refusal_note(replay, 0, opcode_name(op->opcode), error);
    } else if (code != STATUS_OK) {
        status_prefix(error, "stage %s: op %d (%s)", stage_name(replay->ledger.stage), index, opcode_name(op->opcode));
    }
    return code;
}

enum status_code replay_stage_change(struct replay *replay, int stage, struct status *error)
{
    enum status_code code = replay_stage_end(replay, error);
    return code == STATUS_OK ? replay_stage_begin(replay, (enum stage)stage, error) : code;
}

static enum status_code event_play(struct replay *replay, const struct event *event, struct status *error)
{
    const struct tape_view *tape = replay->tape;
    int count = event->kind == EVENT_STAGE    ? STAGE_COUNT
                : event->kind == EVENT_RUN    ? tape->op_count
                : event->kind == EVENT_TRIM   ? PLACE_MAXIMUM
                : event->kind == EVENT_TOKEN  ? 1
                : event->kind == EVENT_REPEAT ? tape->repeat_count
                                              : tape->storage_count;
    if (event->index < 0 || event->index >= count) {
        return status_set(error, STATUS_INTERNAL, "event %d of kind %d points at %d of %d", (int)(event - tape->events),
                          (int)event->kind, event->index, count);
    }
    switch (event->kind) {
    case EVENT_ALLOC:
        return replay_storage_alloc(replay, event->index, error);
    case EVENT_FREE:
        return replay_storage_free(replay, event->index, error);
    case EVENT_RUN:
        return replay_op_run(replay, event->index, error);
    case EVENT_STAGE:
        return replay_stage_change(replay, event->index, error);
    case EVENT_TRIM:
        return allocator_trim(replay->allocator, error);
    case EVENT_TOKEN:
        replay->result.token_count++;
        return STATUS_OK;
    case EVENT_REPEAT:
        return repetition_run(replay, &tape->repeats[event->index], error);
    }
    return status_set(error, STATUS_INTERNAL, "event %d has the unknown kind %d", (int)(event - tape->events),
                      (int)event->kind);
}

static enum status_code loss_read(struct replay *replay, struct status *error)
{
    struct device *device = replay->device;
    int index = replay->tape->loss_operand;
    if (index < 0 || !replay->properties.computes) {
        return STATUS_OK;
    }
    struct tensor tensor;
    enum status_code code = replay_operand_resolve(replay, index, &tensor, error);
    if (code == STATUS_OK && (tensor_element_count(&tensor) != 1 || !dtype_is_floating(tensor.dtype))) {
        code = status_set(error, STATUS_INTERNAL, "it is not one floating number");
    }
    unsigned char bytes[8];
    if (code == STATUS_OK) {
        code = device->table->copy_to_host(device, bytes, tensor.data, dtype_bytes(tensor.dtype), error);
    }
    if (code != STATUS_OK) {
        status_prefix(error, "loss");
        return code;
    }
    replay->result.loss = element_value(tensor.dtype, bytes);
    replay->result.loss_valid = true;
    return STATUS_OK;
}

static enum status_code tape_play(struct replay *replay, struct status *error)
{
    enum status_code code = replay_stage_begin(replay, STAGE_CONTEXT, error);
    for (int i = 0; i < replay->tape->event_count && code == STATUS_OK; i++) {
        code = event_play(replay, &replay->tape->events[i], error);
    }
    if (code == STATUS_OK) {
        code = replay_stage_end(replay, error);
    }
    return code == STATUS_OK ? loss_read(replay, error) : code;
}

/* Frees what is alive at the end of the tape. After it the ledger is empty and every segment is wholly free. */
static enum status_code remaining_free(struct replay *replay, struct status *error)
{
    enum status_code code = STATUS_OK;
    for (int i = 0; i < replay->tape->storage_count && code == STATUS_OK; i++) {
        if (replay->blocks[i].state == STORAGE_LIVE) {
            code = replay_storage_free(replay, i, error);
        }
    }
    if (code == STATUS_OK && (ledger_bytes(&replay->ledger) != 0 || replay->ledger.live_count != 0 ||
                              allocator_counters(replay->allocator)->allocated_bytes != 0)) {
        code = status_set(error, STATUS_INTERNAL, "the ledger is not empty at the end");
    }
    return code;
}

void replay_result_complete(struct replay *replay, uint64_t sequence_hash)
{
    struct replay_result *result = &replay->result;
    result->peak_stage = STAGE_CONTEXT;
    for (int i = 0; i < STAGE_COUNT; i++) {
        const struct replay_stage *stage = &result->stages[i];
        if (!stage->present) {
            continue;
        }
        if (stage->allocated_bytes_peak > result->allocated_bytes_peak) {
            result->peak_stage = (enum stage)i;
        }
        level_peaks_raise(result->peaks, stage->levels);
    }
    memcpy(result->categories_at_peak, result->stages[result->peak_stage].categories_at_peak,
           sizeof result->categories_at_peak);
    result->saved_for_backward_bytes = replay->tape->saved_for_backward_bytes;
    result->managed = replay->tape->managed;
    result->searches = replay->tape->searches;
    result->attention_backend = attention_backend_name(replay->tape->attention_backend);
    result->alloc_count = replay->ledger.alloc_count;
    result->sequence_hash = sequence_hash;
}

enum status_code replay_open(struct replay *replay, enum allocator_policy policy, struct status *error)
{
    struct device *device = replay->device;
    enum status_code code = device->table->properties(device, &replay->properties, error);
    if (code != STATUS_OK) {
        return code;
    }
    if (replay->properties.computes && replay->tape->not_run != NULL) {
        return status_set(error, STATUS_INVALID,
                          "the arithmetic of %s is not built, only what it takes: it can be predicted (assay estimate, "
                          "or --device meta) and not run",
                          replay->tape->not_run);
    }
    struct segment_source source = {.table = &device_segment_table, .context = replay, .descends = true};
    if (replay->allocator != NULL) {
        allocator_source_set(replay->allocator, source);
        return STATUS_OK;
    }
    return allocator_open(policy, source, &replay->allocator, error);
}

enum status_code replay_blocks_new(const struct tape_view *tape, struct storage_block **blocks, struct status *error)
{
    size_t count = tape->storage_count > 0 ? (size_t)tape->storage_count : 1;
    *blocks = calloc(count, sizeof **blocks);
    return *blocks != NULL
               ? STATUS_OK
               : status_set(error, STATUS_OUT_OF_MEMORY, "the host has no memory to replay %zu storages", count);
}

static enum status_code replay_carry_out(struct replay *replay, struct replay_result *result, struct status *error)
{
    enum status_code code = replay_blocks_new(replay->tape, &replay->blocks, error);
    if (code == STATUS_OK) {
        code = replay_open(replay, ALLOCATOR_CACHING, error);
    }
    if (code == STATUS_OK) {
        code = tape_play(replay, error);
    }
    if (code == STATUS_OUT_OF_MEMORY && !replay->refusal_noted) {
        replay_refusal_note(replay, 0, NULL, error);
    }
    uint64_t sequence_hash = replay->ledger.sequence_hash; /* of the tape's own events */
    if (code == STATUS_OK) {
        code = remaining_free(replay, error);
    }
    /* Also on failure: the first error stays, later ones are of no use to anybody. */
    enum status_code closing = allocator_close(replay->allocator, code == STATUS_OK ? error : NULL);
    code = code == STATUS_OK ? closing : code;
    free(replay->blocks);
    if (code == STATUS_OK || code == STATUS_OUT_OF_MEMORY) {
        replay_result_complete(replay, sequence_hash);
        *result = replay->result;
    }
    return code;
}

enum status_code replay_run(const struct tape_view *tape, struct device *device, const struct replay_observer *observer,
                            struct replay_result *result, struct status *error)
{
    struct replay replay = {.tape = tape, .device = device, .observer = observer, .ledger = ledger_new()};
    enum status_code code = replay_carry_out(&replay, result, error);
    while (replay.is_stopped) {
        struct replay again = {.tape = tape,
                               .device = device,
                               .ledger = ledger_new(),
                               .unfolds = replay.unfolds,
                               .stop_count = replay.stop_count};
        memcpy(again.stops, replay.stops, sizeof again.stops);
        replay = again;
        code = replay_carry_out(&replay, result, error);
    }
    return code;
}

enum status_code replay_run_unfolded(const struct tape_view *tape, struct device *device, struct replay_result *result,
                                     struct status *error)
{
    struct replay replay = {.tape = tape, .device = device, .unfolds = true, .ledger = ledger_new()};
    return replay_carry_out(&replay, result, error);
}
