/* Rule terms: what several published rules ask of a case. No rule stands here but the one of activations, which three
 * of them share. */
#ifndef ASSAY_ESTIMATE_RULE_TERMS_H
#define ASSAY_ESTIMATE_RULE_TERMS_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/estimate/estimate.h"

/* Elements of parameters, tied ones once, adapters of LoRA left out. 32 times it fits 63 bits (skeleton.c checks). */
int64_t rule_parameter_count(const struct skeleton *skeleton);

/* Tokens of a sample; of an image its patches and the class token. */
int64_t rule_sequence(const struct estimate_input *input);

/* Whether the model is what the rules of transformers speak of: one stack of layers over tokens, each an attention and
 * one feed-forward part that every token passes. Not experts, latent attention, or an encoder with a decoder. */
bool rule_is_text_stack(const struct estimate_input *input);

/* Whether a formula in layers, heads and hidden size says what training keeps: such a stack, or one over patches. */
bool rule_has_activations(const struct estimate_input *input);
extern const char rule_activations_note[]; /* why none says it of others */

bool rule_is_amp(enum precision precision);
bool rule_is_16bit(enum precision precision); /* float16 or bfloat16 throughout */

/* Bytes of an element of the weights; 0 if they are quantised. Under amp they are float32. */
int rule_weight_bytes(enum precision precision);

/* Adam or AdamW with two float32 moments. */
bool rule_optimizer_is_adam(enum optimizer optimizer);
/* Adam, that of 8 bits, or SGD with momentum: the three of which most tables tell bytes. */
bool rule_optimizer_is_common(enum optimizer optimizer);

/* Whether a module of the skeleton ends in this name ("gate_proj"). */
bool rule_has_module(const struct skeleton *skeleton, const char *name);

/* The factors multiplied. False if that does not fit. */
bool rule_product(const int64_t *factors, int count, int64_t *result);

/* Activations that training keeps of one layer of a stack, in bytes (Korthikanti et al., arXiv 2205.05198, table 2),
 * for elements of e bytes, on one of t ranks that divide heads and feed-forward parts:
 *
 *     whole: s b h ((4e + 2) + 12e / t) + (2e + 1) a s^2 b / t         recomputed: e s b h
 *
 * With e = 2 and t = 1 that is s b h (34 + 5 a s / h) and 2 s b h. The generalisation to e bytes is that of
 * EleutherAI's calculator, 16e + 2 and 2e + 1. Without scores (fused attention, or their recomputation) the last term
 * is gone. False if it does not fit. Worked: s 512, b 8, h 768, a 12, e 2: 106,954,752 + 125,829,120 bytes. */
struct rule_layer {
    int64_t seq, batch, hidden, heads;
    int element_bytes;
    int64_t tensor; /* t */
    bool scores, recomputed;
};
bool rule_layer_activations(const struct rule_layer *layer, int64_t *bytes);

/* STATUS_OVERFLOW with the remedy. */
enum status_code rule_overflow(struct status *error);

#endif
