/* Own code: decoders by classes that are not transformers'. What is computed is the same; what is kept for the backward
 * pass, in which dtype and under which name, is that of the library:
 *
 *   torchtune  0.6: norms by torch.nn.functional.rms_norm of a copy in float32; queries and keys turned in float32, of
 *              Llama as pairs side by side; keys and values repeated for all heads; angles of all positions in a table
 *   litgpt     0.5: one projection of queries, keys and values; norms and their weights in float32; queries and keys
 *              turned in float32 and joined to what does not turn; keys and values repeated for all heads; a table of
 *              the sequence */
#ifndef ASSAY_FORWARD_OWN_CODE_H
#define ASSAY_FORWARD_OWN_CODE_H

#include "models/forward/forward.h"

/* Whether the case has such a model. */
bool own_code_is(const struct workload *workload);

/* The tables of angles, with the model's buffers: held, and noted in forward. Nothing for transformers' classes. */
void own_code_tables(struct forward *forward);

/* Whether the first half of a head is turned with the second, and a table has each angle twice; else neighbours. */
bool own_code_turns_halves(const struct forward *forward);

/* What the head reads, below root, as module_body: torchtune's forward keeps what its last layer returned until it
 * returns, so that stays with the open frame. */
struct value *torchtune_body(const struct forward *forward, const char *root);
struct value *litgpt_body(const struct forward *forward, const char *root);

#endif
