/* Tiles: small float32 matrices in the fastest memory there is (the first two caches of a core, the shared memory of a
 * CUDA block), and the few things that attention does with them. Host and CUDA need different code here to be fast;
 * what attention computes from the tiles is written once, in body_attention.h.
 *
 * Rows lie side by side. The number of columns is a multiple of TILE_STEP, on the host that of rows too. */
#ifndef ASSAY_KERNELS_BODY_TILE_H
#define ASSAY_KERNELS_BODY_TILE_H

#include "harness/kernels/body.h"

#ifdef __CUDACC__
#include "harness/kernels/launch_packet.h"
#else
#include "harness/kernels/host_span.h"
#endif

struct tile {
    float *at;
    int rows, columns;
};

/* A matrix in memory, strides in elements. It may be smaller than the tile that it is loaded into. */
struct tile_source {
    const void *data; /* of element (0, 0) */
    enum dtype dtype;
    int64_t row_stride, column_stride;
    int64_t rows, columns;
};

/* A tile whose element (i, k) is at[i * row_step + k * column_step]: a tile or its transpose. */
struct tile_factor {
    const float *at;
    int row_step, column_step;
    int depth; /* columns */
};

BODY struct tile_factor tile_factor_of(struct tile tile)
{
    struct tile_factor factor = {tile.at, tile.columns, 1, tile.columns};
    return factor;
}

BODY struct tile_factor tile_factor_transposed(struct tile tile)
{
    struct tile_factor factor = {tile.at, 1, tile.columns, tile.rows};
    return factor;
}

BODY const void *element_address(const void *data, enum dtype dtype, int64_t index)
{
    return (const char *)data + index * element_bytes(dtype);
}

BODY void tile_clear(struct team team, struct tile tile)
{
    for (int k = team.lane; k < tile.rows * tile.columns; k += team.lanes) {
        tile.at[k] = 0.0f;
    }
}

/* Groups of TEAM_GROUP rows dealt to the lanes: `parts` lanes have one together, and each of them every parts-th of the
 * lines that run across the rows. */
struct team_share {
    int first, step; /* of groups */
    int part, parts;
};

/* The lines of a tile dealt to the parts of a team that take a line each: the one lane of the host, a warp on CUDA. */
struct team_lines {
    int first, step; /* lines */
    int lane, lanes; /* along a line */
};

#ifdef __CUDACC__

BODY struct team_lines team_lines_of(struct team team)
{
    struct team_lines lines = {team.lane >> 5, team.lanes >> 5, team.lane & 31, 32};
    return lines;
}

/* Rows of a tile that a lane takes together. */
enum { TILE_STEP = 4, TEAM_GROUP = 1 };

/* As many lanes share a group of rows as there are lanes for each, neighbours in a warp: each takes some of the columns
 * that the group's scores stand in. */
BODY struct team_share team_share_of(struct team team, int rows)
{
    struct team_share share;
    share.parts = 1;
    while (share.parts < 32 && rows * share.parts * 2 <= team.lanes) {
        share.parts *= 2;
    }
    share.first = team.lane / share.parts;
    share.step = team.lanes / share.parts;
    share.part = team.lane % share.parts;
    return share;
}

BODY float share_maximum(struct team_share share, float value)
{
    for (int step = 1; step < share.parts; step <<= 1) {
        float other = __shfl_xor_sync(0xffffffffu, value, step);
        value = other > value ? other : value;
    }
    return value;
}

BODY float share_sum(struct team_share share, float value)
{
    for (int step = 1; step < share.parts; step <<= 1) {
        value += __shfl_xor_sync(0xffffffffu, value, step);
    }
    return value;
}

/* to[i] = the sum of the products of row i of both, 0 beyond their rows: a warp for each row. */
BODY void rows_multiply(struct team team, struct tile_source a, struct tile_source b, int rows, float *to)
{
    struct team_lines lines = team_lines_of(team);
    for (int i = lines.first; i < rows; i += lines.step) {
        float sum = 0.0f;
        for (int64_t k = lines.lane; i < a.rows && k < a.columns; k += lines.lanes) {
            sum +=
                float_load(a.data, a.dtype, i * a.row_stride + k) * float_load(b.data, b.dtype, i * b.row_stride + k);
        }
        for (int step = 16; step > 0; step >>= 1) {
            sum += __shfl_xor_sync(0xffffffffu, sum, step);
        }
        if (lines.lane == 0) {
            to[i] = sum;
        }
    }
}

