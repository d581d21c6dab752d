/* What a tape takes and gives back, for tests that hold two tapes against each other. */
#ifndef ASSAY_TESTS_TAPE_TAPE_CHANGES_H
#define ASSAY_TESTS_TAPE_TAPE_CHANGES_H

#include <stdint.h>

struct tape;

/* Every change of bytes in order, `maximum` at most, or the test fails. Returns how many. */
int tape_changes(const struct tape *tape, int64_t *changes, int maximum);

#endif
