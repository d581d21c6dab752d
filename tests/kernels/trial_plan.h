/* Plans: for every operation, the calls it is tried with. Each variant is one class of shapes; figures and dtypes are
 * drawn afresh. */
#ifndef ASSAY_TESTS_KERNELS_TRIAL_PLAN_H
#define ASSAY_TESTS_KERNELS_TRIAL_PLAN_H

#include "tests/kernels/trial.h"
#include "tests/kernels/trial_table.h"

/* Fills an opened trial. False, and nothing done, where there are fewer variants. */
typedef bool trial_plan(struct trial *trial, int variant);

trial_plan *trial_plan_for(enum opcode opcode);

/* What sums of so many products of numbers between -1 and 1 may be off, whatever their order; core_terms: how many
 * tensor cores add at once, 0: each is added in float32. */
double product_allowance(int64_t term_count, int core_terms);

/* The column `plan` of TRIAL_TABLE, in trial_plan_*.c. */
#define TRIAL_PLAN(name, reference, plan) trial_plan plan;
TRIAL_TABLE(TRIAL_PLAN)
#undef TRIAL_PLAN

#endif
