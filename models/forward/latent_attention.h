/* Multi-head latent attention, as transformers 5.23 runs DeepSeek-V2 and V3: one row of config->latent numbers and one
 * of config->rotary_dim serve the keys and values of all heads. A cache keeps these two rows and no more; keys and
 * values of all tokens are made of them anew at every step, in memory that goes with the layer.
 *
 * Worked number, DeepSeek-V3 (61 layers, latent 512, rotary 64, 128 heads with keys of 192 and values of 128) in
 * bfloat16: a token occupies 61 * (512 + 64) * 2 = 70,272 bytes of cache. Its keys and values of all heads, which
 * libraries keep that expand first, are 61 * 128 * (192 + 128) * 2 = 4,997,120 bytes, 71 times as much. */
#ifndef ASSAY_FORWARD_LATENT_ATTENTION_H
#define ASSAY_FORWARD_LATENT_ATTENTION_H

#include "models/forward/decoder.h"

/* The rotary tables of all layers, from "rotary_emb.inv_freq" below root: if config->rope_complex (V2) one table of
 * numbers on the circle, [1 or B, 1, S, rotary_dim / 2, 2] in the place of the cosines; else cosines and sines. */
void latent_tables_make(const struct forward *f, struct decoder_tables *tables, const char *root, struct value *hidden);

/* "layer.self_attn" of hidden. Eager weights stay with the open frame. */
struct value *latent_attention(const struct forward_layer *layer, struct value *hidden);

#endif
