/* The kernels of a convolution's columns: gathered from images, added up to gradients of images, and the sums of
 * several images added up. Which launches make a convolution is decided in cuda_convolution.c; columns_traffic.h has
 * what they move. */
#include "harness/device/cuda/product_kernels.h"

#include "harness/kernels/launch_grid.h"
#include "harness/kernels/launch_packet.h"

namespace
{

/* The plan of a convolution without its pointers to the host's structs. */
struct window_shape {
    int64_t channels, height, width;
    int64_t kernel, stride, padding;
    int64_t rows, columns;
    void *image;
    enum dtype dtype; /* of image */
};

struct window_shape shape_of(const struct convolution_plan *plan)
{
    struct window_shape shape;
    shape.channels = plan->channels;
    shape.height = plan->height;
    shape.width = plan->width;
    shape.kernel = plan->kernel;
    shape.stride = plan->stride;
    shape.padding = plan->padding;
    shape.rows = plan->rows;
    shape.columns = plan->columns;
    shape.image = plan->image->data;
    shape.dtype = plan->image->dtype;
    return shape;
}

/* Planes of pixels are cut into pieces, and a warp has a piece: the divisions that find its plane are made once, and a
 * lane that steps on by a warp counts rows and columns up. */
struct plane_place {
    int row, column;
};

__device__ struct plane_place place_first(int64_t pixel, int columns)
{
    struct plane_place place = {(int)(pixel / columns), (int)(pixel % columns)};
    return place;
}

/* WARP_LANES pixels on; step: where that many pixels from the first one lead. */
__device__ void place_next(struct plane_place *place, struct plane_place step, int columns)
{
    place->row += step.row;
    place->column += step.column;
    if (place->column >= columns) {
        place->column -= columns;
        place->row += 1;
    }
}

/* The columns are of the image's dtype: they are copied bit by bit. */
template <typename element, typename number>
__global__ void columns_gather(struct window_shape shape, struct columns_part part, number pieces, number items)
{
    const element *image = (const element *)shape.image;
    element *to = (element *)part.columns;
    int lane = (int)threadIdx.x % WARP_LANES, width = (int)shape.columns;
    number taps = (number)(shape.kernel * shape.kernel);
    struct plane_place step = place_first(WARP_LANES, width);
    for (number item = (number)(thread_first() / WARP_LANES); item < items;
         item += (number)(thread_step() / WARP_LANES)) {
        number line = item / pieces, tap = line % taps, plane = line / taps;
        int64_t first = (int64_t)(item % pieces) * GATHER_PIECE;
        int64_t end = first + GATHER_PIECE < part.pixels ? first + GATHER_PIECE : part.pixels;
        int64_t channel = part.channel + plane % (number)part.channels, n = part.image + plane / (number)part.channels;
        int above = (int)((int64_t)(tap / (number)shape.kernel) - shape.padding);
        int left = (int)((int64_t)(tap % (number)shape.kernel) - shape.padding);
        const element *from = image + (n * shape.channels + channel) * shape.height * shape.width;
        struct plane_place place = place_first(part.pixel + first + lane, width);
        for (int64_t pixel = first + lane; pixel < end; pixel += WARP_LANES) {
            int row = place.row * (int)shape.stride + above, column = place.column * (int)shape.stride + left;
            bool inside = row >= 0 && row < shape.height && column >= 0 && column < shape.width;
            to[(int64_t)line * part.pixels + pixel] = inside ? from[row * shape.width + column] : (element)0;
            place_next(&place, step, width);
        }
    }
}

/* What an image element at this distance from the first window receives: from every stride-th tap, of windows that
 * come one before the other. */
struct tap_walk {
    int tap, window;
};

__device__ struct tap_walk taps_first(int place, int stride, int windows)
{
    struct tap_walk walk = {place % stride, place / stride};
    int beyond = walk.window - windows + 1; /* windows that do not exist */
    if (beyond > 0) {
        walk.tap += beyond * stride;
        walk.window -= beyond;
    }
    return walk;
}

/* The sum of one element: all that was taken from it. */
__device__ float columns_element(const struct window_shape &shape, const float *lines, struct plane_place place)
{
    int stride = (int)shape.stride, kernel = (int)shape.kernel;
    int64_t plane = shape.rows * shape.columns;
    struct tap_walk down = taps_first(place.row + (int)shape.padding, stride, (int)shape.rows);
    struct tap_walk across = taps_first(place.column + (int)shape.padding, stride, (int)shape.columns);
    float sum = 0.0f;
    for (int i = down.tap, row = down.window; i < kernel && row >= 0; i += stride, row--) {
        for (int j = across.tap, column = across.window; j < kernel && column >= 0; j += stride, column--) {
            sum += lines[(i * kernel + j) * plane + row * shape.columns + column];
        }
    }
    return sum;
}

template <enum dtype dtype, typename number>
__global__ void columns_sum(struct window_shape shape, struct columns_part part, number pieces, number items)
{
    int lane = (int)threadIdx.x % WARP_LANES, width = (int)shape.width;
    int64_t pixels = shape.height * shape.width;
    struct plane_place step = place_first(WARP_LANES, width);
    for (number item = (number)(thread_first() / WARP_LANES); item < items;
         item += (number)(thread_step() / WARP_LANES)) {
        number plane = item / pieces;
        int64_t first = (int64_t)(item % pieces) * SUM_PIECE,
                end = first + SUM_PIECE < pixels ? first + SUM_PIECE : pixels;
        int64_t channel = part.channel + plane % (number)part.channels, n = part.image + plane / (number)part.channels;
        const float *lines =
            (const float *)part.columns + (int64_t)plane * shape.kernel * shape.kernel * shape.rows * shape.columns;
        struct plane_place place = place_first(first + lane, width);
        for (int64_t pixel = first + lane; pixel < end; pixel += WARP_LANES) {
            float_store(shape.image, dtype, (n * shape.channels + channel) * pixels + pixel,
                        columns_element(shape, lines, place));
            place_next(&place, step, width);
        }
    }
}

/* sums (+)= the parts, one after the other: a lane for each element. */
__global__ void parts_add(float *sums, const float *parts, int64_t part_count, int64_t count, bool begins)
{
    for (int64_t k = thread_first(); k < count; k += thread_step()) {
        float sum = begins ? 0.0f : sums[k];
        for (int64_t part = 0; part < part_count; part++) {
            sum += parts[part * count + k];
        }
        sums[k] = sum;
    }
}

/* The pieces of a plane, and of all planes; whether 32 bits count them. */
struct piece_count {
    int64_t each, all;
    bool is_short;
};

struct piece_count pieces_of(int64_t planes, int64_t pixels, int64_t piece)
{
    struct piece_count pieces;
    pieces.each = (pixels + piece - 1) / piece;
    pieces.all = planes * pieces.each;
    pieces.is_short = pieces.all < INT32_MAX; /* a step beyond the last is counted too */
    return pieces;
}

template <typename element, typename number>
void columns_gather_run(const struct window_shape &shape, const struct columns_part &part, struct piece_count pieces)
{
    auto *kernel = columns_gather<element, number>;
    kernel<<<grid_blocks(pieces.all * WARP_LANES, LANES), LANES>>>(shape, part, (number)pieces.each,
                                                                   (number)pieces.all);
}

template <enum dtype dtype, typename number>
void columns_sum_run(const struct window_shape &shape, const struct columns_part &part, struct piece_count pieces)
{
    auto *kernel = columns_sum<dtype, number>;
    kernel<<<grid_blocks(pieces.all * WARP_LANES, LANES), LANES>>>(shape, part, (number)pieces.each,
                                                                   (number)pieces.all);
}

} // namespace

