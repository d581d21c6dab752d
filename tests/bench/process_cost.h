/* Process cost: one process from its start to its end, what it prints thrown away. Its memory is counted from what
 * this program has resident itself, some 20 MiB: below that nothing is told apart. */
#ifndef ASSAY_TESTS_BENCH_PROCESS_COST_H
#define ASSAY_TESTS_BENCH_PROCESS_COST_H

#include "harness/base/status.h"

enum { PROCESS_WORDS_MAXIMUM = 12 };

struct process_cost {
    double wall, cpu; /* milliseconds on the clock and on the processor */
    double peak_mib;  /* the most memory that it had resident, in MiB */
    int exit_code;
};

/* words: the program and its arguments, ended by NULL. STATUS_IO where it cannot be started, STATUS_INTERNAL where it
 * did not end by itself. */
enum status_code process_time(const char *const *words, struct process_cost *cost, struct status *error);

#endif
