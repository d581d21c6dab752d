/* Search words: the tries of a search for a batch (docs/FORMAT.md, search) as sentences, the same in the progress of a
 * run, in records and reports. Raw text: callers escape it. */
#ifndef ASSAY_RECORD_SEARCH_WORDS_H
#define ASSAY_RECORD_SEARCH_WORDS_H

#include <stdbool.h>

#include "harness/base/json.h"
#include "harness/base/text.h"

/* What "ended" of a try says where it ran, and where memory was refused; else it is the status of a case. */
#define SEARCH_RAN     "ran"
#define SEARCH_REFUSED "refused"

/* Whether a prediction was to be made and could not be. */
bool search_is_open(const struct json *case_line);

/* Appends the tries that did not end as was predicted, or of which a figure is off what the suite allows, "; " between
 * them; nothing where there is none: "search: batch 12: out of memory, predicted to run (forward: linear wants 96.00
 * MiB)". */
void search_failures_append(struct text *text, const struct json *case_line);

/* Appends why it is open; nothing where it is not. */
void search_open_append(struct text *text, const struct json *case_line);

#endif
