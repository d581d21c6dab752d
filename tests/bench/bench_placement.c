/* Placement: Llama 3.1 with 405 billion parameters described, estimated and placed on eight GPUs, each a whole process,
 * with its peak memory; and the same map predicted and planned by what a replay needs. */
#include <stdio.h>

#include "tests/bench/bench_parts.h"
#include "tests/bench/process_cost.h"

#define MODEL   "meta-llama/Llama-3.1-405B"
#define BUDGETS "0=80GB,1=80GB,2=80GB,3=80GB,4=80GB,5=80GB,6=80GB,7=80GB,cpu=500GB"

enum { NAME_BYTES = 128 };
static const double limit_ms = 100, limit_mib = 50;

/* Two rows: milliseconds and memory. limit 0: none. */
static void placement_measure(const char *what, const char *const *words, double limit, struct bench_tally *tally)
{
    struct status error = {0};
    struct process_cost cost;
    char memory[NAME_BYTES];
    snprintf(memory, sizeof memory, "%s: peak memory", what);
    struct bench_row row = bench_row_open(what, "ms"), bytes = bench_row_open(memory, "MiB");
    row.at_most = limit;
    bytes.at_most = limit_mib;
    enum status_code code = process_time(words, &cost, &error); /* its pages come from the disk: not counted */
    for (int i = 0; i < BENCH_RUNS && code == STATUS_OK; i++) {
        code = process_time(words, &cost, &error);
        if (code == STATUS_OK && cost.exit_code != 0) {
            code = status_set(&error, STATUS_INTERNAL, "it ended with exit code %d", cost.exit_code);
        }
        if (code == STATUS_OK) {
            bench_row_add(&row, cost.wall);
            bench_row_add_cpu(&row, cost.cpu);
            bench_row_add(&bytes, cost.peak_mib);
        }
    }
    if (code != STATUS_OK) {
        bench_row_fail(what, &error, tally);
        return;
    }
    bench_row_print(&row, tally);
    bench_row_print(&bytes, tally);
}

void bench_placement(const char *program, struct bench_tally *tally)
{
    const char *const estimate[PROCESS_WORDS_MAXIMUM] = {program, "estimate", MODEL};
    const char *const place[PROCESS_WORDS_MAXIMUM] = {program, "place",        MODEL,  "--precision",
                                                      "bf16",  "--max-memory", BUDGETS};
    const char *const predict[PROCESS_WORDS_MAXIMUM] = {program, "place",        MODEL,   "--precision",
                                                        "bf16",  "--max-memory", BUDGETS, "--predict"};
    const char *const exact[PROCESS_WORDS_MAXIMUM] = {program, "place",        MODEL,   "--precision",
                                                      "bf16",  "--max-memory", BUDGETS, "--exact"};
    placement_measure("estimate of 405B", estimate, limit_ms, tally);
    placement_measure("place of 405B on 8 GPUs", place, limit_ms, tally);
    placement_measure("place of 405B on 8 GPUs --predict", predict, 0, tally);
    placement_measure("place of 405B on 8 GPUs --exact", exact, 0, tally);
}
