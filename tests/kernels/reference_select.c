/* Reference of selection: rows sorted by counting how many elements come before each. */
#include "tests/kernels/reference.h"

#include <math.h>

static bool comes_before(const double *row, int64_t one, int64_t two)
{
    double a = isnan(row[one]) ? INFINITY : row[one], b = isnan(row[two]) ? INFINITY : row[two];
    return a > b || (a == b && one < two);
}

void reference_top_k(const struct operation_call *call, double *const *values)
{
    const struct tensor *a = &call->tensors[0];
    int indices = call->tensor_count - 1;
    int64_t columns = a->size[a->rank - 1];
    int64_t rows = columns > 0 ? tensor_element_count(a) / columns : 0;
    int64_t picked = rows > 0 ? tensor_element_count(&call->tensors[indices]) / rows : 0;
    for (int64_t row = 0; row < rows; row++) {
        const double *from = values[0] + row * columns;
        for (int64_t k = 0; k < columns; k++) {
            int64_t rank = 0;
            for (int64_t other = 0; other < columns && rank < picked; other++) {
                rank += comes_before(from, other, k) ? 1 : 0;
            }
            if (rank < picked) {
                values[call->input_count][row * picked + rank] = from[k];
                values[indices][row * picked + rank] = (double)k;
            }
        }
    }
}

void reference_gather(const struct operation_call *call, double *const *values)
{
    const struct tensor *a = &call->tensors[0], *out = &call->tensors[2];
    int64_t to = 0;
    for (int64_t group = 0; group < out->size[0]; group++) {
        for (int64_t place = 0; place < out->size[1]; place++) {
            for (int64_t column = 0; column < out->size[2]; column++, to++) {
                int64_t row = group * a->size[1] + (int64_t)values[1][to];
                values[2][to] = values[0][row * a->size[2] + column];
            }
        }
    }
}

/* As PyTorch writes it: (cumsum(counts) + shift - otherwise) * counts + otherwise. */
void reference_token_positions(const struct operation_call *call, double *const *values)
{
    const struct tensor *out = &call->tensors[1];
    const int64_t *i = call->attributes.i;
    int64_t columns = out->size[out->rank - 1];
    double sum = 0;
    for (int64_t k = 0; k < tensor_element_count(out); k++) {
        double counts = values[0][k] == (double)i[0] ? 0.0 : 1.0;
        sum = (k % columns == 0 ? 0.0 : sum) + counts;
        values[1][k] = (sum + (double)(i[1] - i[2])) * counts + (double)i[2];
    }
}

void reference_divide(const struct operation_call *call, double *const *values)
{
    double divisor = (double)call->attributes.i[0];
    int64_t count = tensor_element_count(&call->tensors[1]);
    for (int64_t k = 0; k < count; k++) {
        double quotient = floor(values[0][k] / divisor);
        values[1][k] = call->opcode == OPCODE_QUOTIENT ? quotient : values[0][k] - quotient * divisor;
    }
}
