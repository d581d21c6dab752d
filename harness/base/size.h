/* Sizes: checked arithmetic on byte counts and element counts, and their units for people.
 *
 * A size is an int64_t from 0 to INT64_MAX. No size is multiplied or added without these. */
#ifndef ASSAY_BASE_SIZE_H
#define ASSAY_BASE_SIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/status.h"

/* False, and *result untouched, where the result is negative or does not fit, or an operand is negative. */
static inline bool size_add(int64_t a, int64_t b, int64_t *result)
{
    int64_t sum = 0;
    if (a < 0 || b < 0 || __builtin_add_overflow(a, b, &sum)) {
        return false;
    }
    *result = sum;
    return true;
}

static inline bool size_multiply(int64_t a, int64_t b, int64_t *result)
{
    int64_t product = 0;
    if (a < 0 || b < 0 || __builtin_mul_overflow(a, b, &product)) {
        return false;
    }
    *result = product;
    return true;
}

/* A size and a difference of sizes, which may be negative. */
static inline bool size_add_signed(int64_t a, int64_t difference, int64_t *result)
{
    int64_t sum = 0;
    if (a < 0 || __builtin_add_overflow(a, difference, &sum) || sum < 0) {
        return false;
    }
    *result = sum;
    return true;
}

/* value rounded up to a multiple of step (step > 0). */
bool size_round_up(int64_t value, int64_t step, int64_t *result);

enum { SIZE_TEXT_BYTES = 32 };

/* Binary units with two decimals: 433249280 -> "413.18 MiB"; below 1 KiB "512 B". Negative values keep their sign.
 * Returns text. */
const char *size_format(int64_t bytes, char text[SIZE_TEXT_BYTES]);

/* Reads "10%" and "0.5%", from 0 up and below 1000 %, whole text, no sign, no leading zero; *fraction is 0.005 for
 * "0.5%". STATUS_INVALID with the reason and what would be right. */
enum status_code percentage_parse(const char *text, double *fraction, struct status *error);

/* A signed error as people read it: 0.0012 -> "+0.12 %"; from 1000 % without decimals, from a million with an exponent.
 * Returns text. */
const char *percentage_format(double fraction, char text[SIZE_TEXT_BYTES]);

/* Reads a whole decimal integer in [minimum, maximum]: no sign but '-', no leading zeros, nothing after it.
 * The text says what is wrong ("'16abc' is not an integer; write 16"). */
enum status_code integer_parse(const char *text, int64_t minimum, int64_t maximum, int64_t *value,
                               struct status *error);

#endif
