/* The largest workspace of cuDNN's engines: the sums behind the header's rules, one for each kind of engine. */
#include "harness/tape/cudnn_search.h"

#include "harness/tape/convolution_workspace.h"

enum {
    MEASURED_CAPABILITY = 90,
    AMPERE_CAPABILITY = 80,
    VECTOR_BYTES = 16, /* that a tensor core's loads take at once */
    LAYOUT_BYTES = 16, /* beside the tensors that are laid out anew */
    WIDE_CHANNELS = 128,
    FOURIER_LEAST = 16,    /* numbers along an edge */
    FOURIER_PIXELS = 256,  /* that an edge may have with its padding, by cuDNN's documentation */
    FOURIER_BYTES = 16,    /* two complex float32 */
    TILE_PIXELS = 30,      /* results of 3 x 3 in a tile of 32 x 32 */
    TILE_BYTES = 32 * 136, /* 32 * 17 complex float32 */
    TILED_EDGE = 56,       /* of an image, towards which a tiled engine computes */
    PHASES = 4,            /* of an image at stride 2 */
    PHASE_WEIGHT_BYTES = 64,
    FLOAT_BYTES = 4,
    WINOGRAD_EDGE = 4,
    WINOGRAD_BYTES = 36 * 4
};

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t sum_or_most(int64_t a, int64_t b)
{
    int64_t sum = 0;
    return size_add(a, b, &sum) ? sum : INT64_MAX;
}

static int64_t product(int64_t a, int64_t b)
{
    return product_or_most((const int64_t[]){a, b}, 2);
}

/* How many units hold size. */
static int64_t units_of(int64_t size, int64_t unit)
{
    return size > 0 ? (size - 1) / unit + 1 : 0;
}

static int64_t edge_of(const struct convolution_shape *shape)
{
    return larger(shape->image_rows, shape->image_columns);
}

static int64_t image_bytes(const struct convolution_shape *shape, int64_t unit)
{
    int64_t channels = 0;
    if (!size_round_up(shape->channels, unit, &channels)) {
        return INT64_MAX;
    }
    return product_or_most(
        (const int64_t[]){shape->images, channels, shape->image_rows, shape->image_columns, dtype_bytes(shape->dtype)},
        5);
}

static int64_t weight_bytes(const struct convolution_shape *shape, int64_t unit)
{
    int64_t channels = 0;
    if (!size_round_up(shape->channels, unit, &channels)) {
        return INT64_MAX;
    }
    return product_or_most(
        (const int64_t[]){shape->filters, channels, shape->kernel, shape->kernel, dtype_bytes(shape->dtype)}, 5);
}

static int64_t result_bytes(const struct convolution_shape *shape)
{
    return product_or_most(
        (const int64_t[]){shape->images, shape->filters, shape->rows, shape->columns, dtype_bytes(shape->dtype)}, 5);
}

static bool is_float32(const struct convolution_shape *shape)
{
    return shape->dtype == DTYPE_FLOAT32;
}

/* Of engines on tensor cores. */
static int64_t layouts_bytes(const struct target *target, enum opcode opcode, const struct convolution_shape *shape)
{
    if (is_float32(shape) && !shape->tf32_allowed) {
        return 0;
    }
    int64_t vector = VECTOR_BYTES / dtype_bytes(shape->dtype);
    int64_t bytes = sum_or_most(sum_or_most(image_bytes(shape, vector), weight_bytes(shape, vector)),
                                sum_or_most(result_bytes(shape), LAYOUT_BYTES));
    if (!is_float32(shape) || target->capability >= MEASURED_CAPABILITY) {
        return bytes;
    }
    bool data_centre = target->capability == AMPERE_CAPABILITY;
    if (opcode == OPCODE_CONVOLUTION && data_centre) {
        return sum_or_most(bytes, result_bytes(shape));
    }
    bool widens = opcode == OPCODE_CONVOLUTION_BACKWARD_INPUT && (data_centre || edge_of(shape) <= TILED_EDGE);
    return widens ? sum_or_most(bytes, image_bytes(shape, WIDE_CHANNELS)) : bytes;
}

/* Planes of an image's channels, of a weight's pairs and of a result's filters, in whatever form they are. */
struct planes {
    int64_t image, weight, result;
};

