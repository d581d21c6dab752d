/* Attention on the host: blocks of rows or columns of heads dealt to threads, each with its own tiles. If a thread
 * can hold grad q of all heads that share one of k and v, one sweep over the scores gives all three gradients. */
#include "harness/kernels/body_attention_backward.h"
#include "harness/kernels/host_operations.h"

/* GROUP_FLOATS_MAXIMUM: of grad q of a group, 1 MiB for each thread. Below GROUPS_MINIMUM threads would have no
 * work. */
enum { TILE_SIZE = 64, GROUP_FLOATS_MAXIMUM = 1 << 18, GROUPS_MINIMUM = 8 };

static int tile_size_for(int64_t length)
{
    int64_t rounded = (length + TILE_STEP - 1) / TILE_STEP * TILE_STEP;
    return rounded < TILE_STEP ? TILE_STEP : rounded < TILE_SIZE ? (int)rounded : TILE_SIZE;
}

/* Rows of all blocks together: a whole number of tiles. */
static int64_t padded_rows(const struct attention *attention)
{
    return (attention->rows + attention->tile_rows - 1) / attention->tile_rows * attention->tile_rows;
}

static int64_t group_rows(const struct attention *attention)
{
    return attention->heads / attention->groups * padded_rows(attention);
}

/* Of the shape alone, so that the outcome does not depend on the threads. */
static bool backward_is_by_group(const struct attention *attention)
{
    return attention->batches * attention->groups >= GROUPS_MINIMUM &&
           group_rows(attention) <= GROUP_FLOATS_MAXIMUM / attention->tile_width;
}

/* Floats of a thread that takes whole groups, beyond the tiles: grad q, lse and delta, and k as it lies. */
static int64_t group_floats(const struct attention *attention)
{
    return group_rows(attention) * (attention->tile_width + 2) +
           (int64_t)attention->tile_columns * attention->tile_width;
}

static const char *attention_open(struct attention *attention, const struct operation_call *call,
                                  struct host_scratch *scratch)
{
    attention_read(attention, call);
    if (attention_is_forward(call->opcode)) {
        attention_pack(attention);
    }
    if (attention_widest(attention) > 65536) {
        return "a head of attention is wider than 65536";
    }
    attention->tile_rows = tile_size_for(attention->rows);
    attention->tile_columns = tile_size_for(attention->columns);
    attention->tile_width = (int)((attention_widest(attention) + TILE_STEP - 1) / TILE_STEP) * TILE_STEP;
    bool masked = attention->mask.data != NULL;
    int rows = attention->tile_rows, columns = attention->tile_columns, width = attention->tile_width;
    int64_t floats = attention_is_forward(call->opcode) ? forward_floats(rows, columns, width, masked)
                                                        : backward_floats(rows, columns, width, masked);
    if (call->opcode == OPCODE_ATTENTION_BACKWARD && backward_is_by_group(attention)) {
        floats += group_floats(attention);
    }
    return host_scratch_open(scratch, floats) ? NULL : host_no_memory;
}

HOST_CLONES
static void forward_loop(const struct attention *attention, struct attention_place place, float *scratch)
{
    attention_forward(team_of_one, attention, place, scratch);
}

HOST_CLONES
static void backward_rows_loop(const struct attention *attention, struct attention_place place, float *scratch)
{
    attention_backward_rows(team_of_one, attention, place, scratch);
}

HOST_CLONES
static void backward_columns_loop(const struct attention *attention, struct attention_place place, float *scratch)
{
    attention_backward_columns(team_of_one, attention, place.batch, place.head, place.column, scratch);
}

/* What is kept of the rows of a group while its columns go by, block after block. */
struct group_rows {
    struct tile grad_q; /* all rows of all heads by width */
    float *lse, *delta; /* of all rows */
    struct tile k;
};

static struct group_rows group_rows_of(const struct attention *attention, float *scratch)
{
    int64_t rows = group_rows(attention);
    struct group_rows group = {.grad_q = {scratch, (int)rows, attention->tile_width}};
    group.lse = scratch + rows * attention->tile_width;
    group.delta = group.lse + rows;
    group.k = (struct tile){group.delta + rows, attention->tile_columns, attention->tile_width};
    return group;
}

/* The part of a group that is one block of rows of its head number `index`; the tiles look at its lse and delta. */
static struct tile group_block(const struct attention *attention, const struct group_rows *group, int64_t index,
                               int64_t row, struct backward_tiles *tiles)
{
    int64_t first = index * padded_rows(attention) + row;
    tiles->lse = group->lse + first;
    tiles->delta = group->delta + first;
    return (struct tile){group->grad_q.at + first * attention->tile_width, attention->tile_rows, attention->tile_width};
}

/* Over the blocks of rows of all heads of a group. */
#define GROUP_FOR_EACH_BLOCK(attention, place, index)                                                                  \
    for (int64_t index = 0; index < (attention)->heads / (attention)->groups; index++)                                 \
        for ((place).row = 0; (place).row < (attention)->rows; (place).row += (attention)->tile_rows)

