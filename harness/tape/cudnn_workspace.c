/* What cuDNN takes while it computes a convolution: the sums behind the header's rules, one for each kind of kernel. */
#include "harness/tape/cudnn_workspace.h"

enum {
    MEASURED_CAPABILITY = 90,
    AMPERE_CAPABILITY = 80,
    FEW_PRODUCTS = 3 * 3 * 3, /* of an element: a window of 3 x 3 over an image of 3 channels */
    FEW_PRODUCTS_SMALL = 3 * 7 * 7,
    FEW_IMAGES = 8,    /* whose gradients are added up, however large they are */
    VECTOR_BYTES = 16, /* that a tensor core's loads take at once */
    HALF_VECTOR_BYTES = 8,
    LAYOUT_BYTES = 16, /* beside the tensors that are laid out anew */
    TILE_EDGE = 128,   /* of the results that one block of threads sums up */
    NARROW_TILE_EDGE = 64,
    WIDE_TILE_EDGE = 256,      /* where an image has few channels */
    PART_SUMMANDS = 1024,      /* at least, of each part of a sum */
    REST_SUMMANDS = 256,       /* the same where only the tiles of the last round are divided */
    HALF_SUMMANDS = 25088,     /* in 16 bits, from which on sums are divided */
    HALF_PART_SUMMANDS = 6272, /* in 16 bits, in tiles that are not narrow */
    NARROW_PAIRS = 128 * 256,  /* of a channel and a filter, that are computed without tensor cores on sm_86 to sm_89 */
    AMPERE_WAVES = 4,          /* of tiles on sm_80, where there are many */
    MANY_TILES = 36,
    FEW_TILES_PARTS = 81, /* of all tiles together, where there are few */
    MOST_PARTS = 37,
    WHOLE_SUMS_BYTES = 128,
    COUNTER_BYTES = 4, /* of each part, of how many are done */
    PARTS_BYTES = 160, /* beside partial sums and counters, for their alignment */
    PLACE_BYTES = 4,   /* of an index, one for each place in a window */
    WINOGRAD_EDGE = 4,
    WINOGRAD_ELEMENTS = 36, /* of a square of 4 x 4 results under 3 x 3 */
    FEW_SQUARES = 392,      /* 8 images of 28 x 28, or 2 of 56 x 56 */
    FEW_PIXELS = 56 * 56,   /* of an image, and images, that a narrow kernel computes */
    SOME_IMAGES = 32,
    MANY_RESULTS = 12544 /* pixels: 16 images of 28 x 28 */
};

static bool is_tf32(const struct convolution_shape *shape)
{
    return shape->dtype == DTYPE_FLOAT32;
}

/* GPUs without the large caches of data centres: sm_86, sm_87 and sm_89. */
static bool is_small_ampere(const struct target *target)
{
    return target->capability > AMPERE_CAPABILITY && target->capability < MEASURED_CAPABILITY;
}

/* How many multiples of unit hold size, which is at least 1. */
static int64_t units_of(int64_t size, int64_t unit)
{
    return (size - 1) / unit + 1;
}

/* Channels, filled up to whole vectors where the kernel wants them so. */
static int64_t filled_channels(const struct convolution_shape *shape, bool fills_up)
{
    int64_t channels = shape->channels, vector = VECTOR_BYTES / dtype_bytes(shape->dtype);
    return fills_up && !size_round_up(channels, vector, &channels) ? INT64_MAX : channels;
}

