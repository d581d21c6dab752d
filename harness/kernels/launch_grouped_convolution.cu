/* Launches of grouped convolution and of its image's gradient: tiles in shared memory (plan_grouped_convolution.h); for
 * windows that no tile holds, a thread for each element. The weight's gradient is made in another file, and what lies
 * dense in one group is a product (harness/device). */
#include "harness/kernels/launch_grouped_convolution.h"
#include "harness/kernels/plan_grouped_convolution.h"

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

static __global__ void grouped_any_kernel(const __grid_constant__ struct grouped_convolution_launch launch)
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

/* ---- tiles ---- */

struct pass_launch {
    struct operation_call call;
    struct image_pass pass;
    struct box read, weight, made; /* the parts of a tile */
    int64_t tiles;
};

/* Which planes and elements a tile makes. */
struct pass_tile {
    int64_t image;
    int group, plane; /* the first; plane: of its group */
    int row, column;
};

BODY struct pass_tile tile_of(const struct image_pass &pass, int64_t tile)
{
    struct pass_tile place;
    int set = (int)(tile % pass.sets);
    tile /= pass.sets;
    place.column = (int)(tile % pass.across) * pass.columns;
    tile /= pass.across;
    place.row = (int)(tile % pass.down) * pass.rows;
    place.image = tile / pass.down;
    place.group = pass.parts > 1 ? set / pass.parts : set * pass.groups;
    place.plane = pass.parts > 1 ? set % pass.parts * pass.planes : 0;
    return place;
}

/* The weights of a tile between what it makes and channels [channel, ...) of what it reads: (group, made, read, tap),
 * or backward (group, read, made, tap). */
BODY struct box_part weight_part(const struct pass_launch &launch, const struct pass_tile &tile, int channel)
{
    const struct image_pass &pass = launch.pass;
    int taps = pass.kernel * pass.kernel;
    int filter = pass.backward ? channel : tile.plane, depth = pass.backward ? tile.plane : channel;
    int filters = pass.backward ? pass.read_group : pass.made_group,
        depths = pass.backward ? pass.made_group : pass.read_group;
    int64_t first = (((int64_t)tile.group * filters + filter) * depths + depth) * taps;
    return part_of({tile.group, filter, depth, 0}, {pass.group_count, filters, depths, taps}, &launch.call.tensors[1],
                   first);
}

/* What a lane makes of a tile, along one side: its first element meets taps tap, tap + tap_step, ... of which there are
 * `taps`, in the elements from `base` of the tile on. */
struct side_walk {
    int base, taps, tap, tap_step;
};

/* made: in the tile; first: where the tile begins. */
BODY struct side_walk side_walk_of(const struct image_pass &pass, int made, int first)
{
    struct side_walk walk;
    if (!pass.backward) {
        walk.base = made * pass.stride;
        walk.taps = pass.kernel;
        walk.tap = 0;
        walk.tap_step = 1;
        return walk;
    }
    int reach = first + made + pass.padding, phase = reach % pass.stride;
    walk.taps = phase < pass.kernel ? (pass.kernel - 1 - phase) / pass.stride + 1 : 0;
    walk.tap = phase + (walk.taps - 1) * pass.stride;
    walk.base = (reach - walk.tap) / pass.stride - side_first(&pass, first);
    walk.tap_step = -pass.stride;
    return walk;
}

/* The lane's place in every tile: `made` planes of the tile from `plane` on, a column, and rows row, row + row_step,
 * ... */
struct lane_place {
    bool works;
    int plane, column, row, row_step;
};

BODY struct lane_place lane_place_of(const struct image_pass &pass)
{
    int blocks = pass.groups * pass.planes / pass.wide, lane = (int)threadIdx.x;
    int block = pass.last ? lane % blocks : lane / (pass.columns * pass.strips);
    int place = pass.last ? lane / blocks : lane % (pass.columns * pass.strips);
    int strip = place / pass.columns, step = pass.backward ? pass.stride : 1;
    struct lane_place at;
    at.works = lane < blocks * pass.columns * pass.strips;
    at.plane = block * pass.wide;
    at.column = place % pass.columns;
    at.row = strip / step * STRIP_ROWS * step + strip % step;
    at.row_step = step;
    return at;
}

/* Where the lane's elements of one plane lie in shared memory, and its weights of one plane. */
struct lane_view {
    const float *tile, *weight;
    int row, column; /* steps in the tile */
    int next;        /* from the lane's row to its next, in the tile */
    int tap;         /* the step of taps in the weights */
};

