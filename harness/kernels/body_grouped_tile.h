/* Grouped products in tiles: which rows, columns and terms a tile has, found by each block for itself, because only the
 * device knows where groups end. CUDA only.
 *
 * A matrix for each group (out [n, m]): a group begins a tile of its own, so that a tile has one matrix. Group g has
 * the places from (rows before it) / T + g on, T rows to a tile. They suffice: from row f to e there are at most e / T
 * - f / T + 1 tiles. Some places stay empty. The rows behind all groups are one group more, of zeros.
 *
 * Worked: T = 64, groups that end at 10, 10 and 200. Places from 0 / 64 + 0 = 0, 10 / 64 + 1 = 1, 10 / 64 + 2 = 2 and
 * 200 / 64 + 3 = 6 on: the first has rows 0 to 9; the second none; 2, 3 and 4 begin at rows 10, 74 and 138; 5 is empty,
 * as it would begin at row 202.
 *
 * Sums over the rows of each group (out [groups, k, m]): every tile of every group, with as many terms as the group has
 * rows. */
#ifndef ASSAY_KERNELS_BODY_GROUPED_TILE_H
#define ASSAY_KERNELS_BODY_GROUPED_TILE_H

#include "harness/kernels/body_grouped.h"
#include "harness/kernels/launch_grid.h"
#include "harness/kernels/plan_grouped.h"

struct grouped_matmul {
    struct tensor a, b, out;
    const int32_t *ends;
    int64_t groups, rows; /* rows: n, of all groups */
    bool sums;
    int side;                            /* rows and columns of a tile, T */
    int64_t places, row_tiles, columns;  /* columns: of out */
    int64_t column_tiles, a_rows, terms; /* a_rows, terms: rows of out and terms of a sum where groups do not say */
};

/* Factors that lie from an element on, in steps along the tile and along the terms. */
struct grouped_factor {
    int64_t first, step, term_step;
};

struct grouped_tile {
    struct grouped_factor a, b;
    int64_t out; /* its first element; rows are the columns of out apart */
    int64_t terms;
    int rows, columns; /* that it has, at most the side; no rows: nothing is to be done */
};

static inline struct grouped_matmul grouped_matmul_of(const struct operation_call *call, int side)
{
    const struct tensor *t = call->tensors;
    struct grouped_matmul matmul = {t[0], t[1], t[3], (const int32_t *)t[2].data};
    matmul.groups = tensor_element_count(&t[2]);
    matmul.sums = t[1].rank == 2;
    matmul.side = side;
    matmul.rows = matmul.sums ? t[0].size[1] : t[0].size[0];
    matmul.a_rows = t[0].size[0];
    matmul.terms = t[0].size[1];
    matmul.columns = t[1].size[t[1].rank - 1];
    matmul.column_tiles = (matmul.columns + side - 1) / side;
    matmul.row_tiles = (matmul.a_rows + side - 1) / side;
    matmul.places = grouped_places(call, side);
    return matmul;
}

/* The first place of a group; that of group `groups` is the rows' behind all. */
BODY int64_t group_place(const struct grouped_matmul *matmul, int64_t group)
{
    return group_end(matmul->ends, group - 1, matmul->rows) / matmul->side + group;
}

BODY int64_t group_of_place(const struct grouped_matmul *matmul, int64_t place)
{
    int64_t low = 0, high = matmul->groups;
    while (low < high) {
        int64_t middle = (low + high + 1) / 2;
        if (group_place(matmul, middle) <= place) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low;
}

BODY int grouped_part(int64_t count, int side)
{
    return count < 0 ? 0 : count < side ? (int)count : side;
}

/* Of a matrix for each group. */
BODY void grouped_rows_tile(const struct grouped_matmul *matmul, int64_t place, int64_t column,
                            struct grouped_tile *tile)
{
    const struct tensor *a = &matmul->a, *b = &matmul->b;
    int64_t group = group_of_place(matmul, place);
    bool behind = group == matmul->groups;
    int64_t from = group_end(matmul->ends, group - 1, matmul->rows);
    int64_t end = behind ? matmul->rows : group_end(matmul->ends, group, matmul->rows);
    int64_t row = from + (place - group_place(matmul, group)) * matmul->side;
    tile->rows = grouped_part(end - row, matmul->side);
    tile->terms = behind ? 0 : matmul->terms;
    tile->a = grouped_factor{row * a->stride[0], a->stride[0], a->stride[1]};
    tile->b = grouped_factor{(behind ? 0 : group) * b->stride[0] + column * b->stride[2], b->stride[2], b->stride[1]};
    tile->out = row * matmul->columns + column;
}

/* Of sums over the rows of a group. */
BODY void grouped_sums_tile(const struct grouped_matmul *matmul, int64_t place, int64_t column,
                            struct grouped_tile *tile)
{
    const struct tensor *a = &matmul->a, *b = &matmul->b;
    int64_t group = place / matmul->row_tiles, row = place % matmul->row_tiles * matmul->side;
    struct group_rows range = group_rows_of(matmul->ends, group, matmul->rows);
    tile->rows = grouped_part(matmul->a_rows - row, matmul->side);
    tile->terms = range.end - range.first;
    tile->a = grouped_factor{row * a->stride[0] + range.first * a->stride[1], a->stride[0], a->stride[1]};
    tile->b = grouped_factor{range.first * b->stride[0] + column * b->stride[1], b->stride[1], b->stride[0]};
    tile->out = (group * matmul->a_rows + row) * matmul->columns + column;
}

/* Tile `item` of places * column_tiles: neighbours share the columns of b. */
BODY struct grouped_tile grouped_tile_at(const struct grouped_matmul *matmul, int64_t item)
{
    struct grouped_tile tile;
    int64_t column = item / matmul->places * matmul->side;
    if (matmul->sums) {
        grouped_sums_tile(matmul, item % matmul->places, column, &tile);
    } else {
        grouped_rows_tile(matmul, item % matmul->places, column, &tile);
    }
    tile.columns = grouped_part(matmul->columns - column, matmul->side);
    return tile;
}

/* The forms on tensor cores, launch_grouped_core.cu. */
bool grouped_matmul_fits_core(const struct operation_call *call);
const char *grouped_matmul_core(const struct operation_call *call, cudaStream_t stream);

#endif
