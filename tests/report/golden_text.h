/* Golden text: what a writer writes, held against a file that people have read. */
#ifndef ASSAY_TESTS_REPORT_GOLDEN_TEXT_H
#define ASSAY_TESTS_REPORT_GOLDEN_TEXT_H

#include "harness/base/text.h"

/* Fails the running test unless the text is the file of that path. Releases the text. */
void golden_text_check(struct text text, const char *path);

/* The same of a table in CSV, but for columns of case fields that the file lacks, as long as they say what is usual: a
 * new field adds one to every table. */
void golden_csv_check(struct text text, const char *path);

#endif
