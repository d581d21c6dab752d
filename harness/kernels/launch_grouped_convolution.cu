/* Launches of grouped convolution: a thread for each element of a result or of an image's gradient, a block for each
 * element of a weight's, which is a sum over all images. Not for wide groups: those are products (harness/device). */
#include "harness/kernels/body_grouped_convolution.h"
#include "harness/kernels/launch_grid.h"

enum { GROUPED_LANES = 256 };

struct grouped_convolution_launch {
    struct operation_call call;
    struct grouped_convolution c;
    bool has_bias;
};

/* An element of a dense order: image, channel, row, column. */
struct image_element {
    int64_t outer, channel, row, column;
};

BODY struct image_element element_of(int64_t k, int64_t channels, int64_t rows, int64_t columns)
{
    struct image_element e;
    e.column = k % columns;
    e.row = k / columns % rows;
    e.channel = k / (columns * rows) % channels;
    e.outer = k / (columns * rows * channels);
    return e;
}

BODY float result_gather(const struct grouped_convolution_launch &launch, struct image_element e)
{
    const struct grouped_convolution &c = launch.c;
    const struct tensor *image = &launch.call.tensors[c.image], *weight = &launch.call.tensors[c.weight];
    int64_t first = e.channel / c.group_filters * c.group_channels;
    int64_t top = e.row * c.stride - c.padding, left = e.column * c.stride - c.padding;
    float sum = launch.has_bias ? tensor_get(&launch.call.tensors[2], e.channel) : 0.0f;
    for (int64_t channel = 0; channel < c.group_channels; channel++) {
        for (int64_t i = tap_first(top); i < tap_end(top, c.kernel, c.height); i++) {
            for (int64_t j = tap_first(left); j < tap_end(left, c.kernel, c.width); j++) {
                sum += tensor_get(image, place_of(image, e.outer, first + channel, top + i, left + j)) *
                       tensor_get(weight, place_of(weight, e.channel, channel, i, j));
            }
        }
    }
    return sum;
}

/* Tap (i, j) met the element from window ((row + padding - i) / stride, ...), if that is whole. */
BODY float image_gather(const struct grouped_convolution_launch &launch, struct image_element e)
{
    const struct grouped_convolution &c = launch.c;
    const struct tensor *result = &launch.call.tensors[c.result], *weight = &launch.call.tensors[c.weight];
    int64_t group = e.channel / c.group_channels;
    float sum = 0.0f;
    for (int64_t filter = group * c.group_filters; filter < (group + 1) * c.group_filters; filter++) {
        for (int64_t tap = 0; tap < c.kernel * c.kernel; tap++) {
            int64_t i = tap / c.kernel, j = tap % c.kernel;
            int64_t row = e.row + c.padding - i, column = e.column + c.padding - j;
            if (row >= 0 && column >= 0 && row % c.stride == 0 && column % c.stride == 0 && row / c.stride < c.rows &&
                column / c.stride < c.columns) {
                sum += tensor_get(result, place_of(result, e.outer, filter, row / c.stride, column / c.stride)) *
                       tensor_get(weight, place_of(weight, filter, e.channel % c.group_channels, i, j));
            }
        }
    }
    return sum;
}

static __global__ void grouped_kernel(const __grid_constant__ struct grouped_convolution_launch launch)
{
    const struct grouped_convolution &c = launch.c;
    bool forward = launch.call.opcode == OPCODE_GROUPED_CONVOLUTION;
    const struct tensor *out = &launch.call.tensors[forward ? c.result : c.image];
    int64_t channels = out->size[1], rows = out->size[2], columns = out->size[3];
    for (int64_t k = thread_first(); k < c.images * channels * rows * columns; k += thread_step()) {
        struct image_element e = element_of(k, channels, rows, columns);
        float sum = forward ? result_gather(launch, e) : image_gather(launch, e);
        tensor_set(out, place_of(out, e.outer, e.channel, e.row, e.column), sum);
    }
}

/* The element's tap of one pixel of every image. */
BODY float pixel_product(const struct grouped_convolution_launch &launch, struct image_element e, int64_t pixel)
{
    const struct grouped_convolution &c = launch.c;
    const struct tensor *image = &launch.call.tensors[c.image], *result = &launch.call.tensors[c.result];
    struct image_element at = element_of(pixel, 1, c.rows, c.columns);
    int64_t row = at.row * c.stride - c.padding + e.row, column = at.column * c.stride - c.padding + e.column;
    if (row < 0 || column < 0 || row >= c.height || column >= c.width) {
        return 0.0f;
    }
    int64_t channel = e.outer / c.group_filters * c.group_channels + e.channel;
    return tensor_get(result, place_of(result, at.outer, e.outer, at.row, at.column)) *
           tensor_get(image, place_of(image, at.outer, channel, row, column));
}

static __global__ void grouped_weight_kernel(const __grid_constant__ struct grouped_convolution_launch launch)
{
    __shared__ float shared[TEAM_SHARED_FLOATS];
    struct team team = block_team(shared);
    const struct grouped_convolution &c = launch.c;
    const struct tensor *weight = &launch.call.tensors[c.weight];
    int64_t count = c.group_count * c.group_filters * c.group_channels * c.kernel * c.kernel;
    for (int64_t k = blockIdx.x; k < count; k += gridDim.x) {
        struct image_element e = element_of(k, c.group_channels, c.kernel, c.kernel);
        float sum = 0.0f;
        for (int64_t pixel = team.lane; pixel < c.images * c.rows * c.columns; pixel += team.lanes) {
            sum += pixel_product(launch, e, pixel);
        }
        sum = team_sum(team, sum);
        if (team.lane == 0) {
            tensor_set(weight, place_of(weight, e.outer, e.channel, e.row, e.column), sum);
        }
    }
}

static struct grouped_convolution_launch launch_of(const struct operation_call *call)
{
    struct grouped_convolution_launch launch;
    launch.call = *call;
    launch.c = grouped_convolution_of(call);
    launch.has_bias = call->opcode == OPCODE_GROUPED_CONVOLUTION && call->input_count > 2;
    return launch;
}

const char *launch_grouped_convolution(const struct operation_call *call, cudaStream_t stream)
{
    int64_t count = tensor_element_count(&call->tensors[call->input_count]);
    if (count == 0) {
        return NULL;
    }
    grouped_kernel<<<grid_blocks(count, GROUPED_LANES), GROUPED_LANES, 0, stream>>>(launch_of(call));
    return launch_result();
}

const char *launch_grouped_convolution_backward_weight(const struct operation_call *call, cudaStream_t stream)
{
    int64_t count = tensor_element_count(&call->tensors[call->input_count]);
    if (count == 0) {
        return NULL;
    }
    grouped_weight_kernel<<<grid_blocks(count, 1), GROUPED_LANES, 0, stream>>>(launch_of(call));
    return launch_result();
}
