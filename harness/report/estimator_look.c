/* Estimator look: the table. Colours are Okabe and Ito's for those that are drawn most, then Paul Tol's muted ones. Who
 * uses them is not known here. */
#include "harness/report/estimator_look.h"

#include <stddef.h>
#include <string.h>

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

static const struct estimator_look looks[] = {
    {"replay", 0x0072b2, CIRCLE},
    {"accelerate", 0xd55e00, TRIANGLE},
    {"anatomy", 0x009e73, SQUARE},
    {"eleutherai", 0xcc79a7, DIAMOND},
    {"weights-1.2", 0x882255, OPEN_SQUARE},
    {"accelerate-corrected", 0xe69f00, WEDGE},
    {"eleutherai-cookbook", 0x999933, PENTAGON},
    {"megatron", 0x332288, OPEN_DIAMOND},
    {"deepspeed-zero2", 0x117733, STAR},
    {"deepspeed-zero2-docs", 0x44aa99, OPEN_WEDGE},
    {"deepspeed-zero3", 0x661100, OPEN_PENTAGON},
    {"llm.c", 0xaa4499, X},
    {"can-it-run", 0x56b4e9, OPEN_CIRCLE},
    {"hf-mem", 0x444444, OPEN_TRIANGLE},
    {"llama-factory", 0x6699cc, CROSS},
    {"shares", 0x777777, OPEN_DIAMOND},
    {"stored", 0x000000, X},
};

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
