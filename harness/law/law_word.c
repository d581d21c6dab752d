/* Law word: cleaning before keeping. */
#include "harness/law/law_word.h"

#include "harness/base/text.h"
#include "harness/report/escape.h"

const char *law_word_keep(struct name_table *words, struct arena *arena, const char *word)
{
    struct text clean = {0};
    terminal_append(&clean, word);
    const char *kept = clean.failed ? NULL : name_table_keep(words, arena, text_string(&clean));
    text_release(&clean);
    return kept;
}
