/* Baselines: the table of them. */
#include "harness/report/baseline.h"

#include <string.h>

static const struct baseline baselines[] = {
    {"two-point batch", "the line through the two largest smaller batches of the same case", baseline_two_point},
    {"affine tensors", "a + b * sum of tensors alive at the predicted peak, fitted to all other cases of the device",
     baseline_affine_tensors},
    {"affine weights", "a + b * parameters and buffers, fitted to all other cases of the device and mode",
     baseline_affine_weights},
};

int baseline_count(void)
{
    return sizeof baselines / sizeof baselines[0];
}

const struct baseline *baseline_at(int index)
{
    return &baselines[index];
}

const struct baseline *baseline_find(const char *name)
{
    for (int index = 0; index < baseline_count(); index++) {
        if (strcmp(baselines[index].name, name) == 0) {
            return &baselines[index];
        }
    }
    return NULL;
}
