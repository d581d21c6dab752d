/* Nearest: the known names that someone who typed another one probably meant. Nothing is suggested rather than
 * something wrong. */
#ifndef ASSAY_BASE_NEAREST_H
#define ASSAY_BASE_NEAREST_H

#include <stdbool.h>

#include "harness/base/text.h"

enum { NAMES_MEANT_MAXIMUM = 3 };

/* What was probably meant by text, out of names (ended by NULL), into meant; returns how many, 0 if nobody can tell.
 * Case does not count, and '_' is '-'. The first of these ways that finds one to three names decides:
 * 1. the same name;
 * 2. names that begin with text, of two characters or more: "lora" for "lora-rank" and "lora-targets";
 * 3. the longest name that text begins or ends with, up to a '-': "batch-size" for "batch", "max-new-tokens" for
 *    "new-tokens"; or that is its first half, as in "batchsize";
 * 4. the names with the fewest insertions, deletions, replacements and swaps of neighbours between them and text, where
 *    that is at most a third of its characters. */
int names_meant(const char *text, const char *const *names, const char *meant[NAMES_MEANT_MAXIMUM]);

/* Appends "--lora-rank or --lora-targets": the names with before and after around each. */
void names_meant_append(const char *const *meant, int count, const char *before, const char *after, struct text *text);

/* Insertions, deletions, replacements and swaps of neighbours that lead from a to b, in any case; '_' is '-'. Only the
 * first 64 characters of each count. */
int name_distance(const char *a, const char *b);

#endif
