/* Scan scratch: what PyTorch takes for itself while cub runs along a row on a GPU, as a cumulative sum does.
 *
 * The states of its tiles, 16 bytes each, and 32 beside them; 256 bytes more; each in whole 256, and 255 for their
 * address. Up to 4,928 elements are one tile: 768 + 256 + 255 = 1,279 bytes. An H100 took these for 128, 1,024 and
 * 4,096 int64. */
#ifndef ASSAY_TAPE_SCAN_SCRATCH_H
#define ASSAY_TAPE_SCAN_SCRATCH_H

#include <stdint.h>

/* Of so many int64. */
int64_t scan_scratch_bytes(int64_t count);

#endif
