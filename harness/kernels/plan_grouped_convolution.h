/* How grouped convolution is launched, and what it moves. Plain C, see traffic.h.
 *
 * A pass makes one image of another: forward a result of an image, backward an image's gradient of a result's. A block
 * makes a tile of some planes: it lays the part of the image that is read, with its edges, and the weights into shared
 * memory, some planes of a group at a time, and each lane makes a strip of STRIP_ROWS rows of a column in one plane or
 * in four. Backward with a stride, the rows of a strip are a stride apart: what one lane makes meets the same taps.
 *
 * Worked: planes of 56 x 56 under windows of 7 x 7, one to a group, dense: 56 columns by 8 strips are 448 lanes, which
 * read 62 x 62 elements, 56 x 56 of them from memory, each once. */
#ifndef ASSAY_KERNELS_PLAN_GROUPED_CONVOLUTION_H
#define ASSAY_KERNELS_PLAN_GROUPED_CONVOLUTION_H

#include "harness/kernels/body_grouped_convolution.h"
#include "harness/kernels/plan_grid.h"

enum {
    STRIP_ROWS = 7,
    TILE_FLOATS = 10240,
    WIDE_PLANES = 4, /* that a lane makes, if groups have as many */
    THIN_LANES = 512,
    WIDE_LANES = 256,
    WINDOW_FORMS = 4, /* of a kernel: windows of 3, 5 and 7 in steps of 1, and all others */
};

struct image_pass {
    int64_t images;
    int group_count, made_group, read_group; /* groups, and planes of a group of what is made and what is read */
    int made_rows, made_columns, read_rows, read_columns;
    int kernel, stride, padding;
    bool backward;
    bool last; /* channels lie last in memory: the lanes go along them */
    bool fits; /* else there are no tiles */
    int lanes, wide;
    int columns, strips, rows;                  /* of a tile: what is made */
    int groups, planes;                         /* of a tile: groups, and planes that are made of each */
    int channels;                               /* read at a time of each group; of several groups all */
    int tile_rows, tile_columns, tile_channels; /* of a tile: what is read */
    int down, across, sets, parts;              /* tiles; parts: of a group, 1 if it is made whole */
};

/* ceil(a / b), and floor(a / b) of an a below 0 too. */
BODY_COUNT int parts_of(int a, int b)
{
    return (a + b - 1) / b;
}

BODY_COUNT int floor_of(int a, int b)
{
    return a >= 0 ? a / b : -((b - 1 - a) / b);
}

/* Elements that windows meet of what is read, for so many that are made, along one side. */
BODY_COUNT int side_read(const struct image_pass *pass, int made)
{
    return pass->backward ? parts_of(made + pass->kernel - 2, pass->stride) + 1
                          : (made - 1) * pass->stride + pass->kernel;
}

/* The first of them. */
BODY_COUNT int side_first(const struct image_pass *pass, int made)
{
    return pass->backward ? floor_of(made + pass->padding - (pass->kernel - 1), pass->stride)
                          : made * pass->stride - pass->padding;
}

/* Whether the elements along one dimension and of a whole image can be counted in 31 bits. */
static inline bool image_is_short(const struct tensor *t)
{
    int64_t reach = 0;
    for (int d = 1; d < 4; d++) {
        int64_t stride = t->stride[d] < 0 ? -t->stride[d] : t->stride[d];
        if (t->size[d] >= INT32_MAX / 4 || stride >= INT32_MAX / 4) {
            return false;
        }
        reach += t->size[d] * stride;
    }
    return reach < INT32_MAX / 4;
}

static inline bool sides_are_short(const struct operation_call *call, const struct grouped_convolution *c)
{
    return image_is_short(&call->tensors[c->image]) && image_is_short(&call->tensors[c->result]) &&
           image_is_short(&call->tensors[c->weight]) && c->padding < INT32_MAX / 4 && c->stride <= THIN_LANES &&
           c->kernel <= TILE_FLOATS;
}

/* Of as many columns (or strips), in equal parts of `most` at most. */
static inline int part_even(int count, int most)
{
    return parts_of(count, parts_of(count, most < 1 ? 1 : most));
}