/* Whether packets of TILE_STEP can be moved: neighbours along `along`, lines `across` apart. */
BODY bool source_is_packed(struct tile_source source, int64_t along, int64_t across, int64_t length)
{
    return along == 1 && across % TILE_STEP == 0 && length % TILE_STEP == 0 &&
           (uintptr_t)source.data % (uintptr_t)(TILE_STEP * element_bytes(source.dtype)) == 0;
}

/* Neighbouring lanes take neighbouring packets of a line. */
template <enum dtype dtype, int unit>
BODY void tile_load_lines(struct team team, struct tile to, struct tile_source from)
{
    int across = to.columns / unit;
    for (int item = team.lane; item < to.rows * across; item += team.lanes) {
        int row = item / across, column = item % across * unit;
        float packet[unit] = {};
        if (row < from.rows && column < from.columns) {
            packet_load<dtype, unit>(from.data, row * from.row_stride + column * from.column_stride, packet);
        }
#pragma unroll
        for (int n = 0; n < unit; n++) {
            to.at[row * to.columns + column + n] = packet[n];
        }
    }
}

/* From memory in which the lines of the tile are columns: two lanes take neighbouring packets of one of those, so that
 * what memory gives at once is used, and their neighbours the next ones, so that they write side by side. */
template <enum dtype dtype, int unit>
BODY void tile_load_turned(struct team team, struct tile to, struct tile_source from)
{
    int pairs = (to.rows / unit + 1) / 2;
    for (int item = team.lane; item < 2 * pairs * to.columns; item += team.lanes) {
        int column = item / 2 % to.columns, row = (item / 2 / to.columns * 2 + item % 2) * unit;
        float packet[unit] = {};
        if (row < from.rows && column < from.columns) {
            packet_load<dtype, unit>(from.data, row * from.row_stride + column * from.column_stride, packet);
        }
#pragma unroll
        for (int n = 0; n < unit; n++) {
            if (row + n < to.rows) {
                to.at[(row + n) * to.columns + column] = packet[n];
            }
        }
    }
}

/* Fills the tile; zero beyond the source. */
BODY void tile_load(struct team team, struct tile to, struct tile_source from)
{
    bool has_lines = to.columns % TILE_STEP == 0, has_turned = to.rows % TILE_STEP == 0; /* that packets fill */
    if (has_lines && source_is_packed(from, from.column_stride, from.row_stride, from.columns)) {
        FLOATING_SWITCH(from.dtype, TILE_STEP, { tile_load_lines<dtype, TILE_STEP>(team, to, from); });
    } else if (has_turned && source_is_packed(from, from.row_stride, from.column_stride, from.rows)) {
        FLOATING_SWITCH(from.dtype, TILE_STEP, { tile_load_turned<dtype, TILE_STEP>(team, to, from); });
    } else if (from.row_stride == 1) {
        FLOATING_SWITCH(from.dtype, 1, { tile_load_turned<dtype, 1>(team, to, from); });
    } else {
        FLOATING_SWITCH(from.dtype, 1, { tile_load_lines<dtype, 1>(team, to, from); });
    }
}

/* Rows and columns of the tile that are inside the destination go there. */
template <enum dtype dtype, int unit>
BODY void tile_store_lines(struct team team, struct tile from, struct tile_source to)
{
    int across = from.columns / unit;
    for (int item = team.lane; item < from.rows * across; item += team.lanes) {
        int row = item / across, column = item % across * unit;
        if (row < to.rows && column < to.columns) {
            packet_store<dtype, unit>((void *)to.data, row * to.row_stride + column * to.column_stride,
                                      from.at + row * from.columns + column);
        }
    }
}

