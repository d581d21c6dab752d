/* Which batch normalisation PyTorch 2.11 runs, and so whether mean and deviation are left behind.
 *
 * A pure function of the call: the rules of _select_batch_norm_backend, as its compiled dispatcher told them
 * (peers/pytorch/batchnorm_choice.py). In training every one of them keeps both for the backward pass. In evaluation
 * cuDNN makes neither, nor does the host; PyTorch's own kernel for GPUs makes both. Nothing here knows a tape. */
#ifndef ASSAY_TAPE_BATCHNORM_CHOICE_H
#define ASSAY_TAPE_BATCHNORM_CHOICE_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/kernels/dtype.h"

struct batchnorm_case {
    enum dtype dtype, weight_dtype; /* of the images, and of weight, bias and running statistics; floating */
    int rank;                       /* of the images, whose first dimension is the batch */
    int64_t batch, element_count;
    bool training;
};

/* On any GPU, with the cuDNN that PyTorch's wheels bring. */
bool batchnorm_takes_cudnn(const struct batchnorm_case *batchnorm);

/* Whether mean and deviation are made, a number each for each channel. capability as in struct target; 0: the host. */
bool batchnorm_makes_statistics(int capability, const struct batchnorm_case *batchnorm);

#endif
