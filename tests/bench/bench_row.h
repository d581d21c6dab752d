/* Bench rows: what is measured several times, and the lines of the one table that `make bench` prints.
 *
 * A row is printed as soon as it is measured. Limits are remarked upon and never enforced: other work on the machine can
 * add any amount to a time. */
#ifndef ASSAY_TESTS_BENCH_BENCH_ROW_H
#define ASSAY_TESTS_BENCH_BENCH_ROW_H

#include <stdbool.h>

#include "harness/base/status.h"

enum { BENCH_RUNS = 11 };

struct bench_row {
    const char *what;
    const char *unit;
    double limit; /* 0: none; else what no run should exceed, in the unit */
    double samples[BENCH_RUNS];
    int count;
    double cpu_samples[BENCH_RUNS]; /* of processes: user and system time, in ms; other work hardly adds to it */
    int cpu_count;
};

/* Over all rows. */
struct bench_tally {
    int row_count, rows_over; /* rows with a limit; those whose median is over it */
    int failure_count;        /* rows that could not be measured */
};

/* CLOCK_MONOTONIC. */
double bench_seconds(void);
/* As many as OpenMP gives the kernels; 1 without it. */
int bench_thread_count(void);

struct bench_row bench_row_open(const char *what, const char *unit, double limit);
void bench_row_add(struct bench_row *row, double sample); /* at most BENCH_RUNS */
void bench_row_add_cpu(struct bench_row *row, double milliseconds);

/* The two lines above all rows. */
void bench_header_print(void);
/* Sorts the samples and prints the row. */
void bench_row_print(struct bench_row *row, struct bench_tally *tally);
/* A row without figures, and why. */
void bench_row_fail(const char *what, const struct status *error, struct bench_tally *tally);

/* The parts of the table. */
void bench_processes(const char *program, struct bench_tally *tally);
void bench_allocator(struct bench_tally *tally);
void bench_kernels(struct bench_tally *tally);
void bench_products(struct bench_tally *tally);

#endif
