/* Pieces of lines about placed tapes, for people, that several commands print. */
#ifndef ASSAY_CLI_PLACED_LINES_H
#define ASSAY_CLI_PLACED_LINES_H

#include "harness/base/size.h"
#include "harness/base/text.h"
#include "harness/question/placed_trial.h"

const char *size_or_dash(int64_t bytes, char text[SIZE_TEXT_BYTES]); /* "-" below 0 */
/* budget - need, with a minus if something is missing; "-" if either is below 0. */
const char *placed_left_format(int64_t budget_bytes, int64_t need_bytes, char text[SIZE_TEXT_BYTES + 1]);
/* The heads of the columns of peaks, a column for each counted level, and the end of the line; the cells; and whether
 * those of two are equal. */
void placed_peaks_head(bool runs, struct text *text);
void placed_peaks_append(const struct replay_stage *stage, struct text *text);
bool placed_peaks_equal(const struct replay_stage *a, const struct replay_stage *b);
/* "HEADING 1.00 MiB from cpu to 0, ...", a line; nothing if nothing was copied. */
void placed_copies_append(const struct placed_tape *placed, const struct placed_result *result, const char *heading,
                          struct text *text);
/* "out of memory on 0: stage forward: ...", a line. */
void placed_refusal_append(const struct placed_tape *placed, const struct placed_outcome *outcome, struct text *text);

#endif