/* Image, weight and, with it, result with channels last. One pixel lies so already. */
static int64_t layout_bytes(const struct convolution_shape *shape, bool fills_up, bool with_result)
{
    int64_t element = dtype_bytes(shape->dtype), channels = filled_channels(shape, fills_up), bytes = 0;
    const int64_t image[] = {shape->images, channels, shape->image_rows, shape->image_columns, element};
    const int64_t weight[] = {shape->filters, channels, shape->kernel, shape->kernel, element};
    const int64_t result[] = {shape->images, shape->filters, shape->rows, shape->columns, element};
    bool same = channels == shape->channels;
    bool fits = ((same && shape->image_rows == 1 && shape->image_columns == 1) ||
                 size_add(bytes, product_or_most(image, 5), &bytes)) &&
                ((same && shape->kernel == 1) || size_add(bytes, product_or_most(weight, 5), &bytes)) &&
                (!with_result || (shape->rows == 1 && shape->columns == 1) ||
                 size_add(bytes, product_or_most(result, 5), &bytes)) &&
                (bytes == 0 || size_add(bytes, LAYOUT_BYTES, &bytes));
    return fits ? bytes : INT64_MAX;
}

/* -- towards the weight: what is added up there in parts */

struct tiles {
    int64_t height, width, count;
    int64_t summands; /* of each of their elements */
};

static int64_t tile_edge(int64_t size)
{
    return size % TILE_EDGE == 0 ? TILE_EDGE : NARROW_TILE_EDGE;
}

/* Of the weight's gradient, a matrix of filters and places in the window. */
static struct tiles gradient_tiles(const struct convolution_shape *shape)
{
    const int64_t summed[] = {shape->images, shape->rows, shape->columns};
    const int64_t window[] = {shape->channels, shape->kernel, shape->kernel};
    int64_t columns = product_or_most(window, 3);
    struct tiles tiles = {.height = tile_edge(shape->filters), .width = tile_edge(columns)};
    const int64_t counts[] = {units_of(shape->filters, tiles.height), units_of(columns, tiles.width)};
    tiles.count = product_or_most(counts, 2);
    tiles.summands = product_or_most(summed, 3);
    return tiles;
}

static int64_t parts_bytes(const struct tiles *tiles, int64_t room, int64_t least_summands)
{
    int64_t most = tiles->summands / least_summands;
    int64_t parts = room < most ? room : most;
    int64_t tile_bytes = tiles->height * tiles->width * dtype_bytes(DTYPE_FLOAT32) + COUNTER_BYTES;
    return parts > 1 ? parts * tiles->count * tile_bytes + PARTS_BYTES : 0;
}

/* In 16 bits two tiles go together. */
static int64_t half_sums_bytes(const struct target *target, const struct convolution_shape *shape)
{
    struct tiles tiles = gradient_tiles(shape);
    bool whole = tiles.height == TILE_EDGE && tiles.width == TILE_EDGE;
    int64_t room = target->multiprocessor_count / 2 / units_of(tiles.count, 2);
    return tiles.summands >= HALF_SUMMANDS ? parts_bytes(&tiles, room, whole ? HALF_PART_SUMMANDS : PART_SUMMANDS) : 0;
}

/* Of more tiles than multiprocessors only those of the last round are divided. Oblong ones go together by twos. */
static int64_t tf32_sums_bytes(const struct target *target, const struct convolution_shape *shape)
{
    int64_t room = target->multiprocessor_count;
    struct tiles tiles = gradient_tiles(shape);
    if (tiles.count > room) {
        tiles.count %= room;
        return tiles.count > 0 ? parts_bytes(&tiles, room / tiles.count, REST_SUMMANDS) : 0;
    }
    tiles.count += tiles.height != tiles.width ? tiles.count % 2 : 0;
    return parts_bytes(&tiles, room / tiles.count, PART_SUMMANDS);
}

