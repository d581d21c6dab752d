/* Replay: a tape walked on a device, through the allocator, into the ledger.
 *
 * On the meta device the outcome is a prediction, elsewhere a measurement. Every figure says its level: requested (sum
 * of live tensor sizes), allocated (blocks handed out), reserved (segments), device and process (what the driver or the
 * kernel counts). */
#ifndef ASSAY_REPLAY_REPLAY_H
#define ASSAY_REPLAY_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/status.h"
#include "harness/device/device.h"
#include "harness/record/level.h"
#include "harness/tape/tape.h"

/* One stage. *_bytes: at its end; *_peak: the highest while it lasted. Where a stage occurs several times (steps of
 * training), the last occurrence counts. */
struct replay_stage {
    bool present;
    LEVEL_FIGURES(levels);                      /* requested_bytes, requested_bytes_peak, allocated_bytes, ... */
    int64_t workspace_allocated_bytes;          /* of allocated_bytes: blocks of CATEGORY_WORKSPACE */
    struct device_reading reading;              /* at the end of the stage; all invalid on meta */
    int64_t categories_at_peak[CATEGORY_COUNT]; /* requested bytes at the moment of requested_bytes_peak */
    double seconds;                             /* wall clock; 0 on meta */
};

/* Why the levels differ, at the end of a stage: requested + rounding + remainder = allocated, + cached = reserved. */
struct replay_causes {
    int64_t rounding_bytes;          /* up to the 512-byte unit */
    int64_t unsplit_remainder_bytes; /* blocks handed out whole because the rest was too small to keep */
    int64_t unsplit_remainder_count;
    int64_t cached_bytes; /* reserved - allocated */
};

struct replay_result {
    struct replay_stage stages[STAGE_COUNT];
    struct replay_causes causes_at_load; /* at the end of STAGE_LOAD */
    struct replay_causes causes_at_end;
    LEVEL_PEAKS(peaks);    /* over the stages above: requested_bytes_peak, allocated_bytes_peak, ... */
    enum stage peak_stage; /* where allocated_bytes_peak was (the first of equals) */
    int64_t categories_at_peak[CATEGORY_COUNT]; /* of peak_stage */
    int64_t saved_for_backward_bytes;
    struct managed_memory managed;           /* beside all levels: the optimizer's, once it has stepped */
    bool searches;                           /* its first passes try cuDNN's engines */
    int64_t peaks_ever[LEVEL_COUNTED_COUNT]; /* over all passes: stages and peaks are those of the last one */
    const char *attention_backend;           /* "cudnn": the kernel whose storages the tape has; static; NULL: none */
    int64_t segment_count;                   /* live at the end of the last stage that ended */
    int64_t alloc_count;                     /* allocations of the tape that were made */
    int64_t token_count;                     /* EVENT_TOKEN that were passed */
    int64_t left_out_count;                  /* repetitions that were not carried out, because what they do is known */
    /* Of every alloc and free in order: storage, bytes, position of the block. Of what the tape tells as a repetition,
     * of how often. */
    uint64_t sequence_hash;
    bool loss_valid;
    double loss;
    /* Out of memory: what was wanted, by what, when, and what was held then. */
    int64_t oom_wanted_bytes;  /* 0 if it was not an allocation of the tape that failed */
    int64_t oom_segment_bytes; /* that the device refused; 0: it refused none */
    int64_t oom_live_bytes;    /* requested, of the tensors that were alive at that moment */
    int64_t oom_held_bytes;    /* reserved at that moment; an allocation has given back what was only cached */
    bool oom_free_valid;       /* what the device said just after it had refused */
    int64_t oom_free_bytes;
    enum stage oom_stage;
    const char *oom_label; /* of the storage, or the opcode's name; borrowed; NULL: neither asked, or no refusal */
};

/* A callback at the end of each stage; NULL: none. Used for progress and for readings by the caller. */
struct replay_observer {
    void (*stage_ended)(void *context, enum stage stage, const struct replay_stage *figures);
    void *context;
};

/* Walks the tape. A repetition is carried out as often as the tape says; on a device that computes nothing, what it is
 * known to do again is not done again (repetition.h). STAGE_CONTEXT lasts from the opened device to the first
 * EVENT_STAGE. What is alive at the end of the tape is freed after the last figures were taken. A fault of the tape (a
 * storage taken or freed twice, an operand that is not alive or reaches beyond its storage) is STATUS_INTERNAL and
 * names the place. Everything taken from the device is given back before it returns, also on failure. On
 * STATUS_OUT_OF_MEMORY result holds the stages that ended and the oom_* fields; on other errors it is not written. */
enum status_code replay_run(const struct tape_view *tape, struct device *device, const struct replay_observer *observer,
                            struct replay_result *result, struct status *error);

/* The same with every repetition carried out: what the one above is held against. */
enum status_code replay_run_unfolded(const struct tape_view *tape, struct device *device, struct replay_result *result,
                                     struct status *error);

#endif
