/* Linear bytes: a size that is known for every repetition from one on, so that comparisons hold for a known number of
 * them.
 *
 * The size in repetition u is bytes + u * growth_bytes + the sum of roundings[k] * e(k, u), where e(k, u) is what the
 * k-th way of rounding adds to a request: 0 to ALLOCATOR_UNIT_BYTES - 1. Requests that have the same rest of a unit and
 * grow alike are rounded alike, so where they are compared what was added cancels out. */
#ifndef ASSAY_MEMORY_LINEAR_BYTES_H
#define ASSAY_MEMORY_LINEAR_BYTES_H

#include <stdbool.h>
#include <stdint.h>

enum { LINEAR_ROUNDINGS = 8 };

struct linear_bytes {
    int64_t bytes, growth_bytes;
    int roundings[LINEAR_ROUNDINGS];
};

/* The repetitions 0 to last for which all that was decided holds. */
struct linear_span {
    int64_t last;
    struct {
        int64_t rest_bytes, growth_bytes; /* modulo the unit */
    } roundings[LINEAR_ROUNDINGS];
    int rounding_count;
};

enum linear_answer { LINEAR_BELOW, LINEAR_REACHES, LINEAR_UNKNOWN };

/* What the allocator makes of a request that grows. False if there are too many ways of rounding. */
bool linear_request(struct linear_span *span, int64_t bytes, int64_t growth_bytes, struct linear_bytes *rounded);

struct linear_bytes linear_sum(const struct linear_bytes *a, const struct linear_bytes *b);
struct linear_bytes linear_difference(const struct linear_bytes *a, const struct linear_bytes *b);
bool linear_is_zero(const struct linear_bytes *size);
bool linear_is_rounded(const struct linear_bytes *size); /* whether something that rounding adds is part of it */

/* Whether the size is at least so many bytes, or less: the same in the whole span, which is shortened to where it is
 * so. LINEAR_UNKNOWN: it is not told even of repetition 0, because of what rounding may add. */
enum linear_answer linear_decide(struct linear_span *span, const struct linear_bytes *size, int64_t bytes);

#endif
