/* Reached: which mutants would have mattered in what ran since it was last asked; mutant.h says how a plug-in notes
 * it. */
#ifndef ASSAY_TESTS_MUTANTS_REACHED_H
#define ASSAY_TESTS_MUTANTS_REACHED_H

#include <stdbool.h>

struct reached {
    volatile unsigned char *notes; /* a byte for each mutant; shared with the plug-in */
};

/* Makes the file that MUTANTS_REACHED names, before the plug-in is opened. Closed by the caller where it is true. */
bool reached_open(struct reached *reached, const char *path);
void reached_close(struct reached *reached);

void reached_forget(struct reached *reached);
/* The numbers, each behind a blank, and the line's end. */
void reached_print(const struct reached *reached);

#endif
