/* Flash splits: the rule behind flash_splits.h. It counts in floats where PyTorch does, which decides who comes out
 * first of two that are nearly as good. Not here: who chooses flash attention (attention_choice.h). */
#include "harness/tape/flash_splits.h"

#include <math.h>

enum {
    PARTS_MOST = 128,
    TILE_ROWS = 64,
    BLOCKS_AHEAD = 64 /* for columns_alike: more blocks are not looked at */
};

static int64_t divided_up(int64_t a, int64_t b)
{
    return a / b + (a % b != 0);
}

/* The columns that a block reads at a time: run_mha_fwd_splitkv_dispatch. */
static int64_t block_columns(int64_t width)
{
    if (width <= 64) {
        return 256;
    }
    return width <= 128 ? 128 : 64;
}

/* A part more that leaves the longest one as long as it was. */
static bool is_idle(int64_t parts, int64_t blocks)
{
    return parts > 1 && divided_up(blocks, parts) == divided_up(blocks, parts - 1);
}

/* How full the waves are. */
static float efficiency_of(int64_t tiles, int64_t parts, int64_t places)
{
    float waves = (float)(tiles * parts) / (float)places;
    return waves / ceilf(waves);
}

/* The fewest parts that come near the best. tiles: without parts; places: of blocks that run at a time. */
static int64_t parts_of(int64_t tiles, int64_t places, int64_t blocks)
{
    if ((float)tiles >= 0.8F * (float)places) {
        return 1;
    }
    int64_t most = blocks < PARTS_MOST ? blocks : PARTS_MOST;
    most = places < most ? places : most;
    float best = 0.0F;
    for (int64_t parts = 1; parts <= most; parts++) {
        float efficiency = is_idle(parts, blocks) ? 0.0F : efficiency_of(tiles, parts, places);
        best = efficiency > best ? efficiency : best;
    }
    int64_t parts = 1;
    while (parts < most && (is_idle(parts, blocks) || efficiency_of(tiles, parts, places) < 0.85 * best)) {
        parts++;
    }
    return parts;
}

struct flash_splits flash_splits_of(int multiprocessor_count, bool once, const struct flash_call *call)
{
    bool swaps = call->rows == 1 && call->heads > call->groups;
    struct flash_splits splits = {.parts = 1,
                                  .heads = swaps ? call->groups : call->heads,
                                  .rows = swaps ? call->heads / call->groups : call->rows,
                                  .columns_alike = INT64_MAX};
    int64_t step = call->width <= 128 ? 32 : 64;
    splits.width = divided_up(call->width, step) * step;
    int64_t places = multiprocessor_count * (once ? INT64_C(1) : INT64_C(2));
    int64_t tiles = call->batch * splits.heads * divided_up(splits.rows, TILE_ROWS);
    if (places == 0 || (float)tiles >= 0.8F * (float)places) {
        return splits;
    }
    int64_t columns = block_columns(call->width), blocks = divided_up(call->columns, columns);
    splits.parts = parts_of(tiles, places, blocks);
    int64_t last = blocks;
    while (last < blocks + BLOCKS_AHEAD && parts_of(tiles, places, last + 1) == splits.parts) {
        last++;
    }
    splits.columns_alike = last * columns;
    return splits;
}
