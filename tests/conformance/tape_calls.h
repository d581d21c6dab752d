/* Tape calls: which dtypes the operations have on the tapes of all tiny models of the catalogue, in every precision,
 * attention and optimizer. What really runs must be tried, above all the mixtures that autocast makes. */
#ifndef ASSAY_TESTS_CONFORMANCE_TAPE_CALLS_H
#define ASSAY_TESTS_CONFORMANCE_TAPE_CALLS_H

#include "harness/kernels/operation.h"

/* An operation with the dtypes of its tensors, inputs first. */
struct tape_call {
    enum opcode opcode;
    int input_count, tensor_count;
    enum dtype dtypes[OPERATION_TENSORS_MAXIMUM];
};

struct tape_calls {
    struct tape_call *calls; /* each once */
    int count, capacity;
};

/* Fails the running test where a tape cannot be made. */
void tape_calls_collect(struct tape_calls *calls);
void tape_calls_release(struct tape_calls *calls);

#endif
