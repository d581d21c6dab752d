/* How many GPUs are emulated for the tests that need two, and that all of them are seen. Linked into every test program
 * of this folder. */
#include "tests/cuda_emulation/gpus_need.h"

#include <stdlib.h>

/* Whoever has a few of a machine's GPUs, from a queue of jobs for example, has them named in the environment; none of
 * those is emulated. */
__attribute__((constructor)) static void visible_forget(void)
{
    unsetenv("CUDA_VISIBLE_DEVICES");
}

void gpus_need_two(void)
{
    const char *count = getenv("EMULATED_GPUS");
    if (count != NULL && strtol(count, NULL, 10) < 2) {
        setenv("EMULATED_GPUS", "2", 1);
    }
}
