/* Load meter: how much device memory kernels and libraries take when they are loaded.
 *
 * CUDA loads a kernel with its first launch, and libraries make their handles and load theirs with the first product.
 * So cudaMemGetInfo is asked before and after the first call of each form: operation, dtypes, number of inputs. It
 * neither waits for the device nor takes anything, and nothing else of ours takes device memory meanwhile. */
#ifndef ASSAY_DEVICE_CUDA_LOAD_METER_H
#define ASSAY_DEVICE_CUDA_LOAD_METER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/device/device.h"

enum load_kind { LOAD_KERNEL, LOAD_LIBRARY, LOAD_KIND_COUNT };

/* All zero is the state before the first call. */
struct load_meter {
    uint8_t seen[OPCODE_COUNT][DTYPE_COUNT][DTYPE_COUNT]; /* first and last tensor; a bit for each number of inputs */
    bool measuring;
    bool unknown[LOAD_KIND_COUNT]; /* an answer was missing, or memory became more: somebody else's doing */
    int64_t bytes[LOAD_KIND_COUNT];
};

/* One stretch between two questions. */
struct load_stretch {
    bool outermost; /* one within another is part of that one */
    bool known;
    size_t free_bytes;
};

/* Whether the call is the first of its form; the next like it is not. */
bool load_form_is_new(struct load_meter *meter, const struct operation_call *call);

/* Errors of cudaMemGetInfo only make the figure unknown: what is lost is told by the next call. */
struct load_stretch load_begin(struct load_meter *meter);
void load_end(struct load_meter *meter, const struct load_stretch *stretch, enum load_kind kind);

/* kernel_* and library_* of *reading. */
void load_read(const struct load_meter *meter, struct device_reading *reading);

#endif
