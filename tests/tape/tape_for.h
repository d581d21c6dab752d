/* A new tape for a target, by name; what fails fails the test. */
#ifndef ASSAY_TESTS_TAPE_TAPE_FOR_H
#define ASSAY_TESTS_TAPE_TAPE_FOR_H

#include "harness/tape/build.h"

struct tape *tape_for(const char *name);

#endif
