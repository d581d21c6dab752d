/* How the gradient of a grouped convolution's weight is launched, and what that moves. Plain C, see traffic.h.
 *
 * A block makes some planes of the weight, and its sum goes over all images, tile by tile. A lane has a column of taps
 * (of windows that are known; else one tap) of one filter or of four and of one channel, and some of the strips of each
 * tile; lanes that have the same taps add up at the end. No memory holds the sums of several blocks: where few blocks
 * would have work, each makes fewer taps, and the images are read again for the others. */
#ifndef ASSAY_KERNELS_PLAN_GROUPED_WEIGHT_H
#define ASSAY_KERNELS_PLAN_GROUPED_WEIGHT_H

#include "harness/kernels/plan_grouped_convolution.h"

struct weight_pass {
    int64_t images;
    int group_count, filters_group, channels_group; /* groups, and of a group */
    int kernel, stride, padding;
    bool last, fits;
    int lanes, wide;
    int groups, filters, channels, taps;                               /* of a block; taps: columns of taps, or taps */
    int taps_all;                                                      /* of a weight's plane */
    int tile_images, columns, strips, rows, image_rows, image_columns; /* of a tile */
    int group_sets, filter_sets, channel_sets, tap_sets;               /* blocks */
    int pixel_lanes;                                                   /* with the same taps */
};

enum { WEIGHT_BLOCKS_WANTED = 96, WEIGHT_IMAGES_MAXIMUM = 16 };

static inline int64_t weight_measure(struct weight_pass *pass)
{
    pass->rows = pass->strips * STRIP_ROWS;
    pass->image_rows = (pass->rows - 1) * pass->stride + pass->kernel;
    pass->image_columns = (pass->columns - 1) * pass->stride + pass->kernel;
    int64_t result = (int64_t)pass->filters * pass->rows * pass->columns;
    int64_t image = (int64_t)pass->channels * pass->image_rows * pass->image_columns;
    return (int64_t)pass->tile_images * pass->groups * (result + image);
}

static inline int64_t weight_sets(struct weight_pass *pass)
{
    pass->group_sets = parts_of(pass->group_count, pass->groups);
    pass->filter_sets = parts_of(pass->filters_group, pass->filters);
    pass->channel_sets = parts_of(pass->channels_group, pass->channels);
    pass->tap_sets = parts_of(pass->taps_all, pass->taps);
    return (int64_t)pass->group_sets * pass->filter_sets * pass->channel_sets * pass->tap_sets;
}

static inline bool weight_shrink(struct weight_pass *pass)
{
    if (pass->strips > 1) {
        pass->strips = parts_of(pass->strips, 2);
    } else if (pass->columns > 8) {
        pass->columns = parts_of(pass->columns, 2);
    } else if (pass->groups > 1) {
        pass->groups = parts_of(pass->groups, 2);
    } else if (pass->filters > pass->wide) {
        pass->filters = pass->wide * parts_of(pass->filters / pass->wide, 2);
    } else if (pass->channels > 1) {
        pass->channels = parts_of(pass->channels, 2);
    } else if (pass->columns > 1) {
        pass->columns = parts_of(pass->columns, 2);
    } else {
        return false;
    }
    return true;
}

/* Which part of the weight a block makes; sector: elements of 32 bytes. */
static inline void weight_deal(struct weight_pass *pass, int sector)
{
    int blocks = pass->filters_group / pass->wide, items = pass->columns * pass->strips;
    pass->taps = pass->taps_all < pass->lanes ? pass->taps_all : pass->lanes;
    int side = pass->lanes / pass->taps; /* pairs of filters and channels */
    int filters = blocks < 8 ? blocks : 8;
    filters = filters < side ? filters : side;
    pass->filters = filters * pass->wide;
    pass->channels = pass->channels_group < side / filters ? pass->channels_group : side / filters;
    pass->groups = 1;
    if (pass->filters == pass->filters_group && pass->channels == pass->channels_group) {
        int most = side / (filters * pass->channels), wanted = pass->last ? sector : most / items;
        pass->groups = wanted < 1 ? 1 : wanted < most ? wanted : most;
        pass->groups = pass->groups < pass->group_count ? pass->groups : pass->group_count;
    }
    while (!pass->last && pass->groups > 1 && weight_sets(pass) < WEIGHT_BLOCKS_WANTED) {
        pass->groups = parts_of(pass->groups, 2);
    }
    while (pass->groups == 1 && pass->channels > 1 && weight_sets(pass) < WEIGHT_BLOCKS_WANTED) {
        pass->channels = parts_of(pass->channels, 2);
    }
    while (pass->taps > 1 && weight_sets(pass) < WEIGHT_BLOCKS_WANTED) {
        pass->taps = parts_of(pass->taps, 2);
    }
}

/* What lanes that stand side by side are beyond whole warps, or beyond an even part of one. */
static inline int pixel_lanes_over(int lanes)
{
    int whole = WARP_LANES;
    while (whole > lanes) {
        whole /= 2;
    }
    return lanes % whole;
}

