/* Peer step: a real PyTorch beside us, one training step at a time (peers/pytorch/bench_step.py in a child process). */
#ifndef ASSAY_TESTS_BENCH_PEER_STEP_H
#define ASSAY_TESTS_BENCH_PEER_STEP_H

#include <stdio.h>
#include <sys/types.h>

#include "harness/base/status.h"

enum { PEER_VERSION_BYTES = 128 };

struct peer {
    pid_t child;
    FILE *ask, *answers;
    char version[PEER_VERSION_BYTES]; /* "torch 2.11.0+cu130, transformers 5.17.0" */
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
void peer_close(struct peer *peer); /* one that is not open is accepted */

/* One step; *seconds: its time as the peer measured it. */
enum status_code peer_step(struct peer *peer, double *seconds, struct status *error);

#endif
