/* The kernels around cuBLAS, but for those of a convolution's columns (column_kernels.cu). One thread makes one
 * element, except for the tiles of product_any. Which launches make a convolution is decided in cuda_convolution.c. */
#include "harness/device/cuda/product_kernels.h"

#include "harness/kernels/launch_grid.h"

namespace
{

enum { TILE = 16 };

__device__ int64_t matrix_offset(const struct product_matrix &matrix, int64_t outer, int64_t inner, int64_t row,
                                 int64_t column)
{
    int64_t place = matrix.transposed ? column * matrix.leading + row : row * matrix.leading + column;
    return outer * matrix.batch_stride[0] + inner * matrix.batch_stride[1] + place;
}

__device__ float bias_value(const struct matmul_plan &plan, int64_t row, int64_t column)
{
    return plan.has_bias ? float_load(plan.bias, plan.bias_dtype, plan.bias_along_rows ? row : column) : 0.0f;
}

__global__ void product_bias(struct matmul_plan plan, int64_t count)
{
    for (int64_t k = thread_first(); k < count; k += thread_step()) {
        int64_t column = k % plan.n;
        int64_t row = k / plan.n % plan.m;
        int64_t element = k / (plan.n * plan.m);
        int64_t place = matrix_offset(plan.out, element / plan.batch[1], element % plan.batch[1], row, column);
        float value = bias_value(plan, row, column);
        if (plan.beta != 0.0f) {
            value += plan.beta * float_load(plan.out.data, plan.out.dtype, place);
        }
        float_store(plan.out.data, plan.out.dtype, place, value);
    }
}

__device__ float plan_alpha(const struct matmul_plan &plan)
{
    return plan.a_scale != NULL ? plan.alpha * *plan.a_scale * *plan.b_scale : plan.alpha;
}

__device__ void sum_store(const struct matmul_plan &plan, int64_t place, int64_t row, int64_t column, float sum)
{
    float value = plan_alpha(plan) * sum + bias_value(plan, row, column);
    if (plan.beta != 0.0f) {
        value += plan.beta * float_load(plan.out.data, plan.out.dtype, place);
    }
    float_store(plan.out.data, plan.out.dtype, place, value);
}

__device__ void sum_store(const struct matmul_plan &plan, int64_t place, int64_t, int64_t, int sum)
{
    ((int32_t *)plan.out.data)[place] = sum;
}

/* A block of TILE x TILE threads makes one tile of out after the other; tiles of a and b pass through shared memory. A
 * product of two int8 is exact in float. */
template <typename number>
__global__ void product_any(struct matmul_plan plan, int64_t tile_rows, int64_t tile_columns, int64_t tile_count)
{
    __shared__ float a_tile[TILE][TILE + 1];
    __shared__ float b_tile[TILE][TILE + 1];
    int x = (int)threadIdx.x;
    int y = (int)threadIdx.y;
    for (int64_t tile = blockIdx.x; tile < tile_count; tile += gridDim.x) {
        int64_t column = tile % tile_columns * TILE + x;
        int64_t row = tile / tile_columns % tile_rows * TILE + y;
        int64_t element = tile / (tile_columns * tile_rows);
        int64_t outer = element / plan.batch[1];
        int64_t inner = element % plan.batch[1];
        number sum = 0;
        for (int64_t first = 0; first < plan.k; first += TILE) {
            bool a_inside = row < plan.m && first + x < plan.k;
            bool b_inside = first + y < plan.k && column < plan.n;
            a_tile[y][x] =
                a_inside ? float_load(plan.a.data, plan.a.dtype, matrix_offset(plan.a, outer, inner, row, first + x))
                         : 0.0f;
            b_tile[y][x] =
                b_inside ? float_load(plan.b.data, plan.b.dtype, matrix_offset(plan.b, outer, inner, first + y, column))
                         : 0.0f;
            __syncthreads();
            for (int k = 0; k < TILE; k++) {
                sum += (number)(a_tile[y][k] * b_tile[k][x]);
            }
            __syncthreads();
        }
        if (row < plan.m && column < plan.n) {
            sum_store(plan, matrix_offset(plan.out, outer, inner, row, column), row, column, sum);
        }
    }
}

/* A dense tensor of rank 4 and the sizes to find its elements by. */
struct plane_set {
    void *data;
    enum dtype dtype;
    int64_t channels, height, width;
};

struct plane_set planes_of(const struct tensor *tensor)
{
    struct plane_set planes = {tensor->data, tensor->dtype, tensor->size[1], tensor->size[2], tensor->size[3]};
    return planes;
}

struct convolution_sides {
    struct plane_set image, weight, result;
    const void *bias;
    enum dtype bias_dtype;
    int64_t images, stride, padding;
};

/* 0 beyond the edges. */
__device__ float plane_value(const struct plane_set &planes, int64_t outer, int64_t channel, int64_t row,
                             int64_t column)
{
    if (row < 0 || row >= planes.height || column < 0 || column >= planes.width) {
        return 0.0f;
    }
    return float_load(planes.data, planes.dtype,
                      ((outer * planes.channels + channel) * planes.height + row) * planes.width + column);
}

__device__ float result_sum(const struct convolution_sides &sides, int64_t outer, int64_t channel, int64_t row,
                            int64_t column)
{
    float sum = sides.bias != nullptr ? float_load(sides.bias, sides.bias_dtype, channel) : 0.0f;
    int64_t taps = sides.weight.height * sides.weight.width;
    for (int64_t line = 0; line < sides.image.channels * taps; line++) {
        int64_t i = line % taps / sides.weight.width, j = line % sides.weight.width;
        sum += plane_value(sides.weight, channel, line / taps, i, j) *
               plane_value(sides.image, outer, line / taps, row * sides.stride - sides.padding + i,
                           column * sides.stride - sides.padding + j);
    }
    return sum;
}

/* Tap (i, j) met the element from window ((row + padding - i) / stride, ...), where that is whole. */
__device__ float image_sum(const struct convolution_sides &sides, int64_t outer, int64_t channel, int64_t row,
                           int64_t column)
{
    float sum = 0.0f;
    int64_t taps = sides.weight.height * sides.weight.width;
    for (int64_t line = 0; line < sides.result.channels * taps; line++) {
        int64_t i = line % taps / sides.weight.width, j = line % sides.weight.width;
        int64_t window_row = row + sides.padding - i, window_column = column + sides.padding - j;
        if (window_row % sides.stride == 0 && window_column % sides.stride == 0) {
            sum +=
                plane_value(sides.weight, line / taps, channel, i, j) *
                plane_value(sides.result, outer, line / taps, window_row / sides.stride, window_column / sides.stride);
        }
    }
    return sum;
}

/* outer: the filter; row, column: the tap. */
__device__ float weight_sum(const struct convolution_sides &sides, int64_t outer, int64_t channel, int64_t row,
                            int64_t column)
{
    float sum = 0.0f;
    int64_t plane = sides.result.height * sides.result.width;
    for (int64_t k = 0; k < sides.images * plane; k++) {
        int64_t window_row = k % plane / sides.result.width, window_column = k % sides.result.width;
        sum += plane_value(sides.result, k / plane, outer, window_row, window_column) *
               plane_value(sides.image, k / plane, channel, window_row * sides.stride - sides.padding + row,
                           window_column * sides.stride - sides.padding + column);
    }
    return sum;
}

/* One thread makes one element of out, which is one of the three. */
__global__ void convolution_any(struct convolution_sides sides, enum opcode opcode, struct plane_set out, int64_t count)
{
    for (int64_t k = thread_first(); k < count; k += thread_step()) {
        int64_t column = k % out.width;
        int64_t row = k / out.width % out.height;
        int64_t channel = k / (out.width * out.height) % out.channels;
        int64_t outer = k / (out.width * out.height * out.channels);
        float sum = opcode == OPCODE_CONVOLUTION                  ? result_sum(sides, outer, channel, row, column)
                    : opcode == OPCODE_CONVOLUTION_BACKWARD_INPUT ? image_sum(sides, outer, channel, row, column)
                                                                  : weight_sum(sides, outer, channel, row, column);
        float_store(out.data, out.dtype, k, sum);
    }
}

__global__ void floats_round(void *to, enum dtype dtype, const float *from, int64_t count)
{
    for (int64_t k = thread_first(); k < count; k += thread_step()) {
        float_store(to, dtype, k, from[k]);
    }
}

} // namespace

