/* Trial: one call of an operation on fresh random tensors, run and held against the double-precision reference.
 *
 * Memory is poisoned with 0xff (NaN in every floating dtype) before inputs are written, with guards at both ends. After
 * the run every element of an output must be there, every byte between and around them and every input untouched. */
#ifndef ASSAY_TESTS_KERNELS_TRIAL_H
#define ASSAY_TESTS_KERNELS_TRIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/kernels/operation.h"

enum layout {
    LAYOUT_DENSE,
    LAYOUT_GAPPED,    /* rows lie apart */
    LAYOUT_PERMUTED,  /* dimensions in reverse order in memory */
    LAYOUT_BROADCAST, /* every other dimension has stride 0 */
    LAYOUT_COUNT
};

/* Which floating dtypes a trial draws: one of them for all tensors, or any for each. */
enum mix { MIX_FLOAT32, MIX_FLOAT16, MIX_BFLOAT16, MIX_ANY, MIX_COUNT };

struct trial_site;

struct trial {
    struct operation_call call;
    const struct trial_site
        *site;      /* where it runs; NULL: the host's kernels on the trial's own memory. Set after trial_open */
    bool unaligned; /* tensors added from now on begin beyond a boundary of 16 elements, where chance has it */
    enum mix mix;
    enum dtype wanted[OPERATION_TENSORS_MAXIMUM]; /* of each tensor; DTYPE_COUNT: as the mix draws it. Set after open */
    double tolerance;  /* of a float32 output, relative to its largest element; default 1e-5 */
    double allowance;  /* of any output, absolute; default 2^-25 */
    double roundings;  /* of what is computed on the way, that an output may carry for each of its inputs; default 16 */
    double code_slack; /* by how much a uint8 output may be off: codes of numbers nearly half-way; default 0 */
    uint64_t random;   /* state of the generator of inputs */
    unsigned char *memory[OPERATION_TENSORS_MAXIMUM];
    size_t memory_bytes[OPERATION_TENSORS_MAXIMUM];
    bool scratch[OPERATION_TENSORS_MAXIMUM];  /* an input that may hold anything after the call */
    bool updated[OPERATION_TENSORS_MAXIMUM];  /* an input that the operation also writes (running statistics) */
    double *value[OPERATION_TENSORS_MAXIMUM]; /* row-major; of outputs: what the reference says */
};

void trial_open(struct trial *trial, enum opcode opcode, enum mix mix, uint64_t seed);
void trial_close(struct trial *trial);

/* What a run has left in the outputs, one behind the other; released with free. */
unsigned char *trial_outputs_copy(const struct trial *trial, size_t *bytes);

/* Random figures. */
int64_t trial_integer(struct trial *trial, int64_t low, int64_t high); /* both ends included */
double trial_real(struct trial *trial, double low, double high);
/* Of the tensor that is added next: what is wanted of it, or drawn by the mix; floating, or one of the choices. */
enum dtype trial_dtype(struct trial *trial);
enum dtype trial_dtype_among(struct trial *trial, const enum dtype *choices, int choice_count);
enum layout trial_layout(struct trial *trial, enum layout highest);

/* Adds tensors; inputs first. Sizes are copied. Returns the tensor's index. */
int trial_input(struct trial *trial, enum dtype dtype, enum layout layout, int rank, const int64_t *size, double low,
                double high);
int trial_output(struct trial *trial, enum dtype dtype, enum layout layout, int rank, const int64_t *size);
/* The same, dimensions in the order in which they lie in memory, the one with the smallest stride first; a repeated one
 * has stride 0; gap elements lie between runs of the first. */
struct placement {
    int order[TENSOR_RANK_MAXIMUM];
    bool repeated[TENSOR_RANK_MAXIMUM];
    int64_t gap;
};
int trial_input_placed(struct trial *trial, enum dtype dtype, const struct placement *placement, int rank,
                       const int64_t *size, double low, double high);
int trial_output_placed(struct trial *trial, enum dtype dtype, const struct placement *placement, int rank,
                        const int64_t *size);
/* Scratch of a product: an input that the call may overwrite, at a multiple of 256 bytes. */
int trial_workspace(struct trial *trial, int64_t bytes);
/* The same, of a kernel: float32, of that shape. */
int trial_scratch(struct trial *trial, int rank, const int64_t *size);
/* An output that is read and written. */
int trial_update(struct trial *trial, enum dtype dtype, int rank, const int64_t *size, double low, double high);

/* Random elements for a tensor that is there: an output is then one that is also read. */
void trial_fill(struct trial *trial, int tensor, double low, double high);
/* Writes one element of an input (row-major index), for what must not be random. */
void trial_set(struct trial *trial, int tensor, int64_t index, double value);
double trial_get(const struct trial *trial, int tensor, int64_t index); /* what is in memory */
/* Where row-major element `index` lies, in elements from the tensor's start. */
int64_t tensor_element_offset(const struct tensor *tensor, int64_t index);

/* What came of a trial. */
struct trial_outcome {
    double error;    /* the largest difference from the reference, relative to the largest element of its tensor (to
                        the allowance, where that is larger) */
    double share;    /* the largest part of what was allowed; beyond 1: not right */
    char fault[512]; /* the call and the first thing that is wrong with it; "" where nothing is */
};

/* Runs kernel and reference and compares them. */
void trial_measure(struct trial *trial, struct trial_outcome *outcome);

/* The same, and fails the running test where anything is wrong. */
void trial_execute(struct trial *trial);

/* Lets output `out` share the memory of input `in`; both are dense, of one dtype and shape. */
void trial_share(struct trial *trial, int in, int out);

#endif
