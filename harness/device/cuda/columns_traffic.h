/* What the launches of a convolution move (cuda_convolution.c, product_kernels.cu), by the same cuts of the same
 * workspace. Plain C, see kernels/traffic.h. */
#ifndef ASSAY_DEVICE_CUDA_COLUMNS_TRAFFIC_H
#define ASSAY_DEVICE_CUDA_COLUMNS_TRAFFIC_H

#include "harness/device/product_plan.h"
#include "harness/kernels/plan_grid.h"

/* Of a product by cuBLAS nothing is known but its shape: tiles of 128 by 128 are assumed, each of which reads its lines
 * and columns once. */
enum { PRODUCT_TILE = 128 };

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

/* columns_gather, a lane for each element, neighbours along a row of pixels. */
static inline void columns_gather_traffic(const struct convolution_plan *plan, double parts, struct traffic *traffic)
{
    struct launch_traffic *launch = traffic_add(traffic, "columns_gather");
    int64_t bytes = dtype_bytes(plan->image->dtype);
    double count = (double)(plan->images * plan->channels * plan->kernel * plan->kernel * plan->rows * plan->columns);
    launch->launches = parts;
    launch->blocks = count / parts / LANES < 65535 ? count / parts / LANES : 65535;
    launch->lanes = LANES;
    launch->read_bytes = count / WARP_LANES * request_bytes(WARP_LANES, plan->stride * bytes, bytes);
    launch->written_bytes = count * (double)bytes;
    launch->touched_bytes = launch->written_bytes + operand_bytes(plan->image);
    launch->instructions = count * (6 * DIVISION_64 + 30);
    launch->rounds = count / launch->blocks / LANES;
}

/* columns_sum, a lane for each element of the gradient, which meets `kernel` by `kernel` windows. */
static inline void columns_sum_traffic(const struct convolution_plan *plan, double parts, struct traffic *traffic)
{
    struct launch_traffic *launch = traffic_add(traffic, "columns_sum");
    double count = (double)(plan->images * plan->channels * plan->height * plan->width);
    double taps = (double)(plan->kernel * plan->kernel) / (double)(plan->stride * plan->stride);
    launch->launches = parts;
    launch->blocks = count / parts / LANES < 65535 ? count / parts / LANES : 65535;
    launch->lanes = LANES;
    launch->read_bytes = count * taps * sizeof(float);
    launch->written_bytes = operand_bytes(plan->image);
    launch->touched_bytes = launch->read_bytes + launch->written_bytes;
    launch->instructions = count * (3 * DIVISION_64 + (double)(plan->kernel * plan->kernel) * (2 * DIVISION_64 + 10));
    launch->rounds = count / launch->blocks / LANES * taps;
}

static inline void convolution_forward_traffic(const struct convolution_plan *plan, double lines, double plane,
                                               struct traffic *traffic)
{
    int64_t bytes = dtype_bytes(plan->image->dtype);
    double images = (double)plan->images, fit = 0.75 * (double)plan->workspace.bytes / (lines * plane * (double)bytes);
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
    double images = (double)plan->images, fit = 0.75 * (double)plan->workspace.bytes / (lines * plane * sizeof(float));
    double together = fit < 1 ? 1 : fit < images ? (double)(int64_t)fit : images;
    product_traffic(traffic, images, together, lines, plane, (double)plan->filters, bytes,
                    plan->pointwise ? bytes : (int64_t)sizeof(float));
    if (!plan->pointwise) {
        columns_sum_traffic(plan, images / together, traffic);
    }
}

/* One product for each image, each of which adds to the sums of those before it. */
static inline void convolution_weight_traffic(const struct convolution_plan *plan, double lines, double plane,
                                              struct traffic *traffic)
{
    int64_t bytes = dtype_bytes(plan->image->dtype);
    double images = (double)plan->images, fit = 0.5 * (double)plan->workspace.bytes / (lines * plane * (double)bytes);
    double together = fit < 1 ? 1 : fit < images ? (double)(int64_t)fit : images;
    if (!plan->pointwise) {
        columns_gather_traffic(plan, images / together, traffic);
    }
    product_traffic(traffic, images, 1, (double)plan->filters, lines, plane, bytes, sizeof(float));
    traffic->launches[traffic->count - 1].read_bytes += (images - 1) * (double)plan->filters * lines * sizeof(float);
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
