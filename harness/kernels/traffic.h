/* Traffic: what a launch on CUDA moves and computes, counted from the loops of its kernel.
 *
 * Each kernel whose traffic matters has one row: a function that fills a launch_traffic, in the header plan_*.h that
 * decides how the kernel is launched, so that whoever changes one has the other before him. `make bench
 * BENCH_OPTIONS="--model sm_90"` holds the rows against the peaks of a device, tests/kernels/test_traffic.c holds their
 * ratios, and tests/cuda_emulation counts what the kernels really ask for.
 *
 * A request is one access of the lanes of a warp. What it moves are the sectors of 32 bytes that it touches: 32 lanes
 * that read neighbouring floats touch 4 sectors, 32 lanes that read one float each of 32 far rows touch 32. Bytes count
 * at every request, whether or not a cache has them: that is what an emulation can count too. */
#ifndef ASSAY_KERNELS_TRAFFIC_H
#define ASSAY_KERNELS_TRAFFIC_H

#include <stdint.h>
#include <string.h>

#include "harness/kernels/operation.h"

enum { SECTOR_BYTES = 32, WARP_LANES = 32, TRAFFIC_LAUNCHES_MAXIMUM = 8 };

/* Instructions of a division by what only the call knows: the code that nvcc 13.0 makes for sm_90, less that of an
 * addition. Of the 112 of a 64-bit one those that numbers below 2^32 pass through are taken to be a third. */
enum { DIVISION_32 = 16, DIVISION_64 = 36 };

struct launch_traffic {
    const char *kernel;
    double launches;                  /* one after the other, each of as many blocks */
    double blocks, lanes;             /* lanes: of a block */
    double read_bytes, written_bytes; /* of device memory, sectors of every request */
    double touched_bytes;             /* of device memory, each byte once */
    double again_bytes;               /* what all blocks read between reading a byte and reading it again; 0: never */
    double shared_bytes;              /* of shared memory, by all lanes */
    double instructions;              /* of all lanes: a multiply-add is one */
    double core_operations;           /* of tensor cores: a multiply-add is two */
    double rounds; /* how often the busiest lane waits for memory, one wait after the other, in all */
};

/* All launches of a call, one after the other, and the least that the operation must move and compute: each operand
 * once, whatever the algorithm. on_cores: whether tensor cores may compute it. */
struct traffic {
    struct launch_traffic launches[TRAFFIC_LAUNCHES_MAXIMUM];
    int count;
    double needed_bytes, needed_operations;
    bool on_cores;
};

/* Bytes that a request of `lanes` lanes moves, each of which asks for `bytes`, `stride` bytes after its neighbour's;
 * the first begins a sector. */
static inline double request_bytes(double lanes, int64_t stride, int64_t bytes)
{
    if (stride <= SECTOR_BYTES) {
        int64_t span = (int64_t)(lanes - 1) * stride + bytes;
        return (double)((span + SECTOR_BYTES - 1) / SECTOR_BYTES * SECTOR_BYTES);
    }
    return lanes * (double)((bytes + SECTOR_BYTES - 1) / SECTOR_BYTES * SECTOR_BYTES);
}

/* Of one operand once; what a stride of 0 repeats is there once. */
static inline double operand_bytes(const struct tensor *tensor)
{
    double elements = 1;
    for (int d = 0; d < tensor->rank; d++) {
        elements *= tensor->stride[d] == 0 ? 1.0 : (double)tensor->size[d];
    }
    return elements * dtype_bytes(tensor->dtype);
}

/* Of the operands [first, end) of a call. */
static inline double operands_bytes(const struct operation_call *call, int first, int end)
{
    double bytes = 0;
    for (int t = first; t < end; t++) {
        bytes += operand_bytes(&call->tensors[t]);
    }
    return bytes;
}

static inline struct launch_traffic *traffic_add(struct traffic *traffic, const char *kernel)
{
    struct launch_traffic *launch = &traffic->launches[traffic->count++];
    memset(launch, 0, sizeof *launch);
    launch->kernel = kernel;
    launch->launches = 1;
    return launch;
}

#endif
