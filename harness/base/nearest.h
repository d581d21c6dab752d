/* Nearest: the known name that someone who typed another one probably meant. */
#ifndef ASSAY_BASE_NEAREST_H
#define ASSAY_BASE_NEAREST_H

#include <stdbool.h>

/* The name with the fewest insertions, deletions and replacements between it and text; the first of equals. names is
 * ended by NULL and has at least one. Only the first 64 characters of each count. */
const char *name_nearest(const char *text, const char *const *names);

/* Insertions, deletions and replacements that lead from one to the other. Only the first 64 characters of each count. */
int name_distance(const char *a, const char *b);

/* Whether name was probably meant: at most half of the characters of text, or two, differ. */
bool name_is_near(const char *text, const char *name);

#endif
