/* llm.c's tensors: the tables of sizes in train_gpt2.cu (activations on a GPU) and train_gpt2.c (on a CPU).
 *
 * B batch, T tokens, C channels, L layers, H heads, V the vocabulary padded to a multiple of 128, e bytes of an
 * element; recompute 0: nothing, 1: GELU, 2: GELU and layer norms. On a GPU, elements of e bytes:
 *
 *     encoded 1, last norm 1, scratch 4 + 1                                        each B T C
 *     layer norm 1 and 2 (not with recompute 2), attention, residual 2 and 3: 1, fch 4, qkv 3     each L B T C
 *     GELU 4 L B T C; with recompute one for all layers                            output B T max(3 C, H T, V)
 *     scores L B H T T, unless cuDNN computes them
 *
 * and of 4 bytes: 4 L B T of the norms' statistics, 3 B T of the last norm's and the losses, with cuDNN L B H T. On a
 * CPU all is float32, and logits and probabilities have as many columns as the vocabulary given (50,257 when its README
 * was written: 73,323,776 floats for B 4, T 64).
 *
 * Worked number: GPT-2 124M, B 56, T 1024, e 2, cuDNN, recompute 1: 19,466,452,992 bytes; it prints 18564 MiB. */
#ifndef ASSAY_ESTIMATE_LLM_C_H
#define ASSAY_ESTIMATE_LLM_C_H

#include <stdbool.h>
#include <stdint.h>

enum { LLM_C_VOCABULARY_STEP = 128 };

struct llm_c_shape {
    int64_t batch, tokens, channels, layers, heads;
    int64_t vocabulary; /* as it is held: padded on a GPU */
    int element_bytes;
    bool cudnn;
    int recompute;
};

/* False if it does not fit. */
bool llm_c_activation_bytes(const struct llm_c_shape *shape, int64_t *bytes);

/* Floats of the CPU's table; element_bytes, cudnn and recompute have no meaning for it. */
bool llm_c_cpu_activation_count(const struct llm_c_shape *shape, int64_t *count);

#endif
