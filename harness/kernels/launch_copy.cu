/* Launches of copies and fills: a thread for 16 bytes if memory allows, else for an element. Between tensors whose
 * neighbours lie along different dimensions a block takes a tile through shared memory, so that it reads and writes
 * whole lines. A copy to another dtype is an element-wise operation. */
#include <type_traits>

#include "harness/kernels/call_check.h"
#include "harness/kernels/launch_group.h"
#include "harness/kernels/plan_copy.h"

struct copy_launch {
    const void *from;
    void *to;
    struct walk walk;
    struct copy_plan plan;
    int64_t count, packets; /* packets: of 16 bytes (of 8 if an element has one byte), the first of the elements */
};

/* Elements of a packet. */
static inline __host__ __device__ constexpr int copy_unit(int bytes)
{
    return bytes == 1 ? 8 : 16 / bytes;
}

template <typename element> static __global__ void copy_kernel(const __grid_constant__ struct copy_launch launch)
{
    constexpr int unit = copy_unit((int)sizeof(element));
    typedef typename std::conditional<sizeof(element) == 1, struct words_of_8, struct words_of_16>::type packet;
    const element *from = (const element *)launch.from;
    element *to = (element *)launch.to;
    int64_t at[WALK_TENSORS];
    for (int64_t k = thread_first(); k < launch.packets; k += thread_step()) {
        walk_element(&launch.walk, k * unit, at);
        *(packet *)(void *)(to + at[1]) = *(const packet *)(const void *)(from + at[0]);
    }
    for (int64_t k = launch.packets * unit + thread_first(); k < launch.count; k += thread_step()) {
        walk_element(&launch.walk, k, at);
        to[at[1]] = from[at[0]];
    }
}

/* A tile: where it begins in both tensors, and how much of it there is. */
struct copy_tile {
    int64_t from, to;
    int64_t from_left, to_left; /* elements along each of the two dimensions */
};

BODY struct copy_tile copy_tile_of(const struct copy_launch &launch, int64_t number)
{
    const struct copy_plan &plan = launch.plan;
    int64_t first = number % plan.from_tiles * COPY_TILE;
    number /= plan.from_tiles;
    int64_t second = number % plan.to_tiles * COPY_TILE;
    number /= plan.to_tiles;
    struct copy_tile tile = {first + second * launch.walk.stride[0][plan.to],
                             second + first * launch.walk.stride[1][plan.from], launch.walk.size[plan.from] - first,
                             launch.walk.size[plan.to] - second};
#pragma unroll 1
    for (int d = launch.walk.rank - 1; d >= 0; d--) {
        if (d != plan.from && d != plan.to) {
            int64_t along = number % launch.walk.size[d];
            number /= launch.walk.size[d];
            tile.from += along * launch.walk.stride[0][d];
            tile.to += along * launch.walk.stride[1][d];
        }
    }
    return tile;
}

/* A line of the tile is one element longer than the tile is wide, so that neither lines nor columns of it meet in a
 * bank of shared memory, whatever the bytes of an element. */
template <typename element> static __global__ void transpose_kernel(const __grid_constant__ struct copy_launch launch)
{
    __shared__ element held[COPY_TILE][COPY_TILE + 1];
    const element *from = (const element *)launch.from;
    element *to = (element *)launch.to;
    const int lane = (int)threadIdx.x % COPY_TILE, first = (int)threadIdx.x / COPY_TILE, step = LANES / COPY_TILE;
    int64_t from_step = launch.walk.stride[0][launch.plan.to], to_step = launch.walk.stride[1][launch.plan.from];
    for (int64_t number = blockIdx.x; number < launch.plan.tiles; number += gridDim.x) {
        struct copy_tile tile = copy_tile_of(launch, number);
#pragma unroll
        for (int line = first; line < COPY_TILE; line += step) {
            if (lane < tile.from_left && line < tile.to_left) {
                held[line][lane] = from[tile.from + lane + line * from_step];
            }
        }
        __syncthreads();
#pragma unroll
        for (int line = first; line < COPY_TILE; line += step) {
            if (lane < tile.to_left && line < tile.from_left) {
                to[tile.to + lane + line * to_step] = held[lane][line];
            }
        }
        __syncthreads();
    }
}

