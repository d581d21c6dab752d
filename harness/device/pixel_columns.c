/* Pixel columns: gathering and scattering, row by row of the image. No products here. */
#include "harness/device/pixel_columns.h"

#include <string.h>

#include "harness/device/float_panel.h"

int64_t pixel_count(const struct pixel_window *window, const struct pixel_block *block)
{
    return block->image_count * block->row_count * window->columns;
}

/* The window columns [first, end) at which tap column `tap` lies inside an image of this width. */
static void tap_range(const struct pixel_window *window, int64_t tap, int64_t width, int64_t *first, int64_t *end)
{
    int64_t shift = window->padding - tap; /* image column = window column * stride - shift */
    int64_t low = shift > 0 ? (shift + window->stride - 1) / window->stride : 0;
    int64_t high = width + shift > 0 ? (width + shift - 1) / window->stride + 1 : 0;
    high = high < window->columns ? high : window->columns;
    *first = low < high ? low : high;
    *end = high;
}

static void image_row_take(const struct pixel_window *window, const char *row, int64_t tap, float *to)
{
    int64_t first = 0;
    int64_t end = 0;
    tap_range(window, tap, window->tensor->size[3], &first, &end);
    memset(to, 0, (size_t)first * sizeof *to);
    if (end > first) {
        int64_t column = first * window->stride - window->padding + tap;
        floats_load_spaced(to + first, row + column * dtype_bytes(window->tensor->dtype), window->tensor->dtype,
                           end - first, window->stride);
    }
    memset(to + end, 0, (size_t)(window->columns - end) * sizeof *to);
}

/* One row of the matrix: one channel, one tap. */
static void matrix_row_take(const struct pixel_window *window, const struct pixel_block *block, int64_t channel,
                            int64_t tap, float *to)
{
    const struct tensor *tensor = window->tensor;
    int64_t row_bytes = tensor->size[3] * dtype_bytes(tensor->dtype);
    int64_t tap_row = tap / window->kernel - window->padding;
    for (int64_t n = block->image; n < block->image + block->image_count; n++) {
        const char *plane = (const char *)tensor->data + (n * tensor->size[1] + channel) * tensor->size[2] * row_bytes;
        for (int64_t row = block->row; row < block->row + block->row_count; row++) {
            int64_t image_row = row * window->stride + tap_row;
            if (image_row >= 0 && image_row < tensor->size[2]) {
                image_row_take(window, plane + image_row * row_bytes, tap % window->kernel, to);
            } else {
                memset(to, 0, (size_t)window->columns * sizeof *to);
            }
            to += window->columns;
        }
    }
}

static bool window_is_pixel(const struct pixel_window *window)
{
    return window->kernel == 1 && window->stride == 1 && window->padding == 0;
}

const float *pixel_columns_take(const struct pixel_window *window, const struct pixel_block *block, int64_t channel,
                                int64_t channel_count, float *scratch, int *leading)
{
    const struct tensor *tensor = window->tensor;
    int64_t plane = tensor->size[2] * tensor->size[3];
    if (window_is_pixel(window) && tensor->dtype == DTYPE_FLOAT32 && block->image_count == 1) {
        *leading = (int)plane;
        return (const float *)tensor->data + (block->image * tensor->size[1] + channel) * plane +
               block->row * tensor->size[3];
    }
    int64_t taps = window->kernel * window->kernel;
    int64_t count = pixel_count(window, block);
    float *to = scratch;
    for (int64_t c = channel; c < channel + channel_count; c++) {
        for (int64_t tap = 0; tap < taps; tap++) {
            if (window_is_pixel(window)) { /* whole planes: one run for each image */
                for (int64_t n = 0; n < block->image_count; n++) {
                    int64_t first = ((block->image + n) * tensor->size[1] + c) * plane + block->row * tensor->size[3];
                    floats_load(to + n * (count / block->image_count),
                                (const char *)tensor->data + first * dtype_bytes(tensor->dtype), tensor->dtype,
                                count / block->image_count);
                }
            } else {
                matrix_row_take(window, block, c, tap, to);
            }
            to += count;
        }
    }
    *leading = (int)count;
    return scratch;
}

static void image_row_add(const struct pixel_window *window, const float *columns, int64_t tap, int64_t width,
                          float *row)
{
    int64_t first = 0;
    int64_t end = 0;
    tap_range(window, tap, width, &first, &end);
    float *to = row + first * window->stride - window->padding + tap;
    if (window->stride == 1) {
#pragma omp simd
        for (int64_t k = first; k < end; k++) {
            to[k - first] += columns[k];
        }
    } else {
        for (int64_t k = first; k < end; k++) {
            to[(k - first) * window->stride] += columns[k];
        }
    }
}

void pixel_columns_add(const struct pixel_window *window, const struct pixel_block *block, int64_t channel_count,
                       const float *columns, const struct image_part *part)
{
    int64_t taps = window->kernel * window->kernel;
    for (int64_t index = 0; index < channel_count * taps; index++) {
        int64_t tap = index % taps;
        int64_t tap_row = tap / window->kernel - window->padding - part->row;
        for (int64_t n = 0; n < block->image_count; n++) {
            float *plane = part->first + index / taps * part->channel_step + n * part->image_step;
            for (int64_t row = block->row; row < block->row + block->row_count; row++) {
                int64_t part_row = row * window->stride + tap_row;
                if (part_row >= 0 && part_row < part->row_count) {
                    image_row_add(window, columns, tap % window->kernel, part->width, plane + part_row * part->width);
                }
                columns += window->columns;
            }
        }
    }
}
