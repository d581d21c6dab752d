/* The parts of the bench, in the order in which they print their rows. */
#ifndef ASSAY_TESTS_BENCH_BENCH_PARTS_H
#define ASSAY_TESTS_BENCH_BENCH_PARTS_H

#include "harness/device/device.h"
#include "tests/bench/bench_row.h"

struct bench_options {
    const char *program;     /* the assay program */
    const char *device_spec; /* "host", "cuda:0" */
    const char *python;      /* an interpreter that may have torch */
    const char *only;        /* one part; NULL: all */
    const char *model;       /* an architecture whose table of traffic is wanted; NULL: none */
    bool quick;              /* small sizes: whether all of it runs, and no figure to keep */
};

/* A device that computes, and what stands for the best that it can do. */
struct bench_device {
    struct device *device;
    const char *spec; /* that it was opened with */
    bool is_host;
    bool quick;
};

/* Runs call and waits for its end; *seconds is what that took. */
enum status_code bench_call_time(const struct bench_device *on, const struct operation_call *call, double *seconds,
                                 struct status *error);

void bench_processes(const char *program, struct bench_tally *tally);
void bench_placement(const char *program, struct bench_tally *tally);
void bench_records(const struct bench_options *options, struct bench_tally *tally);
void bench_gpus(const struct bench_options *options, struct bench_tally *tally);
void bench_checkpoints(const struct bench_options *options, struct bench_tally *tally);
void bench_loading(const struct bench_options *options, const struct bench_device *on, struct bench_tally *tally);
void bench_offload(bool quick, struct bench_tally *tally);
void bench_allocator(struct bench_tally *tally);
void bench_kernels(const struct bench_device *bench, struct bench_tally *tally);
void bench_products(const struct bench_device *bench, struct bench_tally *tally);
void bench_steps(const struct bench_device *bench, const char *python, struct bench_tally *tally);

/* Prints the table of an architecture; false if there is none. */
bool bench_model(const char *architecture);

#endif