/* On sm_80 whole gradients are added up. */
static int64_t whole_sums_bytes(const struct target *target, const struct convolution_shape *shape)
{
    struct tiles tiles = gradient_tiles(shape);
    const int64_t window[] = {shape->channels, shape->kernel, shape->kernel};
    const int64_t counts[] = {units_of(shape->filters, TILE_EDGE), units_of(product_or_most(window, 3), TILE_EDGE)};
    int64_t count = product_or_most(counts, 2), parts = AMPERE_WAVES * target->multiprocessor_count / count;
    if (count < MANY_TILES) {
        parts = FEW_TILES_PARTS / count < MOST_PARTS ? FEW_TILES_PARTS / count : MOST_PARTS;
    }
    int64_t most = tiles.summands / PART_SUMMANDS;
    parts = parts < most ? parts : most;
    const int64_t gradients[] = {parts, shape->filters, product_or_most(window, 3), dtype_bytes(DTYPE_FLOAT32)};
    int64_t bytes = product_or_most(gradients, 4);
    return parts > 0 && size_add(bytes, WHOLE_SUMS_BYTES, &bytes) ? bytes : 0;
}

/* An image of few channels, under windows that overlap: whole gradients of the weight are added up. */
static int64_t few_channels_bytes(const struct target *target, const struct convolution_shape *shape)
{
    const int64_t window[] = {filled_channels(shape, true), shape->kernel, shape->kernel};
    int64_t columns = product_or_most(window, 3);
    int64_t parts = target->multiprocessor_count / units_of(columns, WIDE_TILE_EDGE);
    const int64_t gradients[] = {parts, shape->filters, columns, dtype_bytes(DTYPE_FLOAT32)};
    return parts > 1 ? product_or_most(gradients, 4) : 0;
}

static int64_t winograd_squares(const struct convolution_shape *shape)
{
    const int64_t squares[] = {shape->images, units_of(shape->rows, WINOGRAD_EDGE),
                               units_of(shape->columns, WINOGRAD_EDGE)};
    return product_or_most(squares, 3);
}

/* Winograd's form of a weight's gradient, 3 x 3 at stride 1: 36 elements for each pair of a filter and a channel, and
 * for each square of 4 x 4 results in every channel and filter. */
static int64_t winograd_bytes(const struct convolution_shape *shape)
{
    const int64_t pairs[] = {shape->filters, shape->channels};
    const int64_t squares[] = {winograd_squares(shape), shape->channels + shape->filters};
    int64_t count = 0;
    if (!size_add(product_or_most(pairs, 2), product_or_most(squares, 2), &count)) {
        return INT64_MAX;
    }
    return product_or_most((const int64_t[]){count, WINOGRAD_ELEMENTS, dtype_bytes(DTYPE_FLOAT32)}, 3);
}

static bool takes_winograd(const struct target *target, const struct convolution_shape *shape)
{
    return target->capability == MEASURED_CAPABILITY && is_tf32(shape) && shape->kernel == 3 && shape->stride == 1 &&
           shape->padding == 1 && shape->images <= FEW_IMAGES && shape->channels >= NARROW_TILE_EDGE &&
           shape->channels <= WIDE_TILE_EDGE && shape->filters <= WIDE_TILE_EDGE &&
           winograd_squares(shape) <= FEW_SQUARES;
}

static int64_t weight_bytes(const struct target *target, const struct convolution_shape *shape)
{
    bool measured = target->capability == MEASURED_CAPABILITY, overlaps = shape->kernel > shape->stride;
    bool few = shape->channels < VECTOR_BYTES / dtype_bytes(shape->dtype) && overlaps && measured;
    bool one_pixel = shape->rows == 1 && shape->columns == 1 && shape->kernel > 1 && shape->padding == 0;
    if (one_pixel && is_tf32(shape) && target->capability > AMPERE_CAPABILITY) {
        const int64_t places[] = {shape->filters, shape->kernel, shape->kernel, PLACE_BYTES};
        return product_or_most(places, 4);
    }
    if (takes_winograd(target, shape)) {
        return winograd_bytes(shape);
    }
    int64_t bytes = layout_bytes(shape, few || !is_tf32(shape), true), sums = 0;
    if (target->capability == AMPERE_CAPABILITY && is_tf32(shape)) {
        sums = whole_sums_bytes(target, shape);
    } else if (measured) {
        sums = few              ? few_channels_bytes(target, shape)
               : is_tf32(shape) ? tf32_sums_bytes(target, shape)
                                : half_sums_bytes(target, shape);
    }
    return size_add(bytes, sums, &bytes) ? bytes : INT64_MAX;
}

