/* Several GPUs: a suite of 200 cases over four of them against the same over one. They are emulated, and take the time
 * that a driver takes to start without any work for the processor, as a GPU does: what is measured is whether the run
 * keeps all of them busy, not how fast they are. One run of each row, because that of one GPU takes a minute. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/temporary_folder.h"
#include "tests/bench/bench_parts.h"
#include "tests/bench/process_cost.h"

static const char plugin_folder[] = "build/tests/cuda_emulation";
static const double at_least = 3;

/* Seconds of the whole run, from the start of the program to its end. */
static enum status_code suite_time(const struct bench_options *options, const char *device, const char *folder,
                                   double *seconds, struct status *error)
{
    char out[PATH_MAX + 16];
    struct process_cost cost;
    const char *const words[PROCESS_WORDS_MAXIMUM] = {options->program,
                                                      "run",
                                                      "tests/bench/gpus.yaml",
                                                      "--device",
                                                      device,
                                                      "--out",
                                                      out,
                                                      "--records-only",
                                                      "--quiet",
                                                      options->quick ? "--filter" : NULL,
                                                      options->quick ? "few" : NULL};
    snprintf(out, sizeof out, "%s/%s", folder, device);
    enum status_code code = process_time(words, &cost, error);
    if (code == STATUS_OK && cost.exit_code != 0) {
        code = status_set(error, STATUS_INTERNAL, "it ended with exit code %d", cost.exit_code);
    }
    *seconds = cost.wall / 1e3;
    return code;
}

static void machine_pretend(const char *folder)
{
    setenv("ASSAY_PLUGIN_DIR", plugin_folder, 1);
    setenv("ASSAY_LOCK_DIR", folder, 1);
    setenv("EMULATED_GPUS", "4", 1);
    setenv("EMULATED_ALIKE", "1", 1);
    setenv("EMULATED_LATENCY", "init:100 context:150", 1);
}

static void machine_forget(void)
{
    static const char *const names[] = {"ASSAY_PLUGIN_DIR", "ASSAY_LOCK_DIR", "EMULATED_GPUS", "EMULATED_ALIKE",
                                        "EMULATED_LATENCY"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        unsetenv(names[i]);
    }
}

static void seconds_print(const char *what, double seconds, struct bench_tally *tally)
{
    struct bench_row row = bench_row_open(what, "s");
    bench_row_add(&row, seconds);
    bench_row_print(&row, tally);
}

void bench_gpus(const struct bench_options *options, struct bench_tally *tally)
{
    static const char what[] = "run, 200 cases on 4 emulated GPUs against 1";
    struct status error = {0};
    char folder[PATH_MAX], plugin[PATH_MAX];
    double one = 0, four = 0;
    snprintf(plugin, sizeof plugin, "%s/libassay_cuda.so", plugin_folder);
    if (access(plugin, R_OK) != 0) {
        bench_row_leave_empty(what, "the emulated GPUs are not built; make strict builds them");
        return;
    }
    enum status_code code = temporary_folder_make("assay-bench", folder, &error);
    if (code == STATUS_OK) {
        machine_pretend(folder);
        code = suite_time(options, "cuda", folder, &one, &error);
        code = code == STATUS_OK ? suite_time(options, "cuda:all", folder, &four, &error) : code;
        machine_forget();
        temporary_folder_remove(folder);
    }
    if (code != STATUS_OK) {
        bench_row_fail(what, &error, tally);
        return;
    }
    seconds_print("run, 200 cases on 1 emulated GPU", one, tally);
    seconds_print("run, 200 cases on 4 emulated GPUs", four, tally);
    struct bench_row row = bench_row_open(what, "times");
    row.at_least = at_least;
    bench_row_add(&row, one / four);
    bench_row_print(&row, tally);
}
