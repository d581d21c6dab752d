/* Float panels: runs of storage elements to and from float32. Written so that the compiler makes vector code of it. */
#ifndef ASSAY_DEVICE_FLOAT_PANEL_H
#define ASSAY_DEVICE_FLOAT_PANEL_H

#include <stdint.h>

#include "harness/kernels/dtype.h"

/* to[k] = from[k] for count elements of a floating dtype; exact. No overlap. */
void floats_load(float *to, const void *from, enum dtype dtype, int64_t count);

/* to[k] = from[k * step]. */
void floats_load_spaced(float *to, const void *from, enum dtype dtype, int64_t count, int64_t step);

/* Rounds to nearest, ties to even; NaN stays NaN, what is too large becomes infinity. No overlap. */
void floats_store(void *to, enum dtype dtype, const float *from, int64_t count);

#endif