/* -- which kernel computes */

/* Whether cuDNN computes without tensor cores and so without another layout. */
static bool stays_as_it_lies(const struct target *target, enum opcode opcode, const struct convolution_shape *shape)
{
    bool small = is_small_ampere(target), forward = opcode == OPCODE_CONVOLUTION;
    const int64_t window[] = {shape->channels, shape->kernel, shape->kernel};
    bool few = product_or_most(window, 3) <= (small ? FEW_PRODUCTS_SMALL : FEW_PRODUCTS);
    bool to_weight = opcode == OPCODE_CONVOLUTION_BACKWARD_WEIGHT;
    bool point = shape->kernel == 1, strided = shape->stride > 1;
    int64_t pairs = product_or_most((const int64_t[]){shape->channels, shape->filters}, 2);
    return (few && (forward || (to_weight && is_tf32(shape)))) ||
           (small && is_tf32(shape) && point && (pairs <= NARROW_PAIRS || (!forward && (strided || !to_weight))));
}

/* Whether a kernel of TF32 writes its result as PyTorch wants it. On sm_90 only some do, of few channels. */
static bool writes_in_place(const struct target *target, const struct convolution_shape *shape)
{
    const int64_t results[] = {shape->images, shape->rows, shape->columns};
    bool few = shape->channels == NARROW_TILE_EDGE && shape->kernel == 3;
    bool small = shape->image_rows * shape->image_columns <= FEW_PIXELS && shape->images <= SOME_IMAGES;
    bool strided = shape->channels == WIDE_TILE_EDGE && shape->filters == 2 * WIDE_TILE_EDGE && shape->kernel == 1 &&
                   shape->stride == 2;
    return target->capability < MEASURED_CAPABILITY || (few && (shape->filters % TILE_EDGE == 0 || small)) ||
           (strided && product_or_most(results, 3) >= MANY_RESULTS);
}

/* Of windows of one pixel over images whose planes begin at whole vectors: a product of matrices for each image. False
 * if it is computed as other convolutions are. */
static bool pointwise_bytes(enum opcode opcode, const struct convolution_shape *shape, int64_t *bytes)
{
    const int64_t plane[] = {shape->rows, shape->columns, dtype_bytes(shape->dtype)};
    const int64_t gradients[] = {shape->images, shape->filters, shape->channels, dtype_bytes(DTYPE_FLOAT32)};
    int64_t plane_bytes = product_or_most(plane, 3), gradients_bytes = product_or_most(gradients, 4);
    bool to_weight = opcode == OPCODE_CONVOLUTION_BACKWARD_WEIGHT;
    bool fits = to_weight ? plane_bytes % VECTOR_BYTES == 0 &&
                                (shape->images <= FEW_IMAGES ||
                                 gradients_bytes / 5 <= layout_bytes(shape, !is_tf32(shape), true) / 4)
                          : plane_bytes % HALF_VECTOR_BYTES == 0;
    *bytes = fits && to_weight ? gradients_bytes : 0;
    return fits;
}

int64_t cudnn_workspace_bytes(const struct target *target, enum opcode opcode, const struct convolution_shape *shape)
{
    int64_t bytes = 0;
    bool plain = is_tf32(shape) && !shape->tf32_allowed;
    bool pointwise = !plain && convolution_is_pointwise(shape) && pointwise_bytes(opcode, shape, &bytes);
    if (plain || pointwise || stays_as_it_lies(target, opcode, shape)) {
        return bytes;
    }
    if (opcode == OPCODE_CONVOLUTION_BACKWARD_WEIGHT) {
        return weight_bytes(target, shape);
    }
    bool in_place = opcode == OPCODE_CONVOLUTION && is_tf32(shape) && writes_in_place(target, shape);
    return layout_bytes(shape, !is_tf32(shape), !in_place);
}
