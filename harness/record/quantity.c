/* Quantities: what follows from their rows. The measuring is in harness/run/measurement.c. */
#include "harness/record/quantity.h"

#include <stddef.h>
#include <string.h>

static const char *const NAMES[] = {
#define QUANTITY_TEXT(name, text, ...) text,
    QUANTITY_TABLE(QUANTITY_TEXT)
#undef QUANTITY_TEXT
        NULL};

enum { LEVEL_NONE = LEVEL_COUNT };

static const struct {
    enum quantity_measure measure;
    enum level level;
} ROWS[QUANTITY_COUNT] = {
#define QUANTITY_ROW(name, text, measure, of) {QUANTITY_##measure, (enum level)LEVEL_##of},
    QUANTITY_TABLE(QUANTITY_ROW)
#undef QUANTITY_ROW
};

#define QUANTITY_BIT(name, text, measure, of) | 1U << (unsigned)LEVEL_##of
_Static_assert((0U QUANTITY_TABLE(QUANTITY_BIT)) == (2U << (unsigned)LEVEL_COUNT) - 1U,
               "a level that reports know has no quantity: add its row to QUANTITY_TABLE");
#undef QUANTITY_BIT

const char *quantity_name(enum quantity quantity)
{
    return (unsigned)quantity < QUANTITY_COUNT ? NAMES[quantity] : "unknown";
}

enum quantity_measure quantity_measure(enum quantity quantity)
{
    return ROWS[quantity].measure;
}

enum level quantity_level(enum quantity quantity)
{
    return ROWS[quantity].level;
}

bool quantity_is_reading(enum quantity quantity)
{
    return ROWS[quantity].measure == QUANTITY_GROWTH || ROWS[quantity].measure == QUANTITY_FOOTPRINT;
}

bool quantity_from_name(const char *name, enum quantity *quantity)
{
    for (int i = 0; i < QUANTITY_COUNT; i++) {
        if (strcmp(NAMES[i], name) == 0) {
            *quantity = (enum quantity)i;
            return true;
        }
    }
    return false;
}

void quantity_words_append(struct text *text, const char *name)
{
    while (*name != '\0') {
        if (strncmp(name, "_bytes", 6) == 0) {
            name += 6;
            continue;
        }
        char letter[2] = {*name == '_' || *name == '.' ? ' ' : *name, '\0'};
        text_append(text, letter);
        name++;
    }
}

const char *quantity_counterpart(const char *name)
{
    return strcmp(name, NAMES[QUANTITY_TOTAL_BYTES]) == 0 ? NAMES[QUANTITY_ALLOCATED_BYTES_PEAK] : NULL;
}

const char *const *quantity_names(void)
{
    return NAMES;
}
