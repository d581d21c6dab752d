/* Overhead heading: what a law was fitted to, in words: cases, sizes and their range. Its figures come later
 * (overhead_text.c). */
#include <inttypes.h>
#include <math.h>

#include "harness/base/size.h"
#include "harness/law/overhead_text.h"

void overhead_errors_append(struct text *text, const struct error_summary *summary)
{
    if (summary->count == 0) {
        text_append(text, "not known");
        return;
    }
    text_format(text, "median %.2f %%, ", 100.0 * summary->median);
    if (!isnan(summary->p99)) {
        text_format(text, "p99 %.2f %%, ", 100.0 * summary->p99);
    }
    text_format(text, "worst %.2f %%", 100.0 * summary->worst);
}

struct overhead_range overhead_range_of(const struct overhead_law *law)
{
    struct overhead_range range = {.tokens_low = INT64_MAX};
    bool is_first = true;
    for (int at = 0; at < law->points->count; at++) {
        const struct law_point *point = &law->points->all[at];
        int64_t tokens = law_point_tokens(point);
        if (!law->kinds[law->kind_of_point[at]].counts) {
            continue;
        }
#define RANGE_WIDEN(member, heading)                                                                                   \
    range.low.member = is_first || point->member < range.low.member ? point->member : range.low.member;                \
    range.high.member = is_first || point->member > range.high.member ? point->member : range.high.member;
        LAW_POINT_SIZES(RANGE_WIDEN)
#undef RANGE_WIDEN
        range.tokens_low = tokens < range.tokens_low ? tokens : range.tokens_low;
        range.tokens_high = tokens > range.tokens_high ? tokens : range.tokens_high;
        is_first = false;
    }
    return range;
}

void overhead_range_append(struct text *text, const struct overhead_range *range, const char *gap)
{
    char low[SIZE_TEXT_BYTES], high[SIZE_TEXT_BYTES];
    text_format(text,
                "tokens %" PRId64 " to %" PRId64 ", weights %s to %s,%slayers %" PRId64 " to %" PRId64
                ", hidden size %" PRId64 " to %" PRId64,
                range->tokens_low, range->tokens_high, size_format(range->low.weights_bytes, low),
                size_format(range->high.weights_bytes, high), gap, range->low.layers, range->high.layers,
                range->low.hidden, range->high.hidden);
}

void overhead_heading_append(struct text *text, const struct overhead_law *law)
{
    struct overhead_range range = overhead_range_of(law);
    text_format(text, "overhead of inference: %d cases of %d models of %d kinds\n", law->counted_point_count,
                law->counted_model_count, law->counted_kind_count);
    law_points_append(text, law->points);
    text_append(text, "\n");
    if (law->points->count > law->counted_point_count) {
        text_format(text,
                    "%d of them are of kinds with too few models or without terms: they have no law\n"
                    "of their own, and stand in the rule of 20 %% and in the contexts\n",
                    law->points->count - law->counted_point_count);
    }
    text_append(text, "range: ");
    overhead_range_append(text, &range, "\n  ");
    text_append(text, "\n");
    if (law->counted_cluster_count < law->counted_model_count) {
        text_format(text,
                    "the models have %d size%s (width, heads, layers, vocabulary); what is fitted over\n"
                    "all kinds is resampled by size\n",
                    law->counted_cluster_count, law->counted_cluster_count == 1 ? "" : "s");
    }
    if (law->untold_count > 0) {
        text_format(text,
                    "%d cases have no error: without their own model nothing tells a coefficient\n"
                    "that they need\n",
                    law->untold_count);
    }
}
