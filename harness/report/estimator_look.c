/* Estimator look: colours and marks, by the register of estimators. What an estimator computes is not known here. */
#include "harness/report/estimator_look.h"

#include <stddef.h>
#include <string.h>

#include "harness/record/estimator_table.h"

enum {
    CROSS = 1,
    X = 2,
    STAR = 3,
    OPEN_SQUARE = 4,
    SQUARE = 5,
    OPEN_CIRCLE = 6,
    CIRCLE = 7,
    OPEN_TRIANGLE = 8,
    TRIANGLE = 9,
    OPEN_WEDGE = 10,
    WEDGE = 11,
    OPEN_DIAMOND = 12,
    DIAMOND = 13,
    OPEN_PENTAGON = 14,
    PENTAGON = 15
};

#define LOOK_ROW(id, name, colour, mark) {name, colour, mark},
static const struct estimator_look looks[] = {ESTIMATOR_TABLE(LOOK_ROW)};
#undef LOOK_ROW

enum { LOOK_COUNT = sizeof looks / sizeof looks[0] };

static const struct estimator_look stranger = {NULL, 0x888888, CROSS};

const struct estimator_look *estimator_look_at(int index)
{
    return index >= 0 && index < LOOK_COUNT ? &looks[index] : NULL;
}

int estimator_place(const char *name)
{
    int place = 0;
    while (place < LOOK_COUNT && strcmp(looks[place].name, name) != 0) {
        place++;
    }
    return place;
}

const struct estimator_look *estimator_look_find(const char *name)
{
    int place = estimator_place(name);
    return place < LOOK_COUNT ? &looks[place] : &stranger;
}
