/* Tape walk: a tape's events one after another, repetitions carried out, each with the bytes that its storage has
 * then. */
#ifndef ASSAY_TAPE_TAPE_WALK_H
#define ASSAY_TAPE_TAPE_WALK_H

#include "harness/base/status.h"
#include "harness/tape/tape.h"

enum walk_kind {
    WALK_EVENT,
    WALK_CARRY, /* before a repetition: what is known of one storage is from here on known of another (struct carry) */
    /* Repetitions have been left out (ends_only): event.index is a storage that they have left larger, change_bytes by
     * how much. */
    WALK_LEFT_OUT
};

struct walk_step {
    enum walk_kind kind;
    struct event event; /* of WALK_EVENT; never EVENT_REPEAT */
    int64_t
        /* of all live tensors together: of EVENT_ALLOC the storage's, of EVENT_FREE less than 0, else 0 */
        change_bytes;
    struct carry carry;
};

struct tape_walk {
    const struct tape_view *tape;
    /* To be set behind tape_walk_open by who looks for the highest sum of live bytes: of a body that is repeated the
     * first and the last repetition are walked. Whatever is summed up to some event of the body is linear in the
     * repetition, since every storage is, so it is highest in one of the two, and between them nowhere as high for the
     * first time. */
    bool ends_only;
    int64_t *bytes;     /* by storage: of those that were taken, what they had when they were taken */
    int64_t step_count; /* taken so far */
    /* -- the walk's own */
    int event, carry;   /* the next ones */
    int repeat;         /* that is carried out */
    int64_t repetition; /* 1 to its count; 0: events are taken as they stand */
    bool carries;       /* come first */
    int64_t left_out;   /* repetitions that have just been, and are being told */
};

/* At the beginning of a tape that replays. STATUS_OUT_OF_MEMORY. Released with tape_walk_close. */
enum status_code tape_walk_open(const struct tape_view *tape, struct tape_walk *walk, struct status *error);
bool tape_walk_next(struct tape_walk *walk, struct walk_step *step); /* false at the end */
void tape_walk_close(struct tape_walk *walk);                        /* an empty one is accepted */

/* The bytes of a storage in a repetition (0: as recorded). */
int64_t storage_bytes_in(const struct storage *storage, int64_t repetition);

#endif
