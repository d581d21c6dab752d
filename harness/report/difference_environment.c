/* Difference environment: what two results were measured under, side by side. Not the reading of it (environment.c).
 * Judges nothing. */
#include <string.h>

#include "harness/report/difference_view.h"

bool environment_compare(const struct report *base, const struct report *other, struct arena *arena,
                         struct environment_row rows[ENVIRONMENT_COUNT])
{
    const char *base_values[ENVIRONMENT_COUNT], *other_values[ENVIRONMENT_COUNT];
    if (!environment_read(base, arena, base_values) || !environment_read(other, arena, other_values)) {
        return false;
    }
    for (int i = 0; i < ENVIRONMENT_COUNT; i++) {
        const char *left = base_values[i], *right = other_values[i];
        rows[i] = (struct environment_row){.key = environment_key((enum environment)i),
                                           .words = environment_words((enum environment)i),
                                           .base = left,
                                           .other = right,
                                           .differs = left != NULL && right != NULL && strcmp(left, right) != 0};
    }
    return true;
}

int environment_difference_count(const struct environment_row rows[ENVIRONMENT_COUNT])
{
    int count = 0;
    for (int i = 0; i < ENVIRONMENT_COUNT; i++) {
        count += rows[i].differs ? 1 : 0;
    }
    return count;
}

static bool row_is(const struct environment_row *row, enum environment_kind kind)
{
    const bool both = row->base != NULL && row->other != NULL;
    return kind == ENVIRONMENT_DIFFERING ? row->differs
           : kind == ENVIRONMENT_EQUAL   ? both && !row->differs
                                         : (row->base == NULL) != (row->other == NULL);
}

void environment_append(struct text *text, const struct environment_row rows[ENVIRONMENT_COUNT],
                        enum environment_kind kind)
{
    const char *separator = "";
    for (int i = 0; i < ENVIRONMENT_COUNT; i++) {
        if (row_is(&rows[i], kind)) {
            const char *whose = rows[i].base == NULL ? " (old)" : " (new)";
            text_format(text, "%s%s%s", separator, rows[i].words, kind == ENVIRONMENT_UNRECORDED ? whose : "");
            separator = ", ";
        }
    }
}
