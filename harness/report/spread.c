/* Spread: the highest less the lowest of each reading over the attempts at a case. It judges nothing: a process that
 * grows by a page is no fault of the device. */
#include "harness/report/spread.h"

#include <string.h>

#include "harness/report/wording.h"

/* The lowest and the highest figure so far. */
struct range {
    int64_t lowest_bytes, highest_bytes;
    int count;
};

static void range_add(struct range *range, int64_t bytes)
{
    if (bytes == BYTES_UNKNOWN) {
        return;
    }
    range->lowest_bytes = range->count == 0 || bytes < range->lowest_bytes ? bytes : range->lowest_bytes;
    range->highest_bytes = range->count == 0 || bytes > range->highest_bytes ? bytes : range->highest_bytes;
    range->count++;
}

struct spread_ranges {
    struct range ends[STAGE_COUNT][LEVEL_COUNT], peaks[STAGE_COUNT][LEVEL_COUNT];
};

/* The spread of one figure; BYTES_UNKNOWN if not every attempt has it. */
static int64_t range_width(const struct range *range, int attempt_count)
{
    return range->count == attempt_count && attempt_count > 0 ? range->highest_bytes - range->lowest_bytes
                                                              : BYTES_UNKNOWN;
}

static void figures_add(struct spread_ranges *ranges, const struct case_view *view)
{
    for (int stage = 0; stage < STAGE_COUNT; stage++) {
        const struct stage_view *figures = view->measured.stages[stage];
        for (int level = 0; level < LEVEL_COUNT; level++) {
            range_add(&ranges->ends[stage][level], figures->end_bytes[level]);
            range_add(&ranges->peaks[stage][level], figures->peak_bytes[level]);
        }
    }
}

/* Not known as soon as one attempt has no sequence; different as soon as two differ; whichever comes first. */
static void sequence_add(struct spread_sum *sum, const char *sequence)
{
    if (sum->sequences_decided) {
        return;
    }
    bool same = sequence != NULL && (sum->sequence == NULL || strcmp(sum->sequence, sequence) == 0);
    sum->sequences_decided = !same;
    sum->sequences = same ? SEQUENCES_EQUAL : sequence == NULL ? SEQUENCES_UNKNOWN : SEQUENCES_DIFFERENT;
    sum->sequence = sum->sequence != NULL ? sum->sequence : sequence;
}

bool spread_add(struct spread_sum *sum, struct arena *arena, const struct case_view *before,
                const struct case_view *view)
{
    if (before != NULL && sum->ranges == NULL) { /* most cases have one attempt, and need none of this */
        sum->ranges = arena_alloc(arena, sizeof *sum->ranges);
        if (sum->ranges == NULL) {
            return false;
        }
        if (case_is_measured(before)) {
            figures_add(sum->ranges, before);
        }
    }
    if (case_is_measured(view)) {
        sum->attempt_count++;
        sequence_add(sum, view->sequence);
        if (sum->ranges != NULL) {
            figures_add(sum->ranges, view);
        }
    }
    return true;
}

bool spread_make(const struct spread_sum *sum, struct arena *arena, struct spread *spread)
{
    *spread = (struct spread){.attempt_count = sum->attempt_count, .sequences = sum->sequences};
    if (sum->attempt_count < 2) {
        return true;
    }
    int64_t(*stage_bytes)[LEVEL_COUNT] = arena_alloc(arena, STAGE_COUNT * sizeof *stage_bytes);
    for (int stage = 0; stage_bytes != NULL && stage < STAGE_COUNT; stage++) {
        for (int level = 0; level < LEVEL_COUNT; level++) {
            int64_t end_bytes = range_width(&sum->ranges->ends[stage][level], sum->attempt_count);
            int64_t peak_bytes = range_width(&sum->ranges->peaks[stage][level], sum->attempt_count);
            stage_bytes[stage][level] = end_bytes > peak_bytes ? end_bytes : peak_bytes;
        }
    }
    spread->stage_bytes = (const int64_t(*)[LEVEL_COUNT])stage_bytes;
    return stage_bytes != NULL;
}

int64_t spread_widest(const struct spread *spread, enum level level)
{
    int64_t widest_bytes = BYTES_UNKNOWN;
    for (int stage = 0; spread->stage_bytes != NULL && stage < STAGE_COUNT; stage++) {
        int64_t bytes = spread->stage_bytes[stage][level];
        widest_bytes = bytes > widest_bytes ? bytes : widest_bytes;
    }
    return widest_bytes;
}

void spread_append(struct text *text, const struct spread *spread)
{
    if (spread->attempt_count < 2) {
        return;
    }
    text_format(text, "%d attempts:", spread->attempt_count);
    for (int level = 0; level < LEVEL_COUNT; level++) {
        char word[WORDING_BYTES];
        text_format(text, "%s %s %s", level > 0 ? "," : "", level_name((enum level)level),
                    bytes_word(spread_widest(spread, (enum level)level), false, word));
    }
    text_append(text, spread->sequences == SEQUENCES_EQUAL       ? "; one sequence of allocations"
                      : spread->sequences == SEQUENCES_DIFFERENT ? "; DIFFERENT sequences of allocations"
                                                                 : "");
}
