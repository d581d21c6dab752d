/* Reference of grouped rows: sorted by counting, multiplied row by row with the matrix of the group that is found by
 * looking through the ends. */
#include "tests/kernels/reference.h"

#include <math.h>

void reference_scatter(const struct operation_call *call, double *const *values)
{
    const struct tensor *a = &call->tensors[0], *out = &call->tensors[2];
    int64_t picked = a->size[a->rank - 1], columns = out->size[out->rank - 1];
    for (int64_t k = 0; k < tensor_element_count(out); k++) {
        values[2][k] = 0.0;
    }
    for (int64_t k = 0; k < tensor_element_count(a); k++) {
        values[2][k / picked * columns + (int64_t)values[1][k]] = values[0][k];
    }
}

/* The groups in falling order of what they score, found by asking of each how many go before it. */
void reference_group_limit(const struct operation_call *call, double *const *values)
{
    const struct tensor *scores = &call->tensors[0];
    const int64_t *i = call->attributes.i;
    int64_t columns = scores->size[scores->rank - 1], width = columns / i[0];
    for (int64_t k = 0; k < tensor_element_count(scores); k++) {
        const double *row = values[0] + k / columns * columns;
        int64_t own = k % columns / width, before = 0;
        double best[2] = {0.0, 0.0};
        for (int64_t turn = 0; turn <= i[0]; turn++) { /* its own group first */
            int64_t group = turn == 0 ? own : turn - 1;
            double first = -INFINITY, second = -INFINITY;
            for (int64_t c = group * width; c < (group + 1) * width; c++) {
                double value = isnan(row[c]) ? INFINITY : row[c];
                second = value > first ? first : fmax(second, value);
                first = fmax(first, value);
            }
            best[turn > 0] = i[2] == 2 ? first + second : first;
            before += turn > 0 && (best[1] > best[0] || (best[1] == best[0] && group < own)) ? 1 : 0;
        }
        values[1][k] = before >= i[1] ? 1.0 : 0.0;
    }
}

void reference_complex_multiply(const struct operation_call *call, double *const *values)
{
    double sign = call->attributes.i[0] == 1 ? -1.0 : 1.0;
    for (int64_t k = 0; k < tensor_element_count(&call->tensors[0]); k += 2) {
        const double *a = values[0] + k, *b = values[1] + k;
        values[2][k] = a[0] * b[0] - sign * a[1] * b[1];
        values[2][k + 1] = sign * a[0] * b[1] + a[1] * b[0];
    }
}

void reference_sort_ids(const struct operation_call *call, double *const *values)
{
    int64_t count = tensor_element_count(&call->tensors[0]);
    const double *ids = values[0];
    for (int64_t k = 0; k < count; k++) {
        int64_t rank = 0;
        for (int64_t other = 0; other < count; other++) {
            rank += ids[other] < ids[k] || (ids[other] == ids[k] && other < k) ? 1 : 0;
        }
        values[1][rank] = ids[k];
        values[2][rank] = (double)k;
    }
}

void reference_group_ends(const struct operation_call *call, double *const *values)
{
    int64_t count = tensor_element_count(&call->tensors[0]), groups = tensor_element_count(&call->tensors[2]);
    for (int64_t group = 0; group < groups; group++) {
        values[2][group] = 0.0;
        for (int64_t k = 0; k < count; k++) {
            values[1][k] = values[0][k];
            values[2][group] += values[0][k] == (double)group ? 1.0 : 0.0;
        }
        values[3][group] = values[2][group] + (group > 0 ? values[3][group - 1] : 0.0);
    }
}

void reference_place_ids(const struct operation_call *call, double *const *values)
{
    for (int64_t k = 0; k < tensor_element_count(&call->tensors[0]); k++) {
        values[2][(int64_t)values[0][k]] = values[1][k];
    }
}

/* Sums over the rows of each group. */
static void outer_products(const struct operation_call *call, double *const *values)
{
    int64_t width = call->tensors[0].size[0], rows = call->tensors[0].size[1], columns = call->tensors[1].size[1];
    for (int64_t k = 0; k < tensor_element_count(&call->tensors[3]); k++) {
        values[3][k] = 0.0;
    }
    for (int64_t row = 0; row < rows; row++) {
        int64_t group = 0;
        while (group < call->tensors[2].size[0] && values[2][group] <= (double)row) {
            group++;
        }
        for (int64_t i = 0; i < width && group < call->tensors[2].size[0]; i++) {
            for (int64_t c = 0; c < columns; c++) {
                values[3][(group * width + i) * columns + c] +=
                    values[0][i * rows + row] * values[1][row * columns + c];
            }
        }
    }
}

void reference_grouped_matmul(const struct operation_call *call, double *const *values)
{
    const struct tensor *a = &call->tensors[0], *b = &call->tensors[1];
    if (b->rank == 2) {
        outer_products(call, values);
        return;
    }
    int64_t inner = a->size[1], columns = b->size[2];
    for (int64_t row = 0; row < a->size[0]; row++) {
        int64_t group = 0;
        while (group < b->size[0] && values[2][group] <= (double)row) {
            group++;
        }
        for (int64_t c = 0; c < columns; c++) {
            double sum = 0.0;
            for (int64_t k = 0; k < inner && group < b->size[0]; k++) {
                sum += values[0][row * inner + k] * values[1][(group * inner + k) * columns + c];
            }
            values[3][row * columns + c] = sum;
        }
    }
}
