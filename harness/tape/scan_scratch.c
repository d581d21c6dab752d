/* The bytes of cub's scan. When it runs is its callers' business. */
#include "harness/tape/scan_scratch.h"

enum {
    TILE_ELEMENTS = 4928,
    TILE_STATE_BYTES = 16,
    TILES_BESIDE = 32,
    STEP_BYTES = 256, /* of each part of cub's temporary memory */
};

int64_t scan_scratch_bytes(int64_t count)
{
    int64_t tiles = (count + TILE_ELEMENTS - 1) / TILE_ELEMENTS;
    int64_t states = TILE_STATE_BYTES * (tiles + TILES_BESIDE);
    return (states + STEP_BYTES - 1) / STEP_BYTES * STEP_BYTES + STEP_BYTES + STEP_BYTES - 1;
}
