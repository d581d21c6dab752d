/* Law word: a word of records or tables, which come from outside, as laws keep it: what would act on a terminal, or
 * part the fields of a table, is shown in its place. */
#ifndef ASSAY_LAW_LAW_WORD_H
#define ASSAY_LAW_LAW_WORD_H

#include "harness/base/name_table.h"

/* One copy for equal words; NULL: no memory. */
const char *law_word_keep(struct name_table *words, struct arena *arena, const char *word);

#endif
