/* Spread: the highest less the lowest of each reading over the attempts at a case. It judges nothing: a process that grows
 * by a page is no fault of the device. */
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

static bool is_measured(const struct json *line)
{
    const char *status = json_string_or(json_get(line, "status"), "");
    return strcmp(status, "ok") == 0 || strcmp(status, "fail") == 0;
}

/* The spread of one figure; BYTES_UNKNOWN where not every attempt has it. */
static int64_t range_width(const struct range *range, int attempt_count)
{
    return range->count == attempt_count && attempt_count > 0 ? range->highest_bytes - range->lowest_bytes
                                                              : BYTES_UNKNOWN;
}

static void stage_spread(struct json *const *lines, int count, int stage, struct spread *spread)
{
    struct range ends[LEVEL_COUNT] = {{0}}, peaks[LEVEL_COUNT] = {{0}};
    for (int at = 0; at < count; at++) {
        struct stage_view view;
        stage_view_read(json_get(json_get(lines[at], "stages"), report_stage_name(stage)), &view);
        for (int level = 0; level < LEVEL_COUNT && is_measured(lines[at]); level++) {
            range_add(&ends[level], view.end_bytes[level]);
            range_add(&peaks[level], view.peak_bytes[level]);
        }
    }
    for (int level = 0; level < LEVEL_COUNT; level++) {
        int64_t end_bytes = range_width(&ends[level], spread->attempt_count);
        int64_t peak_bytes = range_width(&peaks[level], spread->attempt_count);
        spread->stage_bytes[stage][level] = end_bytes > peak_bytes ? end_bytes : peak_bytes;
    }
}

static enum sequences sequences_of(struct json *const *lines, int count)
{
    const char *first = NULL;
    for (int at = 0; at < count; at++) {
        const char *hash = json_string_or(json_get(lines[at], "sequence_hash"), NULL);
        if (!is_measured(lines[at])) {
            continue;
        }
        if (hash == NULL) {
            return SEQUENCES_UNKNOWN;
        }
        first = first == NULL ? hash : first;
        if (strcmp(first, hash) != 0) {
            return SEQUENCES_DIFFERENT;
        }
    }
    return first != NULL ? SEQUENCES_EQUAL : SEQUENCES_UNKNOWN;
}

struct spread spread_of(struct json *const *lines, int count)
{
    struct spread spread = {.sequences = sequences_of(lines, count)};
    for (int at = 0; at < count; at++) {
        spread.attempt_count += is_measured(lines[at]) ? 1 : 0;
    }
    for (int stage = 0; stage < STAGE_COUNT; stage++) {
        stage_spread(lines, count, stage, &spread);
    }
    return spread;
}

int64_t spread_widest(const struct spread *spread, enum level level)
{
    int64_t widest_bytes = BYTES_UNKNOWN;
    for (int stage = 0; stage < STAGE_COUNT; stage++) {
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