/* All of the window is known: a column of the tile is read once for all its taps. */
template <int kernel, int wide>
BODY void known_add(const struct lane_view &view, struct side_walk down, struct side_walk across,
                    float (&sum)[wide][STRIP_ROWS])
{
#pragma unroll
    for (int j = 0; j < kernel; j++) {
        float x[STRIP_ROWS + kernel - 1];
#pragma unroll
        for (int r = 0; r < STRIP_ROWS + kernel - 1; r++) {
            x[r] = view.tile[(down.base + r) * view.row + (across.base + j) * view.column];
        }
#pragma unroll
        for (int i = 0; i < kernel; i++) {
            int tap = (down.tap + i * down.tap_step) * kernel + across.tap + j * across.tap_step;
#pragma unroll
            for (int n = 0; n < wide; n++) {
                float weight = view.weight[tap * view.tap + n];
#pragma unroll
                for (int r = 0; r < STRIP_ROWS; r++) {
                    sum[n][r] += x[i + r] * weight;
                }
            }
        }
    }
}

template <int wide>
BODY void window_add(const struct image_pass &pass, const struct lane_view &view, struct side_walk down,
                     struct side_walk across, float (&sum)[wide][STRIP_ROWS])
{
    for (int i = 0; i < down.taps; i++) {
        for (int j = 0; j < across.taps; j++) {
            const float *from = &view.tile[(down.base + i) * view.row + (across.base + j) * view.column];
            int tap = (down.tap + i * down.tap_step) * pass.kernel + across.tap + j * across.tap_step;
            float x[STRIP_ROWS];
#pragma unroll
            for (int r = 0; r < STRIP_ROWS; r++) {
                x[r] = from[r * view.next];
            }
#pragma unroll
            for (int n = 0; n < wide; n++) {
                float weight = view.weight[tap * view.tap + n];
#pragma unroll
                for (int r = 0; r < STRIP_ROWS; r++) {
                    sum[n][r] += x[r] * weight;
                }
            }
        }
    }
}

/* The sums of a lane in a tile, of all channels that are read. */
template <int form, int wide>
BODY void tile_sum(const struct pass_launch &launch, const struct pass_tile &tile, struct lane_place at, float *shared,
                   float (&sum)[wide][STRIP_ROWS])
{
    const struct image_pass &pass = launch.pass;
    const struct tensor *read = &launch.call.tensors[0], *weight = &launch.call.tensors[1];
    float *weights = &shared[pass.tile_channels * pass.tile_rows * pass.tile_columns];
    int planes = pass.groups * pass.planes, taps = pass.kernel * pass.kernel;
    int plane_step = launch.read.shared[pass.last ? 3 : 1];
    int first_row = side_first(&pass, tile.row), first_column = side_first(&pass, tile.column);
    struct side_walk down = side_walk_of(pass, at.row, tile.row), across = side_walk_of(pass, at.column, tile.column);
    struct lane_view view = {
        shared, weights, launch.read.shared[pass.last ? 1 : 2], launch.read.shared[pass.last ? 2 : 3], 0, planes};
    view.next = view.row * (pass.backward ? 1 : pass.stride);
    for (int channel = 0; channel < pass.read_group; channel += pass.channels) {
        int plane = tile.group * pass.read_group + channel;
        int end = pass.groups > 1 ? pass.group_count * pass.read_group : (tile.group + 1) * pass.read_group;
        struct box_part image = image_part(read, pass.last, tile.image, 1, plane, end, first_row, first_column);
        __syncthreads(); /* what stands there has been used */
        FLOATING_SWITCH(read->dtype, 1, { box_load<dtype>(launch.read, image, shared); });
        FLOATING_SWITCH(weight->dtype, 1,
                        { box_load<dtype>(launch.weight, weight_part(launch, tile, channel), weights); });
        __syncthreads();
        for (int k = 0; at.works && k < pass.channels; k++) {
            view.tile = &shared[(at.plane / pass.planes * pass.channels + k) * plane_step];
            view.weight = &weights[k * taps * planes + at.plane];
            if (form > 0) {
                known_add<2 * form + 1, wide>(view, down, across, sum);
            } else {
                window_add<wide>(pass, view, down, across, sum);
            }
        }
    }
}

