/* Announced source: which address a segment gets. Nothing here knows what the other allocator is. */
#include "harness/memory/announced_source.h"

#include <stdlib.h>

#include "harness/base/size.h"

enum status_code announced_source_open(struct announced_source *source, size_t announcement_count, int64_t end_address,
                                       struct status *error)
{
    struct announced_source made = {
        .announcements = calloc(announcement_count + 1, sizeof *made.announcements),
        .kept = calloc(announcement_count + 1, sizeof *made.kept),
        .open = ANNOUNCED_NONE,
        .next_address = end_address,
    };
    if (made.announcements == NULL || made.kept == NULL) {
        announced_source_close(&made);
        return status_set(error, STATUS_OUT_OF_MEMORY, "the host has no memory to note the segments");
    }
    *source = made;
    return STATUS_OK;
}

void announced_source_close(struct announced_source *source)
{
    span_set_release(&source->held);
    free(source->kept);
    free(source->announcements);
    *source = (struct announced_source){.open = ANNOUNCED_NONE};
}

void announced_source_announce(struct announced_source *source, size_t number, int64_t address, int64_t bytes)
{
    source->announcements[number] =
        (struct announcement){.state = ANNOUNCEMENT_OPEN, .address = address, .bytes = bytes};
    source->open = number;
}

void announced_source_keep(struct announced_source *source)
{
    if (source->open != ANNOUNCED_NONE) {
        source->announcements[source->open].state = ANNOUNCEMENT_KEPT;
        source->kept[source->kept_count++] = source->open;
        source->open = ANNOUNCED_NONE;
    }
}

void announced_source_begin(struct announced_source *source)
{
    source->period += 1;
    source->taken_count = source->taken_bytes = 0;
    source->returned_count = source->returned_bytes = 0;
}

bool announced_source_withdraw(struct announced_source *source, size_t number)
{
    struct announcement *announcement = &source->announcements[number];
    if (announcement->state == ANNOUNCEMENT_KEPT) {
        announcement->state = ANNOUNCEMENT_RETURNED;
        return false;
    }
    return announcement->state == ANNOUNCEMENT_RETURNED && announcement->period == source->period;
}

/* The newest kept announcement that is still there, if it is of these bytes. */
static size_t kept_find(struct announced_source *source, int64_t bytes)
{
    while (source->kept_count > 0) {
        size_t number = source->kept[source->kept_count - 1];
        const struct announcement *announcement = &source->announcements[number];
        if (announcement->state == ANNOUNCEMENT_KEPT) {
            return announcement->bytes == bytes ? number : ANNOUNCED_NONE;
        }
        source->kept_count -= 1;
    }
    return ANNOUNCED_NONE;
}

/* The announcement that a request of bytes may lie at; one of our own segments may lie there still. */
static size_t announcement_for(struct announced_source *source, int64_t bytes)
{
    size_t number = source->open != ANNOUNCED_NONE ? source->open : kept_find(source, bytes);
    if (number == ANNOUNCED_NONE) {
        return ANNOUNCED_NONE;
    }
    const struct announcement *announcement = &source->announcements[number];
    bool is_free = span_set_find(&source->held, announcement->address, announcement->bytes) == NULL;
    return is_free && bytes <= announcement->bytes ? number : ANNOUNCED_NONE;
}

static enum status_code announced_alloc(void *context, int64_t bytes, void **address, struct status *error)
{
    struct announced_source *source = context;
    size_t number = announcement_for(source, bytes);
    bool announced = number != ANNOUNCED_NONE;
    int64_t end = source->next_address;
    if (!announced && !size_add(source->next_address, bytes, &end)) {
        return status_set(error, STATUS_OVERFLOW, "all segments together exceed 63 bits");
    }
    struct span span = {.address = announced ? source->announcements[number].address : source->next_address,
                        .bytes = bytes,
                        .number = number};
    enum status_code code = span_set_add(&source->held, span, error);
    if (code == STATUS_INVALID) {
        return status_set(error, STATUS_INTERNAL, "segments overlap at %lld", (long long)span.address);
    }
    if (code != STATUS_OK) {
        return code;
    }
    source->next_address = end;
    source->taken_count += 1;
    source->taken_bytes += bytes;
    if (announced) {
        source->announcements[number].state = ANNOUNCEMENT_HELD;
        source->open = number == source->open ? ANNOUNCED_NONE : source->open;
    }
    *address = (void *)(uintptr_t)span.address;
    return STATUS_OK;
}

static enum status_code announced_free(void *context, void *address, int64_t bytes, struct status *error)
{
    (void)error;
    struct announced_source *source = context;
    const struct span *span = span_set_find(&source->held, (int64_t)(uintptr_t)address, bytes);
    if (span != NULL && span->number != ANNOUNCED_NONE) {
        source->announcements[span->number].state = ANNOUNCEMENT_RETURNED;
        source->announcements[span->number].period = source->period;
    }
    span_set_remove(&source->held, (int64_t)(uintptr_t)address);
    source->returned_count += 1;
    source->returned_bytes += bytes;
    return STATUS_OK;
}

struct segment_source announced_source_segments(struct announced_source *source)
{
    static const struct segment_source_table table = {.alloc = announced_alloc, .free = announced_free};
    return (struct segment_source){.table = &table, .context = source, .places_segments = true};
}