static struct planes planes_of(const struct convolution_shape *shape)
{
    return (struct planes){.image = product(shape->images, shape->channels),
                           .weight = product(shape->channels, shape->filters),
                           .result = product(shape->images, shape->filters)};
}

static int64_t fourier_bytes(enum opcode opcode, const struct convolution_shape *shape)
{
    int64_t pixels = edge_of(shape) + 2 * shape->padding, edge = FOURIER_LEAST;
    bool to_weight = opcode == OPCODE_CONVOLUTION_BACKWARD_WEIGHT;
    if (!is_float32(shape) || shape->stride != 1 || pixels > FOURIER_PIXELS ||
        (!to_weight && opcode != OPCODE_CONVOLUTION)) {
        return 0;
    }
    while (edge < pixels) {
        edge *= 2;
    }
    struct planes planes = planes_of(shape);
    int64_t pair = sum_or_most(planes.image, to_weight ? planes.result : planes.weight);
    int64_t count = larger(pair, to_weight ? planes.weight : planes.result);
    int64_t spectra = product(count, FOURIER_BYTES * edge * (edge / 2 + 1));
    return sum_or_most(spectra, to_weight ? result_bytes(shape) : weight_bytes(shape, 1));
}

/* Towards the image at stride 2 on sm_90. */
static int64_t phases_bytes(const struct convolution_shape *shape)
{
    struct planes planes = planes_of(shape);
    int64_t count = sum_or_most(product(PHASES, sum_or_most(planes.weight, planes.image)), planes.result);
    int64_t weight = product(planes.weight, PHASE_WEIGHT_BYTES);
    int64_t border =
        product_or_most((const int64_t[]){planes.result, shape->rows + 1, shape->columns + 1, FLOAT_BYTES}, 4);
    int64_t laid_out = sum_or_most(sum_or_most(weight, image_bytes(shape, 1)), sum_or_most(border, LAYOUT_BYTES));
    return sum_or_most(product(count, TILE_BYTES), laid_out);
}

static int64_t tiles_bytes(const struct target *target, enum opcode opcode, const struct convolution_shape *shape)
{
    bool forward = opcode == OPCODE_CONVOLUTION, to_image = opcode == OPCODE_CONVOLUTION_BACKWARD_INPUT;
    bool measured = target->capability == MEASURED_CAPABILITY;
    bool takes = forward ? target->capability < MEASURED_CAPABILITY
                         : to_image && target->capability != AMPERE_CAPABILITY && edge_of(shape) <= TILED_EDGE;
    if (!takes || !is_float32(shape) || shape->kernel != 3) {
        return 0;
    }
    if (to_image && measured && shape->stride == 2) {
        return phases_bytes(shape);
    }
    struct planes planes = planes_of(shape);
    int64_t tiles = product(units_of(edge_of(shape), TILE_PIXELS), sum_or_most(planes.image, planes.result));
    return product(sum_or_most(planes.weight, tiles), TILE_BYTES);
}

static int64_t winograd_bytes(const struct target *target, const struct convolution_shape *shape)
{
    if (is_float32(shape) || target->capability >= MEASURED_CAPABILITY || shape->kernel != 3 || shape->stride != 1) {
        return 0;
    }
    struct planes planes = planes_of(shape);
    int64_t squares = product(units_of(shape->rows, WINOGRAD_EDGE), units_of(shape->columns, WINOGRAD_EDGE));
    int64_t count = sum_or_most(product(squares, sum_or_most(planes.image, planes.result)), planes.weight);
    return product(count, WINOGRAD_BYTES);
}

int64_t cudnn_search_bytes(const struct target *target, enum opcode opcode, const struct convolution_shape *shape)
{
    int64_t bytes = convolution_workspace_bytes(target, opcode, shape);
    if (target->capability < AMPERE_CAPABILITY) {
        return bytes;
    }
    bytes = larger(bytes, layouts_bytes(target, opcode, shape));
    bytes = larger(bytes, fourier_bytes(opcode, shape));
    bytes = larger(bytes, tiles_bytes(target, opcode, shape));
    return larger(bytes, winograd_bytes(target, shape));
}
