/* llm-analysis: what a pass without gradients needs beside weights and cache, as the tool llm-analysis 0.2.2 counts it
 * (get_activation_memory_per_layer with is_inference, get_activation_memory_output_embedding, inference).
 *
 * The largest tensor group of one layer, or the logits, whichever is more; "assumes the maximum tensor buffer reuse",
 * so it is a lower bound. For s tokens of b rows, hidden size h, a heads, a feed-forward part of f, elements of e
 * bytes, on one of t tensor-parallel ranks:
 *
 *     attention     max(3 e s b h, e (2 s b h + 4 a s b) / t)   fused; with scores stored
 *                   max(3 e s b h, 2 e a s^2 b / t)
 *     feed-forward  e s b max(h, f) / t
 *     norm          4 s b h
 *     logits        e V r b / t for r rows of each sample
 *
 * Worked, Llama-3.1-8B (h 4096, f 14,336, V 128,256) in bfloat16, t = 4, 2,048 tokens of one row: 50,331,648 of
 * attention; with logits of all rows 131,334,144, which is what the tool says; of one token 64,128. */
#ifndef ASSAY_ESTIMATE_LLM_ANALYSIS_H
#define ASSAY_ESTIMATE_LLM_ANALYSIS_H

#include <stdbool.h>
#include <stdint.h>

struct inference_pass {
    int64_t tokens, rows; /* s and b */
    int64_t hidden, heads, ffn;
    int64_t vocab;      /* 0: no logits on this rank */
    int64_t logit_rows; /* r */
    int64_t element_bytes, tensor;
    bool scores; /* stored, s x s */
};

/* False if it does not fit 63 bits. */
bool llm_analysis_activations(const struct inference_pass *pass, int64_t *bytes);

#endif
