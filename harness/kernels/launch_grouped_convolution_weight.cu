/* Launches of the gradient of a grouped convolution's weight, a sum over all images: tiles of them in shared memory
 * (plan_grouped_weight.h); for windows that no tile holds, a block for each element. */
#include "harness/kernels/launch_grouped_convolution.h"
#include "harness/kernels/plan_grouped_weight.h"

enum { GROUPED_LANES = 256 };

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

static __global__ void grouped_weight_any_kernel(const __grid_constant__ struct grouped_convolution_launch launch)
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

/* ---- tiles ---- */

struct weight_launch {
    struct operation_call call;
    struct weight_pass pass;
    struct box result, image; /* the parts of a tile */
    int64_t sets;
};

/* What a block makes: the first group, and of a group the first filter, channel and tap. */
struct weight_set {
    int group, filter, channel, tap;
};

BODY struct weight_set weight_set_of(const struct weight_pass &pass, int64_t set)
{
    struct weight_set first;
    first.tap = (int)(set % pass.tap_sets) * pass.taps;
    set /= pass.tap_sets;
    first.channel = (int)(set % pass.channel_sets) * pass.channels;
    set /= pass.channel_sets;
    first.filter = (int)(set % pass.filter_sets) * pass.filters;
    first.group = (int)(set / pass.filter_sets) * pass.groups;
    return first;
}

/* What a lane makes of its block's part, counted there, and which strips it takes. */
struct weight_lane {
    bool works;
    int group, filter, channel, tap;
    int pixel; /* its first strip */
};

/* Those that take the same strips. */
BODY int weight_lanes_of(const struct weight_pass &pass)
{
    return pass.groups * (pass.filters / pass.wide) * pass.channels * pass.taps;
}

BODY struct weight_lane weight_lane_of(const struct weight_pass &pass, int lane)
{
    int blocks = pass.filters / pass.wide, count = weight_lanes_of(pass);
    int at = pass.last ? lane % count : lane / pass.pixel_lanes;
    struct weight_lane place;
    place.works = lane < count * pass.pixel_lanes;
    place.pixel = pass.last ? lane / count : lane % pass.pixel_lanes;
    place.group = at % pass.groups;
    at /= pass.groups;
    place.filter = at % blocks * pass.wide;
    at /= blocks;
    place.channel = at % pass.channels;
    place.tap = at / pass.channels;
    return place;
}

/* Where a strip of a tile stands: neighbours side by side. */
struct strip_place {
    int image, strip, column;
};

BODY struct strip_place strip_place_of(const struct weight_pass &pass, int k)
{
    struct strip_place place = {k / (pass.columns * pass.strips), k / pass.columns % pass.strips, k % pass.columns};
    return place;
}

BODY void strip_next(const struct weight_pass &pass, struct strip_place *place, struct strip_place step)
{
    place->column += step.column;
    place->strip += step.strip;
    place->image += step.image;
    if (place->column >= pass.columns) {
        place->column -= pass.columns;
        place->strip += 1;
    }
    if (place->strip >= pass.strips) {
        place->strip -= pass.strips;
        place->image += 1;
    }
}

/* A lane's sums of one strip: of windows that are known those of all taps of a column, else of one. */
template <int kernel, int wide>
BODY void strip_add(const float *result, int result_row, int result_plane, const float *image, int image_row,
                    int stride, float (&sum)[wide][kernel > 0 ? kernel : 1])
{
    constexpr int taps = kernel > 0 ? kernel : 1;
    float x[STRIP_ROWS + taps - 1];
#pragma unroll
    for (int r = 0; r < STRIP_ROWS + taps - 1; r++) {
        x[r] = image[r * (kernel > 0 ? 1 : stride) * image_row];
    }
#pragma unroll
    for (int n = 0; n < wide; n++) {
#pragma unroll
        for (int r = 0; r < STRIP_ROWS; r++) {
            float gradient = result[n * result_plane + r * result_row];
#pragma unroll
            for (int i = 0; i < taps; i++) {
                sum[n][i] += gradient * x[r + i];
            }
        }
    }
}