extern "C" cudaError_t columns_gather_launch(const struct convolution_plan *plan, const struct columns_part *part)
{
    int64_t planes = part->images * part->channels * plan->kernel * plan->kernel;
    struct piece_count pieces = pieces_of(planes, part->pixels, GATHER_PIECE);
    bool is_float = part->dtype == DTYPE_FLOAT32; /* else of 16 bits */
    if (pieces.all > 0) {
        auto *run = pieces.is_short
                        ? is_float ? columns_gather_run<float, uint32_t> : columns_gather_run<uint16_t, uint32_t>
                    : is_float ? columns_gather_run<float, uint64_t>
                               : columns_gather_run<uint16_t, uint64_t>;
        run(shape_of(plan), *part, pieces);
    }
    return cudaGetLastError();
}

extern "C" cudaError_t columns_sum_launch(const struct convolution_plan *plan, const struct columns_part *part)
{
    struct window_shape shape = shape_of(plan);
    struct piece_count pieces = pieces_of(part->images * part->channels, plan->height * plan->width, SUM_PIECE);
    if (pieces.all > 0) {
        FLOATING_SWITCH(shape.dtype, 1, {
            auto *run = pieces.is_short ? columns_sum_run<dtype, uint32_t> : columns_sum_run<dtype, uint64_t>;
            run(shape, *part, pieces);
        });
    }
    return cudaGetLastError();
}

extern "C" cudaError_t parts_add_launch(float *sums, const float *parts, int64_t part_count, int64_t count, bool begins)
{
    if (count > 0) {
        parts_add<<<grid_blocks(count, LANES), LANES>>>(sums, parts, part_count, count, begins);
    }
    return cudaGetLastError();
}
