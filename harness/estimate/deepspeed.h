/* DeepSpeed's functions about model states: estimate_zero2_model_states_mem_needs and its like for ZeRO 3.
 *
 * P parameters, N devices of one node, l parameters of the largest module (those it owns itself), bytes:
 *
 *                        on each device                     on the host
 *     ZeRO 2             2 P + 18 P / N                     4 P N 1.5          18 = 2 + 4 gradients, 4 copy, 8 Adam
 *       documented       4 P + 16 P / N                     the same           until 0.14.3; the table of
 *                                                                              its documentation
 *       offloaded        2 P                                P max(4 N, 16) 1.5
 *     ZeRO 3             4 l + 18 P / N                     4 l N 1.5
 *       optimizer        4 l + 2 P / N                      16 P 1.5           offloaded
 *       parameters too   4 l                                18 P 1.5           offloaded
 *
 * The host's column of ZeRO 3 is that with zero.Init; without it the model is made whole by every process first:
 * max(4 N, 16 or 18) P 1.5, and 4 P N 1.5 if nothing is offloaded.
 *
 * Worked number: P 2,851,000,000, l 32,000,000, N 8: ZeRO 2 5,702,000,000 + 6,414,750,000 = 12,116,750,000 (documented:
 * 17,106,000,000 = 15.93 GB), ZeRO 3 128,000,000 + 6,414,750,000 = 6,542,750,000 (6.09 GB), offloaded 840,750,000 and
 * 128,000,000 (0.78 and 0.12 GB). */
#ifndef ASSAY_ESTIMATE_DEEPSPEED_H
#define ASSAY_ESTIMATE_DEEPSPEED_H

#include <stdbool.h>
#include <stdint.h>

enum deepspeed_offload {
    DEEPSPEED_OFFLOAD_NONE,
    DEEPSPEED_OFFLOAD_OPTIMIZER,
    DEEPSPEED_OFFLOAD_PARAMETERS, /* and the optimizer; ZeRO 3 */
    DEEPSPEED_OFFLOAD_COUNT
};

struct deepspeed_setup {
    int64_t parameter_count; /* at most 2^53 / 32 */
    int64_t largest_count;
    int64_t devices; /* of one node */
    enum deepspeed_offload offload;
    bool documented; /* ZeRO 2: the constants before 0.14.3 */
    bool zero_init;  /* ZeRO 3 */
};

struct deepspeed_needs {
    int64_t device_bytes, host_bytes;
};

/* False if the host's bytes do not fit. */
bool deepspeed_zero2_needs(const struct deepspeed_setup *setup, struct deepspeed_needs *needs);
bool deepspeed_zero3_needs(const struct deepspeed_setup *setup, struct deepspeed_needs *needs);

#endif
