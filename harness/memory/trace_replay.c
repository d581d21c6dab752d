/* Trace replay: plays the events of a trace on an allocator without memory, and where PyTorch's own record is in it
 * compares with that at every event. Nothing is read or printed here.
 *
 * The order in a record is PyTorch's: a segment is noted before the block that needed it; a run of segments given back
 * is one emptying of the cache, be it torch.cuda.empty_cache() or the retry after cudaMalloc failed. In both cases
 * everything is given back that is wholly free, so the allocator is trimmed at the first of the run. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/memory/announced_source.h"
#include "harness/memory/trace.h"
#include "harness/memory/trace_reader.h"

struct player {
    const struct trace *trace;
    struct allocator *allocator;
    struct block **blocks; /* by slot */
    bool follows;          /* segments lie where PyTorch's lay, and all is compared */
    struct announced_source source;
    const struct trace_event *segment;    /* noted, and the block that needs it has not come yet */
    const struct trace_event *emptying;   /* the last of the run of segments given back that lasts */
    int64_t matched_count, matched_bytes; /* of that run: given back by both */
    struct trace_comparison comparison;
};

/* The two sides of a contradiction: a verb phrase each. */
struct sides {
    char pytorch[TRACE_SIDE_BYTES], assay[TRACE_SIDE_BYTES];
};

static void contradiction_note(struct player *player, struct trace_tally *tally, size_t event_number,
                               const struct sides *sides)
{
    struct trace_comparison *comparison = &player->comparison;
    tally->unequal_count += 1;
    if (comparison->first_event == 0) {
        comparison->first_event = event_number;
        snprintf(comparison->first_pytorch, TRACE_SIDE_BYTES, "%s", sides->pytorch);
        snprintf(comparison->first_assay, TRACE_SIDE_BYTES, "%s", sides->assay);
    }
}

/* A segment that PyTorch took, after the block that needed it: taken_count of ours, the block lies at position. */
static void segment_compare(struct player *player, int64_t position)
{
    const struct trace_event *event = player->segment;
    const struct announced_source *source = &player->source;
    struct sides sides;
    player->segment = NULL;
    announced_source_keep(&player->source);
    player->comparison.segments.count += 1;
    if (source->taken_count > 0 && source->taken_bytes == event->bytes) {
        return;
    }
    snprintf(sides.pytorch, sizeof sides.pytorch, "took a segment of %" PRId64 " bytes", event->bytes);
    if (source->taken_count > 0) {
        snprintf(sides.assay, sizeof sides.assay, "took a segment of %" PRId64 " bytes", source->taken_bytes);
    } else if (position >= 0) {
        snprintf(sides.assay, sizeof sides.assay, "found a free block at %" PRId64 " in a segment that it had",
                 position);
    } else {
        snprintf(sides.assay, sizeof sides.assay, "needed none");
    }
    contradiction_note(player, &player->comparison.segments, event->number, &sides);
}

static void placement_compare(struct player *player, const struct trace_event *event, int64_t position)
{
    struct sides sides;
    player->comparison.placements.count += 1;
    if (player->segment == NULL && player->source.taken_count > 0) {
        snprintf(sides.pytorch, sizeof sides.pytorch,
                 "placed %" PRId64 " bytes at %" PRId64 ", in a segment that it had", event->bytes, event->address);
        snprintf(sides.assay, sizeof sides.assay, "took a segment of %" PRId64 " bytes", player->source.taken_bytes);
        player->comparison.segments.count += 1;
        contradiction_note(player, &player->comparison.segments, event->number, &sides);
    } else if (player->segment != NULL) {
        segment_compare(player, position);
    }
    if (position != event->address) {
        snprintf(sides.pytorch, sizeof sides.pytorch, "placed %" PRId64 " bytes at %" PRId64, event->bytes,
                 event->address);
        snprintf(sides.assay, sizeof sides.assay, "placed them at %" PRId64, position);
        contradiction_note(player, &player->comparison.placements, event->number, &sides);
    }
}

