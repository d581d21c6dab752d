/* Bench rows: what is measured several times, and the lines of the one table that `make bench` prints.
 *
 * A row is printed as soon as it is measured. Limits are remarked upon and never enforced: other work on the machine
 * can add any amount to a time. */
#ifndef ASSAY_TESTS_BENCH_BENCH_ROW_H
#define ASSAY_TESTS_BENCH_BENCH_ROW_H

#include <stdbool.h>

#include "harness/base/status.h"

enum { BENCH_RUNS = 11 };

struct bench_row {
    const char *what;
    const char *unit;
    double at_most, at_least; /* 0: no such limit; else what no run should exceed, or fall short of, in the unit */
    double samples[BENCH_RUNS];
    int count;
    double cpu_samples[BENCH_RUNS]; /* of processes: user and system time, in ms; other work hardly adds to it */
    int cpu_count;
};

/* Over all rows. */
struct bench_tally {
    int row_count, rows_beyond; /* rows with a limit; those whose median is beyond it */
    int failure_count;          /* rows that could not be measured and should have been */
};

/* As many as OpenMP gives the kernels; 1 without it. */
int bench_thread_count(void);

struct bench_row bench_row_open(const char *what, const char *unit);
void bench_row_add(struct bench_row *row, double sample); /* at most BENCH_RUNS */
void bench_row_add_cpu(struct bench_row *row, double milliseconds);

/* The two lines above all rows. */
void bench_header_print(void);
/* Sorts the samples and prints the row; nothing where there are none. */
void bench_row_print(struct bench_row *row, struct bench_tally *tally);
/* A row without figures: because of an error, or because what it needs is not on this machine. */
void bench_row_fail(const char *what, const struct status *error, struct bench_tally *tally);
void bench_row_leave_empty(const char *what, const char *reason);

#endif
