/* Lines that peers/pytorch/programs.py printed: what a program held, on a GPU or on the meta device. */
#ifndef ASSAY_TESTS_MODELS_PROGRAM_LINES_H
#define ASSAY_TESTS_MODELS_PROGRAM_LINES_H

#include "harness/base/json.h"
#include "harness/case/workload.h"

/* The case of a line: its program's habits, and what the line says besides. Fails the test if the program is none of
 * ours or a word is unknown. */
struct workload program_line_workload(const struct json *line);

#endif
