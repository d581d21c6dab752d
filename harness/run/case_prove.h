/* Case proof: what a child does when a case that was measured is run again with exactly the bytes that it was predicted
 * with. Internal to harness/run.
 *
 * CASE_PROOF_PLAN sends "proof": the least memory of the case (harness/replay/least_memory.h), and "limits": each
 * figure that is to be tried, with what replay says will happen. CASE_PROOF_TRY runs the case with job->available_bytes
 * for its segments and sends "runs" and, if it does not run, "refusal" in words; or "taken_bytes" and nothing of the
 * kind if the driver takes so many for a segment of one granule. A host and meta are bounded to these bytes. A GPU is
 * filled with ballast until no more are left, after the case has run through once, so that kernels and libraries are
 * loaded and nothing but segments is taken. */
#ifndef ASSAY_RUN_CASE_PROVE_H
#define ASSAY_RUN_CASE_PROVE_H

#include "harness/run/run.h"

void case_prove(void *context, const struct case_job *job, int file);

#endif
