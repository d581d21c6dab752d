/* Key spelling: the name of a field in a message, as its reader writes it: "--lora-rank" of options, "lora_rank" of a
 * suite. Which of the two, the status says (harness/base/status.h). */
#ifndef ASSAY_CASE_KEY_SPELLING_H
#define ASSAY_CASE_KEY_SPELLING_H

#include <stdbool.h>

#include "harness/base/status.h"

/* By value, so that it can stand among the arguments of status_set. error NULL: of a suite. */
struct workload_words {
    char text[64];
};

/* Whether the reader of the error wrote options. */
bool key_is_option(const struct status *error);

/* A key of the register (harness/case/case_field.h), which need not be known here: "lora_rank". */
struct workload_words key_spelling(const struct status *error, const char *key);

#endif
