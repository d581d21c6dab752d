/* Products of tiles on the host: blocks of rows by columns whose sums stay in registers. What is multiplied is decided
 * in the bodies of attention. */
#include "harness/kernels/body_tile.h"

/* Eight floats are a register of AVX2, sixteen one of AVX-512. Wider ones than the processor has would be taken apart
 * in memory, so each width has its function. The memory need not be aligned. */
typedef float vector_of_8 __attribute__((vector_size(32), aligned(4)));

enum { NARROW_ROWS = 4, WIDE_ROWS = 8, WIDTH_OF_8 = 8, WIDTH_OF_16 = 16 };

/* out[4][16] += a[4][depth] b[depth][16] for all blocks of out. */
HOST_CLONES
static void multiply_add_by_8(struct tile out, struct tile_factor a, struct tile b)
{
    for (int j = 0; j < out.columns; j += 2 * WIDTH_OF_8) {
        for (int i = 0; i < out.rows; i += NARROW_ROWS) {
            vector_of_8 left[NARROW_ROWS] = {{0}}, right[NARROW_ROWS] = {{0}};
            for (int k = 0; k < a.depth; k++) {
                const float *line = b.at + k * b.columns + j;
                vector_of_8 y = *(const vector_of_8 *)(const void *)line;
                vector_of_8 z = *(const vector_of_8 *)(const void *)(line + WIDTH_OF_8);
                const float *x = a.at + i * a.row_step + k * a.column_step;
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
            for (int row = 0; row < NARROW_ROWS; row++) {
                vector_of_8 *to = (vector_of_8 *)(void *)(out.at + (i + row) * out.columns + j);
                to[0] += left[row];
                to[1] += right[row];
            }
        }
    }
}

#if defined(__x86_64__) && defined(__GNUC__)

typedef float vector_of_16 __attribute__((vector_size(64), aligned(4)));

/* out[8][32] += a[8][depth] b[depth][32], or half as many columns; `second` is a constant where it is called. */
__attribute__((always_inline, target("avx512f"))) static inline void
block_by_16(float *out, int out_step, struct tile_factor a, const float *b, int b_step, bool second)
{
    vector_of_16 left[WIDE_ROWS] = {{0}}, right[WIDE_ROWS] = {{0}};
    for (int k = 0; k < a.depth; k++) {
        const float *line = b + k * b_step;
        const float *x = a.at + k * a.column_step;
        vector_of_16 y = *(const vector_of_16 *)(const void *)line;
        vector_of_16 z = second ? *(const vector_of_16 *)(const void *)(line + WIDTH_OF_16) : y;
#define BLOCK_ROW(row)                                                                                                 \
    left[row] += x[row * a.row_step] * y;                                                                              \
    if (second) {                                                                                                      \
        right[row] += x[row * a.row_step] * z;                                                                         \
    }
        BLOCK_ROW(0)
        BLOCK_ROW(1)
        BLOCK_ROW(2)
        BLOCK_ROW(3)
        BLOCK_ROW(4)
        BLOCK_ROW(5)
        BLOCK_ROW(6)
        BLOCK_ROW(7)
#undef BLOCK_ROW
    }
    for (int row = 0; row < WIDE_ROWS; row++) {
        vector_of_16 *to = (vector_of_16 *)(void *)(out + row * out_step);
        to[0] += left[row];
        if (second) {
            to[1] += right[row];
        }
    }
}

__attribute__((target("avx512f"))) static void multiply_add_by_16(struct tile out, struct tile_factor a, struct tile b)
{
    for (int i = 0; i < out.rows; i += WIDE_ROWS) {
        struct tile_factor strip = {a.at + i * a.row_step, a.row_step, a.column_step, a.depth};
        float *to = out.at + i * out.columns;
        int j = 0;
        for (; j + 2 * WIDTH_OF_16 <= out.columns; j += 2 * WIDTH_OF_16) {
            block_by_16(to + j, out.columns, strip, b.at + j, b.columns, true);
        }
        if (j < out.columns) {
            block_by_16(to + j, out.columns, strip, b.at + j, b.columns, false);
        }
    }
}

void host_tile_multiply_add(struct tile out, struct tile_factor a, struct tile b)
{
    if (__builtin_cpu_supports("avx512f")) {
        multiply_add_by_16(out, a, b);
    } else {
        multiply_add_by_8(out, a, b);
    }
}

#else

void host_tile_multiply_add(struct tile out, struct tile_factor a, struct tile b)
{
    multiply_add_by_8(out, a, b);
}

#endif
