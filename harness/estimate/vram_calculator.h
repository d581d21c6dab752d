/* vram-calculator: the sum of the page of that name, of the numbers that its user types. */
#ifndef ASSAY_ESTIMATE_VRAM_CALCULATOR_H
#define ASSAY_ESTIMATE_VRAM_CALCULATOR_H

#include <stdbool.h>
#include <stdint.h>

struct vram_setup {
    int64_t parameter_count; /* and elements of buffers */
    int64_t hidden, heads, kv_heads, ffn, layers, vocab;
    int64_t batch, seq;
    bool trains;
    bool halves; /* mixed precision if it trains, else 16 bits throughout; otherwise float32 */
    int moments; /* of the optimizer: 0 to 2 for each parameter */
};

struct vram_needs {
    int64_t kernels_bytes; /* what CUDA takes at its first use */
    int64_t weights_bytes, activations_bytes, outputs_bytes, gradients_bytes, optimizer_bytes;
};

/* Worked: 1.418e9 parameters, 24 layers of width 2048, 32 heads, 8192 and a vocabulary of 51,200, mixed training of 4 x
 * 512 tokens with one moment: 1000 + 8114 + 7104 + 800 + 5409 + 5409 = 27836 MiB. False if it does not fit. */
bool vram_needs_of(const struct vram_setup *setup, struct vram_needs *needs);

#endif
