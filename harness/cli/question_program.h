/* Question program: whose habits an answer is about, and what the case takes without them. */
#ifndef ASSAY_CLI_QUESTION_PROGRAM_H
#define ASSAY_CLI_QUESTION_PROGRAM_H

#include "harness/cli/question_case.h"

/* "program plain-loop, the default: use_cache true, outputs kept", and of a program with habits the peak of the same
 * case as lean-loop, which is predicted for it:
 *   "  --program lean-loop, which keeps nothing: 8.45 GiB reserved at the peak"
 * Nothing in a mode that has no program; the second line is left out if the case is divided among devices. */
void question_program_lines(const struct question_case *question, struct text *text);

#endif
