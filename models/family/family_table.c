/* Families: the table of them, and what a configuration is looked up by. Not here: anything that one family knows. */
#include "models/family/family_table.h"

#include <string.h>

#define FAMILY_POINT(name) &family_##name,
static const struct family *const families[] = {FAMILIES(FAMILY_POINT)};
#undef FAMILY_POINT

enum { FAMILY_COUNT = sizeof families / sizeof families[0] };

const struct family *family_at(int index)
{
    return index >= 0 && index < FAMILY_COUNT ? families[index] : NULL;
}

const struct family *family_find(const char *name)
{
    for (int i = 0; i < FAMILY_COUNT; i++) {
        if (strcmp(families[i]->name, name) == 0) {
            return families[i];
        }
    }
    return NULL;
}

static bool list_has(const char *const *list, const char *word)
{
    for (; list != NULL && *list != NULL; list++) {
        if (strcmp(*list, word) == 0) {
            return true;
        }
    }
    return false;
}

const struct family *family_of_type(const char *model_type)
{
    for (int i = 0; i < FAMILY_COUNT; i++) {
        if (list_has(families[i]->model_types, model_type)) {
            return families[i];
        }
    }
    return NULL;
}

const struct family *family_of_architecture(const char *architecture)
{
    for (int i = 0; i < FAMILY_COUNT; i++) {
        if (list_has(families[i]->architectures, architecture)) {
            return families[i];
        }
    }
    return NULL;
}
