/* Device count: on how many devices a case would fit that does not fit on one, by formula. The devices divide weights,
 * gradients and the optimizer's states among them, as PyTorch's FSDP2 does (estimator `shares`); each runs the batch of
 * the case.
 *
 *     bytes of a device = undivided + states / N + gathered + slack
 *
 * undivided: the most that all other tensors take together at any moment of the case on one device, of which each
 * device has 1 / N of the temporaries of the optimizer's step, because they have the sizes of the parameters that it
 * steps (adamw-foreach makes one for every parameter at once: Llama-3.1-8B in bfloat16 16 GB); states / N and
 * gathered: of the estimator; slack: reserved less requested bytes at the peak of the case on one device that has
 * hardly more than its tensors need, so that what is only cached has been given back. The undivided tensors and the
 * states need not have their highest moment together, so this is rather too many than too few devices. What
 * communication takes, and how its buffers change the segments, is left out. */
#ifndef ASSAY_QUESTION_DEVICE_COUNT_H
#define ASSAY_QUESTION_DEVICE_COUNT_H

#include "harness/estimate/estimate.h"
#include "harness/replay/replay.h"

enum { DEVICE_COUNT_MAXIMUM = 1024 };

struct device_count {
    bool has_rule; /* false: shares does not apply to the case */
    bool found;    /* false: not even on DEVICE_COUNT_MAXIMUM devices */
    int64_t count;
    int64_t bytes; /* of a device, for that count; if none is found for the most of them */
    int64_t undivided_bytes, states_bytes, gathered_bytes, slack_bytes; /* of which */
};

/* The least count of at least 2 with which a device needs at most so many bytes. single: the case on one device,
 * without a bound. Errors of workload_tape and of the estimator. */
enum status_code device_count_find(const struct estimate_input *input, const struct replay_result *single,
                                   int64_t memory_bytes, struct device_count *count, struct status *error);

#endif
