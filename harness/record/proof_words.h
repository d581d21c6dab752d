/* Proof words: the figures of a proof (docs/FORMAT.md, proof) as sentences, the same in the progress of a run, in
 * records and reports. Raw text: callers escape it. */
#ifndef ASSAY_RECORD_PROOF_WORDS_H
#define ASSAY_RECORD_PROOF_WORDS_H

#include <stdbool.h>

#include "harness/base/json.h"
#include "harness/base/text.h"

/* How a proof stands as a whole. */
enum proof_standing {
    PROOF_NONE, /* none was asked for, or an older record */
    PROOF_PASS,
    PROOF_OPEN, /* a try could not be made */
    PROOF_FAIL
};

enum proof_standing proof_standing_of(const struct json *case_line);

/* Appends the figures that did not do what was predicted, "; " between them; nothing where all did:
 * "proof: replay least 2.45 GiB: out of memory, predicted to run (host: out of memory: ...)". */
void proof_failures_append(struct text *text, const struct json *case_line);

/* Appends why nobody knows; nothing where all is known. */
void proof_open_append(struct text *text, const struct json *case_line);

#endif
