/* Normal fill: numbers of a normal distribution for any stretch of an endless tensor, the same bits on every machine.
 *
 * The number at place k depends on the seed and k alone, so that a tensor can be made in pieces, by any number of
 * threads. Unlike those of RANDOM_NORMAL (kernel_host.h), whose last bit depends on the vectors of the processor, these
 * are for files: no multiplication is fused with an addition, and all that is used is exact or rounded as IEEE 754
 * says. */
#ifndef ASSAY_KERNELS_NORMAL_FILL_H
#define ASSAY_KERNELS_NORMAL_FILL_H

#include <stdint.h>

#include "harness/kernels/dtype.h"

struct normal_numbers {
    int64_t seed;
    float deviation; /* the mean is 0 */
};

/* out[0 .. count) = the numbers at places first .. first + count, rounded to dtype, a floating one. first, count >=
 * 0. */
void normal_fill(const struct normal_numbers *numbers, int64_t first, int64_t count, enum dtype dtype, void *out);

#endif