/* Sums leave through shared memory, so that neighbouring lanes write neighbouring elements. */
template <int wide>
BODY void tile_write(const struct pass_launch &launch, const struct pass_tile &tile, struct lane_place at,
                     float *shared, const float (&sum)[wide][STRIP_ROWS])
{
    const struct image_pass &pass = launch.pass;
    const struct tensor *made = &launch.call.tensors[launch.call.input_count];
    const int *step = launch.made.shared;
    int first = tile.group * pass.made_group + tile.plane;
    int end = pass.groups > 1 ? pass.group_count * pass.made_group : (tile.group + 1) * pass.made_group;
    struct box_part part = image_part(made, pass.last, tile.image, 1, first, end, tile.row, tile.column);
    bool has_bias = !pass.backward && launch.call.input_count > 2;
    __syncthreads();
#pragma unroll
    for (int n = 0; n < wide; n++) {
        bool has = at.works && first + at.plane + n < end;
        float bias = has && has_bias ? tensor_get(&launch.call.tensors[2], first + at.plane + n) : 0.0f;
#pragma unroll
        for (int r = 0; r < STRIP_ROWS; r++) {
            int row = at.row + r * at.row_step;
            if (at.works) {
                shared[(at.plane + n) * step[pass.last ? 3 : 1] + row * step[pass.last ? 1 : 2] +
                       at.column * step[pass.last ? 2 : 3]] = sum[n][r] + bias;
            }
        }
    }
    __syncthreads();
    FLOATING_SWITCH(made->dtype, 1, { box_store<dtype>(launch.made, part, shared); });
}

template <int form, int wide>
static __global__ void __launch_bounds__(wide == 1 ? THIN_LANES : WIDE_LANES, 1)
    grouped_tile_kernel(const __grid_constant__ struct pass_launch launch)
{
    __shared__ float shared[TILE_FLOATS];
    struct lane_place at = lane_place_of(launch.pass);
    for (int64_t tile = blockIdx.x; tile < launch.tiles; tile += gridDim.x) {
        float sum[wide][STRIP_ROWS] = {};
        struct pass_tile place = tile_of(launch.pass, tile);
        tile_sum<form, wide>(launch, place, at, shared, sum);
        tile_write<wide>(launch, place, at, shared, sum);
    }
}

/* As weight_part has it; in shared memory the planes that are made lie side by side. */
static struct box weight_box(const struct image_pass *pass)
{
    int taps = pass->kernel * pass->kernel, side = pass->groups * pass->planes, made = pass->backward ? 2 : 1;
    int channels = pass->backward ? pass->made_group : pass->read_group,
        filters = pass->backward ? pass->read_group : pass->made_group;
    struct box box = {{pass->groups, 0, 0, taps}, {pass->planes, 0, 0, side}, {filters * channels * taps, 0, 0, 1}};
    box.size[made] = pass->planes;
    box.shared[made] = 1;
    box.size[3 - made] = pass->channels;
    box.shared[3 - made] = taps * side;
    box.memory[1] = channels * taps;
    box.memory[2] = taps;
    return box;
}

typedef void pass_kernel(const struct pass_launch launch);

static pass_kernel *pass_kernel_of(const struct image_pass *pass)
{
    pass_kernel *const kernels[2][WINDOW_FORMS] = {
        {grouped_tile_kernel<0, 1>, grouped_tile_kernel<1, 1>, grouped_tile_kernel<2, 1>, grouped_tile_kernel<3, 1>},
        {grouped_tile_kernel<0, WIDE_PLANES>, grouped_tile_kernel<1, WIDE_PLANES>, grouped_tile_kernel<2, WIDE_PLANES>,
         grouped_tile_kernel<3, WIDE_PLANES>},
    };
    return kernels[pass->wide > 1][window_form(pass->kernel, pass->stride)];
}

const char *launch_grouped_convolution(const struct operation_call *call, cudaStream_t stream)
{
    const struct tensor *made = &call->tensors[call->input_count];
    int64_t count = tensor_element_count(made);
    if (count == 0) {
        return NULL;
    }
    struct pass_launch launch;
    launch.pass = image_pass_of(call);
    if (!launch.pass.fits) {
        grouped_any_kernel<<<grid_blocks(count, LANES), LANES, 0, stream>>>(grouped_launch_of(call));
        return launch_result();
    }
    const struct image_pass *pass = &launch.pass;
    launch.call = *call;
    launch.read = image_box(&call->tensors[0], pass->last, 1, pass->tile_channels, pass->tile_rows, pass->tile_columns);
    launch.weight = weight_box(pass);
    launch.made = image_box(made, pass->last, 1, pass->groups * pass->planes, pass->rows, pass->columns);
    launch.tiles = pass->images * pass->sets * pass->across * pass->down;
    pass_kernel *kernel = pass_kernel_of(pass);
    kernel<<<grid_blocks(launch.tiles, 1), pass->lanes, 0, stream>>>(launch);
    return launch_result();
}
