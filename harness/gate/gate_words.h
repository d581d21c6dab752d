/* Gate words: what a gate found, in words that its page, its document and its annotations share. Raw text: writers
 * escape it. Not for anybody outside this folder. */
#ifndef ASSAY_GATE_GATE_WORDS_H
#define ASSAY_GATE_GATE_WORDS_H

#include "harness/gate/gate.h"

/* "NO-GO: 3 of 45 cases are beyond their bounds; first gpt2/load/float32: allocated peak 413.68 MiB -> 415.68 MiB
 * (+2.00 MiB, +0.48 %), no more is allowed": the outcome and why, in one sentence without its full stop. */
void gate_why_append(struct text *text, const struct gate *gate);

/* Why a case has its verdict: "allocated peak 413.68 MiB -> 415.68 MiB (+2.00 MiB, +0.48 %), no more is allowed
 * (rule of line 12)",
 * "ok in the baseline, now oom: ...", and what is known of it. */
void gate_case_append(struct text *text, const struct gate *gate, const struct gate_case *one);

/* "3 PASS, 1 WARN": the verdicts that there are, the gravest first. */
void gate_counts_append(struct text *text, const struct gate *gate);

/* What the policy says in vain: known failures that pass, that match no case or have expired, and rules that match no
 * case; a sentence each, for
 * which visit is called in their order. */
typedef void gate_note_visitor(void *context, const char *words);
void gate_notes_visit(const struct gate *gate, gate_note_visitor *visit, void *context);

/* "device, suite": the words of these bits. */
void gate_refusals_append(struct text *text, unsigned refusals);

#endif