/* Of one tile in shared memory: results, and behind them images. */
template <int kernel, int wide>
BODY void tile_add(const struct weight_launch &launch, struct weight_lane lane, int tap, const float *shared,
                   float (&sum)[wide][kernel > 0 ? kernel : 1])
{
    const struct weight_pass &pass = launch.pass;
    const int *result = launch.result.shared, *image = launch.image.shared;
    int plane = pass.last ? 3 : 1, row = pass.last ? 1 : 2, column = pass.last ? 2 : 3;
    int down = kernel > 0 ? 0 : tap / pass.kernel, across = kernel > 0 ? tap : tap % pass.kernel;
    const float *gradients = &shared[(lane.group * pass.filters + lane.filter) * result[plane]];
    const float *images =
        &shared[box_count(launch.result) + (lane.group * pass.channels + lane.channel) * image[plane] +
                down * image[row] + across * image[column]];
    struct strip_place place = strip_place_of(pass, lane.pixel), step = strip_place_of(pass, pass.pixel_lanes);
    while (place.image < pass.tile_images) {
        int top = place.strip * STRIP_ROWS;
        strip_add<kernel, wide>(
            &gradients[place.image * result[0] + top * result[row] + place.column * result[column]], result[row],
            result[plane],
            &images[place.image * image[0] + (top * image[row] + place.column * image[column]) * pass.stride],
            image[row], pass.stride, sum);
        strip_next(pass, &place, step);
    }
}

/* The sums of a lane over all tiles of all images. */
template <int kernel, int wide>
BODY void images_add(const struct weight_launch &launch, const struct weight_set &first, struct weight_lane lane,
                     float *shared, float (&sum)[wide][kernel > 0 ? kernel : 1])
{
    const struct weight_pass &pass = launch.pass;
    const struct tensor *result = &launch.call.tensors[0], *image = &launch.call.tensors[1];
    int rows = (int)result->size[2], columns = (int)result->size[3];
    int filter = first.group * pass.filters_group + first.filter,
        channel = first.group * pass.channels_group + first.channel;
    int groups = first.group + pass.groups < pass.group_count ? first.group + pass.groups : pass.group_count;
    bool works = lane.works && first.tap + lane.tap < pass.taps_all;
    for (int64_t n = 0; n < pass.images; n += pass.tile_images) {
        int left = pass.images - n < pass.tile_images ? (int)(pass.images - n) : pass.tile_images;
        for (int row = 0; row < rows; row += pass.rows) {
            for (int column = 0; column < columns; column += pass.columns) {
                __syncthreads(); /* what stands there has been used */
                struct box_part part =
                    image_part(result, pass.last, n, left, filter, groups * pass.filters_group, row, column);
                FLOATING_SWITCH(result->dtype, 1, { box_load<dtype>(launch.result, part, shared); });
                part = image_part(image, pass.last, n, left, channel, groups * pass.channels_group,
                                  row * pass.stride - pass.padding, column * pass.stride - pass.padding);
                FLOATING_SWITCH(image->dtype, 1,
                                { box_load<dtype>(launch.image, part, &shared[box_count(launch.result)]); });
                __syncthreads();
                if (works) {
                    tile_add<kernel, wide>(launch, lane, first.tap + lane.tap, shared, sum);
                }
            }
        }
    }
}

/* A lane's sum, and those of the lanes of its warp that have the same taps, where they stand side by side. */
BODY float neighbours_sum(const struct weight_pass &pass, float sum)
{
#pragma unroll
    for (int step = 1; step < WARP_LANES; step *= 2) {
        float other = __shfl_xor_sync(0xffffffffu, sum, step);
        sum += !pass.last && step < pass.pixel_lanes ? other : 0.0f;
    }
    return sum;
}

