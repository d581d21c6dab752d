/* Body: the dialect in which the arithmetic of an operation is written, once, for host and CUDA.
 *
 * A body works for a team of lanes. On the host a team has one lane and the compiler turns the loop over elements into
 * vector instructions; in a CUDA launch a team is a block of threads and a loop over elements is dealt to its lanes:
 *
 *     float sum = 0;
 *     BODY_SIMD(reduction(+ : sum))
 *     for (int64_t k = team.lane; k < count; k += team.lanes) {
 *         sum += span_get(a, k);
 *     }
 *     sum = team_sum(team, sum); // every lane has the sum; the cross-lane step, nothing on the host
 *
 * What goes through a row more than once is written in groups instead (body_row.h).
 *
 * A span is a row of elements that a body reads or writes as float. On the host it is float32 in memory: rows of
 * another dtype have passed through a chunk in the first-level cache (host_span.h). On CUDA it converts on access. */
#ifndef ASSAY_KERNELS_BODY_H
#define ASSAY_KERNELS_BODY_H

#include <math.h>
#include <stdint.h>

#include "harness/kernels/convert.h"
#include "harness/kernels/operation.h"

#ifdef __CUDACC__

#define BODY       static __device__ __forceinline__
#define BODY_COUNT static __host__ __device__ __forceinline__ /* also asked by what launches */
#define BODY_SIMD(clauses)

struct team {
    int lane;
    int lanes;     /* a power of two up to 32, or a multiple of 32 up to 1024 */
    float *shared; /* TEAM_SHARED_FLOATS floats; unused up to 32 lanes */
};

struct span {
    void *data;
    enum dtype dtype;
};

enum { TEAM_SHARED_FLOATS = 33 };

BODY void team_wait(struct team team)
{
    (void)team;
    __syncthreads();
}

/* The lanes' values joined, the same bits in every lane. Teams of less than a warp take the steps together. Nobody need
 * wait before the first write: what it overwrites was read before the last wait of the reduction before, and who still
 * reads that one's result, which lies elsewhere, has done so before the first wait of this one. */
#define TEAM_REDUCTION(name, neutral, join)                                                                            \
    BODY float name(struct team team, float value)                                                                     \
    {                                                                                                                  \
        for (int step = 16; step > 0; step >>= 1) {                                                                    \
            if (step < team.lanes) {                                                                                   \
                float other = __shfl_xor_sync(0xffffffffu, value, step);                                               \
                value = join;                                                                                          \
            }                                                                                                          \
        }                                                                                                              \
        if (team.lanes <= 32) {                                                                                        \
            return value;                                                                                              \
        }                                                                                                              \
        if ((team.lane & 31) == 0) {                                                                                   \
            team.shared[team.lane >> 5] = value;                                                                       \
        }                                                                                                              \
        __syncthreads();                                                                                               \
        if (team.lane < 32) {                                                                                          \
            value = team.lane < (team.lanes >> 5) ? team.shared[team.lane] : (neutral);                                \
            for (int step = 16; step > 0; step >>= 1) {                                                                \
                float other = __shfl_xor_sync(0xffffffffu, value, step);                                               \
                value = join;                                                                                          \
            }                                                                                                          \
            if (team.lane == 0) {                                                                                      \
                team.shared[32] = value;                                                                               \
            }                                                                                                          \
        }                                                                                                              \
        __syncthreads();                                                                                               \
        return team.shared[32];                                                                                        \
    }

TEAM_REDUCTION(team_sum, 0.0f, value + other)
TEAM_REDUCTION(team_maximum, -INFINITY, other > value ? other : value)

BODY float span_get(struct span span, int64_t index)
{
    return float_load(span.data, span.dtype, index);
}

BODY void span_set(struct span span, int64_t index, float value)
{
    float_store(span.data, span.dtype, index, value);
}

#else

#define BODY       static inline __attribute__((always_inline))
#define BODY_COUNT BODY

/* Vector instructions without leave to reorder anything but the named reductions. Clang decides for itself. */
#if defined(_OPENMP) && !defined(__clang__)
#define BODY_PRAGMA(text)  _Pragma(#text)
#define BODY_SIMD(clauses) BODY_PRAGMA(omp simd clauses)
#else
#define BODY_SIMD(clauses)
#endif

struct team {
    int lane;
    int lanes;
};

struct span {
    float *data;
};

static const struct team team_of_one = {0, 1};

BODY void team_wait(struct team team)
{
    (void)team;
}

BODY float team_sum(struct team team, float value)
{
    (void)team;
    return value;
}

BODY float team_maximum(struct team team, float value)
{
    (void)team;
    return value;
}

BODY float span_get(struct span span, int64_t index)
{
    return span.data[index];
}

BODY void span_set(struct span span, int64_t index, float value)
{
    span.data[index] = value;
}

#endif

#endif
