/* Shell words: what a message asks people to type, so that it can be copied into a shell as it stands. */
#ifndef ASSAY_BASE_SHELL_WORD_H
#define ASSAY_BASE_SHELL_WORD_H

#include "harness/base/text.h"

/* Appends word as one word of a POSIX shell: as it is where no letter of it means anything there, else within double
 * quotes, or within single ones where it has a letter that double quotes do not protect: 24GiB, "80 GB", 'a"b'. */
void shell_word_append(struct text *text, const char *word);

#endif
