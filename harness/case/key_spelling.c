/* Key spelling: the two ways to write a key. It knows no fields, so that what checks a field's text may use it. */
#include "harness/case/key_spelling.h"

#include <stdio.h>

bool key_is_option(const struct status *error)
{
    return error != NULL && error->spelling == STATUS_SPELLING_OPTIONS;
}

struct workload_words key_spelling(const struct status *error, const char *key)
{
    struct workload_words words;
    snprintf(words.text, sizeof words.text, "%s%s", key_is_option(error) ? "--" : "", key);
    for (char *byte = words.text; key_is_option(error) && *byte != '\0'; byte++) {
        *byte = *byte == '_' ? '-' : *byte;
    }
    return words;
}
