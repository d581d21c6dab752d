/* Tape cursor: a tape's events one after another, repetitions carried out, each with the bytes that its storage has
 * then. */
#ifndef ASSAY_TAPE_TAPE_CURSOR_H
#define ASSAY_TAPE_TAPE_CURSOR_H

#include "harness/base/status.h"
#include "harness/tape/tape.h"

enum tape_step_kind {
    TAPE_STEP_EVENT,
    /* Before a repetition: what is known of one storage is from here on known of another (struct carry). */
    TAPE_STEP_CARRY,
    /* Repetitions have been left out (ends_only): event.index is a storage that has grown in them, by change_bytes. */
    TAPE_STEP_LEFT_OUT
};

struct tape_step {
    enum tape_step_kind kind;
    struct event event;   /* of TAPE_STEP_EVENT; never EVENT_REPEAT */
    int64_t change_bytes; /* of the live tensors' sum: positive for EVENT_ALLOC, negative for EVENT_FREE, else 0 */
    struct carry carry;
};

struct tape_cursor {
    const struct tape_view *tape;
    /* A caller that looks for the highest sum of live bytes sets this after tape_cursor_open: then only the first and
     * the last repetition of a body are carried out. The size of each storage is linear in the repetition, and so is
     * every sum of them: it is highest in one of these two. */
    bool ends_only;
    int64_t *bytes;     /* by storage: of those that were taken, what they had when they were taken */
    int64_t step_count; /* taken so far */
    /* -- the cursor's own */
    int event, carry;   /* the next ones */
    int repeat;         /* that is carried out */
    int64_t repetition; /* 1 to its count; 0: events are taken as they stand */
    bool carries;       /* come first */
    int64_t left_out;   /* repetitions that have just been, and are being told */
};

/* At the beginning of a tape that replays. STATUS_OUT_OF_MEMORY. Released with tape_cursor_close. */
enum status_code tape_cursor_open(const struct tape_view *tape, struct tape_cursor *cursor, struct status *error);
bool tape_cursor_next(struct tape_cursor *cursor, struct tape_step *step); /* false at the end */
void tape_cursor_close(struct tape_cursor *cursor);                        /* an empty one is accepted */

/* The bytes of a storage in a repetition (0: as recorded). */
int64_t storage_bytes_in(const struct storage *storage, int64_t repetition);

#endif