static enum status_code malloc_play(struct player *player, const struct trace_event *event, struct status *error)
{
    announced_source_begin(&player->source);
    enum status_code code = allocator_alloc(player->allocator, event->bytes, &player->blocks[event->slot], error);
    if (code == STATUS_OK && player->follows && event->bytes > 0) {
        placement_compare(player, event, block_position(player->blocks[event->slot]));
    }
    return code;
}

static enum status_code segment_free_play(struct player *player, const struct trace_event *event, struct status *error)
{
    if (player->emptying == NULL) {
        player->matched_count = player->matched_bytes = 0;
        announced_source_begin(&player->source);
        enum status_code code = allocator_trim(player->allocator, error);
        if (code != STATUS_OK) {
            return code;
        }
    }
    player->emptying = event;
    player->comparison.segments.count += 1;
    if (announced_source_withdraw(&player->source, event->slot)) {
        player->matched_count += 1;
        player->matched_bytes += player->source.announcements[event->slot].bytes;
        return STATUS_OK;
    }
    struct sides sides;
    snprintf(sides.pytorch, sizeof sides.pytorch, "gave back the segment of %" PRId64 " bytes at %" PRId64,
             event->bytes, event->address);
    bool is_held = player->source.announcements[event->slot].state == ANNOUNCEMENT_HELD;
    snprintf(sides.assay, sizeof sides.assay, "%s", is_held ? "keeps it: a block in it is live" : "has none there");
    contradiction_note(player, &player->comparison.segments, event->number, &sides);
    return STATUS_OK;
}

/* The run of segments given back is over. */
static void emptying_compare(struct player *player)
{
    int64_t more_count = player->source.returned_count - player->matched_count;
    if (more_count > 0) {
        struct sides sides;
        snprintf(sides.pytorch, sizeof sides.pytorch, "gave back no other segment than those before");
        snprintf(sides.assay, sizeof sides.assay, "gave back %" PRId64 " more, of %" PRId64 " bytes", more_count,
                 player->source.returned_bytes - player->matched_bytes);
        player->comparison.segments.count += 1;
        contradiction_note(player, &player->comparison.segments, player->emptying->number, &sides);
    }
    player->emptying = NULL;
}

static void counters_compare(struct player *player, const struct trace_event *event)
{
    const struct allocator_counters *counters = allocator_counters(player->allocator);
    const struct trace_counters *theirs = &player->trace->counters[event->slot];
    int64_t *ours = player->comparison.bytes[event->slot];
    for (int level = 0; level < LEVEL_COUNTED_COUNT; level++) {
        ours[level] = counters->levels[level].bytes;
        ours[LEVEL_COUNTED_COUNT + level] = counters->levels[level].bytes_peak;
    }
    for (int i = 0; i < TRACE_FIGURE_COUNT; i++) {
        if (theirs->bytes[i] == TRACE_UNKNOWN) {
            continue;
        }
        player->comparison.figures.count += 1;
        if (ours[i] != theirs->bytes[i]) {
            const char *name = trace_figure_name((enum trace_figure)i);
            struct sides sides;
            snprintf(sides.pytorch, sizeof sides.pytorch, "counted %" PRId64 " for %s", theirs->bytes[i], name);
            snprintf(sides.assay, sizeof sides.assay, "counts %" PRId64, ours[i]);
            contradiction_note(player, &player->comparison.figures, event->number, &sides);
        }
    }
}

/* What the event before left open. next is NULL at the end. */
static void event_finish(struct player *player, const struct trace_event *next)
{
    bool is_malloc = next != NULL && next->verb == TRACE_MALLOC && next->bytes > 0;
    if (player->segment != NULL && !is_malloc) {
        announced_source_begin(&player->source);
        segment_compare(player, -1);
    }
    if (player->emptying != NULL && (next == NULL || next->verb != TRACE_SEGMENT_FREE)) {
        emptying_compare(player);
    }
}

