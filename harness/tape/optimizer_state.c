/* Optimizer states: one tensor that an optimizer makes, zeros, once for all steps. Which ones is for the optimizers. */
#include "harness/tape/graph.h"

struct value *optimizer_state_new(struct tape *tape, const struct value *parameter, enum dtype dtype,
                                  const struct shape *shape, const char *label)
{
    struct value *state = value_new_in(tape, CATEGORY_OPTIMIZER, dtype, shape, label);
    value_belongs(tape, state, parameter);
    tape_fill(tape, state, 0.0);
    return tape_hold(tape, state);
}
