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

struct trial {
    struct operation_call call;
    const char *(*run)(const struct operation_call *call); /* kernel_host_run, or what is set after trial_open */
    enum mix mix;
    double tolerance; /* of a float32 output, relative to its largest element; default 1e-5 */
    uint64_t random;  /* state of the generator of inputs */
    unsigned char *memory[OPERATION_TENSORS_MAXIMUM];
    size_t memory_bytes[OPERATION_TENSORS_MAXIMUM];
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
enum dtype trial_dtype(struct trial *trial); /* a floating one, as the mix says */
enum layout trial_layout(struct trial *trial, enum layout highest);

/* Adds tensors; inputs first. Sizes are copied. Returns the tensor's index. */
int trial_input(struct trial *trial, enum dtype dtype, enum layout layout, int rank, const int64_t *size, double low,
                double high);
int trial_output(struct trial *trial, enum dtype dtype, enum layout layout, int rank, const int64_t *size);
/* An output that is read and written. */
int trial_update(struct trial *trial, enum dtype dtype, int rank, const int64_t *size, double low, double high);

/* Writes one element of an input (row-major index), for what must not be random. */
void trial_set(struct trial *trial, int tensor, int64_t index, double value);
double trial_get(const struct trial *trial, int tensor, int64_t index); /* what is in memory */

/* Runs kernel and reference and fails the test where they differ. */
void trial_run(struct trial *trial);

/* Lets output `out` share the memory of input `in`; both are dense, of one dtype and shape. */
void trial_share(struct trial *trial, int in, int out);

#endif