static inline void weight_cut(struct weight_pass *pass, int rows, int columns, int images, int sector)
{
    pass->columns = part_even(columns, pass->last ? 16 : 64);
    pass->strips = part_even(parts_of(rows, STRIP_ROWS), 8);
    pass->tile_images = 1;
    weight_deal(pass, sector);
    pass->fits = true;
    while (pass->fits && weight_measure(pass) > TILE_FLOATS) {
        pass->fits = weight_shrink(pass);
    }
    pass->pixel_lanes = pass->lanes / (pass->groups * (pass->filters / pass->wide) * pass->channels * pass->taps);
    pass->pixel_lanes -= pass->last ? 0 : pixel_lanes_over(pass->pixel_lanes);
    while (pass->tile_images < images && pass->tile_images < pass->images && pass->strips * STRIP_ROWS >= rows &&
           pass->columns >= columns && 2 * weight_measure(pass) <= TILE_FLOATS) {
        pass->tile_images *= 2;
    }
    weight_measure(pass);
}

static inline struct weight_pass weight_pass_of(const struct operation_call *call)
{
    struct grouped_convolution c = grouped_convolution_of(call);
    struct weight_pass pass = {.images = c.images};
    const struct tensor *result = &call->tensors[0], *image = &call->tensors[1];
    if (!sides_are_short(call, &c) || c.group_channels * c.group_filters == 0) {
        return pass;
    }
    bool together = result->stride[0] < INT32_MAX / 64 && image->stride[0] < INT32_MAX / 64; /* several images */
    pass.group_count = (int)c.group_count;
    pass.filters_group = (int)c.group_filters;
    pass.channels_group = (int)c.group_channels;
    pass.kernel = (int)c.kernel;
    pass.stride = (int)c.stride;
    pass.padding = (int)c.padding;
    pass.last = image->stride[1] == 1 && image->stride[3] != 1;
    pass.wide = pass.filters_group % WIDE_PLANES == 0 ? WIDE_PLANES : 1;
    pass.lanes = pass.wide == 1 ? THIN_LANES : WIDE_LANES;
    pass.taps_all = window_form(pass.kernel, pass.stride) > 0 ? pass.kernel : pass.kernel * pass.kernel;
    weight_cut(&pass, (int)result->size[2], (int)result->size[3], together ? WEIGHT_IMAGES_MAXIMUM : 1,
               SECTOR_BYTES / (int)element_bytes(image->dtype));
    weight_sets(&pass);
    return pass;
}

/* ---- traffic: only where bodies are host code ---- */
#ifndef __CUDACC__

/* Elements of `size` that the windows of tiles of `each` meet along one side. */
static inline double windows_elements(const struct weight_pass *pass, int made, int each, int reach, int size)
{
    struct image_pass side = {.kernel = pass->kernel, .stride = pass->stride, .padding = pass->padding};
    return side_elements(&side, parts_of(made, each), each, reach, size);
}

/* grouped_weight_kernel: each part of the weight reads its planes of results and of images, of all images. */
static inline void grouped_weight_traffic(const struct operation_call *call, struct traffic *traffic)
{
    struct weight_pass pass = weight_pass_of(call);
    const struct tensor *result = &call->tensors[0], *image = &call->tensors[1];
    struct launch_traffic *launch = traffic_add(traffic, "grouped_weight_kernel");
    int rows = (int)result->size[2], columns = (int)result->size[3], across = parts_of(columns, pass.columns);
    double met = windows_elements(&pass, columns, pass.columns, pass.image_columns, (int)image->size[3]);
    double plane = met * windows_elements(&pass, rows, pass.rows, pass.image_rows, (int)image->size[2]);
    double images = (double)(image->size[0] * image->size[1]) * pass.filter_sets * pass.tap_sets * plane;
    double results = (double)tensor_element_count(result) * pass.channel_sets * pass.tap_sets;
    double weights = (double)tensor_element_count(&call->tensors[call->input_count]);
    double tiles =
               (double)((pass.images + pass.tile_images - 1) / pass.tile_images) * parts_of(rows, pass.rows) * across,
           loaded = tiles * (double)weight_measure(&pass);
    double sums =
        (double)tensor_element_count(result) * (double)image->size[1] / pass.group_count * pass.kernel * pass.kernel;
    int form = window_form(pass.kernel, pass.stride);
    int64_t bytes = dtype_bytes(image->dtype);
    launch->blocks = grid_blocks(weight_sets(&pass), 1);
    launch->lanes = pass.lanes;
    launch->read_bytes =
        runs_bytes(images, pass.last ? pass.groups * pass.channels : met / across,
                   pass.last ? pass.groups * pass.channels * bytes % SECTOR_BYTES != 0 : across > 1, bytes) +
        runs_bytes(results, pass.last ? pass.groups * pass.filters : pass.columns,
                   pass.last ? pass.groups * pass.filters * bytes % SECTOR_BYTES != 0 : across > 1, bytes);
    launch->written_bytes = weights * SECTOR_BYTES;
    launch->touched_bytes = operands_bytes(call, 0, call->tensor_count);
    launch->again_bytes = launch->touched_bytes / (double)pass.images;
    launch->shared_bytes =
        4 * (loaded * launch->blocks + sums / (form > 0 ? pass.kernel : 1) +
             sums / pass.wide / (form > 0 ? (double)pass.kernel * STRIP_ROWS / (STRIP_ROWS + 2 * form) : 1));
    launch->instructions = BOX_INSTRUCTIONS * loaded * launch->blocks + sums * (form > 0 ? 1.5 : 2 + 1.0 / pass.wide);
    launch->rounds = loaded / pass.lanes / BOX_WAITS;
    grouped_needed(call, traffic);
}

#endif
#endif
