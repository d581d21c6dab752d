/* Linear bytes: sums, and the repetition in which a comparison turns. It knows no pool. Sizes are those of blocks, far
 * below 63 bits: the caller sees to that. */
#include "harness/memory/linear_bytes.h"

#include "harness/memory/allocator.h"

bool linear_request(struct linear_span *span, int64_t bytes, int64_t growth_bytes, struct linear_bytes *rounded)
{
    const int64_t unit = ALLOCATOR_UNIT_BYTES;
    int64_t rest = bytes % unit, growth_rest = growth_bytes % unit;
    *rounded = (struct linear_bytes){.bytes = bytes, .growth_bytes = growth_bytes};
    if (growth_rest == 0) { /* the same is added every time */
        rounded->bytes += rest == 0 ? 0 : unit - rest;
        return true;
    }
    int k = 0;
    while (k < span->rounding_count &&
           (span->roundings[k].rest_bytes != rest || span->roundings[k].growth_bytes != growth_rest)) {
        k++;
    }
    if (k == LINEAR_ROUNDINGS) {
        return false;
    }
    span->roundings[k].rest_bytes = rest;
    span->roundings[k].growth_bytes = growth_rest;
    span->rounding_count = k == span->rounding_count ? k + 1 : span->rounding_count;
    rounded->roundings[k] = 1;
    return true;
}

struct linear_bytes linear_sum(const struct linear_bytes *a, const struct linear_bytes *b)
{
    struct linear_bytes sum = {.bytes = a->bytes + b->bytes, .growth_bytes = a->growth_bytes + b->growth_bytes};
    for (int k = 0; k < LINEAR_ROUNDINGS; k++) {
        sum.roundings[k] = a->roundings[k] + b->roundings[k];
    }
    return sum;
}

struct linear_bytes linear_difference(const struct linear_bytes *a, const struct linear_bytes *b)
{
    struct linear_bytes difference = {.bytes = a->bytes - b->bytes, .growth_bytes = a->growth_bytes - b->growth_bytes};
    for (int k = 0; k < LINEAR_ROUNDINGS; k++) {
        difference.roundings[k] = a->roundings[k] - b->roundings[k];
    }
    return difference;
}

bool linear_is_rounded(const struct linear_bytes *size)
{
    bool is_rounded = false;
    for (int k = 0; k < LINEAR_ROUNDINGS; k++) {
        is_rounded = is_rounded || size->roundings[k] != 0;
    }
    return is_rounded;
}

bool linear_is_zero(const struct linear_bytes *size)
{
    return size->bytes == 0 && size->growth_bytes == 0 && !linear_is_rounded(size);
}

enum linear_answer linear_decide(struct linear_span *span, const struct linear_bytes *size, int64_t bytes)
{
    int64_t lowest = size->bytes - bytes, highest = lowest;
    for (int k = 0; k < LINEAR_ROUNDINGS; k++) {
        int64_t most = (int64_t)size->roundings[k] * (ALLOCATOR_UNIT_BYTES - 1);
        *(most < 0 ? &lowest : &highest) += most;
    }
    int64_t growth = size->growth_bytes, last = span->last;
    if (lowest >= 0) {
        last = growth < 0 ? lowest / -growth : last;
        span->last = last < span->last ? last : span->last;
        return LINEAR_REACHES;
    }
    if (highest < 0) {
        last = growth > 0 ? (-1 - highest) / growth : last;
        span->last = last < span->last ? last : span->last;
        return LINEAR_BELOW;
    }
    return LINEAR_UNKNOWN;
}
