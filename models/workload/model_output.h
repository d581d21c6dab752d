/* Model output: what one call of the model returns, and how long the names of a program keep it.
 *
 * In `outputs = model(**batch)` the name holds the whole object: the result, the logits behind a loss, keys and values
 * (use_cache), and what else the class returns. In `loss = model(**batch).loss` it goes at once, but for the loss. */
#ifndef ASSAY_WORKLOAD_MODEL_OUTPUT_H
#define ASSAY_WORKLOAD_MODEL_OUTPUT_H

#include "models/forward/forward.h"

struct model_output {
    struct forward_outputs beside; /* all but what the model's forward gives back; held */
    struct key_value_cache cache, crossed;
};

/* Opens autocast on the tape, if the workload asks for that. */
void autocast_begin(const struct forward *forward);

/* Runs the model with autocast, if the workload asks for that, and returns its result, held: logits or the loss. output
 * has the rest, until model_output_drop; before: the output whose name it will have, may be all zero. */
struct value *model_output_make(struct forward *forward, struct model_output *before, struct model_output *output);

/* The object goes: what it held alone is given back. Also right of one that is all zero. */
void model_output_drop(struct tape *tape, struct model_output *output);

#endif
