/* Sums down columns: neighbouring lanes take neighbouring packets of a row, the other lanes of the block the rows after
 * it. The order of additions depends on the shape and on how the memory is aligned, on nothing else. CUDA only.
 *
 * Worked: 768 columns of bfloat16 are 96 packets; two lanes take the 32 bytes that memory gives at once, so 48 blocks
 * sum two packets each, with 512 lanes for each packet if there are as many rows. */
#ifndef ASSAY_KERNELS_LAUNCH_COLUMNS_H
#define ASSAY_KERNELS_LAUNCH_COLUMNS_H

#include "harness/kernels/launch_grid.h"
#include "harness/kernels/launch_packet.h"
#include "harness/kernels/plan_columns.h"

/* The shared memory of columns_sum. */
template <int unit, int sums> struct column_shared {
    float at[COLUMN_THREADS_MAXIMUM / 32 * COLUMN_LANES_MAXIMUM * unit * sums];
};

/* Adds what the lanes of a warp have for the same packet; each of them has it then. */
BODY float packet_lanes_sum(float value, int lanes)
{
#pragma unroll
    for (int step = 16; step > 0; step >>= 1) {
        if (step >= lanes) {
            value += __shfl_xor_sync(0xffffffffu, value, step);
        }
    }
    return value;
}

/* begin(packet) is where a packet of columns begins in the first row, an element of a tensor; add(begin, row, sum) adds
 * the packet of that row to float sum[sums][unit]; finish(which, column, sum) has the sum, of the rows of part y of the
 * grid. */
template <int unit, int sums, typename beginner, typename adder, typename finisher>
BODY void columns_sum(const struct column_plan &plan, float *shared, beginner begin, adder add, finisher finish)
{
    int lane = (int)threadIdx.x % plan.lanes, warp = (int)threadIdx.x / 32;
    int width = plan.lanes * unit * sums; /* what a warp leaves */
    int64_t part_first = blockIdx.y * plan.part_rows, rest = plan.rows - part_first;
    int64_t part_end = part_first + (rest < plan.part_rows ? rest : plan.part_rows);
    for (int64_t first = (int64_t)blockIdx.x * plan.lanes; first < plan.packets;
         first += (int64_t)gridDim.x * plan.lanes) {
        float sum[sums][unit] = {};
        bool has = first + lane < plan.packets;
        int64_t start = has ? begin(first + lane) : 0;
        int64_t end = has ? part_end : 0, step = (int)blockDim.x / plan.lanes;
#pragma unroll 4
        for (int64_t row = part_first + (int)threadIdx.x / plan.lanes; row < end; row += step) {
            add(start, row, sum);
        }
#pragma unroll
        for (int k = 0; k < sums * unit; k++) {
            float total = packet_lanes_sum(sum[k / unit][k % unit], plan.lanes);
            if ((threadIdx.x & 31) < (unsigned)plan.lanes) {
                shared[warp * width + (k / unit * plan.lanes + lane) * unit + k % unit] = total;
            }
        }
        __syncthreads();
        for (int k = (int)threadIdx.x; k < width; k += (int)blockDim.x) {
            int64_t column = first * unit + k % (plan.lanes * unit);
            float total = 0.0f;
            for (int w = 0; w < (int)blockDim.x / 32; w++) {
                total += shared[w * width + k];
            }
            if (column < plan.packets * unit) {
                finish(k / (plan.lanes * unit), column, total);
            }
        }
        __syncthreads();
    }
}

#endif
