/* The choice of a batch normalisation: limits and dtypes. */
#include "harness/tape/batchnorm_choice.h"

enum { BATCH_MAXIMUM = 65535, TRAINING_BATCH_MAXIMUM = 880801 };

bool batchnorm_takes_cudnn(const struct batchnorm_case *batchnorm)
{
    bool dtypes_fit = batchnorm->dtype != DTYPE_BFLOAT16 && batchnorm->weight_dtype != DTYPE_BFLOAT16 &&
                      (batchnorm->dtype != DTYPE_FLOAT16 || batchnorm->weight_dtype == DTYPE_FLOAT32);
    return dtypes_fit && batchnorm->rank >= 3 && batchnorm->element_count < INT32_MAX &&
           batchnorm->batch <= (batchnorm->training ? TRAINING_BATCH_MAXIMUM : BATCH_MAXIMUM);
}

bool batchnorm_makes_statistics(int capability, const struct batchnorm_case *batchnorm)
{
    return batchnorm->training || (capability != 0 && !batchnorm_takes_cudnn(batchnorm));
}