BODY void tile_store(struct team team, struct tile from, struct tile_source to)
{
    if (source_is_packed(to, to.column_stride, to.row_stride, to.columns)) {
        FLOATING_SWITCH(to.dtype, TILE_STEP, { tile_store_lines<dtype, TILE_STEP>(team, from, to); });
    } else {
        FLOATING_SWITCH(to.dtype, 1, { tile_store_lines<dtype, 1>(team, from, to); });
    }
}

/* `step` floats in shared memory that lie side by side, on a boundary of their own bytes. */
template <int step> struct alignas(step * 4) tile_part {
    float at[step];
};

template <int step> BODY struct tile_part<step> tile_part_of(const float *at) {
    return *(const struct tile_part<step> *)(const void *)at;
}

/* sum += a b for `step` rows of a from x on and `step` columns of b from y on. */
template <int step>
BODY void tile_square(float (&sum)[step][step], const struct tile_factor &a, const float *x, const float *y, int b_step)
{
    if (a.column_step == 1) {
        for (int k = 0; k < a.depth; k += step) {
            struct tile_part<step> left[step];
#pragma unroll
            for (int n = 0; n < step; n++) {
                left[n] = tile_part_of<step>(x + n * a.row_step + k);
            }
#pragma unroll
            for (int d = 0; d < step; d++) {
                struct tile_part<step> right = tile_part_of<step>(y + (k + d) * b_step);
#pragma unroll
                for (int n = 0; n < step * step; n++) {
                    sum[n / step][n % step] += left[n / step].at[d] * right.at[n % step];
                }
            }
        }
        return;
    }
#pragma unroll 4
    for (int k = 0; k < a.depth; k++) {
        struct tile_part<step> left = tile_part_of<step>(x + k * a.column_step),
                               right = tile_part_of<step>(y + k * b_step);
#pragma unroll
        for (int n = 0; n < step * step; n++) {
            sum[n / step][n % step] += left.at[n / step] * right.at[n % step];
        }
    }
}

/* out += a b; a lane takes `step` rows by as many columns at a time. A factor that is no tile's transpose has columns
 * side by side; of the other, rows. */
template <int step>
BODY void tile_squares_add(struct team team, struct tile out, const struct tile_factor &a, struct tile b)
{
    int across = out.columns / step;
    for (int item = team.lane; item < out.rows / step * across; item += team.lanes) {
        int i = item / across * step, j = item % across * step;
        float sum[step][step] = {};
        tile_square<step>(sum, a, a.at + i * a.row_step, b.at + j, b.columns);
#pragma unroll
        for (int n = 0; n < step; n++) {
            struct tile_part<step> *to = (struct tile_part<step> *)(void *)(out.at + (i + n) * out.columns + j);
            struct tile_part<step> held = *to;
#pragma unroll
            for (int m = 0; m < step; m++) {
                held.at[m] += sum[n][m];
            }
            *to = held;
        }
    }
}

BODY void tile_multiply_add(struct team team, struct tile out, struct tile_factor a, struct tile b)
{
    if (out.rows % TILE_STEP == 0 && out.columns % TILE_STEP == 0 && a.depth % TILE_STEP == 0) {
        tile_squares_add<TILE_STEP>(team, out, a, b);
    } else {
        tile_squares_add<2>(team, out, a, b);
    }
}

#else

BODY struct team_lines team_lines_of(struct team team)
{
    (void)team;
    struct team_lines lines = {0, 1, 0, 1};
    return lines;
}

/* Rows of a tile are taken together in groups that fill a register, or some. */
enum { TILE_STEP = 16, TEAM_GROUP = TILE_STEP };

BODY struct team_share team_share_of(struct team team, int rows)
{
    (void)team;
    (void)rows;
    struct team_share share = {0, 1, 0, 1};
    return share;
}

BODY float share_maximum(struct team_share share, float value)
{
    (void)share;
    return value;
}

BODY float share_sum(struct team_share share, float value)
{
    (void)share;
    return value;
}

