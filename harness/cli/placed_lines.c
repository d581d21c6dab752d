/* Pieces of lines about placed tapes: sizes, peaks, copies, refusals. */
#include "harness/cli/placed_lines.h"

const char *size_or_dash(int64_t bytes, char text[SIZE_TEXT_BYTES])
{
    if (bytes < 0) {
        return "-";
    }
    return size_format(bytes, text);
}

const char *placed_left_format(int64_t budget_bytes, int64_t need_bytes, char text[SIZE_TEXT_BYTES + 1])
{
    if (budget_bytes < 0 || need_bytes < 0) {
        return "-";
    }
    int64_t left_bytes = budget_bytes - need_bytes;
    text[0] = '-';
    size_format(left_bytes < 0 ? -left_bytes : left_bytes, text + 1);
    return left_bytes < 0 ? text : text + 1;
}

void placed_peaks_head(bool runs, struct text *text)
{
    for (int level = 0; level < LEVEL_COUNTED_COUNT; level++) {
        text_format(text, " %11s", level_name((enum level)level));
    }
    text_append(text, runs ? "  measured\n" : "\n");
}

void placed_peaks_append(const struct replay_stage *stage, struct text *text)
{
    for (int level = 0; level < LEVEL_COUNTED_COUNT; level++) {
        char size[SIZE_TEXT_BYTES];
        text_format(text, " %11s", size_format(stage->levels[level].bytes_peak, size));
    }
}

bool placed_peaks_equal(const struct replay_stage *a, const struct replay_stage *b)
{
    bool equal = true;
    for (int level = 0; level < LEVEL_COUNTED_COUNT; level++) {
        equal = equal && a->levels[level].bytes_peak == b->levels[level].bytes_peak;
    }
    return equal;
}

/* How fast; nothing of a copy that was not carried out. */
static void copy_rate_append(const struct placed_result *result, int from, int to, struct text *text)
{
    double seconds = result->copy_seconds[from][to];
    if (seconds > 0.0) {
        text_format(text, " (%.2f GiB/s)", (double)result->copied_bytes[from][to] / seconds / (double)(1 << 30));
    }
}

void placed_copies_append(const struct placed_tape *placed, const struct placed_result *result, const char *heading,
                          struct text *text)
{
    const char *separator = heading;
    for (int from = 0; from < placed->place_count; from++) {
        for (int to = 0; to < placed->place_count; to++) {
            char names[2][DEVICE_TEXT_BYTES], size[SIZE_TEXT_BYTES];
            if (result->copied_bytes[from][to] > 0) {
                text_format(text, "%s %s from %s to %s", separator, size_format(result->copied_bytes[from][to], size),
                            placement_device_name(placed->devices[from], names[0]),
                            placement_device_name(placed->devices[to], names[1]));
                copy_rate_append(result, from, to, text);
                separator = ",";
            }
        }
    }
    text_append(text, separator != heading ? "\n" : "");
}

void placed_refusal_append(const struct placed_tape *placed, const struct placed_outcome *outcome, struct text *text)
{
    char name[DEVICE_TEXT_BYTES];
    int lane = outcome->result.oom_lane;
    text_format(text, "out of memory on %s: %s\n", placement_device_name(placed->devices[lane], name), outcome->reason);
}
