/* The module table: sums of the lines of peers/pytorch/library_code.jsonl. A test holds the two together. */
#include "harness/tape/module_table.h"

#include <stdbool.h>
#include <stddef.h>

#define ROW(torch, release, major, target, context_bytes, product_bytes, convolution_bytes)                            \
    {                                                                                                                  \
        torch, release, major, target, context_bytes, product_bytes, convolution_bytes                                 \
    }

/* By release, and in it by class. */
static const struct module_row rows[] = {
    ROW("2.1.2", 2001, 7, "sm_70", 443614098, 136970128, 309026825),
    ROW("2.1.2", 2001, 8, "sm_80", 437853049, 350477552, 327372789),
    ROW("2.1.2", 2001, 9, "sm_90", 490202697, 707272384, 403966290),
    ROW("2.4.1", 2004, 7, "sm_70", 480113543, 136970128, 260637106),
    ROW("2.4.1", 2004, 8, "sm_80", 563177401, 350477552, 281187982),
    ROW("2.4.1", 2004, 9, "sm_90", 629148653, 707272384, 302440399),
    ROW("2.6.0", 2006, 7, "sm_70", 494943668, 111352572, 260637106),
    ROW("2.6.0", 2006, 8, "sm_80", 573870870, 145419720, 281187982),
    ROW("2.6.0", 2006, 9, "sm_90", 657332299, 536103514, 302440399),
    ROW("2.11.0", 2011, 7, "sm_75", 546881722, 129857560, 198781783),
    ROW("2.11.0", 2011, 8, "sm_80", 604885700, 144625428, 204862443),
    ROW("2.11.0", 2011, 9, "sm_90", 743871981, 392176766, 236625124),
    ROW("2.11.0", 2011, 10, "sm_100", 792997962, 155934735, 267470782),
    ROW("2.11.0", 2011, 12, "sm_120", 797899916, 217177863, 285658230),
};

enum { ROW_COUNT = sizeof rows / sizeof rows[0] };

const struct module_row *module_row_at(int index)
{
    return index >= 0 && index < (int)ROW_COUNT ? &rows[index] : NULL;
}

/* Nearer in class, then nearer in release. */
static bool is_nearer(const struct module_row *row, const struct module_row *best, int release)
{
    if (best == NULL || row->major != best->major) {
        return best == NULL || row->major > best->major;
    }
    bool is_reached = row->release <= release;
    return is_reached ? best->release > release || row->release > best->release : row->release < best->release;
}

const struct module_row *module_row_of(int release, int capability)
{
    const struct module_row *best = NULL;
    for (int i = 0; i < (int)ROW_COUNT; i++) {
        if (rows[i].major <= capability / 10 && is_nearer(&rows[i], best, release)) {
            best = &rows[i];
        }
    }
    return best != NULL ? best : &rows[0];
}