extern "C" cudaError_t product_bias_launch(const struct matmul_plan *plan)
{
    int64_t count = plan->batch[0] * plan->batch[1] * plan->m * plan->n;
    if (count > 0) {
        product_bias<<<grid_blocks(count, LANES), LANES>>>(*plan, count);
    }
    return cudaGetLastError();
}

extern "C" cudaError_t product_any_launch(const struct matmul_plan *plan)
{
    int64_t tile_rows = (plan->m + TILE - 1) / TILE;
    int64_t tile_columns = (plan->n + TILE - 1) / TILE;
    int64_t tile_count = plan->batch[0] * plan->batch[1] * tile_rows * tile_columns;
    if (tile_count > 0) {
        unsigned blocks = grid_blocks(tile_count, 1);
        if (plan->out.dtype == DTYPE_INT32) {
            product_any<int><<<blocks, dim3(TILE, TILE)>>>(*plan, tile_rows, tile_columns, tile_count);
        } else {
            product_any<float><<<blocks, dim3(TILE, TILE)>>>(*plan, tile_rows, tile_columns, tile_count);
        }
    }
    return cudaGetLastError();
}

extern "C" cudaError_t convolution_any_launch(const struct convolution_plan *plan, enum opcode opcode)
{
    struct convolution_sides sides;
    sides.image = planes_of(plan->image);
    sides.weight = planes_of(plan->weight);
    sides.result = planes_of(plan->result);
    sides.bias = plan->bias != NULL ? plan->bias->data : NULL;
    sides.bias_dtype = plan->bias != NULL ? plan->bias->dtype : DTYPE_FLOAT32;
    sides.images = plan->images;
    sides.stride = plan->stride;
    sides.padding = plan->padding;
    const struct tensor *out = opcode == OPCODE_CONVOLUTION                  ? plan->result
                               : opcode == OPCODE_CONVOLUTION_BACKWARD_INPUT ? plan->image
                                                                             : plan->weight;
    int64_t count = out->size[0] * out->size[1] * out->size[2] * out->size[3];
    if (count > 0) {
        convolution_any<<<grid_blocks(count, LANES), LANES>>>(sides, opcode, planes_of(out), count);
    }
    return cudaGetLastError();
}

extern "C" cudaError_t nothing_launch(void)
{
    floats_round<<<1, LANES>>>((void *)NULL, DTYPE_FLOAT32, (const float *)NULL, (int64_t)0);
    return cudaGetLastError();
}

extern "C" cudaError_t floats_round_launch(void *to, enum dtype dtype, const float *from, int64_t count)
{
    if (count > 0) {
        floats_round<<<grid_blocks(count, LANES), LANES>>>(to, dtype, from, count);
    }
    return cudaGetLastError();
}
