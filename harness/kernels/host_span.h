/* What the host loops share: threads, scratch memory, and spans of elements read and written as float32. */
#ifndef ASSAY_KERNELS_HOST_SPAN_H
#define ASSAY_KERNELS_HOST_SPAN_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/kernels/body.h"

/* Elements that a loop converts at a time: four such spans stay in a first-level cache of 32 KiB. */
enum { SPAN_ELEMENTS = 1024 };

/* Below this many elements of work a loop stays on one thread: waking the others costs more. */
enum { PARALLEL_ELEMENTS = 16384 };

#ifdef _OPENMP
#define HOST_PRAGMA(text) _Pragma(#text)
/* The loop that follows is dealt to all threads if condition holds. Its iterations must be independent. */
#define HOST_PARALLEL_FOR(condition) HOST_PRAGMA(omp parallel for schedule(static) if (condition))
/* The same for iterations of unequal length. */
#define HOST_PARALLEL_FOR_UNEVEN(condition) HOST_PRAGMA(omp parallel for schedule(dynamic) if (condition))
/* The same, for loops of which every iteration adds to the integer `sum`. */
#define HOST_PARALLEL_SUM_FOR(condition, sum)                                                                          \
    HOST_PRAGMA(omp parallel for schedule(static) reduction(+ : sum) if (condition))
#else
#define HOST_PARALLEL_SUM_FOR(condition, sum) (void)(condition);
#define HOST_PARALLEL_FOR(condition)          (void)(condition);
#define HOST_PARALLEL_FOR_UNEVEN(condition)   (void)(condition);
#endif

/* A function compiled once for each generation of x86-64 and chosen when the program starts, so that the binary uses
 * wide vectors where it runs and not where it was built. Sanitizers cannot run before the choice is made. */
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && __GNUC__ >= 12 && !defined(__clang__) &&         \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define HOST_CLONES __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define HOST_CLONES
#endif

/* Scratch memory: one equal part for each thread. */
struct host_scratch {
    float *floats;
    int64_t part; /* floats for each thread */
};

/* False if the host has no memory. part_floats may be 0. */
bool host_scratch_open(struct host_scratch *scratch, int64_t part_floats);
void host_scratch_close(struct host_scratch *scratch);

/* The part of the calling thread; aligned to 64 bytes. */
float *host_scratch_part(const struct host_scratch *scratch);

/* to[0 .. count) = elements of any dtype, `stride` elements apart, as float32. */
void span_load(float *to, const void *from, enum dtype dtype, int64_t stride, int64_t count);

/* The reverse, for floating dtypes. */
void span_store(const float *from, void *to, enum dtype dtype, int64_t stride, int64_t count);

/* Address of element `index`. */
void *tensor_at(const struct tensor *tensor, int64_t index);

/* Elements of a tensor for reading: in place if they are float32 side by side, else converted into scratch. */
struct span span_read(const struct tensor *tensor, int64_t index, int64_t stride, int64_t count, float *scratch);

/* Where to write elements that span_write then brings to the tensor. */
struct span span_target(const struct tensor *tensor, int64_t index, int64_t stride, float *scratch);
void span_write(struct span span, const struct tensor *tensor, int64_t index, int64_t stride, int64_t count);

#endif
