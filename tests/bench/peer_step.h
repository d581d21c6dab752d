/* Peer step: real libraries beside us, one training step (peers/pytorch/bench_step.py) or one load
 * (peers/placement/bench_load.py) at a time, in a child process. */
#ifndef ASSAY_TESTS_BENCH_PEER_STEP_H
#define ASSAY_TESTS_BENCH_PEER_STEP_H

#include <stdio.h>
#include <sys/types.h>

#include "harness/base/status.h"

enum { PEER_VERSION_BYTES = 128 };

struct peer {
    pid_t child;
    FILE *ask, *answers;
    const char *script; /* for messages; borrowed */
    char version
        [PEER_VERSION_BYTES]; /* "torch 2.11.0+cu130, transformers 5.17.0", of loads "torch ..., accelerate 1.15.0" */
};

struct peer_case {
    const char *python; /* the interpreter, looked for on PATH */
    const char *model;  /* a name of peers/pytorch/peer_models.py */
    const char *precision;
    const char *device; /* "cpu" or "cuda:0" */
    int batch, seq, threads;
};

/* Starts it and waits until its model is there. STATUS_UNAVAILABLE with the reason where there is no such python or no
 * torch. */
enum status_code peer_open(const struct peer_case *peer_case, struct peer *peer, struct status *error);
/* The same for another script that takes lines and answers them: words are the interpreter, the script and its options,
 * ended by NULL. */
enum status_code peer_start(const char *const *words, struct peer *peer, struct status *error);
void peer_close(struct peer *peer); /* one that is not open is accepted */

/* One step, or one load; *seconds: its time as the peer measured it. */
enum status_code peer_step(struct peer *peer, double *seconds, struct status *error);

#endif