BODY float row_product(struct tile_source a, struct tile_source b, int64_t i)
{
    enum { CHUNK = 128 };
    float x[CHUNK], y[CHUNK];
    float sum = 0.0f;
    for (int64_t k = 0; k < a.columns; k += CHUNK) {
        int64_t length = a.columns - k < CHUNK ? a.columns - k : CHUNK;
        span_load(x, element_address(a.data, a.dtype, i * a.row_stride + k), a.dtype, 1, length);
        span_load(y, element_address(b.data, b.dtype, i * b.row_stride + k), b.dtype, 1, length);
        BODY_SIMD(reduction(+ : sum))
        for (int64_t n = 0; n < length; n++) {
            sum += x[n] * y[n];
        }
    }
    return sum;
}

BODY void rows_multiply(struct team team, struct tile_source a, struct tile_source b, int rows, float *to)
{
    (void)team;
    for (int i = 0; i < rows; i++) {
        to[i] = i < a.rows ? row_product(a, b, i) : 0.0f;
    }
}

/* From a source whose columns lie side by side: read as it lies, TEAM_GROUP columns at a time. */
BODY void tile_load_transposed(struct tile to, struct tile_source from)
{
    enum { CHUNK = 64 };
    float scratch[TEAM_GROUP][CHUNK];
    for (int row = 0; row < to.rows; row += CHUNK) {
        int height = to.rows - row < CHUNK ? to.rows - row : CHUNK;
        int64_t filled = from.rows - row < height ? from.rows - row : height;
        for (int column = 0; column < to.columns; column += TEAM_GROUP) {
            for (int k = 0; k < TEAM_GROUP; k++) {
                int64_t length = column + k < from.columns && filled > 0 ? filled : 0;
                int64_t index = row + (column + k) * from.column_stride;
                if (length > 0) {
                    span_load(scratch[k], element_address(from.data, from.dtype, index), from.dtype, 1, length);
                }
                for (int64_t n = length; n < height; n++) {
                    scratch[k][n] = 0.0f;
                }
            }
            for (int n = 0; n < height; n++) {
                float *line = to.at + (row + n) * to.columns + column;
                for (int k = 0; k < TEAM_GROUP; k++) {
                    line[k] = scratch[k][n];
                }
            }
        }
    }
}

BODY void tile_load(struct team team, struct tile to, struct tile_source from)
{
    (void)team;
    int64_t columns = from.columns < to.columns ? from.columns : to.columns;
    if (from.row_stride == 1 && from.column_stride != 1) {
        tile_load_transposed(to, from);
        return;
    }
    for (int row = 0; row < to.rows; row++) {
        float *line = to.at + row * to.columns;
        int64_t filled = row < from.rows ? columns : 0;
        const void *source = element_address(from.data, from.dtype, row * from.row_stride);
        if (filled > 0) {
            span_load(line, source, from.dtype, from.column_stride, filled);
        }
        for (int64_t k = filled; k < to.columns; k++) {
            line[k] = 0.0f;
        }
    }
}

BODY void tile_store(struct team team, struct tile from, struct tile_source to)
{
    (void)team;
    int64_t columns = to.columns < from.columns ? to.columns : from.columns;
    for (int row = 0; row < from.rows && row < to.rows; row++) {
        char *target = (char *)(uintptr_t)element_address(to.data, to.dtype, row * to.row_stride);
        span_store(from.at + row * from.columns, target, to.dtype, to.column_stride, columns);
    }
}

/* out += a b, with the widest registers that the processor has (host_tile.c). */
void host_tile_multiply_add(struct tile out, struct tile_factor a, struct tile b);

BODY void tile_multiply_add(struct team team, struct tile out, struct tile_factor a, struct tile b)
{
    (void)team;
    host_tile_multiply_add(out, a, b);
}

#endif

/* Row i of the tile times factor[i]. */
BODY void tile_scale_rows(struct team team, struct tile tile, const float *factor)
{
    struct team_lines lines = team_lines_of(team);
    for (int i = lines.first; i < tile.rows; i += lines.step) {
        float *line = tile.at + i * tile.columns;
        float scale = factor[i];
        BODY_SIMD()
        for (int k = lines.lane; k < tile.columns; k += lines.lanes) {
            line[k] *= scale;
        }
    }
}

#endif
