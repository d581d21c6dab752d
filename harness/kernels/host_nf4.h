/* Loops over nf4 codes on the host, sixteen elements at a time if the processor has AVX-512: a code chooses one of
 * sixteen floats in a register. The figures are those of the bodies of body_quantize.h in either case. */
#ifndef ASSAY_KERNELS_HOST_NF4_H
#define ASSAY_KERNELS_HOST_NF4_H

#include <stdbool.h>
#include <stdint.h>

/* to[0 .. count) = the worth of elements of one block, from a whole byte on. */
void host_nf4_read(const uint8_t *pairs, int64_t count, float scale, float *to);

/* The codes of a[0 .. count) of one block, from a whole byte on. Of an odd count the last byte's second code is that
 * of 0. reciprocal: block_reciprocal of the block's scale. */
void host_nf4_write(const float *a, int64_t count, float reciprocal, uint8_t *pairs);

/* Whether host_nf4_dot can be asked for elements that begin at `first` of a tensor in blocks of `block`. */
bool host_nf4_dot_fits(int64_t first, int64_t block);

/* The dot product of a[0 .. count) with elements [first, first + count) of the tensor that codes and scales are of. */
float host_nf4_dot(const float *a, const uint8_t *codes, const float *scales, int64_t block, int64_t first,
                   int64_t count);

#endif
