/* The stacks of T5: blocks that share one bias by distance, which the first of them makes. */
#ifndef ASSAY_FAMILY_T5_STACK_H
#define ASSAY_FAMILY_T5_STACK_H

#include "models/forward/forward.h"

/* "stack" of the ids: the encoder if encoded is NULL, else the decoder, which reads what the encoder made. Blocks
 * that are checkpointed run again later: they see forward alone, which must stay. */
struct value *t5_stack_run(const struct forward *forward, const char *stack, struct value *ids, struct value *encoded);

#endif
