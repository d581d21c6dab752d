/* What the launches of a convolution move (cuda_convolution.c, column_kernels.cu), by the same cuts of the same
 * workspace. Plain C, see kernels/traffic.h. */
#ifndef ASSAY_DEVICE_CUDA_COLUMNS_TRAFFIC_H
#define ASSAY_DEVICE_CUDA_COLUMNS_TRAFFIC_H

#include "harness/device/product_plan.h"
#include "harness/kernels/plan_grid.h"

/* Of a product by cuBLAS nothing is known but its shape: tiles of 128 by 128 are assumed, each of which reads its lines
 * and columns once. */
enum { PRODUCT_TILE = 128, CONVOLUTION_PRODUCTS_BYTES = 1 << 20 };

/* `times` products [m, k] x [k, n], one launch for each `batch` of them. */
static inline void product_traffic(struct traffic *traffic, double times, double batch, double m, double n, double k,
                                   int64_t bytes, int64_t out_bytes)
{
    struct launch_traffic *launch = traffic_add(traffic, "cuBLAS");
    double down = (double)(((int64_t)m + PRODUCT_TILE - 1) / PRODUCT_TILE);
    double across = (double)(((int64_t)n + PRODUCT_TILE - 1) / PRODUCT_TILE);
    launch->blocks = down * across * batch;
    launch->lanes = LANES;
    launch->launches = times / batch;
    launch->read_bytes = times * (m * k * across + k * n * down) * (double)bytes;
    launch->written_bytes = times * m * n * (double)out_bytes;
    launch->touched_bytes = times * (m * k + k * n) * (double)bytes + launch->written_bytes;
    launch->again_bytes = batch * (m + n) * k * (double)bytes;
    if (traffic->on_cores) {
        launch->core_operations = 2 * times * m * n * k;
    } else {
        launch->instructions = times * m * n * k;
    }
    launch->rounds = launch->launches * k / 32;
}

/* Pixels of a plane that a warp takes: what product_kernels.cu calls a piece. */
static inline void pieces_take(struct launch_traffic *launch, double planes, double pixels, int64_t piece)
{
    double pieces = planes * (double)(((int64_t)pixels + piece - 1) / piece);
    launch->blocks = grid_blocks((int64_t)(pieces / launch->launches) * WARP_LANES, LANES);
    launch->lanes = LANES;
    launch->instructions = pieces * WARP_LANES * (6 * DIVISION_32 + DIVISION_64);
    launch->rounds =
        pieces * WARP_LANES / LANES / launch->blocks * (pixels < (double)piece ? pixels : (double)piece) / WARP_LANES;
}

/* columns_gather, neighbouring lanes along a row of pixels. */
static inline void columns_gather_traffic(const struct convolution_plan *plan, double parts, struct traffic *traffic)
{
    struct launch_traffic *launch = traffic_add(traffic, "columns_gather");
    int64_t bytes = dtype_bytes(plan->image->dtype);
    double planes = (double)(plan->images * plan->channels * plan->kernel * plan->kernel);
    double pixels = (double)(plan->rows * plan->columns), count = planes * pixels;
    launch->launches = parts;
    pieces_take(launch, planes, pixels, GATHER_PIECE);
    launch->read_bytes = count / WARP_LANES * request_bytes(WARP_LANES, plan->stride * bytes, bytes);
    launch->written_bytes = count * (double)bytes;
    launch->touched_bytes = launch->written_bytes + operand_bytes(plan->image);
    launch->instructions += count * 20;
}

/* columns_sum, a lane for each element of the gradient, which meets `kernel` by `kernel` windows. */
static inline void columns_sum_traffic(const struct convolution_plan *plan, double parts, struct traffic *traffic)
{
    struct launch_traffic *launch = traffic_add(traffic, "columns_sum");
    double planes = (double)(plan->images * plan->channels), pixels = (double)(plan->height * plan->width);
    double taps = (double)(plan->kernel * plan->kernel) / (double)(plan->stride * plan->stride);
    launch->launches = parts;
    pieces_take(launch, planes, pixels, SUM_PIECE);
    launch->read_bytes = planes * pixels * taps * sizeof(float);
    launch->written_bytes = operand_bytes(plan->image);
    launch->touched_bytes = launch->read_bytes + launch->written_bytes;
    launch->instructions += planes * pixels * (2 * DIVISION_32 + 20 + taps * 6);
    launch->rounds *= taps;
}

