/* Whole processes: from the start of `assay estimate` to its end, what it prints thrown away. Two rows a model of the
 * catalogue: the table of its sizes, and the prediction of a training case, whose tape is the largest. */
#include <stdio.h>
#include <string.h>

#include "models/find/catalogue.h"
#include "tests/bench/bench_parts.h"
#include "tests/bench/process_cost.h"

/* bert-base-cased, and any model. */
static const char first_model[] = "bert-base-cased";
static const double first_limit_ms = 20, limit_ms = 50;

enum { WHAT_BYTES = 320 };

static void process_measure(const char *what, const char *const *words, double limit, struct bench_tally *tally)
{
    struct status error = {0};
    struct bench_row row = bench_row_open(what, "ms");
    row.at_most = limit;
    struct process_cost cost;
    enum status_code code = process_time(words, &cost, &error); /* its pages come from the disk: not counted */
    for (int i = 0; i < BENCH_RUNS && code == STATUS_OK; i++) {
        code = process_time(words, &cost, &error);
        if (code == STATUS_OK && cost.exit_code != 0) {
            code = status_set(&error, STATUS_INTERNAL, "it ended with exit code %d", cost.exit_code);
        }
        if (code == STATUS_OK) {
            bench_row_add(&row, cost.wall);
            bench_row_add_cpu(&row, cost.cpu);
        }
    }
    if (code == STATUS_OK) {
        bench_row_print(&row, tally);
    } else {
        bench_row_fail(what, &error, tally);
    }
}

void bench_processes(const char *program, struct bench_tally *tally)
{
    struct status error = {0};
    struct catalogue catalogue;
    if (catalogue_read("models/catalogue", &catalogue, &error) != STATUS_OK) {
        bench_row_fail("estimate", &error, tally);
        return;
    }
    for (int i = 0; i < catalogue.count; i++) {
        const char *name = catalogue.names[i];
        double limit = strcmp(name, first_model) == 0 ? first_limit_ms : limit_ms;
        const char *const table[PROCESS_WORDS_MAXIMUM] = {program, "estimate", name};
        const char *const training[PROCESS_WORDS_MAXIMUM] = {program,   "estimate", name,    "--mode", "train",
                                                             "--batch", "8",        "--seq", "64"};
        char what[WHAT_BYTES];
        snprintf(what, sizeof what, "estimate %s", name);
        process_measure(what, table, limit, tally);
        snprintf(what, sizeof what, "estimate %s --mode train", name);
        process_measure(what, training, limit, tally);
    }
    catalogue_release(&catalogue);
}
