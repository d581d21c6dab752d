/* Kernels with one race each, and the same without it: what test_emulated_races.c looks at. */
#include "harness/kernels/tensor_core.h"
#include "tests/cuda_emulation/planted/planted_races.h"

#include <cstdlib>

enum { THREADS = PLANTED_THREADS };

struct planted {
    int *memory; /* PLANTED_INTS */
    bool right;  /* without the race */
};

/* Each thread reads what its neighbour in the other warp has written. */
__global__ void across_warps(struct planted planted)
{
    __shared__ int places[THREADS];
    int lane = (int)threadIdx.x;
    places[lane] = lane;
    if (planted.right) {
        __syncthreads();
    }
    planted.memory[lane] = places[THREADS - 1 - lane];
}

/* The same within a warp. */
__global__ void within_a_warp(struct planted planted)
{
    __shared__ int places[THREADS];
    int lane = (int)threadIdx.x;
    places[lane] = lane;
    if (planted.right) {
        __syncwarp();
    }
    planted.memory[lane] = places[lane ^ 1];
}

/* A shuffle hands on a register and orders no memory. */
__global__ void shuffle_for_a_wait(struct planted planted)
{
    __shared__ float places[THREADS];
    int lane = (int)threadIdx.x;
    places[lane] = 1.0f;
    float sum = __shfl_xor_sync(0xffffffffu, 1.0f, 1);
    if (planted.right) {
        __syncwarp();
    }
    planted.memory[lane] = (int)(sum + places[lane ^ 1]);
}

/* Who writes again has to know that all have read. */
__global__ void write_after_read(struct planted planted)
{
    __shared__ int places[THREADS];
    int lane = (int)threadIdx.x;
    for (int k = 0; k < 2; k++) {
        places[lane] = lane + k;
        __syncthreads();
        planted.memory[lane] = places[THREADS - 1 - lane];
        if (planted.right) {
            __syncthreads();
        }
    }
}

/* Bytes of one word, each thread its own; the wrong form lets two have one. */
__global__ void neighbours_in_a_word(struct planted planted)
{
    unsigned char *bytes = (unsigned char *)planted.memory;
    int lane = (int)threadIdx.x;
    bytes[planted.right ? lane : lane / 2] = (unsigned char)lane;
}

/* Blocks of one launch have no order, one thread of each the same number included. */
__global__ void across_blocks(struct planted planted)
{
    if (threadIdx.x == 0) {
        planted.memory[planted.right ? blockIdx.x : 0] = 1;
    }
}

/* What was copied without waiting is there for the warp after the wait of all lanes and a barrier. */
__global__ void copy_before_the_barrier(struct planted planted)
{
    __shared__ int places[THREADS];
    int lane = (int)threadIdx.x;
    copy_begin_4(places + lane, planted.memory + THREADS + lane, true);
    copies_group();
    copies_wait<0>();
    if (planted.right) {
        __syncwarp();
    }
    planted.memory[lane] = places[lane ^ 1];
}

/* Not even who began the copy may read it before the wait. */
__global__ void copy_before_the_wait(struct planted planted)
{
    __shared__ int places[THREADS];
    int lane = (int)threadIdx.x;
    copy_begin_4(places + lane, planted.memory + THREADS + lane, true);
    copies_group();
    if (planted.right) {
        copies_wait<0>();
    }
    planted.memory[lane] = places[lane];
}

/* The block that is last adds up what all have left: each makes its part visible before it counts itself. */
__global__ void last_block_sums(struct planted planted)
{
    __shared__ int is_last;
    int *count = planted.memory, *parts = planted.memory + 1, *sum = planted.memory + 1 + gridDim.x;
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = (int)blockIdx.x;
        if (planted.right) {
            __threadfence();
        }
        is_last = atomicAdd(count, 1) == (int)gridDim.x - 1;
    }
    __syncthreads();
    if (is_last && threadIdx.x == 1) {
        *sum = 0;
        for (unsigned k = 0; k < gridDim.x; k++) {
            *sum += parts[k];
        }
    }
}

/* Who comes when: each thread draws a number. */
__global__ void turns_taken(struct planted planted)
{
    int turn = atomicAdd(planted.memory, 1);
    planted.memory[1 + blockIdx.x * THREADS + threadIdx.x] = 1 + turn;
}

static const struct {
    void (*kernel)(struct planted);
    int blocks;
} kernels[] = {
    {across_warps, 1},         {within_a_warp, 1}, {shuffle_for_a_wait, 1},      {write_after_read, 1},
    {neighbours_in_a_word, 1}, {across_blocks, 4}, {copy_before_the_barrier, 1}, {copy_before_the_wait, 1},
    {last_block_sums, 4},
};

const char *planted_run(int index, bool right)
{
    if (index >= (int)(sizeof kernels / sizeof kernels[0])) {
        return NULL;
    }
    int *memory = (int *)calloc(PLANTED_INTS, sizeof *memory);
    struct planted planted = {memory, right};
    emulation_launch(kernels[index].blocks, THREADS).run(kernels[index].kernel, planted);
    cudaError_t error = cudaGetLastError();
    free(memory);
    return error == cudaSuccess ? "" : cudaGetErrorString(error);
}

void planted_turns(int *turns)
{
    int memory[1 + PLANTED_BLOCKS * THREADS] = {0};
    emulation_launch(PLANTED_BLOCKS, THREADS).run(turns_taken, (struct planted){memory, true});
    for (int k = 0; k < PLANTED_BLOCKS * THREADS; k++) {
        turns[k] = memory[1 + k];
    }
}
