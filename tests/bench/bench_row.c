/* Bench rows: time, order statistics, Markdown. Nothing here knows what is measured. */
#include "tests/bench/bench_row.h"

#include <stdio.h>
#include <stdlib.h>

#ifdef _OPENMP
#include <omp.h>
#endif

int bench_thread_count(void)
{
#ifdef _OPENMP
    return omp_get_max_threads();
#else
    return 1;
#endif
}

struct bench_row bench_row_open(const char *what, const char *unit)
{
    return (struct bench_row){.what = what, .unit = unit};
}

void bench_row_add(struct bench_row *row, double sample)
{
    if (row->count < BENCH_RUNS) {
        row->samples[row->count++] = sample;
    }
}

void bench_row_add_cpu(struct bench_row *row, double milliseconds)
{
    if (row->cpu_count < BENCH_RUNS) {
        row->cpu_samples[row->cpu_count++] = milliseconds;
    }
}

void bench_header_print(void)
{
    puts("| what | unit | min | median | max | limit | CPU ms | remark |");
    puts("|---|---|---:|---:|---:|---:|---:|---|");
}

static int sample_order(const void *a, const void *b)
{
    double left = *(const double *)a;
    double right = *(const double *)b;
    return (left > right) - (left < right);
}

/* Sorts; the median. */
static double samples_sort(double *samples, int count)
{
    qsort(samples, (size_t)count, sizeof *samples, sample_order);
    return samples[count / 2];
}

static bool sample_is_beyond(const struct bench_row *row, double sample)
{
    return (row->at_most > 0 && sample > row->at_most) || (row->at_least > 0 && sample < row->at_least);
}

static void limit_print(const struct bench_row *row)
{
    if (row->at_most > 0) {
        printf(" <= %g |", row->at_most);
    } else if (row->at_least > 0) {
        printf(" >= %g |", row->at_least);
    } else {
        printf(" |");
    }
}

void bench_row_print(struct bench_row *row, struct bench_tally *tally)
{
    if (row->count == 0) {
        return;
    }
    int beyond = 0;
    for (int i = 0; i < row->count; i++) {
        beyond += sample_is_beyond(row, row->samples[i]);
    }
    double median = samples_sort(row->samples, row->count);
    printf("| %s | %s | %.2f | %.2f | %.2f |", row->what, row->unit, row->samples[0], median,
           row->samples[row->count - 1]);
    limit_print(row);
    tally->row_count += row->at_most > 0 || row->at_least > 0;
    tally->rows_beyond += sample_is_beyond(row, median);
    if (row->cpu_count > 0) {
        printf(" %.2f", samples_sort(row->cpu_samples, row->cpu_count));
    }
    printf(" |");
    if (beyond > 0) {
        printf(" %d of %d runs beyond the limit", beyond, row->count);
    }
    printf(" |\n");
    fflush(stdout);
}

void bench_row_leave_empty(const char *what, const char *reason)
{
    printf("| %s | | | | | | | not measured: %s |\n", what, reason);
    fflush(stdout);
}

void bench_row_fail(const char *what, const struct status *error, struct bench_tally *tally)
{
    tally->failure_count += 1;
    bench_row_leave_empty(what, status_line(error, (char[STATUS_LINE_BYTES]){0}));
}
