/* Gate judge: one case held against its baseline. Not for anybody outside this folder. */
#ifndef ASSAY_GATE_GATE_JUDGE_H
#define ASSAY_GATE_GATE_JUDGE_H

#include "harness/gate/gate.h"

/* Fills all of *one but id, base and now, which say what is judged; counts what rules and known failures are for.
 * False if memory ran out. */
bool gate_case_judge(struct gate *gate, struct gate_case *one);

#endif
