/* Bench: one table of how fast the program is on this machine. Not a test: nothing passes or fails by a time. It exits
 * with 1 only where something could not be measured.
 *
 * usage: bench [--device SPEC] [--python NAME] [--only PART] [--quick] [--model ARCHITECTURE] PROGRAM from the root
 * of the repository; docs/NUMBERS.md says what the rows mean. PART: processes, placement, records, gpus, checkpoints,
 * loading, offload, allocator, kernels, products or steps. With --model, sm_90 for instance, nothing is measured: the
 * traffic of the kernels is counted and held against the peaks of a device of that architecture. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/clock.h"
#include "tests/bench/bench_parts.h"

static const char usage[] =
    "usage: bench [--device host|cuda:N] [--python NAME] [--quick] [--model sm_75|sm_80|sm_89|sm_90|sm_100]\n"
    "             [--only processes|placement|records|gpus|checkpoints|loading|offload|allocator|kernels|products|\n"
    "             steps] PROGRAM\n";

static bool options_read(int count, char **words, struct bench_options *options)
{
    *options = (struct bench_options){.device_spec = "host", .python = "python3"};
    for (int i = 1; i < count; i++) {
        const char *value = i + 1 < count ? words[i + 1] : NULL;
        if (strcmp(words[i], "--quick") == 0) {
            options->quick = true;
        } else if (words[i][0] != '-' && options->program == NULL) {
            options->program = words[i];
        } else if (value == NULL) {
            return false;
        } else if (strcmp(words[i], "--device") == 0) {
            options->device_spec = words[++i];
        } else if (strcmp(words[i], "--python") == 0) {
            options->python = words[++i];
        } else if (strcmp(words[i], "--only") == 0) {
            options->only = words[++i];
        } else if (strcmp(words[i], "--model") == 0) {
            options->model = words[++i];
        } else {
            return false;
        }
    }
    return options->program != NULL;
}

static bool part_is_wanted(const struct bench_options *options, const char *part)
{
    return options->only == NULL || strcmp(options->only, part) == 0;
}

/* The first line: what was measured, and what else went on. */
static void machine_print(const struct bench_device *bench)
{
    struct device_properties properties;
    struct status error = {0};
    double load = 0;
    if (bench->device->table->properties(bench->device, &properties, &error) != STATUS_OK) {
        printf("%s; ", status_line(&error, (char[STATUS_LINE_BYTES]){0}));
    } else if (bench->is_host) {
        printf("%s, %s; ", properties.name, properties.runtime);
    } else {
        printf("%s, driver %s, runtime %s; ", properties.name, properties.driver, properties.runtime);
    }
    printf("%d threads", bench_thread_count());
    if (getloadavg(&load, 1) == 1) {
        printf("; load average at the start %.2f", load);
    }
    printf("; %d runs of each row%s\n\n", BENCH_RUNS, bench->quick ? "; QUICK: sizes too small for figures" : "");
}

static void parts_run(const struct bench_options *options, const struct bench_device *bench, struct bench_tally *tally)
{
    double begin = clock_seconds();
    machine_print(bench);
    bench_header_print();
    if (bench->is_host && part_is_wanted(options, "processes")) {
        bench_processes(options->program, tally);
    }
    if (bench->is_host && part_is_wanted(options, "placement")) {
        bench_placement(options->program, tally);
    }
    if (bench->is_host && part_is_wanted(options, "records")) {
        bench_records(options, tally);
    }
    if (bench->is_host && part_is_wanted(options, "gpus")) {
        bench_gpus(options, tally);
    }
    if (bench->is_host && part_is_wanted(options, "checkpoints")) {
        bench_checkpoints(options, tally);
    }
    if (part_is_wanted(options, "loading")) {
        bench_loading(options, bench, tally);
    }
    if (bench->is_host && part_is_wanted(options, "offload")) {
        bench_offload(bench->quick, tally);
    }
    if (bench->is_host && part_is_wanted(options, "allocator")) {
        bench_allocator(tally);
    }
    if (part_is_wanted(options, "kernels")) {
        bench_kernels(bench, tally);
    }
    if (part_is_wanted(options, "products")) {
        bench_products(bench, tally);
    }
    if (part_is_wanted(options, "steps")) {
        bench_steps(bench, options->python, tally);
    }
    printf("\n%d of %d medians are beyond their limit. It took %.0f s.\n", tally->rows_beyond, tally->row_count,
           clock_seconds() - begin);
}

int main(int count, char **words)
{
    enum { EXIT_SKIPPED = 77 };
    struct bench_options options;
    struct bench_tally tally = {0};
    struct status error = {0};
    if (!options_read(count, words, &options)) {
        fputs(usage, stderr);
        return 2;
    }
    if (options.model != NULL) {
        return bench_model(options.model) ? 0 : (fputs(usage, stderr), 2);
    }
    struct bench_device bench = {.spec = options.device_spec, .quick = options.quick};
    bench.is_host = strncmp(options.device_spec, "host", 4) == 0;
    signal(SIGPIPE, SIG_IGN); /* a peer that ends is an error in its row */
    enum status_code code = device_open(options.device_spec, &bench.device, &error);
    if (code != STATUS_OK) {
        printf("nothing was measured: %s\n", status_line(&error, (char[STATUS_LINE_BYTES]){0}));
        return code == STATUS_UNAVAILABLE ? EXIT_SKIPPED : 1;
    }
    parts_run(&options, &bench, &tally);
    device_close(bench.device);
    return tally.failure_count > 0 ? 1 : 0;
}
