/* Standing words: one table for both directions. */
#include "harness/history/standing_words.h"

#include <string.h>

static const char *const words[] = {[STANDING_OK] = "ok",
                                    [STANDING_SKIP] = "skip",
                                    [STANDING_OPEN] = "open",
                                    [STANDING_BROKEN] = "broken",
                                    [STANDING_FAIL] = "fail"};

const char *standing_word(enum standing standing)
{
    return words[standing];
}

bool standing_from_word(const char *word, enum standing *standing)
{
    for (size_t at = 0; at < sizeof words / sizeof words[0]; at++) {
        if (strcmp(words[at], word) == 0) {
            *standing = (enum standing)at;
            return true;
        }
    }
    return false;
}