static inline void convolution_forward_traffic(const struct convolution_plan *plan, double lines, double plane,
                                               struct traffic *traffic)
{
    int64_t bytes = dtype_bytes(plan->image->dtype);
    double images = (double)plan->images;
    double fit = ((double)plan->workspace.bytes - CONVOLUTION_PRODUCTS_BYTES) / (lines * plane * (double)bytes);
    double together = fit < 1 ? 1 : fit < images ? (double)(int64_t)fit : images;
    if (!plan->pointwise) {
        columns_gather_traffic(plan, images / together, traffic);
    }
    product_traffic(traffic, images, together, (double)plan->filters, plane, lines, bytes, bytes);
}

static inline void convolution_input_traffic(const struct convolution_plan *plan, double lines, double plane,
                                             struct traffic *traffic)
{
    int64_t bytes = dtype_bytes(plan->image->dtype);
    double images = (double)plan->images;
    double fit = ((double)plan->workspace.bytes - CONVOLUTION_PRODUCTS_BYTES) / (lines * plane * sizeof(float));
    double together = fit < 1 ? 1 : fit < images ? (double)(int64_t)fit : images;
    product_traffic(traffic, images, together, lines, plane, (double)plan->filters, bytes,
                    plan->pointwise ? bytes : (int64_t)sizeof(float));
    if (!plan->pointwise) {
        columns_sum_traffic(plan, images / together, traffic);
    }
}

/* The products of as many images as fit with their sums at once, which are then added up. */
static inline void convolution_weight_traffic(const struct convolution_plan *plan, double lines, double plane,
                                              struct traffic *traffic)
{
    int64_t bytes = dtype_bytes(plan->image->dtype);
    double images = (double)plan->images, sums = (double)plan->filters * lines * sizeof(float);
    double each = sums + (plan->pointwise ? 0 : lines * plane * (double)bytes);
    double room = (double)plan->workspace.bytes - CONVOLUTION_PRODUCTS_BYTES - (bytes == 4 ? 0 : sums);
    double together = room < each ? 1 : room / each < images ? (double)(int64_t)(room / each) : images;
    double parts = (double)(int64_t)((images + together - 1) / together);
    if (!plan->pointwise) {
        columns_gather_traffic(plan, parts, traffic);
    }
    product_traffic(traffic, images, together, (double)plan->filters, lines, plane, bytes, sizeof(float));
    if (together > 1) {
        struct launch_traffic *launch = traffic_add(traffic, "parts_add");
        launch->launches = parts;
        launch->blocks = sums / sizeof(float) / LANES;
        launch->lanes = LANES;
        launch->read_bytes = (images + parts - 1) * sums;
        launch->written_bytes = parts * sums;
        launch->touched_bytes = launch->read_bytes + launch->written_bytes;
        launch->instructions = images * sums / sizeof(float) * 3;
        launch->rounds = images / 4;
    } else {
        traffic->launches[traffic->count - 1].read_bytes += (images - 1) * sums;
    }
}

static inline void convolution_traffic(const struct operation_call *call, struct traffic *traffic)
{
    struct convolution_plan plan;
    struct status error = {0};
    if (convolution_plan(call, &plan, &error) != STATUS_OK) {
        return;
    }
    double lines = (double)(plan.channels * plan.kernel * plan.kernel), plane = (double)(plan.rows * plan.columns);
    traffic->needed_bytes = operand_bytes(plan.image) + operand_bytes(plan.weight) + operand_bytes(plan.result);
    traffic->needed_operations = 2 * (double)(plan.images * plan.filters) * lines * plane;
    traffic->on_cores = dtype_bytes(plan.image->dtype) == 2;
    if (call->opcode == OPCODE_CONVOLUTION) {
        convolution_forward_traffic(&plan, lines, plane, traffic);
    } else if (call->opcode == OPCODE_CONVOLUTION_BACKWARD_INPUT) {
        convolution_input_traffic(&plan, lines, plane, traffic);
    } else {
        convolution_weight_traffic(&plan, lines, plane, traffic);
    }
}

#endif
