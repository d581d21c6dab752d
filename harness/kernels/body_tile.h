/* Tiles: small float32 matrices in the fastest memory there is (the first two caches of a core, the shared memory of a
 * CUDA block), and the few things that attention does with them. Host and CUDA need different code here to be fast;
 * what attention computes from the tiles is written once, in body_attention.h.
 *
 * Rows lie side by side. The number of columns is a multiple of TILE_STEP, on the host that of rows too. */
#ifndef ASSAY_KERNELS_BODY_TILE_H
#define ASSAY_KERNELS_BODY_TILE_H

#include "harness/kernels/body.h"

#ifndef __CUDACC__
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
enum { TILE_STEP = 2, TEAM_GROUP = 1 };

BODY int team_group_first(struct team team)
{
    return team.lane;
}

BODY int team_group_step(struct team team)
{
    return team.lanes;
}

/* The sum of the products of row i of both. */
BODY float row_product(struct tile_source a, struct tile_source b, int64_t i, int64_t count)
{
    float sum = 0.0f;
    for (int64_t k = 0; k < count; k++) {
        sum += float_load(a.data, a.dtype, i * a.row_stride + k) * float_load(b.data, b.dtype, i * b.row_stride + k);
    }
    return sum;
}

/* Fills the tile; zero beyond the source. */
BODY void tile_load(struct team team, struct tile to, struct tile_source from)
{
    for (int k = team.lane; k < to.rows * to.columns; k += team.lanes) {
        int64_t row = k / to.columns;
        int64_t column = k % to.columns;
        bool inside = row < from.rows && column < from.columns;
        int64_t index = row * from.row_stride + column * from.column_stride;
        to.at[k] = inside ? float_load(from.data, from.dtype, index) : 0.0f;
    }
}

/* Rows and columns of the tile that are inside the destination go there. */
BODY void tile_store(struct team team, struct tile from, struct tile_source to)
{
    for (int k = team.lane; k < from.rows * from.columns; k += team.lanes) {
        int64_t row = k / from.columns;
        int64_t column = k % from.columns;
        if (row < to.rows && column < to.columns) {
            float_store((void *)to.data, to.dtype, row * to.row_stride + column * to.column_stride, from.at[k]);
        }
    }
}

/* out += a b; a lane takes two rows by two columns at a time. */
BODY void tile_multiply_add(struct team team, struct tile out, struct tile_factor a, struct tile b)
{
    int across = out.columns / 2;
    for (int item = team.lane; item < out.rows / 2 * across; item += team.lanes) {
        int i = item / across * 2;
        int j = item % across * 2;
        const float *a0 = a.at + i * a.row_step;
        const float *a1 = a0 + a.row_step;
        const float *b0 = b.at + j;
        float sum00 = 0.0f, sum01 = 0.0f, sum10 = 0.0f, sum11 = 0.0f;
        for (int k = 0; k < a.depth; k++) {
            float x0 = a0[k * a.column_step], x1 = a1[k * a.column_step];
            float y0 = b0[k * b.columns], y1 = b0[k * b.columns + 1];
            sum00 += x0 * y0;
            sum01 += x0 * y1;
            sum10 += x1 * y0;
            sum11 += x1 * y1;
        }
        float *to = out.at + i * out.columns + j;
        to[0] += sum00;
        to[1] += sum01;
        to[out.columns] += sum10;
        to[out.columns + 1] += sum11;
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

BODY int team_group_first(struct team team)
{
    (void)team;
    return 0;
}

BODY int team_group_step(struct team team)
{
    (void)team;
    return TEAM_GROUP;
}

BODY float row_product(struct tile_source a, struct tile_source b, int64_t i, int64_t count)
{
    enum { CHUNK = 128 };
    float x[CHUNK], y[CHUNK];
    float sum = 0.0f;
    for (int64_t k = 0; k < count; k += CHUNK) {
        int64_t length = count - k < CHUNK ? count - k : CHUNK;
        span_load(x, element_address(a.data, a.dtype, i * a.row_stride + k), a.dtype, 1, length);
        span_load(y, element_address(b.data, b.dtype, i * b.row_stride + k), b.dtype, 1, length);
        BODY_SIMD(reduction(+ : sum))
        for (int64_t n = 0; n < length; n++) {
            sum += x[n] * y[n];
        }
    }
    return sum;
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
