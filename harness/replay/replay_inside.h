/* The inside of a replay: for replay.c, placed_replay.c and repetition.c alone. */
#ifndef ASSAY_REPLAY_REPLAY_INSIDE_H
#define ASSAY_REPLAY_REPLAY_INSIDE_H

#include "harness/memory/allocator.h"
#include "harness/memory/ledger.h"
#include "harness/replay/replay.h"

enum storage_state { STORAGE_UNTOUCHED, STORAGE_LIVE, STORAGE_DEAD };

struct storage_block {
    enum storage_state state;
    struct block *block;        /* NULL for a storage of 0 bytes */
    int64_t bytes, block_bytes; /* requested, and what counts as allocated */
};

struct repetition;

/* A repetition in which the device refused memory while only the small pool was carried out: it is not to be left
 * out. */
struct replay_stop {
    const struct repeat *repeat;
    int64_t at;
};

enum { REPLAY_STOPS = 16 };

struct replay {
    const struct tape_view *tape;
    const struct replay_observer *observer;
    struct device *device;
    bool unfolds; /* every repetition is carried out */
    struct replay_stop stops[REPLAY_STOPS];
    int stop_count;
    bool is_stopped; /* the last of them has just been noted: the replay begins anew */
    struct device_properties properties;
    struct allocator *allocator;
    struct ledger ledger;
    struct storage_block *blocks; /* for each storage of the tape */
    int64_t workspace_allocated_bytes;
    struct replay_result result;
    int64_t refused_segment_bytes; /* the last that the device refused */
    bool refusal_noted;
    double stage_start_seconds;
    int64_t segment_changes, small_segment_changes; /* taken or given back so far */
    struct repetition *repetition;                  /* that is carried out; NULL: none */
};

/* -- what a replay of one memory (replay.c) and of several (placed_replay.c) share. In the latter each memory has a
 * replay of its own, and all of them have the same blocks. */
enum status_code replay_blocks_new(const struct tape_view *tape, struct storage_block **blocks, struct status *error);
/* device, tape and ledger are set; the allocator is opened, or taken over if there is one. */
enum status_code replay_open(struct replay *replay, enum allocator_policy policy, struct status *error);
enum status_code replay_stage_begin(struct replay *replay, enum stage stage, struct status *error);
enum status_code replay_stage_end(struct replay *replay, struct status *error);
enum status_code replay_storage_alloc(struct replay *replay, int index, struct status *error);
/* The storage is this block, which was taken before. */
enum status_code replay_storage_adopt(struct replay *replay, int index, struct block *block, struct status *error);
enum status_code replay_storage_free(struct replay *replay, int index, struct status *error);
enum status_code replay_operand_resolve(const struct replay *replay, int index, struct tensor *tensor,
                                        struct status *error);
/* The figures over all stages. */
void replay_result_complete(struct replay *replay, uint64_t sequence_hash);

/* Memory is refused where a leap has no place for it: notes the stop. */
void replay_stop_note(struct replay *replay, const struct repeat *repeat, int64_t at);

/* Runs an operation of the tape on the device. */
enum status_code replay_op_run(struct replay *replay, int index, struct status *error);

/* Ends the stage that lasts, with its figures, and begins another. */
enum status_code replay_stage_change(struct replay *replay, int stage, struct status *error);

/* Notes what could not be had, and says it in the error, which holds the device's own words. label NULL: neither a
 * storage nor an operation asked. */
void replay_refusal_note(struct replay *replay, int64_t wanted_bytes, const char *label, struct status *error);

#endif
