/* Packed weights on a tape: projections of checkpoints that were quantised before, by GPTQ or AWQ, in the buffers of
 * the layers that read them: AutoGPTQ's (0.4 to 0.7; qlinear_exllama.py, qlinear_exllamav2.py, qlinear_cuda_old.py)
 * and AutoAWQ's (0.1, 0.2; linear/gemm.py, linear/gemv.py). Their storages are here and not their arithmetic: such a
 * tape is predicted and not run, and has no backward pass.
 *
 * A projection of `inputs` and `outputs` at `bits` has codes, 32 / bits in an int32; zeros, packed in the same way, and
 * float16 scales, one for each output and group of inputs; GPTQ besides an int32 for each input, the number of its
 * group.
 *
 * Worked, bytes of 11008 outputs and 4096 inputs at 4 bits, groups of 128: codes 22,544,384, zeros 32 * 11008 / 2 =
 * 176,128, scales 32 * 11008 * 2 = 704,512, and the groups of GPTQ 4 * 4096 = 16,384. */
#ifndef ASSAY_TAPE_PACKED_H
#define ASSAY_TAPE_PACKED_H

#include "harness/tape/quantized.h"

/* Whether the buffers that a layer reads can have these sizes: the layers assert it. why: what is wrong, static. */
bool packing_fits(const struct packing *packing, int64_t outputs, int64_t inputs, const char **why);

/* The buffers of one projection, in the open frame. borrowed: packing outlives the tape's making. */
struct quantized tape_packed_make(struct tape *tape, const struct packing *packing, int64_t outputs, int64_t inputs,
                                  const char *label);

/* What AutoGPTQ's post_init takes when all weights are there, for all of them and for good: exllama a float16 copy of
 * the largest weight, and of reordered inputs so many rows as it was told; exllamav2 that, room for the largest output,
 * and two permutations for each weight. weights whose codes are NULL are left out. Others take nothing. */
void tape_packed_prepare(struct tape *tape, const struct packing *packing, struct quantized *const *weights, int count);

/* a [.., in] times the transposed weight, plus bias (may be NULL), in float16. */
struct value *tape_linear_packed(struct tape *tape, struct value *a, const struct quantized *weight,
                                 struct value *bias);

#endif