template <typename element>
static void copy_start(struct copy_launch *launch, const struct operation_call *call, cudaStream_t stream)
{
    constexpr int unit = copy_unit((int)sizeof(element));
    if (launch->plan.is_transposed) {
        transpose_kernel<element><<<grid_blocks(launch->plan.tiles, 1), LANES, 0, stream>>>(*launch);
        return;
    }
    launch->packets = walk_packets(&launch->walk, call->tensors, unit);
    unsigned blocks = grid_blocks(launch->count - (unit - 1) * launch->packets, LANES);
    copy_kernel<element><<<blocks, LANES, 0, stream>>>(*launch);
}

const char *launch_copy(const struct operation_call *call, cudaStream_t stream)
{
    if (call->tensors[0].dtype != call->tensors[1].dtype) {
        return launch_element(call, stream);
    }
    struct copy_launch launch;
    launch.from = call->tensors[0].data;
    launch.to = call->tensors[1].data;
    launch.walk = walk_of_call(call);
    launch.plan = copy_plan_of(&launch.walk);
    launch.count = launch.walk.line_count * launch.walk.line_length;
    switch (element_bytes(call->tensors[0].dtype)) {
    case 4:
        copy_start<uint32_t>(&launch, call, stream);
        break;
    case 8:
        copy_start<uint64_t>(&launch, call, stream);
        break;
    case 1:
        copy_start<uint8_t>(&launch, call, stream);
        break;
    default:
        copy_start<uint16_t>(&launch, call, stream);
    }
    return launch_result();
}

struct fill_launch {
    char *to;
    struct walk walk;
    int64_t count, packets;
    uint32_t word[4]; /* 16 bytes of neighbouring elements */
};

/* Elements of so many bytes, and packets of them. */
template <int bytes> static __global__ void fill_kernel(const __grid_constant__ struct fill_launch launch)
{
    constexpr int unit = copy_unit(bytes);
    uint32_t word[4];
#pragma unroll
    for (int w = 0; w < 4; w++) {
        word[w] = launch.word[w];
    }
    int64_t at[WALK_TENSORS];
    for (int64_t k = thread_first(); k < launch.packets; k += thread_step()) {
        walk_element(&launch.walk, k * unit, at);
        words_store<bytes * unit>(launch.to + at[0] * bytes, word);
    }
    for (int64_t k = launch.packets * unit + thread_first(); k < launch.count; k += thread_step()) {
        walk_element(&launch.walk, k, at);
        words_store<bytes>(launch.to + at[0] * bytes, word);
    }
}

static struct fill_launch fill_launch_of(const struct operation_call *call)
{
    const struct tensor *out = &call->tensors[0];
    struct fill_launch launch;
    int bytes = (int)element_bytes(out->dtype), unit = copy_unit(bytes);
    int64_t whole = (int64_t)call->attributes.f[0];
    unsigned char worth[sizeof launch.word];
    for (int k = 0; k < (int)sizeof worth / bytes; k++) {
        if (out->dtype == DTYPE_INT64) {
            memcpy(worth + k * bytes, &whole, sizeof whole);
        } else {
            float_store(worth, out->dtype, k, (float)call->attributes.f[0]);
        }
    }
    memcpy(launch.word, worth, sizeof worth);
    launch.to = (char *)out->data;
    launch.walk = walk_of_call(call);
    launch.count = launch.walk.line_count * launch.walk.line_length;
    launch.packets = walk_packets(&launch.walk, out, unit);
    return launch;
}

const char *launch_fill(const struct operation_call *call, cudaStream_t stream)
{
    struct fill_launch launch = fill_launch_of(call);
    int bytes = (int)element_bytes(call->tensors[0].dtype);
    unsigned blocks = grid_blocks(launch.count - (copy_unit(bytes) - 1) * launch.packets, LANES);
    switch (bytes) {
    case 8:
        fill_kernel<8><<<blocks, LANES, 0, stream>>>(launch);
        break;
    case 4:
        fill_kernel<4><<<blocks, LANES, 0, stream>>>(launch);
        break;
    case 2:
        fill_kernel<2><<<blocks, LANES, 0, stream>>>(launch);
        break;
    default:
        fill_kernel<1><<<blocks, LANES, 0, stream>>>(launch);
    }
    return launch_result();
}
