/* Quantities: names alone. The measuring is in harness/run/measurement.c. */
#include "harness/record/quantity.h"

#include <stddef.h>
#include <string.h>

static const char *const NAMES[] = {
#define QUANTITY_TEXT(name, text) text,
    QUANTITY_TABLE(QUANTITY_TEXT)
#undef QUANTITY_TEXT
        NULL};

const char *quantity_name(enum quantity quantity)
{
    return (unsigned)quantity < QUANTITY_COUNT ? NAMES[quantity] : "unknown";
}

bool quantity_is_reading(enum quantity quantity)
{
    return quantity == QUANTITY_PROCESS_BYTES || quantity == QUANTITY_DEVICE_BYTES ||
           quantity == QUANTITY_FOOTPRINT_BYTES;
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
