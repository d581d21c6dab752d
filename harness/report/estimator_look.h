/* Estimator look: the place, the colour and the symbol of each estimator, the same in every figure and every table.
 *
 * The order is that of harness/estimate, which this folder does not know; a test holds both together. An estimator that
 * is not here (a record of another version) comes after all others, grey. */
#ifndef ASSAY_REPORT_ESTIMATOR_LOOK_H
#define ASSAY_REPORT_ESTIMATOR_LOOK_H

#include <stdint.h>

struct estimator_look {
    const char *name;
    uint32_t colour; /* 0xRRGGBB, dark enough for white paper; told apart by colour-blind readers too */
    int symbol;      /* a gnuplot point type, 1 to 15; no other estimator has the same colour and symbol */
};

/* Row number index of the table, NULL past the end. */
const struct estimator_look *estimator_look_at(int index);

/* Never NULL: a stranger gets the last look, whose name is NULL. */
const struct estimator_look *estimator_look_find(const char *name);

/* The place of a name in the table; that of a stranger is the number of rows. */
int estimator_place(const char *name);

#endif
