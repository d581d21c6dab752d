/* Nearest: the edit distance of Levenshtein over one row of the table. Not for long texts. */
#include "harness/base/nearest.h"

#include <limits.h>
#include <stddef.h>
#include <string.h>

enum { LENGTH_MAXIMUM = 64 };

static int smallest(int a, int b, int c)
{
    int ab = a < b ? a : b;
    return ab < c ? ab : c;
}

int name_distance(const char *a, const char *b)
{
    size_t a_length = strnlen(a, LENGTH_MAXIMUM), b_length = strnlen(b, LENGTH_MAXIMUM);
    int row[LENGTH_MAXIMUM + 1];
    for (size_t j = 0; j <= b_length; j++) {
        row[j] = (int)j;
    }
    for (size_t i = 1; i <= a_length; i++) {
        int diagonal = row[0];
        row[0] = (int)i;
        for (size_t j = 1; j <= b_length; j++) {
            int above = row[j];
            row[j] = smallest(above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
            diagonal = above;
        }
    }
    return row[b_length];
}

const char *name_nearest(const char *text, const char *const *names)
{
    const char *nearest = names[0];
    int best = INT_MAX;
    for (; *names != NULL; names++) {
        int found = name_distance(text, *names);
        if (found < best) {
            best = found;
            nearest = *names;
        }
    }
    return nearest;
}

bool name_is_near(const char *text, const char *name)
{
    int half = (int)(strnlen(text, LENGTH_MAXIMUM) / 2);
    return name_distance(text, name) <= (half > 2 ? half : 2);
}
