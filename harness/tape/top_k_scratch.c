/* Top-k scratch: the rule behind top_k_scratch.h. PyTorch: aten/src/ATen/native/cuda/TensorTopK.cu of 2.11, namespace
 * mbtopk. Not here: the sort of what was found, which needs nothing up to 4,096 elements (should_use_small_sort). */
#include "harness/tape/top_k_scratch.h"

#include "harness/tape/scan_scratch.h"

enum {
    THREADS = 256,
    BLOCKS_OF_MULTIPROCESSOR = 6, /* 65,536 registers, 40 for each thread */
    ITEMS_LEAST = 4,              /* for each thread */
    ITEMS_MOST = 64,
    DIGITS = 256,
    COUNT_BYTES = 2,
    INTEGER_BYTES = 4
};

/* should_use_multiblock */
static bool is_divided(int64_t rows, int64_t columns)
{
    static const struct {
        int64_t rows, columns; /* up to so many rows: from so many elements on */
    } limits[] = {{20, 20000}, {40, 10000}, {80, 8000}, {199, 5000}, {799, 3000}, {4000, 800}, {INT64_MAX, 400}};
    int at = 0;
    while (rows > limits[at].rows) {
        at++;
    }
    return rows > 0 && columns >= limits[at].columns;
}

static int64_t divided_up(int64_t a, int64_t b)
{
    return a / b + (a % b != 0);
}

struct top_k_scratch top_k_scratch_of(const struct target *target, int64_t rows, int64_t columns, int64_t element_bytes)
{
    struct top_k_scratch scratch = {.scan_bytes = 0};
    if (target->multiprocessor_count == 0 || !is_divided(rows, columns)) {
        return scratch;
    }
    int64_t threads = (int64_t)target->multiprocessor_count * BLOCKS_OF_MULTIPROCESSOR * THREADS;
    int64_t items = divided_up(rows * columns, threads);
    items = items < ITEMS_LEAST ? ITEMS_LEAST : items > ITEMS_MOST ? ITEMS_MOST : items;
    int64_t blocks = rows * divided_up(columns, items * THREADS);
    return (struct top_k_scratch){.bytes = {rows * element_bytes, 2 * rows * INTEGER_BYTES, 2 * rows * INTEGER_BYTES,
                                            blocks * DIGITS * COUNT_BYTES, rows * DIGITS * INTEGER_BYTES,
                                            blocks * INTEGER_BYTES, blocks * INTEGER_BYTES},
                                  .scan_bytes = scan_scratch_bytes(blocks)};
}
