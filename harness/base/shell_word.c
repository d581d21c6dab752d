/* Shell words: quoting. Nothing is run here. */
#include "harness/base/shell_word.h"

#include <string.h>

static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-";

void shell_word_append(struct text *text, const char *word)
{
    if (*word != '\0' && word[strspn(word, plain)] == '\0') {
        text_append(text, word);
    } else if (word[strcspn(word, "\"$`\\!")] == '\0') {
        text_format(text, "\"%s\"", word);
    } else {
        text_append(text, "'");
        for (const char *byte = word; *byte != '\0'; byte++) {
            text_append_bytes(text, *byte == '\'' ? "'\\''" : byte, *byte == '\'' ? 4 : 1);
        }
        text_append(text, "'");
    }
}
