/* Kernel cases: the rows of `make bench` of operations that move memory more than they multiply, the tensors of their
 * calls, and the operations that have no row, with the reason. Each opcode is in a row here, in one of product_case.h,
 * or in that list: tests/kernels/test_bench_cases.c. */
#ifndef ASSAY_TESTS_BENCH_KERNEL_CASE_H
#define ASSAY_TESTS_BENCH_KERNEL_CASE_H

#include "harness/kernels/operation.h"

/* What a tensor is, one letter each, inputs first (kernel_case.c lists them). "ff": float32 to float32. */
struct kernel_case {
    const char *what;
    enum opcode opcode;
    const char *tensors;
    struct operation_attributes attributes;
};

struct unmeasured_operation {
    enum opcode opcode;
    const char *reason;
};

/* Columns of a matrix of any number of rows, and a number of rows that all kinds of tensors divide. */
enum { KERNEL_COLUMNS = 1024, KERNEL_ROWS_DIVISOR = 256 };

extern const struct kernel_case kernel_cases[];
extern const int kernel_case_count;
extern const struct unmeasured_operation unmeasured_operations[];
extern const int unmeasured_operation_count;

/* The tensor of a letter at data, where a matrix has `rows` rows. */
struct tensor kernel_tensor(char letter, int64_t rows, void *data);
/* Whether it is small beside a matrix: at most 64 bytes a row. */
bool kernel_tensor_is_short(char letter);
/* Bytes that the call must move for it: its elements in memory, twice where it is updated. */
int64_t kernel_tensor_traffic(char letter, int64_t rows);
/* Sets *bytes of memory to what the tensor holds before the call: numbers near 1, or ids, places, codes that are
 * valid. */
void kernel_tensor_stage(char letter, int64_t rows, unsigned seed, void *memory, int64_t *bytes);

#endif
