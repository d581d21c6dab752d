/* One training step of a model up to its gradients, from weights and inputs that are the same bits on every device. No
 * weight is special: biases are not 0 and norms not 1, so that none of them can be forgotten. */
#ifndef ASSAY_TESTS_MODELS_MODEL_STEP_H
#define ASSAY_TESTS_MODELS_MODEL_STEP_H

#include "tests/models/tape_machine.h"

/* Opens the machine and runs it to its first forward pass; weights and pixels are written then: uniform random numbers
 * that keep activations near 1, rounded to `rounded` first, whatever they are stored in. Fails the running test on any
 * error. */
void model_step_begin(struct tape_machine *machine, const char *device_spec, const char *path,
                      const struct workload *workload, enum dtype rounded, uint64_t seed);

/* Forward and backward; afterwards the gradients are storages of CATEGORY_GRADIENTS under their parameters' paths. */
void model_step_finish(struct tape_machine *machine);

/* The gradient of a tensor as float32, released with free; NULL where it has none. */
float *model_step_gradient(const struct tape_machine *machine, const struct skeleton_tensor *tensor,
                           enum precision precision);

/* The dtype of the elements of a storage that belongs to a tensor of element_count elements. */
enum dtype model_step_dtype(const struct tape_machine *machine, int storage, int64_t element_count,
                            enum precision precision);

#endif
