/* Workload aliases: what other tools and people call the values of a case. One table, for options and suites alike;
 * records keep the value's own name. */
#ifndef ASSAY_CASE_WORKLOAD_ALIAS_H
#define ASSAY_CASE_WORKLOAD_ALIAS_H

#include "harness/case/workload.h"

/* The name of the value of a field that text stands for: "bfloat16" for "bf16", "BF16" and "torch.bfloat16"; case does
 * not count, and '_' is '-'. text itself if it is nobody's alias. */
const char *workload_alias(enum case_field field, const char *text);

/* Of a word that people know and that names no one value: why, and what to write. "amp" may be two.
 * NULL: it is no such word. */
const char *workload_word_remedy(enum case_field field, const char *text);

#endif