/* All gradients of one head of k and v and of the heads of q that read it. */
HOST_CLONES
static void backward_group_loop(const struct attention *attention, int64_t batch, int64_t group_index, float *scratch)
{
    bool masked = attention->mask.data != NULL;
    int64_t first_head = group_index * (attention->heads / attention->groups);
    struct backward_tiles tiles = backward_tiles_of(attention, scratch, false);
    struct group_rows group =
        group_rows_of(attention, scratch + backward_floats(attention->tile_rows, attention->tile_columns,
                                                           attention->tile_width, masked));
    struct random_key key = random_key_of(attention->seed);
    struct attention_place place = {.batch = batch};
    tile_clear(team_of_one, group.grad_q);
    GROUP_FOR_EACH_BLOCK(attention, place, index)
    {
        place.head = first_head + index;
        group_block(attention, &group, index, place.row, &tiles);
        backward_rows(team_of_one, attention, place, tiles);
    }
    for (place.column = 0; place.column < attention->columns; place.column += attention->tile_columns) {
        struct attention_place columns = {batch, group_index, 0, place.column};
        backward_columns_begin(team_of_one, attention, columns, tiles);
        tile_load(team_of_one, group.k, head_rows(&attention->k, batch, group_index, place.column));
        GROUP_FOR_EACH_BLOCK(attention, place, index)
        {
            if (row_block_meets(attention, place.row, place.column)) {
                place.head = first_head + index;
                struct tile grad_q = group_block(attention, &group, index, place.row, &tiles);
                backward_row_load(team_of_one, attention, place, tiles);
                backward_row_add(team_of_one, attention, place, key, tiles);
                tile_multiply_add(team_of_one, grad_q, tile_factor_of(tiles.slopes), group.k);
            }
        }
        backward_columns_end(team_of_one, attention, columns, tiles);
    }
    GROUP_FOR_EACH_BLOCK(attention, place, index)
    {
        struct tile grad_q = group_block(attention, &group, index, place.row, &tiles);
        tile_store(team_of_one, grad_q, head_rows(&attention->grad_q, batch, first_head + index, place.row));
    }
}

/* Work worth more than one thread. */
static bool attention_is_large(const struct attention *attention)
{
    int64_t scores = attention->batches * attention->heads * attention->rows * attention->columns;
    return scores * attention_widest(attention) >= PARALLEL_ELEMENTS;
}

/* +infinity if lse is longer than the rows. */
static void lse_pad(const struct attention *attention)
{
    int64_t length = attention->lse.size[2];
    float *lse = attention->lse.data;
    for (int64_t head = 0; head < attention->lse.size[0] * attention->lse.size[1]; head++) {
        for (int64_t row = attention->queries; row < length; row++) {
            lse[head * length + row] = INFINITY;
        }
    }
}

const char *host_attention(const struct operation_call *call)
{
    struct attention attention;
    struct host_scratch scratch;
    const char *wrong = attention_open(&attention, call, &scratch);
    if (wrong != NULL) {
        return wrong;
    }
    int64_t count = row_tile_count(&attention);
    HOST_PARALLEL_FOR_UNEVEN(attention_is_large(&attention))
    for (int64_t item = 0; item < count; item++) {
        struct attention_place place = row_tile_place(&attention, item);
        forward_loop(&attention, place, host_scratch_part(&scratch));
    }
    lse_pad(&attention);
    host_scratch_close(&scratch);
    return NULL;
}

const char *host_attention_backward(const struct operation_call *call)
{
    struct attention attention;
    struct host_scratch scratch;
    const char *wrong = attention_open(&attention, call, &scratch);
    if (wrong != NULL) {
        return wrong;
    }
    if (backward_is_by_group(&attention)) {
        HOST_PARALLEL_FOR_UNEVEN(attention_is_large(&attention))
        for (int64_t item = 0; item < attention.batches * attention.groups; item++) {
            backward_group_loop(&attention, item / attention.groups, item % attention.groups,
                                host_scratch_part(&scratch));
        }
        host_scratch_close(&scratch);
        return NULL;
    }
    int64_t row_tiles = row_tile_count(&attention), column_tiles = column_tile_count(&attention);
    HOST_PARALLEL_FOR_UNEVEN(attention_is_large(&attention))
    for (int64_t item = 0; item < row_tiles; item++) {
        struct attention_place place = row_tile_place(&attention, item);
        backward_rows_loop(&attention, place, host_scratch_part(&scratch));
    }
    HOST_PARALLEL_FOR_UNEVEN(attention_is_large(&attention))
    for (int64_t item = 0; item < column_tiles; item++) {
        struct attention_place place = column_tile_place(&attention, item);
        backward_columns_loop(&attention, place, host_scratch_part(&scratch));
    }
    host_scratch_close(&scratch);
    return NULL;
}
