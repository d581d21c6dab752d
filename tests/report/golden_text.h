/* Golden text: what a writer writes, held against a file that people have read. */
#ifndef ASSAY_TESTS_REPORT_GOLDEN_TEXT_H
#define ASSAY_TESTS_REPORT_GOLDEN_TEXT_H

#include "harness/base/text.h"

/* Fails the running test unless the text is the file of that path. Releases the text. */
void golden_text_check(struct text text, const char *path);

#endif
