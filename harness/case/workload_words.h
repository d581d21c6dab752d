/* Workload words: fields and remedies in a message, as its reader writes them: "--lora-rank 8" of options,
 * "lora_rank: 8" of a suite. Which of the two, the status says (harness/base/status.h). */
#ifndef ASSAY_CASE_WORKLOAD_WORDS_H
#define ASSAY_CASE_WORKLOAD_WORDS_H

#include "harness/base/text.h"
#include "harness/case/case_field.h"
#include "harness/case/key_spelling.h"

/* The field alone: "lora_rank", "--lora-rank". */
struct workload_words workload_key_words(const struct status *error, enum case_field field);

/* With a value, which it has or should have: "lora_rank: 8", "--lora-rank 8". */
struct workload_words workload_value_words(const struct status *error, enum case_field field, const char *value);

/* The same in the middle of a sentence: "mode train", "--mode train". */
struct workload_words workload_name_words(const struct status *error, enum case_field field, const char *name);

/* Appends what would make a field say something, with keys as their reader writes them; nothing if nothing simple
 * would. */
void workload_remedy_append(const struct status *error, enum case_field field, struct text *text);

#endif
