/* Grouped rows on the host: groups are dealt to threads when ids are sorted, rows when they are multiplied. */
#include "harness/kernels/body_grouped.h"
#include "harness/kernels/body_rows.h"
#include "harness/kernels/host_operations.h"
#include "harness/kernels/host_span.h"

#include <string.h>

static const char *ids_check(const int64_t *ids, int64_t count, int64_t bound)
{
    for (int64_t k = 0; k < count; k++) {
        if (ids[k] < 0 || ids[k] >= bound) {
            return "an id is not one of those that there are";
        }
    }
    return NULL;
}

const char *host_sort_ids(const struct operation_call *call)
{
    const int64_t *ids = call->tensors[0].data;
    int64_t *sorted = call->tensors[1].data, *places = call->tensors[2].data;
    int64_t count = tensor_element_count(&call->tensors[0]), bound = call->attributes.i[0];
    const char *wrong = ids_check(ids, count, bound);
    if (wrong != NULL) {
        return wrong;
    }
    int64_t work = count < INT64_MAX / bound ? count * bound : INT64_MAX;
    HOST_PARALLEL_FOR(work >= PARALLEL_ELEMENTS)
    for (int64_t group = 0; group < bound; group++) {
        group_collect(ids, count, group, ids_below(ids, count, group), sorted, places);
    }
    return NULL;
}

const char *host_group_ends(const struct operation_call *call)
{
    const int64_t *ids = call->tensors[0].data;
    int32_t *narrow = call->tensors[1].data, *counts = call->tensors[2].data, *ends = call->tensors[3].data;
    int64_t count = tensor_element_count(&call->tensors[0]), groups = tensor_element_count(&call->tensors[2]);
    const char *wrong = ids_check(ids, count, groups);
    if (wrong != NULL) {
        return wrong;
    }
    memset(counts, 0, (size_t)groups * sizeof *counts);
    for (int64_t k = 0; k < count; k++) {
        narrow[k] = (int32_t)ids[k];
        counts[ids[k]]++;
    }
    for (int64_t group = 0; group < groups; group++) {
        ends[group] = (group > 0 ? ends[group - 1] : 0) + counts[group];
    }
    return NULL;
}

const char *host_place_ids(const struct operation_call *call)
{
    const int64_t *places = call->tensors[0].data, *ids = call->tensors[1].data;
    int64_t *out = call->tensors[2].data;
    int64_t count = tensor_element_count(&call->tensors[0]);
    const char *wrong = ids_check(places, count, count);
    for (int64_t k = 0; k < count && wrong == NULL; k++) {
        out[places[k]] = ids[k];
    }
    return wrong;
}

const char *host_group_limit(const struct operation_call *call)
{
    const struct tensor *scores = &call->tensors[0];
    const int64_t *i = call->attributes.i;
    struct rows rows = rows_of(scores);
    struct group_choice choice = {.columns = rows.columns, .groups = i[0], .active = i[1], .best = i[2]};
    uint8_t *hidden = call->tensors[1].data;
    int64_t width = choice.columns / choice.groups;
    HOST_PARALLEL_FOR(rows.count * choice.groups * choice.columns >= PARALLEL_ELEMENTS)
    for (int64_t k = 0; k < rows.count * choice.groups; k++) {
        bool hides = group_is_hidden(scores, choice, k / choice.groups, k % choice.groups);
        memset(hidden + k * width, hides ? 1 : 0, (size_t)width);
    }
    return NULL;
}

const char *host_scatter(const struct operation_call *call)
{
    const struct tensor *grad = &call->tensors[0], *out = &call->tensors[2];
    const int64_t *ids = call->tensors[1].data;
    struct rows from = rows_of(grad), to = rows_of(out);
    const char *wrong = ids_check(ids, from.count * from.columns, to.columns);
    if (wrong != NULL) {
        return wrong;
    }
    memset(out->data, 0, (size_t)(to.count * to.columns * dtype_bytes(out->dtype)));
    for (int64_t k = 0; k < from.count * from.columns; k++) {
        float value;
        span_load(&value, tensor_at(grad, k), grad->dtype, 1, 1);
        float_store(out->data, out->dtype, k / from.columns * to.columns + ids[k], value);
    }
    return NULL;
}

