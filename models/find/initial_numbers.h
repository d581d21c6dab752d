/* Initial numbers: what the tensors of a new model hold, as a file of them does.
 *
 * Each number depends on the seed, the stored tensor's name and its place in it: not on the files that the tensors are
 * dealt out to, the precision's neighbours or the threads. The same number is rounded to each precision. */
#ifndef ASSAY_FIND_INITIAL_NUMBERS_H
#define ASSAY_FIND_INITIAL_NUMBERS_H

#include <stdint.h>

#include "models/find/saved_layout.h"
#include "models/skeleton/skeleton.h"

struct initial_numbers {
    const struct skeleton *skeleton;
    const struct saved_layout *layout;
    int64_t seed;
};

/* out[0 .. count) = elements first .. first + count of the layout's tensor number index, in its stored type. For
 * checkpoint_write: numbers is a struct initial_numbers. */
void initial_numbers_fill(const void *numbers, int index, int64_t first, int64_t count, void *out);

#endif
