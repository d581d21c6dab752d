/* Learned biases of attention on the host: buckets of distances, and the gradient of what was added to scores, a row at
 * a time. Plain loops: tables are small, and the sweep is one of many of a step. */
#include "harness/kernels/body_attention_bias.h"
#include "harness/kernels/host_operations.h"

const char *host_position_buckets(const struct operation_call *call)
{
    struct bucket_shape shape = bucket_shape_of(call);
    int64_t *out = call->tensors[0].data;
    HOST_PARALLEL_FOR(shape.rows * shape.columns >= PARALLEL_ELEMENTS)
    for (int64_t row = 0; row < shape.rows; row++) {
        for (int64_t column = 0; column < shape.columns; column++) {
            out[row * shape.columns + column] = position_bucket(row, column, shape);
        }
    }
    return NULL;
}

static void row_gradients(const struct attention *attention, const struct tensor *out, struct attention_place place)
{
    struct random_key key = random_key_of(attention->seed);
    float delta = bias_delta(attention, place);
    int64_t first = place.batch * out->stride[0] + place.head * out->stride[1] + place.row * out->stride[2];
    for (place.column = 0; place.column < attention->columns; place.column++) {
        float_store(out->data, out->dtype, first + place.column * out->stride[3],
                    bias_gradient(attention, place, key, delta));
    }
}

const char *host_attention_bias_gradient(const struct operation_call *call)
{
    struct attention attention;
    attention_read(&attention, call);
    int64_t rows = attention.batches * attention.heads * attention.rows;
    HOST_PARALLEL_FOR(rows * attention.columns * attention.width >= PARALLEL_ELEMENTS)
    for (int64_t index = 0; index < rows; index++) {
        int64_t head = index / attention.rows;
        struct attention_place place = {head / attention.heads, head % attention.heads, index % attention.rows, 0};
        row_gradients(&attention, &call->tensors[call->input_count], place);
    }
    return NULL;
}
