/* Levels: names alone. */
#include "harness/record/level.h"

#include <stddef.h>
#include <string.h>

static const char *const NAMES[LEVEL_COUNT + 1] = {"requested", "allocated", "reserved", "device", "process", NULL};

const char *level_name(enum level level)
{
    return NAMES[level];
}

const char *const *level_names(void)
{
    return NAMES;
}

bool level_from_name(const char *name, enum level *level)
{
    for (int i = 0; i < LEVEL_COUNT; i++) {
        if (strcmp(NAMES[i], name) == 0) {
            *level = (enum level)i;
            return true;
        }
    }
    return false;
}

bool level_is_reading(enum level level)
{
    return level == LEVEL_DEVICE || level == LEVEL_PROCESS;
}