static enum status_code event_play(struct player *player, const struct trace_event *event, struct status *error)
{
    if (player->follows) {
        event_finish(player, event);
    }
    switch (event->verb) {
    case TRACE_MALLOC:
        return malloc_play(player, event, error);
    case TRACE_FREE:
        return allocator_free(player->allocator, player->blocks[event->slot], error);
    case TRACE_SEGMENT:
        if (player->follows) {
            announced_source_announce(&player->source, event->slot, event->address, event->bytes);
            player->segment = event;
        }
        break;
    case TRACE_SEGMENT_FREE:
        return player->follows ? segment_free_play(player, event, error) : STATUS_OK;
    case TRACE_RESET_PEAKS:
        allocator_reset_peaks(player->allocator);
        break;
    case TRACE_COUNTERS:
        counters_compare(player, event);
        break;
    }
    return STATUS_OK;
}

static enum status_code events_play(struct player *player, struct trace_result *result, struct status *error)
{
    const struct trace *trace = player->trace;
    for (size_t i = 0; i < trace->event_count; i++) {
        enum status_code code = event_play(player, &trace->events[i], error);
        if (code != STATUS_OK) {
            trace_event_place(trace, trace->events[i].number, error);
            return code;
        }
    }
    if (player->follows) {
        event_finish(player, NULL);
    }
    const struct allocator_counters *counters = allocator_counters(player->allocator);
    *result = (struct trace_result){.segment_count = counters->live_segment_count};
    memcpy(result->levels, counters->levels, sizeof result->levels);
    return STATUS_OK;
}

/* Where the highest segment of the record ends. */
static int64_t segments_end(const struct trace *trace)
{
    int64_t end = 0;
    for (size_t i = 0; i < trace->event_count; i++) {
        const struct trace_event *event = &trace->events[i];
        if (event->verb == TRACE_SEGMENT && event->address + event->bytes > end) {
            end = event->address + event->bytes;
        }
    }
    return end;
}

static enum status_code player_open(struct player *player, enum allocator_policy policy, struct status *error)
{
    const struct trace *trace = player->trace;
    player->blocks = calloc(trace->slot_count + 1, sizeof *player->blocks);
    player->comparison.bytes = calloc(trace->counters_count + 1, sizeof *player->comparison.bytes);
    if (player->blocks == NULL || player->comparison.bytes == NULL) {
        return trace_no_memory(trace, error);
    }
    player->comparison.trace = trace;
    player->follows = policy == ALLOCATOR_CACHING && trace->has_addresses;
    struct segment_source source = segment_source_virtual;
    enum status_code code = STATUS_OK;
    if (player->follows) {
        code = announced_source_open(&player->source, trace->segment_count, segments_end(trace), error);
        source = announced_source_segments(&player->source);
    }
    return code == STATUS_OK ? allocator_open(policy, source, &player->allocator, error) : code;
}

/* The comparison is the caller's on success. */
static enum status_code trace_play(const struct trace *trace, enum allocator_policy policy, struct trace_result *result,
                                   struct trace_comparison *comparison, struct status *error)
{
    struct player player = {.trace = trace};
    struct trace_result played;
    enum status_code code = player_open(&player, policy, error);
    if (code == STATUS_OK) {
        code = events_play(&player, &played, error);
    }
    enum status_code closing = allocator_close(player.allocator, code == STATUS_OK ? error : NULL);
    code = code == STATUS_OK ? closing : code;
    announced_source_close(&player.source);
    free(player.blocks);
    if (code != STATUS_OK) {
        trace_comparison_release(&player.comparison);
        return code;
    }
    *result = played;
    *comparison = player.comparison;
    return STATUS_OK;
}

enum status_code trace_replay(const struct trace *trace, enum allocator_policy policy, struct trace_result *result,
                              struct status *error)
{
    struct trace_comparison comparison;
    enum status_code code = trace_play(trace, policy, result, &comparison, error);
    if (code == STATUS_OK) {
        trace_comparison_release(&comparison);
    }
    return code;
}

enum status_code trace_compare(const struct trace *trace, struct trace_result *result,
                               struct trace_comparison *comparison, struct status *error)
{
    return trace_play(trace, ALLOCATOR_CACHING, result, comparison, error);
}
