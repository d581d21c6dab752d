/* Flash splits: among how many blocks PyTorch's flash attention divides the columns of a forward pass, and so what it
 * takes for itself while the kernel runs.
 *
 * Where items, heads and tiles of 64 rows are too few for the multiprocessors, several blocks read a part of the
 * columns each, and a second kernel joins what they found: for each part the log-sum-exp of every row and its output,
 * in float32 (set_params_splitkv and num_splits_heuristic of flash_attn/flash_api.cpp, PyTorch 2.11). Dropout is never
 * divided. A single row of heads that share keys counts as so many rows as share them.
 *
 * Worked, GPT-2, batch 1, 1,024 rows and columns, 12 heads of width 64: 12 * 16 tiles, 4 blocks of 256 columns.
 *   132 multiprocessors: 192 < 0.8 * 264; 1 part fills 192 / 264 = 0.73 of a wave, 2 parts as much, 3 are as long as 2,
 *   4 fill 768 / 264 of 3 waves = 0.97. 4 parts, 4 * 12 * 1,024 * 4 = 196,608 bytes of log-sum-exps and 12,582,912 of
 *   outputs.
 *   108 multiprocessors: 192 >= 0.8 * 216. One part, nothing is taken. */
#ifndef ASSAY_TAPE_FLASH_SPLITS_H
#define ASSAY_TAPE_FLASH_SPLITS_H

#include <stdbool.h>
#include <stdint.h>

/* A call without dropout, as the kernel is asked: sizes of at least 1. */
struct flash_call {
    int64_t batch, heads, groups; /* heads of queries, and of keys */
    int64_t rows, columns, width;
};

struct flash_splits {
    int64_t parts;         /* 1: nothing is taken */
    int64_t heads, rows;   /* as the kernel counts them */
    int64_t width;         /* of a part of the output */
    int64_t columns_alike; /* up to so many columns it is as many parts, at least */
};

/* multiprocessor_count: of the device, and 0 where it is not known: one part. once: a release that counts each of
 * them once, not twice. */
struct flash_splits flash_splits_of(int multiprocessor_count, bool once, const struct flash_call *call);

#endif
