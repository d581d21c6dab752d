/* Ledger: what the live tensors are for. Requested bytes (level L0) by category, for each stage the peak and what it
 * was made of, and a hash of the whole sequence. */
#ifndef ASSAY_MEMORY_LEDGER_H
#define ASSAY_MEMORY_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/status.h"
#include "harness/tape/tape.h"

/* One stage, from its begin to the next one. bytes and categories are those of its end, or of now while it lasts. */
struct ledger_stage {
    bool present;
    int64_t bytes;
    int64_t categories[CATEGORY_COUNT];
    int64_t bytes_peak;
    int64_t categories_at_peak[CATEGORY_COUNT]; /* at the first moment of bytes_peak; they add up to it */
};

struct ledger {
    enum stage stage;                        /* the one that lasts */
    struct ledger_stage stages[STAGE_COUNT]; /* if a stage occurs several times: the last occurrence */
    int64_t live_count;
    int64_t alloc_count;
    uint64_t sequence_hash;
};

/* Empty; STAGE_CONTEXT lasts. */
struct ledger ledger_new(void);

/* Ends the stage that lasts and begins another, whose peak starts at what is live. */
void ledger_begin_stage(struct ledger *ledger, enum stage stage);

/* Notes an allocation: storage is its number in the tape, position that of its block (-1 for 0 bytes).
 * STATUS_OVERFLOW, and nothing noted, where the sum leaves 63 bits. */
enum status_code ledger_add(struct ledger *ledger, int storage, enum category category, int64_t bytes, int64_t position,
                            struct status *error);

/* Notes the end of an allocation of the same storage, category, bytes and position. STATUS_INTERNAL, and nothing noted,
 * where the category does not hold as much. */
enum status_code ledger_remove(struct ledger *ledger, int storage, enum category category, int64_t bytes,
                               int64_t position, struct status *error);

/* The same as adding (bytes > 0) or removing (bytes < 0), but without a place in the sequence: for what is repeated, of
 * which ledger_add_repeated notes the whole. STATUS_OVERFLOW as there. */
enum status_code ledger_change(struct ledger *ledger, enum category category, int64_t bytes, struct status *error);

/* Notes several changes at once: bytes in all and for each category, and what they came to where they were highest on
 * the way. */
void ledger_change_all(struct ledger *ledger, int64_t bytes, const int64_t *categories, int64_t bytes_highest,
                       const int64_t *categories_highest);

/* A body of so many allocations, which left as many alive as there were, has been repeated `count` times. */
void ledger_add_repeated(struct ledger *ledger, int64_t count, int64_t alloc_count);

/* Requested bytes of all categories now. */
int64_t ledger_bytes(const struct ledger *ledger);

#endif
