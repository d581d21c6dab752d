/* Attention on the host: blocks of rows or columns of heads dealt to threads, each with its own tiles. */
#include "harness/kernels/body_attention_backward.h"
#include "harness/kernels/host_operations.h"

enum { TILE_SIZE = 64 };

static const char no_memory[] = "the host has no memory for the tiles of attention";

static int tile_size_for(int64_t length)
{
    int64_t rounded = (length + TILE_STEP - 1) / TILE_STEP * TILE_STEP;
    return rounded < TILE_STEP ? TILE_STEP : rounded < TILE_SIZE ? (int)rounded : TILE_SIZE;
}

static const char *attention_open(struct attention *attention, const struct operation_call *call,
                                  struct host_scratch *scratch)
{
    attention_read(attention, call);
    if (attention->width > 65536) {
        return "a head of attention is wider than 65536";
    }
    attention->tile_rows = tile_size_for(attention->rows);
    attention->tile_columns = tile_size_for(attention->columns);
    attention->tile_width = (int)((attention->width + TILE_STEP - 1) / TILE_STEP) * TILE_STEP;
    bool masked = attention->mask.data != NULL;
    int rows = attention->tile_rows, columns = attention->tile_columns, width = attention->tile_width;
    int64_t floats = call->opcode == OPCODE_ATTENTION ? forward_floats(rows, columns, width, masked)
                                                      : backward_floats(rows, columns, width, masked);
    return host_scratch_open(scratch, floats) ? NULL : no_memory;
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

/* Work worth more than one thread. */
static bool attention_is_large(const struct attention *attention)
{
    int64_t scores = attention->batches * attention->heads * attention->rows * attention->columns;
    return scores * attention->width >= PARALLEL_ELEMENTS;
}

/* +infinity where lse is longer than the rows. */
static void lse_pad(const struct attention *attention)
{
    int64_t length = attention->lse.size[2];
    float *lse = attention->lse.data;
    for (int64_t head = 0; head < attention->batches * attention->heads; head++) {
        for (int64_t row = attention->rows; row < length; row++) {
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
