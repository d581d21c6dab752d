/* Embedding on the host. The gradient gathers, for each row of the table, the tokens that looked it up, in their order:
 * a stable counting sort of the ids. So it is exact in half precision too and does not depend on the threads. */
#include "harness/kernels/body_rows.h"
#include "harness/kernels/host_operations.h"
#include "harness/kernels/host_span.h"

#include <stdlib.h>
#include <string.h>

static const char *ids_check(const struct tensor *ids, int64_t rows)
{
    const int64_t *values = ids->data;
    int64_t count = tensor_element_count(ids);
    for (int64_t token = 0; token < count; token++) {
        if (values[token] < 0 || values[token] >= rows) {
            return "an id is not a row of the embedding's table";
        }
    }
    return NULL;
}

const char *host_embedding(const struct operation_call *call)
{
    const struct tensor *weight = &call->tensors[0], *ids = &call->tensors[1], *out = &call->tensors[2];
    const char *wrong = ids_check(ids, weight->size[0]);
    if (wrong != NULL) {
        return wrong;
    }
    const int64_t *values = ids->data;
    int64_t tokens = tensor_element_count(ids);
    int64_t columns = weight->size[1];
    struct host_scratch scratch;
    if (!host_scratch_open(&scratch, columns)) {
        return host_no_memory;
    }
    HOST_PARALLEL_FOR(tokens * columns >= PARALLEL_ELEMENTS)
    for (int64_t token = 0; token < tokens; token++) {
        float *part = host_scratch_part(&scratch);
        struct span row = span_read(weight, values[token] * columns, 1, columns, part);
        span_store(row.data, tensor_at(out, token * columns), out->dtype, 1, columns);
    }
    host_scratch_close(&scratch);
    return NULL;
}

/* tokens[begin[id] .. begin[id + 1]) are those that looked up row id, in their order. */
struct token_index {
    int64_t *begin;
    int64_t *tokens;
};

static bool token_index_open(struct token_index *index, const struct tensor *ids, int64_t rows)
{
    const int64_t *values = ids->data;
    int64_t count = tensor_element_count(ids);
    index->begin = calloc((size_t)rows + 2, sizeof(int64_t));
    index->tokens = malloc(((size_t)count + 1) * sizeof(int64_t));
    if (index->begin == NULL || index->tokens == NULL) {
        free(index->begin);
        free(index->tokens);
        return false;
    }
    /* begin[id + 2] counts, then begin[id + 1] is the place of the next token, and at last its end. */
    for (int64_t token = 0; token < count; token++) {
        index->begin[values[token] + 2]++;
    }
    for (int64_t id = 0; id < rows; id++) {
        index->begin[id + 2] += index->begin[id + 1];
    }
    for (int64_t token = 0; token < count; token++) {
        index->tokens[index->begin[values[token] + 1]++] = token;
    }
    return true;
}

enum { GATHER_COLUMNS = 256 };

HOST_CLONES
static void gather_add(float *sum, const float *row, int64_t count)
{
    BODY_SIMD()
    for (int64_t k = 0; k < count; k++) {
        sum[k] += row[k];
    }
}

static void gather_run(const struct operation_call *call, const struct token_index *index, int64_t id, int64_t first,
                       int64_t count)
{
    const struct tensor *grad = &call->tensors[0], *out = &call->tensors[2];
    int64_t columns = out->size[1];
    float sum[GATHER_COLUMNS] = {0}, scratch[GATHER_COLUMNS];
    bool is_padding = id == call->attributes.i[0];
    for (int64_t k = index->begin[id]; !is_padding && k < index->begin[id + 1]; k++) {
        struct span row = span_read(grad, index->tokens[k] * columns + first, 1, count, scratch);
        gather_add(sum, row.data, count);
    }
    span_store(sum, tensor_at(out, id * columns + first), out->dtype, 1, count);
}

const char *host_embedding_backward(const struct operation_call *call)
{
    const struct tensor *ids = &call->tensors[1], *out = &call->tensors[2];
    int64_t rows = out->size[0];
    int64_t columns = out->size[1];
    const char *wrong = ids_check(ids, rows);
    if (wrong != NULL) {
        return wrong;
    }
    struct token_index index;
    if (!token_index_open(&index, ids, rows)) {
        return host_no_memory;
    }
    int64_t strips = (columns + GATHER_COLUMNS - 1) / GATHER_COLUMNS;
    HOST_PARALLEL_FOR(rows * columns >= PARALLEL_ELEMENTS)
    for (int64_t item = 0; item < rows * strips; item++) {
        int64_t first = item % strips * GATHER_COLUMNS;
        int64_t rest = columns - first;
        gather_run(call, &index, item / strips, first, rest < GATHER_COLUMNS ? rest : GATHER_COLUMNS);
    }
    free(index.begin);
    free(index.tokens);
    return NULL;
}
