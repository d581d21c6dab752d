/* JSON of Python: words are found outside of strings. Not a parser: jansson says whether the rest is JSON. */
#include "harness/base/json_python.h"

#include <math.h>
#include <string.h>

static const struct {
    const char *word, *zeros, *stand_in;
    double read; /* stand_in */
    double meant;
} words[] = {
    {"NaN", "0.0", "1.7976931348623153e+308", 1.7976931348623153e+308, NAN},
    {"Infinity", "0.000000", "1.7976931348623155e+308", 1.7976931348623155e+308, INFINITY},
    {"-Infinity", "0.0000000", "-1.7976931348623155e+308", -1.7976931348623155e+308, -INFINITY},
};

enum { WORD_COUNT = sizeof words / sizeof words[0] };

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Length of the string that begins at text, with its quotes; what is not closed goes to the end. */
static size_t string_length(const char *text, size_t length)
{
    size_t at = 1;
    while (at < length && text[at] != '"') {
        at += text[at] == '\\' ? 2 : 1;
    }
    return at < length ? at + 1 : length;
}

/* The word at the front of text that is a value: what stands behind it ends one. -1: none. */
static int word_at(const char *text, size_t length)
{
    for (int i = 0; i < WORD_COUNT; i++) {
        size_t size = strlen(words[i].word);
        if (size <= length && memcmp(text, words[i].word, size) == 0) {
            while (size < length && is_blank(text[size])) {
                size++;
            }
            return size == length || strchr(",]}", text[size]) != NULL ? i : -1;
        }
    }
    return -1;
}

/* From *at on: the next word in the place of a value, -1 at the end; *at becomes its place. */
static int word_next(const char *text, size_t length, size_t *at)
{
    char before = '\0'; /* the last character that is no blank */
    for (size_t i = *at; i < length;) {
        bool may_be_value = before == '\0' || before == ':' || before == '[' || before == ',';
        int word = may_be_value ? word_at(text + i, length - i) : -1;
        if (word >= 0) {
            *at = i;
            return word;
        }
        before = is_blank(text[i]) ? before : text[i];
        i += text[i] == '"' ? string_length(text + i, length - i) : 1;
    }
    *at = length;
    return -1;
}

bool json_python_has_words(const char *text, size_t length)
{
    size_t at = 0;
    return word_next(text, length, &at) >= 0;
}

void json_python_replace(const char *text, size_t length, bool stand_ins, struct text *replaced)
{
    size_t copied = 0, at = 0;
    for (int word; (word = word_next(text, length, &at)) >= 0; at = copied) {
        text_append_bytes(replaced, text + copied, at - copied);
        text_append(replaced, stand_ins ? words[word].stand_in : words[word].zeros);
        copied = at + strlen(words[word].word);
    }
    text_append_bytes(replaced, text + copied, length - copied);
}

double json_python_number(double value)
{
    for (int i = 0; i < WORD_COUNT; i++) {
        if (value == words[i].read) {
            return words[i].meant;
        }
    }
    return value;
}