/* What depends on the tile's sizes; the floats that it takes. */
static inline int64_t pass_measure(struct image_pass *pass)
{
    pass->rows = pass->strips * STRIP_ROWS;
    pass->tile_rows = side_read(pass, pass->rows);
    pass->tile_columns = side_read(pass, pass->columns);
    pass->tile_channels = pass->groups * pass->channels;
    int64_t image = (int64_t)pass->tile_channels * pass->tile_rows * pass->tile_columns;
    return image + (int64_t)pass->channels * pass->kernel * pass->kernel * pass->groups * pass->planes;
}

/* Smaller until it fits: first fewer channels or groups at a time, then less of a plane. False if nothing is left. */
static inline bool pass_shrink(struct image_pass *pass)
{
    int step = pass->backward ? pass->stride : 1, least = pass->last ? 8 : 1;
    if (pass->groups > least) {
        pass->groups = parts_of(pass->groups, 2);
    } else if (pass->groups == 1 && pass->channels > 1) {
        pass->channels = parts_of(pass->channels, 2);
    } else if (pass->strips > step) {
        pass->strips -= step;
    } else if (pass->columns > 1) {
        pass->columns = parts_of(pass->columns, 2);
    } else if (pass->groups > 1) {
        pass->groups = 1;
    } else if (pass->planes > pass->wide) {
        pass->planes -= pass->wide;
    } else {
        return false;
    }
    return true;
}

/* The tile; sector: elements of 32 bytes. */
static inline void pass_cut(struct image_pass *pass, int sector)
{
    int step = pass->backward ? pass->stride : 1;
    int blocks = pass->made_group / pass->wide; /* of a group: what as many lanes make side by side */
    int most = pass->last ? parts_of(sector, pass->wide) : 8, all = pass->group_count * blocks;
    int wanted = pass->last ? (all < most ? all : most) : blocks < most ? blocks : most;
    int places = pass->lanes / wanted / step, strips = parts_of(parts_of(pass->made_rows, step), STRIP_ROWS);
    pass->columns = part_even(pass->made_columns, pass->last && places > 16 ? 16 : places);
    pass->strips = step * part_even(strips, places / pass->columns);
    int side = pass->lanes / (pass->columns * pass->strips); /* blocks of planes side by side */
    pass->groups = side / blocks < 1 ? 1 : side / blocks < pass->group_count ? side / blocks : pass->group_count;
    pass->planes = pass->wide * (side < blocks ? side : blocks);
    pass->channels = pass->groups > 1 || pass->read_group < 8 ? pass->read_group : 8;
    pass->fits = places > 0;
    while (pass->fits && pass_measure(pass) > TILE_FLOATS) {
        pass->fits = pass_shrink(pass);
    }
}

static inline struct image_pass image_pass_of(const struct operation_call *call)
{
    struct grouped_convolution c = grouped_convolution_of(call);
    struct image_pass pass = {.images = c.images, .backward = call->opcode != OPCODE_GROUPED_CONVOLUTION};
    const struct tensor *read = &call->tensors[0], *made = &call->tensors[call->input_count];
    bool is_short = sides_are_short(call, &c);
    if (!is_short) {
        return pass;
    }
    pass.group_count = (int)c.group_count;
    pass.made_group = (int)(pass.backward ? c.group_channels : c.group_filters);
    pass.read_group = (int)(pass.backward ? c.group_filters : c.group_channels);
    pass.made_rows = (int)made->size[2];
    pass.made_columns = (int)made->size[3];
    pass.read_rows = (int)read->size[2];
    pass.read_columns = (int)read->size[3];
    pass.kernel = (int)c.kernel;
    pass.stride = (int)c.stride;
    pass.padding = (int)c.padding;
    pass.last = read->stride[1] == 1 && read->stride[3] != 1;
    pass.wide = pass.made_group % WIDE_PLANES == 0 ? WIDE_PLANES : 1;
    pass.lanes = pass.wide == 1 ? THIN_LANES : WIDE_LANES;
    pass_cut(&pass, SECTOR_BYTES / (int)element_bytes(read->dtype));
    if (pass.fits) {
        pass.down = parts_of(pass.made_rows, pass.rows);
        pass.across = parts_of(pass.made_columns, pass.columns);
        pass.parts = parts_of(pass.made_group, pass.planes);
        pass.sets = pass.parts > 1 ? pass.parts * pass.group_count : parts_of(pass.group_count, pass.groups);
    }
    return pass;
}

/* Windows of these are known to the compiler, those of form 0 are not. */
static inline int window_form(int kernel, int stride)
{
    bool known = stride == 1 && kernel % 2 == 1 && kernel >= 3 && kernel <= 7;
    return known ? kernel / 2 : 0;
}

