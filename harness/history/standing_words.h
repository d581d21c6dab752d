/* Standing words: how the standing of a case (harness/record/outcome.h) is written in a history. Not for anybody
 * outside this folder. */
#ifndef ASSAY_HISTORY_STANDING_WORDS_H
#define ASSAY_HISTORY_STANDING_WORDS_H

#include <stdbool.h>

#include "harness/record/outcome.h"

const char *standing_word(enum standing standing); /* "ok", "skip", "open", "broken", "fail" */

/* False, and *standing untouched, for a word that is none of these. */
bool standing_from_word(const char *word, enum standing *standing);

#endif
