/* Model cases: calls whose traffic is counted, of sizes that models have, and what counts it. */
#ifndef ASSAY_TESTS_BENCH_MODEL_CASE_H
#define ASSAY_TESTS_BENCH_MODEL_CASE_H

#include "harness/kernels/traffic.h"
#include "tests/bench/model_device.h"

enum { MODEL_SIZES = 7 };

/* What the sizes are depends on the operation: rows and columns (SUM: and columns of the result; TOP_K: picked; then
 * bytes of workspace), of attention batch, heads, heads of k and v, rows, columns, width, parts; of a convolution
 * images, channels, side, filters, window, MiB of workspace (of a grouped one: groups, and 1 if channels lie last in
 * memory); GROUPED_MATMUL:
 * rows, depth, columns, groups; SORT_IDS: ids, groups; BATCHNORM: images, channels, side. */
struct model_case {
    const char *what;
    enum opcode opcode;
    enum dtype dtype;
    int64_t size[MODEL_SIZES];
};

extern const struct model_case model_cases[];
extern const int model_case_count;

/* A call of tensors that lie nowhere. */
void model_call(const struct model_case *model, struct operation_call *call);
void model_traffic(const struct model_case *model, const struct model_device *device, struct traffic *traffic);
/* The same of any call. False, and no launches, where nothing counts its kernels. */
bool model_call_traffic(const struct operation_call *call, const struct model_device *device, struct traffic *traffic);

#endif
