/* Whole processes: from the start of `assay estimate` to its end, what it prints thrown away. Two rows a model of the
 * catalogue: the table of its sizes, and the prediction of a training case, whose tape is the largest. */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "models/catalogue.h"
#include "tests/bench/bench_parts.h"

/* bert-base-cased, and any model. */
static const char first_model[] = "bert-base-cased";
static const double first_limit_ms = 20, limit_ms = 50;

enum { WORDS_MAXIMUM = 12, WHAT_BYTES = 320 };

extern char **environ;

/* Milliseconds of one process: on the clock and on the processor. */
struct process_cost {
    double wall, cpu;
};

static double timeval_milliseconds(struct timeval time)
{
    return 1e3 * (double)time.tv_sec + 1e-3 * (double)time.tv_usec;
}

static enum status_code process_time(const char *const *words, struct process_cost *cost, struct status *error)
{
    posix_spawn_file_actions_t actions;
    struct rusage usage;
    int wait_status = 0;
    pid_t child = 0;
    if (posix_spawn_file_actions_init(&actions) != 0) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "no memory for a process");
    }
    int failure = posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    double begin = bench_seconds();
    if (failure == 0) {
        /* posix_spawn does not write to the words; its prototype is older than const. */
        char *arguments[WORDS_MAXIMUM];
        memcpy(arguments, words, sizeof arguments);
        failure = posix_spawn(&child, words[0], &actions, NULL, arguments, environ);
    }
    posix_spawn_file_actions_destroy(&actions);
    if (failure != 0 || wait4(child, &wait_status, 0, &usage) != child) {
        return status_set(error, STATUS_IO, "%s cannot be started", words[0]);
    }
    cost->wall = 1e3 * (bench_seconds() - begin);
    cost->cpu = timeval_milliseconds(usage.ru_utime) + timeval_milliseconds(usage.ru_stime);
    if (!WIFEXITED(wait_status) || WEXITSTATUS(wait_status) != 0) {
        return status_set(error, STATUS_INTERNAL, "it failed with wait status %d", wait_status);
    }
    return STATUS_OK;
}

static void process_measure(const char *what, const char *const *words, double limit, struct bench_tally *tally)
{
    struct status error = {0};
    struct bench_row row = bench_row_open(what, "ms");
    row.at_most = limit;
    struct process_cost cost;
    enum status_code code = process_time(words, &cost, &error); /* its pages come from the disk: not counted */
    for (int i = 0; i < BENCH_RUNS && code == STATUS_OK; i++) {
        code = process_time(words, &cost, &error);
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
        const char *const table[WORDS_MAXIMUM] = {program, "estimate", name};
        const char *const training[WORDS_MAXIMUM] = {program,   "estimate", name,    "--mode", "train",
                                                     "--batch", "8",        "--seq", "64"};
        char what[WHAT_BYTES];
        snprintf(what, sizeof what, "estimate %s", name);
        process_measure(what, table, limit, tally);
        snprintf(what, sizeof what, "estimate %s --mode train", name);
        process_measure(what, training, limit, tally);
    }
    catalogue_release(&catalogue);
}
