/* Bench: one table of how fast the program is on this machine. Not a test: nothing passes or fails by a time. It exits
 * with 1 only where something could not be measured.
 *
 * usage: bench PROGRAM      from the root of the repository; docs/NUMBERS.md says what the rows mean */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/bench/bench_row.h"

enum { LINE_BYTES = 512 };

/* The first processor's model, as the kernel names it. */
static void processor_name_read(char name[LINE_BYTES])
{
    char line[LINE_BYTES];
    FILE *file = fopen("/proc/cpuinfo", "r");
    memcpy(name, "unknown processor", sizeof "unknown processor");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) == 0 && colon != NULL) {
            line[strcspn(line, "\n")] = '\0';
            snprintf(name, LINE_BYTES, "%s", colon + 1 + (colon[1] == ' '));
            break;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
}

static void machine_print(void)
{
    char name[LINE_BYTES];
    double load = 0;
    processor_name_read(name);
    printf("%s, %d threads", name, bench_thread_count());
    if (getloadavg(&load, 1) == 1) {
        printf("; load average at the start %.2f", load);
    }
    printf("; %d runs each\n\n", BENCH_RUNS);
}

int main(int count, char **words)
{
    if (count != 2) {
        fputs("usage: bench PROGRAM\n", stderr);
        return 2;
    }
    struct bench_tally tally = {0};
    double begin = bench_seconds();
    machine_print();
    bench_header_print();
    bench_processes(words[1], &tally);
    bench_allocator(&tally);
    bench_kernels(&tally);
    bench_products(&tally);
    printf("\n%d of %d medians are over their limit. It took %.0f s.\n", tally.rows_over, tally.row_count,
           bench_seconds() - begin);
    return tally.failure_count > 0 ? 1 : 0;
}
