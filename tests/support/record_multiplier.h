/* Record multiplier: a large file of records made of a small one that a run has written, for benchmarks and for tests
 * of growth. The lines are those of the run, so they have whatever the program records today; what is varied are ids,
 * batches and sizes. */
#ifndef ASSAY_TESTS_SUPPORT_RECORD_MULTIPLIER_H
#define ASSAY_TESTS_SUPPORT_RECORD_MULTIPLIER_H

#include <stdbool.h>

struct multiplication {
    int count;     /* case lines in the new file */
    int runs;      /* runs in it, at least 1: the case lines are divided among them in order */
    int repeat;    /* every so many lines one is a second attempt at the case of the line before; 0: none */
    int fail;      /* every so many lines one has status fail; 0: none but what the template has */
    int skip;      /* every so many lines one has status skip; 0: the same */
    bool measured; /* devices of kind meta become host, so that leagues count them */
};

/* Reads the case lines of the file at template_path, which has one run, and writes them again and again, varied, to
 * path. False where one of the two cannot be read or written. */
bool records_multiply(const char *template_path, const char *path, const struct multiplication *how);

#endif
