/* Contract: which dtypes an operation takes for each of its tensors, by its pattern in harness/kernels/operation.h.
 * Which combinations must be tried follows from it; nothing here is listed by hand. */
#ifndef ASSAY_TESTS_CONFORMANCE_CONTRACT_H
#define ASSAY_TESTS_CONFORMANCE_CONTRACT_H

#include <stdbool.h>

#include "harness/kernels/operation.h"

/* Calls are put into classes: by the one dtype that is not floating among those that could be another; else by the
 * dtype of all floating ones; else mixed. */
enum { CLASS_MIXED = DTYPE_COUNT, CLASS_COUNT };

struct contract {
    int operand_count; /* optional ones too */
    struct {
        bool optional;
        bool takes[DTYPE_COUNT];
        int choice_count; /* how many it takes */
    } operands[OPERATION_TENSORS_MAXIMUM];
};

void contract_of(enum opcode opcode, struct contract *contract);

/* The operand that each tensor of a call is. Of optional ones that could be meant the first are there. */
void contract_operands(const struct contract *contract, const struct operation_call *call,
                       int operands[OPERATION_TENSORS_MAXIMUM]);

const char *class_name(int class); /* "float16", "mixed" */
int contract_class(const struct contract *contract, const struct operation_call *call);
/* Whether any call that is allowed is of the class. */
bool contract_has_class(const struct contract *contract, int class);

#endif
