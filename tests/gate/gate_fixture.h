/* Gate fixture: two sides of a few cases with round figures, and what a gate makes of them. */
#ifndef ASSAY_TESTS_GATE_GATE_FIXTURE_H
#define ASSAY_TESTS_GATE_GATE_FIXTURE_H

#include "harness/gate/gate.h"

enum { SIDE_CASES = 5 };

/* A run of SIDE_CASES cases, "case-0" and so on with labels "case 0", of which number n has (n + 1) * 100 MiB requested
 * and 1, 3, 500 and 510 MiB more on the levels behind it, stands in line 10 + n, and ended ok. It began on 2026-11-20
 * on an H200 with driver 570. The strings are constants, and the lists are those of the side itself. */
struct side {
    struct case_figures cases[SIDE_CASES];
    char ids[SIDE_CASES][24], labels[SIDE_CASES][24];
    struct absent_case absent[SIDE_CASES];
    struct run_figures figures;
};

/* *side must stay where it is. */
void side_make(struct side *side);

/* Takes a case out. */
void side_remove(struct side *side, int number);

/* Judges; policy NULL: the built-in one. The caller releases the gate. */
struct gate gate_of(const struct side *now, const struct side *base, const struct gate_policy *policy,
                    unsigned allowed);

/* The case of that id. */
const struct gate_case *gate_case_of(const struct gate *gate, const char *id);

/* A policy out of text; the test fails where it is refused. */
struct gate_policy policy_of(const char *text);

/* The text of the error that a policy gives, without the folder before "policy.yaml"; the test fails if it gives none.
 * Valid until the next call. */
const char *policy_error(const char *text, size_t length);

/* The words of a case. Valid until the next call. */
const char *words_of(const struct gate *gate, const char *id);

#endif
