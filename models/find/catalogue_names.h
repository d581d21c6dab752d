/* Catalogue names: what people type for a model of the catalogue, and what they probably meant if there is none. */
#ifndef ASSAY_FIND_CATALOGUE_NAMES_H
#define ASSAY_FIND_CATALOGUE_NAMES_H

#include <stdbool.h>

#include "harness/base/text.h"

/* Whether the name is that of a toy, a small model of this program's own for tests; no published one has such a
 * name. */
bool catalogue_name_is_toy(const char *name);

/* Whether typed is the name: in any case, with or without the owner. */
bool catalogue_name_is(const char *typed, const char *name);

/* Whether typed stands for the name: as above, or without the ending that Hugging Face adds, or with other separators:
 * "llama3.1-8b" is meta-llama/Llama-3.1-8B. A separator may be left out beside a letter, never between two digits:
 * opt-13b is not opt-1.3b. There it may be another one ("opt_1_3b"), but a point is typed for a point alone. A toy has
 * its own name alone, in any case: TinyLlama is not tiny-llama. */
bool catalogue_name_fits(const char *typed, const char *name);

/* The name in the catalogue whose architecture a model has that is not there, "meta-llama/Llama-3.1-8B" for
 * its -Instruct; NULL: nothing is known.
 *
 * The rule: a pair stands in the table where the publisher trained the second model further from the first and left the
 * configuration's sizes as they were, the vocabulary above all. An ending alone says nothing: Mixtral-8x22B-Instruct
 * has 768 tokens more than its base, Qwen's sizes of vocabulary and of positions differ between releases, and a merge
 * or a fine-tune of another owner may have added tokens. Such names are asked for on the hub. */
const char *catalogue_twin(const char *typed);

/* Appends "'bert-base-cased', 'bert-base-uncased'": up to five of count names, those of the same family first: that
 * hold what was typed, then that begin with the same letters, then those that resemble it. Nothing if none does. */
void catalogue_names_near(const char *const *names, int count, const char *typed, struct text *text);

/* Whether a name is one that a pattern asks for: a shell pattern if it has '*', '?' or '[', else a part of the name;
 * in any case. */
bool catalogue_name_matches(const char *pattern, const char *name);

#endif
