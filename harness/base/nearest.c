/* Nearest: beginnings, whole words, and the edit distance of Damerau over three rows of its table. Not for long
 * texts. */
#include "harness/base/nearest.h"

#include <ctype.h>
#include <limits.h>
#include <stddef.h>
#include <string.h>

enum { LENGTH_MAXIMUM = 64, BEGINNING_LEAST = 2, WORD_LEAST = 3, JOINED_LEAST = 4 };

static int plain(char letter)
{
    return letter == '_' ? '-' : tolower((unsigned char)letter);
}

static int smallest(int a, int b, int c)
{
    int ab = a < b ? a : b;
    return ab < c ? ab : c;
}

int name_distance(const char *a, const char *b)
{
    size_t a_length = strnlen(a, LENGTH_MAXIMUM), b_length = strnlen(b, LENGTH_MAXIMUM);
    int rows[3][LENGTH_MAXIMUM + 1] = {{0}};
    for (size_t j = 0; j <= b_length; j++) {
        rows[0][j] = (int)j;
    }
    for (size_t i = 1; i <= a_length; i++) {
        int *row = rows[i % 3];
        const int *before = rows[(i + 2) % 3], *twice_before = rows[(i + 1) % 3];
        row[0] = (int)i;
        for (size_t j = 1; j <= b_length; j++) {
            int replaced = before[j - 1] + (plain(a[i - 1]) != plain(b[j - 1]) ? 1 : 0);
            row[j] = smallest(before[j] + 1, row[j - 1] + 1, replaced);
            bool swapped = i > 1 && j > 1 && plain(a[i - 1]) == plain(b[j - 2]) && plain(a[i - 2]) == plain(b[j - 1]);
            if (swapped && twice_before[j - 2] + 1 < row[j]) {
                row[j] = twice_before[j - 2] + 1;
            }
        }
    }
    return rows[a_length % 3][b_length];
}

static bool begins(const char *text, const char *beginning, size_t length)
{
    size_t i = 0;
    while (i < length && text[i] != '\0' && plain(text[i]) == plain(beginning[i])) {
        i++;
    }
    return i == length;
}

/* How much of text a name is that stands at one of its ends, as a word or several; 0: it does not. */
static int word_rank(const char *text, const char *name)
{
    size_t length = strlen(text), part = strlen(name);
    if (part < WORD_LEAST || part >= length) {
        return 0;
    }
    bool joined = part >= JOINED_LEAST && 2 * part >= length;
    bool first = begins(text, name, part) && (joined || plain(text[part]) == '-');
    bool last = begins(text + length - part, name, part) && plain(text[length - part - 1]) == '-';
    return first || last ? (int)part : 0;
}

/* The ways of names_meant, best first; of each the rank is the higher the better a name is, and 0 if it is none. */
enum way { WAY_SAME, WAY_BEGINNING, WAY_WORD, WAY_DISTANCE, WAY_COUNT };

static int rank(enum way way, const char *text, const char *name)
{
    size_t length = strnlen(text, LENGTH_MAXIMUM);
    int most = (int)length / 3, distance = 0;
    switch (way) {
    case WAY_SAME:
        return strlen(name) == strlen(text) && begins(name, text, length) ? 1 : 0;
    case WAY_BEGINNING:
        return length >= BEGINNING_LEAST && begins(name, text, strlen(text)) ? 1 : 0;
    case WAY_WORD:
        return word_rank(text, name);
    case WAY_DISTANCE:
        distance = name_distance(text, name);
        return distance <= most ? 1 + most - distance : 0;
    case WAY_COUNT:
        break;
    }
    return 0;
}

int names_meant(const char *text, const char *const *names, const char *meant[NAMES_MEANT_MAXIMUM])
{
    for (int way = WAY_SAME; way < WAY_COUNT; way++) {
        int best = 0, count = 0;
        for (size_t i = 0; names[i] != NULL; i++) {
            int found = rank((enum way)way, text, names[i]);
            if (found == 0 || found < best) {
                continue;
            }
            count = found > best ? 0 : count;
            best = found;
            if (count < NAMES_MEANT_MAXIMUM) {
                meant[count] = names[i];
            }
            count++;
        }
        if (count > 0 && count <= NAMES_MEANT_MAXIMUM) {
            return count;
        }
    }
    return 0;
}

void names_meant_append(const char *const *meant, int count, const char *before, const char *after, struct text *text)
{
    for (int i = 0; i < count; i++) {
        text_format(text, "%s%s%s%s", i == 0 ? "" : i == count - 1 ? " or " : ", ", before, meant[i], after);
    }
}
