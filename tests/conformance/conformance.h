/* Conformance: one operation on one device, tried in every dtype that its contract names, in every class of shapes that
 * its plan names, aligned and not, with the mixtures of dtypes that tapes make and others drawn at random, against the
 * reference in double precision. What is allowed and was not tried is a fault as much as a wrong result. */
#ifndef ASSAY_TESTS_CONFORMANCE_CONFORMANCE_H
#define ASSAY_TESTS_CONFORMANCE_CONFORMANCE_H

#include "harness/base/text.h"
#include "tests/conformance/contract.h"
#include "tests/conformance/tape_calls.h"
#include "tests/kernels/trial_plan.h"
#include "tests/kernels/trial_site.h"

/* What came of the trials of one class of dtypes. */
struct conformance_cell {
    int64_t trial_count, fault_count;
    double error, share; /* the largest of its trials, see trial.h */
};

struct conformance {
    enum opcode opcode;
    struct conformance_cell cells[CLASS_COUNT];
    bool tried[OPERATION_TENSORS_MAXIMUM][DTYPE_COUNT]; /* operand by operand of the contract */
    int untested_count;
    bool lost;          /* the device answers nothing any more, or who tried it has ended: much is untried */
    struct text report; /* a line for each of the first faults, and for each combination without a trial */
};

/* How an operation is tried. */
struct conformance_request {
    const struct trial_site *site;
    enum opcode opcode;
    trial_plan *plan;               /* trial_plan_for(opcode), but where this is itself tested */
    const struct tape_calls *calls; /* of all operations */
    uint64_t seed;                  /* every trial's is made of it, the opcode and the trial's place */
    bool first_fault_only;
};

/* The caller gives *conformance back with conformance_release. */
void operation_conform(const struct conformance_request *request, struct conformance *conformance);
void conformance_release(struct conformance *conformance);

/* Whether everything was tried and right. */
bool conformance_is_whole(const struct conformance *conformance);

#endif
