/* Mutant: what ci/mutants.awk writes into the code for GPUs, so that one plug-in is every mutant of it, and which of
 * them it is stands in MUTANT, a number; none is untouched. Each place asks this on its way, and leaves a note that it
 * would have mattered there: a condition that came out other than the mutant's, or a line that ran. Only the copy of
 * ci/mutate.sh is compiled with it. */
#ifndef ASSAY_TESTS_MUTANTS_MUTANT_H
#define ASSAY_TESTS_MUTANTS_MUTANT_H

#include <stdbool.h>

enum { MUTANTS_MAXIMUM = 16384 };

#if defined(__CUDACC__) || defined(MUTANTS_CHOSEN) || defined(__cplusplus)
#ifdef __cplusplus
extern "C" {
#endif
/* Whether the plug-in is the mutant that lacks this line. */
bool mutant_lacks(int mutant);
/* value, or what it is in that mutant. */
bool mutant_decides(int mutant, bool value, bool instead);
#ifdef __cplusplus
}
#endif

#else
/* The host's kernels, of which the plug-in is none. */
#define mutant_lacks(mutant)                   false
#define mutant_decides(mutant, value, instead) (value)
#endif

/* The value of each lane for itself. */
#define mutant___syncthreads_or(mutant, predicate)                                                                     \
    (mutant_lacks(mutant) ? (int)(predicate) : __syncthreads_or(predicate))

#endif
