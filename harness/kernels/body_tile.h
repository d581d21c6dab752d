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

enum { TILE_STEP = 2 };

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

enum { TILE_STEP = 16 };

BODY void tile_load(struct team team, struct tile to, struct tile_source from)
{
    (void)team;
    int64_t columns = from.columns < to.columns ? from.columns : to.columns;
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

/* Eight floats: a register of AVX2. Wider ones would be taken apart in memory where the processor has not got them. The
 * memory need not be aligned. */
typedef float tile_vector __attribute__((vector_size(32), aligned(4)));

enum { TILE_BLOCK_ROWS = 4, TILE_VECTOR = 8 };

/* out[4][16] += a[4][depth] b[depth][16]; the eight sums stay in registers. */
BODY void tile_block(float *out, int out_step, struct tile_factor a, const float *b, int b_step)
{
    tile_vector left[TILE_BLOCK_ROWS] = {{0}}, right[TILE_BLOCK_ROWS] = {{0}};
    for (int k = 0; k < a.depth; k++) {
        tile_vector y = *(const tile_vector *)(const void *)(b + k * b_step);
        tile_vector z = *(const tile_vector *)(const void *)(b + k * b_step + TILE_VECTOR);
        const float *x = a.at + k * a.column_step;
        float x0 = x[0], x1 = x[a.row_step], x2 = x[2 * a.row_step], x3 = x[3 * a.row_step];
        left[0] += x0 * y;
        right[0] += x0 * z;
        left[1] += x1 * y;
        right[1] += x1 * z;
        left[2] += x2 * y;
        right[2] += x2 * z;
        left[3] += x3 * y;
        right[3] += x3 * z;
    }
    for (int i = 0; i < TILE_BLOCK_ROWS; i++) {
        tile_vector *to = (tile_vector *)(void *)(out + i * out_step);
        to[0] += left[i];
        to[1] += right[i];
    }
}

BODY void tile_multiply_add(struct team team, struct tile out, struct tile_factor a, struct tile b)
{
    (void)team;
    for (int j = 0; j < out.columns; j += TILE_STEP) {
        for (int i = 0; i < out.rows; i += TILE_BLOCK_ROWS) {
            struct tile_factor strip = {a.at + i * a.row_step, a.row_step, a.column_step, a.depth};
            tile_block(out.at + i * out.columns + j, out.columns, strip, b.at + j, b.columns);
        }
    }
}

#endif

#endif