static const char *ends_check(const int32_t *ends, int64_t groups, int64_t rows)
{
    for (int64_t group = 0; group < groups; group++) {
        if (ends[group] < (group > 0 ? ends[group - 1] : 0) || ends[group] > rows) {
            return "the groups do not end one behind the other within the rows";
        }
    }
    return NULL;
}

HOST_CLONES
static void row_add(float *sum, float factor, const float *row, int64_t count)
{
    BODY_SIMD()
    for (int64_t k = 0; k < count; k++) {
        sum[k] += factor * row[k];
    }
}

HOST_CLONES
static float rows_multiply(const float *a, const float *b, int64_t count)
{
    float sum = 0.0f;
    BODY_SIMD(reduction(+ : sum))
    for (int64_t k = 0; k < count; k++) {
        sum += a[k] * b[k];
    }
    return sum;
}

/* One row of a product over `inner` terms. a lies from a_first in steps of a_step; b's element (k, column) at b_first +
 * k * b_step[0] + column * b_step[1]. Whichever of b's steps is 1 is walked along. scratch: inner + 2 * columns or
 * more. */
struct row_product {
    int64_t a_first, a_step, b_first, b_step[2], inner, columns;
};

static void row_product_run(const struct operation_call *call, const struct row_product *p, int64_t row, float *scratch)
{
    const struct tensor *a = &call->tensors[0], *b = &call->tensors[1], *out = &call->tensors[call->input_count];
    float *sum = scratch, *left = sum + p->columns, *right = left + p->inner;
    struct span factors = span_read(a, p->a_first, p->a_step, p->inner, left);
    bool along_columns = p->b_step[1] == 1;
    memset(sum, 0, (size_t)p->columns * sizeof *sum);
    for (int64_t k = 0; k < p->inner && along_columns; k++) {
        struct span line = span_read(b, p->b_first + k * p->b_step[0], 1, p->columns, right);
        row_add(sum, ((const float *)factors.data)[k], line.data, p->columns);
    }
    for (int64_t column = 0; column < p->columns && !along_columns; column++) {
        struct span line = span_read(b, p->b_first + column * p->b_step[1], p->b_step[0], p->inner, right);
        sum[column] = rows_multiply(factors.data, line.data, p->inner);
    }
    span_store(sum, tensor_at(out, row * p->columns), out->dtype, 1, p->columns);
}

static struct row_product row_product_of(const struct operation_call *call, int64_t row)
{
    const struct tensor *a = &call->tensors[0], *b = &call->tensors[1], *ends = &call->tensors[2];
    struct row_product p = {.columns = b->size[b->rank - 1],
                            .b_step = {b->stride[b->rank - 2], b->stride[b->rank - 1]}};
    if (b->rank == 3) {
        int64_t group = group_of_row(ends->data, ends->size[0], row);
        p.a_first = row * a->stride[0];
        p.a_step = a->stride[1];
        p.inner = group < ends->size[0] ? a->size[1] : 0; /* behind the last group: zeros */
        p.b_first = p.inner > 0 ? group * b->stride[0] : 0;
        return p;
    }
    struct group_rows range = group_rows_of(ends->data, row / a->size[0], b->size[0]);
    p.a_first = row % a->size[0] * a->stride[0] + range.first * a->stride[1];
    p.a_step = a->stride[1];
    p.b_first = range.first * b->stride[0];
    p.inner = range.end - range.first;
    return p;
}

const char *host_grouped_matmul(const struct operation_call *call)
{
    const struct tensor *a = &call->tensors[0], *b = &call->tensors[1], *ends = &call->tensors[2];
    int64_t columns = b->size[b->rank - 1], inner = b->rank == 3 ? a->size[1] : b->size[0];
    int64_t rows = b->rank == 3 ? a->size[0] : ends->size[0] * a->size[0];
    const char *wrong = ends_check(ends->data, ends->size[0], b->rank == 3 ? a->size[0] : b->size[0]);
    struct host_scratch scratch;
    if (wrong != NULL || columns == 0) {
        return wrong;
    }
    if (!host_scratch_open(&scratch, columns + inner + (columns > inner ? columns : inner))) {
        return host_no_memory;
    }
    HOST_PARALLEL_FOR(rows * columns >= PARALLEL_ELEMENTS)
    for (int64_t row = 0; row < rows; row++) {
        struct row_product p = row_product_of(call, row);
        row_product_run(call, &p, row, host_scratch_part(&scratch));
    }
    host_scratch_close(&scratch);
    return NULL;
}