/* ---- traffic: only where bodies are host code ---- */
#ifndef __CUDACC__

/* What box_load and box_store take for an element that they move, and the loads that they have under way together. */
enum { BOX_INSTRUCTIONS = 30, BOX_WAITS = 4 };

/* Of `count` tiles along a side, each of which meets `reach` elements from its first on, the elements of `size`. */
static inline double side_elements(const struct image_pass *pass, int count, int each, int reach, int size)
{
    double elements = 0;
    for (int k = 0; k < count; k++) {
        int first = side_first(pass, k * each), low = first < 0 ? 0 : first,
            end = first + reach < size ? first + reach : size;
        elements += end > low ? end - low : 0;
    }
    return elements;
}

/* Bytes that a warp asks for, of so many elements in runs that lie apart: where a run begins in a sector is chance. */
static inline double runs_bytes(double elements, double run, bool apart, int64_t bytes)
{
    return elements * (double)bytes + (apart ? elements / run * (SECTOR_BYTES - (double)bytes) : 0);
}

static inline void grouped_needed(const struct operation_call *call, struct traffic *traffic)
{
    struct grouped_convolution c = grouped_convolution_of(call);
    double filters = (double)(c.group_count * c.group_filters), taps = (double)(c.kernel * c.kernel);
    traffic->needed_bytes = operands_bytes(call, 0, call->tensor_count);
    traffic->needed_operations =
        2 * (double)(c.images * c.rows * c.columns) * filters * (double)c.group_channels * taps;
    traffic->on_cores = dtype_bytes(call->tensors[0].dtype) == 2 && c.group_channels > 1;
}

/* grouped_tile_kernel: what is read of the planes of each tile, and of their weights, and what is made. */
static inline void grouped_pass_traffic(const struct operation_call *call, struct traffic *traffic)
{
    struct image_pass pass = image_pass_of(call);
    const struct tensor *read = &call->tensors[0], *made = &call->tensors[call->input_count];
    struct launch_traffic *launch = traffic_add(traffic, "grouped_tile_kernel");
    double tiles = (double)pass.images * pass.sets * pass.down * pass.across, taps = pass.kernel * pass.kernel;
    double made_planes = pass.groups * pass.planes, count = (double)tensor_element_count(made);
    double columns = side_elements(&pass, pass.across, pass.columns, pass.tile_columns, pass.read_columns);
    double planes = (double)pass.images * pass.group_count * pass.read_group * pass.parts;
    double elements = planes * columns * side_elements(&pass, pass.down, pass.rows, pass.tile_rows, pass.read_rows);
    double weights = tiles * made_planes * pass.read_group * taps;
    double loaded = tiles * pass.groups * pass.read_group * pass.tile_rows * pass.tile_columns + weights;
    double met = count * pass.read_group * taps / (pass.backward ? pass.stride * pass.stride : 1);
    int form = window_form(pass.kernel, pass.stride), strip = form > 0 ? STRIP_ROWS + 2 * form : STRIP_ROWS;
    bool apart =
        pass.last ? pass.groups * pass.channels * dtype_bytes(read->dtype) % SECTOR_BYTES != 0 : pass.across > 1;
    double run = pass.last ? pass.tile_channels : columns / pass.across;
    launch->blocks = grid_blocks((int64_t)tiles, 1);
    launch->lanes = pass.lanes;
    launch->read_bytes =
        runs_bytes(elements, run, apart, dtype_bytes(read->dtype)) + weights * dtype_bytes(call->tensors[1].dtype);
    launch->written_bytes = runs_bytes(count, pass.last ? made_planes : pass.columns, apart, dtype_bytes(made->dtype));
    launch->touched_bytes = operands_bytes(call, 0, call->tensor_count);
    launch->again_bytes = launch->touched_bytes / (double)pass.images;
    launch->shared_bytes =
        4 * (loaded + 2 * count + met / (STRIP_ROWS * pass.wide) * (form > 0 ? (double)strip / pass.kernel : strip) +
             met / STRIP_ROWS);
    launch->instructions = BOX_INSTRUCTIONS * (loaded + count) + met * (1 + 1.0 / STRIP_ROWS + 1.0 / pass.wide);
    launch->rounds = (loaded / pass.lanes / BOX_WAITS) / launch->blocks;
    grouped_needed(call, traffic);
}

#endif
#endif
