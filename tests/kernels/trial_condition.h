/* Condition: how far float32 rounding of the inputs alone moves an operation's outputs, by the double-precision
 * reference itself. Where terms cancel, an output has no more correct digits than that, however it is computed. */
#ifndef ASSAY_TESTS_KERNELS_TRIAL_CONDITION_H
#define ASSAY_TESTS_KERNELS_TRIAL_CONDITION_H

#include "tests/kernels/trial.h"

/* Copies of all values, as they are before the reference has run. Released by values_release. */
struct trial_values {
    double *of[OPERATION_TENSORS_MAXIMUM];
};

void values_copy(const struct trial *trial, struct trial_values *values);
void values_release(struct trial_values *values);

/* For each element of output t: the sum, over the floating tensors that are read, of how far it moves when each element
 * of that tensor is made 2^-24 larger or smaller, by chance, at most over a few chances. before: the values before the
 * reference ran, trial->value: after. Worked: 3 - 2.999 moves by (3 + 2.999) 2^-24. Released with free. */
double *trial_condition(const struct trial *trial, const struct trial_values *before, int t);

#endif
