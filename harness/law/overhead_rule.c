/* The rule of 20 %: counting, and where a fitted law crosses it. */
#include "harness/law/overhead_rule.h"

#include <string.h>

#define RULE_FACTOR     1.2
#define WASTEFUL_FACTOR 1.1

enum { TOKENS_MAXIMUM = 1 << 22 };

static void count_add(struct rule_count *count, double weights, double peak)
{
    count->count++;
    count->too_little += peak > RULE_FACTOR * weights;
    count->wasteful += RULE_FACTOR * weights > WASTEFUL_FACTOR * peak;
}

struct rule_count overhead_group_count(const struct overhead_law *law, const struct overhead_group *kind,
                                       enum overhead_level level)
{
    struct rule_count count = {0};
    for (int i = 0; i < kind->point_count; i++) {
        const struct law_point *point = &law->points->all[kind->points[i]];
        if (overhead_measured(point, level) > 0) {
            count_add(&count, (double)point->weights_bytes, (double)overhead_measured(point, level));
        }
    }
    return count;
}

static void extreme_take(struct rule_extreme *extreme, const struct law_point *point, double sign)
{
    double factor = (double)point->allocated_bytes / (double)point->weights_bytes;
    if (extreme->point == NULL || sign * factor > sign * extreme->factor) {
        *extreme = (struct rule_extreme){point, factor};
    }
}

/* The place of a value among the smallest so far, in order; -1: it is beyond them. */
static int place_find(const int64_t *values, int count, int64_t value)
{
    for (int at = 0; at < count; at++) {
        if (values[at] == value) {
            return at;
        }
    }
    return -1;
}

static void value_insert(int64_t *values, int *count, int64_t value)
{
    if (place_find(values, *count, value) >= 0 || (*count == RULE_GRID_MAXIMUM && value > values[*count - 1])) {
        return;
    }
    int at = *count < RULE_GRID_MAXIMUM ? (*count)++ : RULE_GRID_MAXIMUM - 1;
    for (; at > 0 && values[at - 1] > value; at--) {
        values[at] = values[at - 1];
    }
    values[at] = value;
}

void overhead_verdict_make(const struct overhead_law *law, struct overhead_verdict *verdict)
{
    *verdict = (struct overhead_verdict){0};
    for (int at = 0; at < law->points->count; at++) {
        const struct law_point *point = &law->points->all[at];
        extreme_take(&verdict->highest, point, 1.0);
        extreme_take(&verdict->lowest, point, -1.0);
        value_insert(verdict->batches, &verdict->batch_count, point->batch);
        if (point->image_values == 0) {
            value_insert(verdict->seqs, &verdict->seq_count, point->seq);
        }
        for (int level = 0; level < OVERHEAD_LEVEL_COUNT; level++) {
            int64_t peak = overhead_measured(point, (enum overhead_level)level);
            if (peak > 0) {
                count_add(&verdict->all[level], (double)point->weights_bytes, (double)peak);
            }
        }
    }
    for (int at = 0; at < law->points->count; at++) {
        const struct law_point *point = &law->points->all[at];
        int batch = place_find(verdict->batches, verdict->batch_count, point->batch);
        int seq = point->image_values == 0 ? place_find(verdict->seqs, verdict->seq_count, point->seq) : -1;
        if (batch >= 0 && seq >= 0) {
            count_add(&verdict->grid[batch][seq], (double)point->weights_bytes, (double)point->allocated_bytes);
        }
    }
}

const char *overhead_verdict_words(const struct overhead_verdict *verdict)
{
    const struct rule_count *allocated = &verdict->all[OVERHEAD_ALLOCATED];
    return allocated->too_little > 0 && allocated->wasteful > 0 ? "unsafe in some cases and wasteful in others"
           : allocated->too_little > 0                          ? "unsafe"
           : allocated->wasteful > 0                            ? "safe here, and wasteful"
                                                                : "safe here";
}

static double factor_at(struct law_point *point, const struct overhead_group *kind, int64_t tokens)
{
    enum overhead_moment moment;
    point->seq = tokens;
    return overhead_predict(point, kind->fit.coefficients, kind->allocator_bytes, &moment) /
           (double)point->weights_bytes;
}

/* The smallest number of tokens above which the law is above the factor. */
static int64_t tokens_of(const struct law_point *measured, const struct overhead_group *kind, double factor,
                         const char *logits)
{
    struct law_point point = *measured;
    int64_t low = 0, high = TOKENS_MAXIMUM;
    point.batch = 1;
    point.new_tokens = 0;
    point.mode = "infer";
    point.logits = logits;
    if (factor_at(&point, kind, high) <= factor) {
        return 0;
    }
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        *(factor_at(&point, kind, middle) > factor ? &high : &low) = middle;
    }
    return high;
}

struct token_range overhead_tokens_at(const struct overhead_law *law, const struct overhead_group *kind, double factor,
                                      const char *logits)
{
    struct token_range range = {0};
    int64_t least = INT64_MAX, most = 0;
    for (int i = 0; i < kind->point_count && kind->counts; i++) {
        const struct law_point *point = &law->points->all[kind->points[i]];
        /* Scores grow with the square of the length; the others are the fused form if a kind has it. */
        bool is_plain = strcmp(point->logits, logits) == 0 && strcmp(point->mode, "infer") == 0 &&
                        point->image_values == 0 && strcmp(point->attention, "eager") != 0;
        bool is_inference = strcmp(point->mode, "infer") == 0;
        least = is_inference && law_point_tokens(point) < least ? law_point_tokens(point) : least;
        most = is_inference && law_point_tokens(point) > most ? law_point_tokens(point) : most;
        int64_t tokens = is_plain ? tokens_of(point, kind, factor, logits) : 0;
        if (tokens > 0) {
            range.low = range.low == 0 || tokens < range.low ? tokens : range.low;
            range.high = tokens > range.high ? tokens : range.high;
        }
    }
    range.low_is_measured = range.low >= least && range.low <= most;
    range.high_is_measured = range.high >= least && range.high <= most;
    return range;
}
