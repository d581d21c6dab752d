/* stored: the bytes of the tensors as the model file has them, whatever the configuration says and whatever precision
 * the case computes in: what loading a GGUF takes if it is loaded as it is. From headers alone; loading is all it is
 * about.
 *
 * Worked number: a Q4_K matrix of 4096 x 4096 is 65,536 blocks of 256 elements in 144 bytes: 9,437,184 bytes. */
#include "harness/checkpoint/checkpoint.h"
#include "harness/estimate/estimate.h"

static bool stored_applies(const struct estimate_input *input)
{
    return input->checkpoint != NULL && input->workload->mode == MODE_LOAD;
}

static enum status_code stored_compute(const struct estimate_input *input, struct estimate *estimate,
                                       struct status *error)
{
    (void)error;
    estimate_add(estimate, "element_count", input->checkpoint->element_count);
    estimate_add(estimate, "total_bytes", input->checkpoint->stored_bytes);
    return STATUS_OK;
}

const struct estimator estimator_stored = {
    .name = "stored",
    .what = "the tensors as the model file stores them",
    .source = "the header of the file",
    .applies = stored_applies,
    .compute = stored_compute,
};
