/* Out of memory rows: a device that is too small, at every stage, with what must stand in the record. Holds no test. */
#ifndef ASSAY_TESTS_RUN_OUT_OF_MEMORY_ROWS_H
#define ASSAY_TESTS_RUN_OUT_OF_MEMORY_ROWS_H

#include "tests/run/run_scene.h"

/* Measures each row on what device_bound says: it bounds a device to so many bytes and returns its spec, which lives
 * until it is called again. Fails the running test where a record says something else. */
void out_of_memory_rows_check(struct scene *scene, const char *(*device_bound)(int64_t bytes));

#endif