/* Adds up what the lanes with the same taps have, one after the other, and writes it. */
template <int kernel, int wide>
BODY void weight_write(const struct weight_launch &launch, const struct weight_set &first, float *shared,
                       const float (&sum)[wide][kernel > 0 ? kernel : 1])
{
    constexpr int taps = kernel > 0 ? kernel : 1;
    const struct weight_pass &pass = launch.pass;
    const struct tensor *weight = &launch.call.tensors[launch.call.input_count];
    int lanes = (int)blockDim.x, made = weight_lanes_of(pass);
    int each = pass.last ? 1 : WARP_LANES, step = pass.last ? made : WARP_LANES; /* lanes of a sum, and to the next */
    __syncthreads();
#pragma unroll
    for (int k = 0; k < wide * taps; k++) {
        shared[k * lanes + (int)threadIdx.x] = neighbours_sum(pass, sum[k / taps][k % taps]);
    }
    __syncthreads();
    for (int k = (int)threadIdx.x; k < made * wide * taps; k += lanes) {
        int which = k / made, lane = pass.last ? k % made : k % made * pass.pixel_lanes;
        struct weight_lane at = weight_lane_of(pass, lane);
        int group = first.group + at.group, filter = first.filter + at.filter + which / taps,
            channel = first.channel + at.channel, tap = first.tap + at.tap;
        if (at.works && group < pass.group_count && filter < pass.filters_group && channel < pass.channels_group &&
            tap < pass.taps_all) {
            float total = 0.0f;
            for (int n = 0; n * each < pass.pixel_lanes; n++) {
                total += shared[which * lanes + lane + n * step];
            }
            int64_t plane = ((int64_t)group * pass.filters_group + filter) * pass.channels_group + channel;
            tensor_set(weight, plane * pass.kernel * pass.kernel + which % taps * pass.kernel + tap, total);
        }
    }
}

template <int form, int wide>
static __global__ void __launch_bounds__(wide == 1 ? THIN_LANES : WIDE_LANES, 1)
    grouped_weight_kernel(const __grid_constant__ struct weight_launch launch)
{
    constexpr int kernel = form > 0 ? 2 * form + 1 : 0;
    __shared__ float shared[TILE_FLOATS];
    struct weight_lane lane = weight_lane_of(launch.pass, (int)threadIdx.x);
    for (int64_t set = blockIdx.x; set < launch.sets; set += gridDim.x) {
        float sum[wide][kernel > 0 ? kernel : 1] = {};
        struct weight_set first = weight_set_of(launch.pass, set);
        images_add<kernel, wide>(launch, first, lane, shared, sum);
        weight_write<kernel, wide>(launch, first, shared, sum);
    }
}

typedef void weight_kernel(const struct weight_launch launch);

static weight_kernel *weight_kernel_of(const struct weight_pass *pass)
{
    weight_kernel *const kernels[2][WINDOW_FORMS] = {
        {grouped_weight_kernel<0, 1>, grouped_weight_kernel<1, 1>, grouped_weight_kernel<2, 1>,
         grouped_weight_kernel<3, 1>},
        {grouped_weight_kernel<0, WIDE_PLANES>, grouped_weight_kernel<1, WIDE_PLANES>,
         grouped_weight_kernel<2, WIDE_PLANES>, grouped_weight_kernel<3, WIDE_PLANES>},
    };
    return kernels[pass->wide > 1][window_form(pass->kernel, pass->stride)];
}

const char *launch_grouped_convolution_backward_weight(const struct operation_call *call, cudaStream_t stream)
{
    int64_t count = tensor_element_count(&call->tensors[call->input_count]);
    if (count == 0) {
        return NULL;
    }
    struct weight_launch launch;
    launch.pass = weight_pass_of(call);
    if (!launch.pass.fits) {
        grouped_weight_any_kernel<<<grid_blocks(count, 1), GROUPED_LANES, 0, stream>>>(grouped_launch_of(call));
        return launch_result();
    }
    const struct weight_pass *pass = &launch.pass;
    launch.call = *call;
    launch.result = image_box(&call->tensors[0], pass->last, pass->tile_images, pass->groups * pass->filters,
                              pass->rows, pass->columns);
    launch.image = image_box(&call->tensors[1], pass->last, pass->tile_images, pass->groups * pass->channels,
                             pass->image_rows, pass->image_columns);
    launch.sets = (int64_t)pass->group_sets * pass->filter_sets * pass->channel_sets * pass->tap_sets;
    weight_kernel *kernel = weight_kernel_of(pass);
    kernel<<<grid_blocks(launch.sets, 1), pass->lanes, 0, stream>>>(launch);
    return launch_result();
}
