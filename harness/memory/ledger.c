/* Ledger: sums and their peaks. It decides nothing and knows no addresses but positions. */
#include "harness/memory/ledger.h"

#include <string.h>

#include "harness/base/size.h"

enum { HASH_ALLOC = 1, HASH_FREE = 2 };

/* Whole numbers, not bytes in memory, are mixed: the hash is the same on every machine. */
static uint64_t hash_number(uint64_t hash, uint64_t number)
{
    hash = (hash ^ number) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ (hash >> 32);
}

static uint64_t hash_event(uint64_t hash, uint64_t kind, int storage, int64_t bytes, int64_t position)
{
    hash = hash_number(hash, kind);
    hash = hash_number(hash, (uint64_t)storage);
    hash = hash_number(hash, (uint64_t)bytes);
    return hash_number(hash, (uint64_t)position);
}

struct ledger ledger_new(void)
{
    struct ledger ledger = {.stage = STAGE_CONTEXT, .sequence_hash = UINT64_C(0xcbf29ce484222325)};
    ledger.stages[STAGE_CONTEXT].present = true;
    return ledger;
}

void ledger_begin_stage(struct ledger *ledger, enum stage stage)
{
    struct ledger_stage begun = ledger->stages[ledger->stage];
    begun.bytes_peak = begun.bytes;
    memcpy(begun.categories_at_peak, begun.categories, sizeof begun.categories);
    ledger->stages[stage] = begun;
    ledger->stage = stage;
}

enum status_code ledger_add(struct ledger *ledger, int storage, enum category category, int64_t bytes, int64_t position,
                            struct status *error)
{
    struct ledger_stage *now = &ledger->stages[ledger->stage];
    int64_t sum;
    if (!size_add(now->bytes, bytes, &sum)) {
        return status_set(error, STATUS_OVERFLOW, "all live tensors together exceed 63 bits");
    }
    now->bytes = sum;
    now->categories[category] += bytes;
    if (sum > now->bytes_peak) {
        now->bytes_peak = sum;
        memcpy(now->categories_at_peak, now->categories, sizeof now->categories);
    }
    ledger->live_count += 1;
    ledger->alloc_count += 1;
    ledger->sequence_hash = hash_event(ledger->sequence_hash, HASH_ALLOC, storage, bytes, position);
    return STATUS_OK;
}

enum status_code ledger_remove(struct ledger *ledger, int storage, enum category category, int64_t bytes,
                               int64_t position, struct status *error)
{
    struct ledger_stage *now = &ledger->stages[ledger->stage];
    if (bytes < 0 || now->categories[category] < bytes || ledger->live_count < 1) {
        return status_set(error, STATUS_INTERNAL, "%lld bytes of %s leave the ledger, but it holds %lld",
                          (long long)bytes, category_name(category), (long long)now->categories[category]);
    }
    now->bytes -= bytes;
    now->categories[category] -= bytes;
    ledger->live_count -= 1;
    ledger->sequence_hash = hash_event(ledger->sequence_hash, HASH_FREE, storage, bytes, position);
    return STATUS_OK;
}

enum status_code ledger_change(struct ledger *ledger, enum category category, int64_t bytes, struct status *error)
{
    struct ledger_stage *now = &ledger->stages[ledger->stage];
    if (__builtin_add_overflow(now->bytes, bytes, &now->bytes)) {
        return status_set(error, STATUS_OVERFLOW, "all live tensors together exceed 63 bits");
    }
    now->categories[category] += bytes;
    if (now->bytes > now->bytes_peak) {
        now->bytes_peak = now->bytes;
        memcpy(now->categories_at_peak, now->categories, sizeof now->categories);
    }
    return STATUS_OK;
}

void ledger_change_all(struct ledger *ledger, int64_t bytes, const int64_t *categories, int64_t bytes_highest,
                       const int64_t *categories_highest)
{
    struct ledger_stage *now = &ledger->stages[ledger->stage];
    if (now->bytes + bytes_highest > now->bytes_peak) {
        now->bytes_peak = now->bytes + bytes_highest;
        for (int i = 0; i < CATEGORY_COUNT; i++) {
            now->categories_at_peak[i] = now->categories[i] + categories_highest[i];
        }
    }
    now->bytes += bytes;
    for (int i = 0; i < CATEGORY_COUNT; i++) {
        now->categories[i] += categories[i];
    }
}

void ledger_add_repeated(struct ledger *ledger, int64_t count, int64_t alloc_count)
{
    ledger->alloc_count += count * alloc_count;
    ledger->sequence_hash = hash_number(ledger->sequence_hash, (uint64_t)count);
    ledger->sequence_hash = hash_number(ledger->sequence_hash, (uint64_t)ledger->stages[ledger->stage].bytes);
}

int64_t ledger_bytes(const struct ledger *ledger)
{
    return ledger->stages[ledger->stage].bytes;
}
