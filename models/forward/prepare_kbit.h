/* PEFT's prepare_model_for_kbit_training (0.21) on a tape: what bitsandbytes has not quantised becomes float32.
 *
 * It makes a float32 copy of every 16-bit parameter (norms, embeddings, head, biases), in the order of the model's
 * parameters, and lets the 16-bit one go. So the hidden state, norms, attention and logits are float32 then; a
 * Linear4bit casts its input to bfloat16 and its result back, a Linear8bitLt gives float32 by itself. It also freezes
 * the model, which adapters do anyway, and turns on checkpointing, which is a field of its own.
 *
 * Worked number: Llama-2-7b has 262,410,240 elements that are not quantised: 2 bytes more for each, 524,820,480. */
#ifndef ASSAY_FORWARD_PREPARE_KBIT_H
#define ASSAY_FORWARD_PREPARE_KBIT_H

#include "models/forward/forward.h"

/* Of a model that is loaded, before its adapters are. Its values are held ones. */
void prepare_kbit(struct forward *forward);

#endif
