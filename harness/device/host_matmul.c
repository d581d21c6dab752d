/* MATMUL on the host: the product is cut into tiles, and tiles run in parallel, each as single-threaded OpenBLAS calls.
 * So many small products (attention heads) and one large product keep all cores busy in the same way. Elements of 16
 * bits are made float32 in panels of bounded size, summed in float32, and rounded once at the end. */
#include <limits.h>
#include <string.h>

#include "harness/base/size.h"
#include "harness/device/float_panel.h"
#include "harness/device/host_device.h"
#include "harness/device/product_plan.h"

enum { TILE_SIDE_DIRECT = 1024, TILE_SIDE_MINIMUM = 128, TILES_PER_THREAD = 4 };

/* The grid of tiles over one product and the batch. */
struct tile_grid {
    int64_t row_step, column_step;
    int64_t row_count, column_count; /* tiles, not elements */
    int64_t tile_count;              /* of the whole batch */
};

/* One tile: rows [row, row + rows) and columns [column, column + columns) of out. */
struct tile {
    const struct matmul_plan *plan;
    const char *a, *b; /* of this element of the batch */
    char *out;
    int64_t row, column;
    int rows, columns;
};

static int64_t count_up(int64_t size, int64_t step)
{
    return (size + step - 1) / step;
}

/* Tiles of nearly equal size, so that no core is left with a sliver while another has a full one. */
static int64_t step_even(int64_t size, int64_t step)
{
    int64_t even = count_up(size, count_up(size, step));
    return count_up(even, 16) * 16;
}

static bool plan_is_direct(const struct matmul_plan *plan)
{
    return plan->a.dtype == DTYPE_FLOAT32 && plan->b.dtype == DTYPE_FLOAT32 && plan->out.dtype == DTYPE_FLOAT32;
}

static struct tile_grid grid_make(const struct matmul_plan *plan, int thread_count)
{
    int64_t limit = plan_is_direct(plan) ? TILE_SIDE_DIRECT : PANEL_SIDE;
    int64_t batch = plan->batch[0] * plan->batch[1];
    int64_t row_limit = limit;
    int64_t column_limit = limit;
    struct tile_grid grid;
    for (;;) {
        grid.row_step = step_even(plan->m, row_limit);
        grid.column_step = step_even(plan->n, column_limit);
        grid.row_count = count_up(plan->m, grid.row_step);
        grid.column_count = count_up(plan->n, grid.column_step);
        grid.tile_count = batch * grid.row_count * grid.column_count;
        int64_t *larger = grid.row_step > grid.column_step ? &row_limit : &column_limit;
        int64_t step = grid.row_step > grid.column_step ? grid.row_step : grid.column_step;
        if (grid.tile_count >= (int64_t)thread_count * TILES_PER_THREAD || step < 2 * (int64_t)TILE_SIDE_MINIMUM) {
            return grid;
        }
        *larger = step / 2;
    }
}

static const char *element_at(const char *data, const struct product_matrix *matrix, int64_t row, int64_t column)
{
    int64_t offset = matrix->transposed ? column * matrix->leading + row : row * matrix->leading + column;
    return data + offset * dtype_bytes(matrix->dtype);
}

/* A panel of rows x columns as float32. Float32 is used where it lies; else it is converted into scratch, in the
 * orientation that it has in memory. */
static const float *panel_take(const char *data, const struct product_matrix *matrix, int64_t row, int rows,
                               int64_t column, int columns, float *scratch, int *leading)
{
    const char *first = element_at(data, matrix, row, column);
    if (matrix->dtype == DTYPE_FLOAT32) {
        *leading = (int)matrix->leading;
        return (const float *)(const void *)first;
    }
    int lines = matrix->transposed ? columns : rows;
    int length = matrix->transposed ? rows : columns;
    int64_t line_bytes = matrix->leading * dtype_bytes(matrix->dtype);
    for (int line = 0; line < lines; line++) {
        floats_load(scratch + (int64_t)line * length, first + line * line_bytes, matrix->dtype, length);
    }
    *leading = length > 0 ? length : 1;
    return scratch;
}

static void bias_add(const struct tile *tile, float *sums, int64_t leading)
{
    const struct matmul_plan *plan = tile->plan;
    float bias[TILE_SIDE_DIRECT];
    int64_t first = plan->bias_along_rows ? tile->row : tile->column;
    int count = plan->bias_along_rows ? tile->rows : tile->columns;
    floats_load(bias, (const char *)plan->bias + first * dtype_bytes(plan->bias_dtype), plan->bias_dtype, count);
    for (int row = 0; row < tile->rows; row++) {
        float *line = sums + row * leading;
        if (plan->bias_along_rows) {
            for (int column = 0; column < tile->columns; column++) {
                line[column] += bias[row];
            }
        } else {
            for (int column = 0; column < tile->columns; column++) {
                line[column] += bias[column];
            }
        }
    }
}

/* The scales of a host lie in memory that it can read. */
static float tile_alpha(const struct matmul_plan *plan)
{
    return plan->a_scale != NULL ? plan->alpha * *plan->a_scale * *plan->b_scale : plan->alpha;
}

/* sums = alpha a b + beta sums over [k, k + count) of the inner dimension. */
static void panel_multiply(const struct host_device *host, const struct tile *tile, struct host_panels *scratch,
                           int64_t k, int count, float beta, float *sums, int sums_leading)
{
    const struct matmul_plan *plan = tile->plan;
    struct sgemm product = {.a_transposed = plan->a.transposed,
                            .b_transposed = plan->b.transposed,
                            .m = tile->rows,
                            .n = tile->columns,
                            .k = count,
                            .alpha = tile_alpha(plan),
                            .beta = beta,
                            .c = sums,
                            .ldc = sums_leading};
    product.a = panel_take(tile->a, &plan->a, tile->row, tile->rows, k, count, scratch->a, &product.lda);
    product.b = panel_take(tile->b, &plan->b, k, count, tile->column, tile->columns, scratch->b, &product.ldb);
    openblas_sgemm(&host->openblas, &product);
}

/* In panels along k where something must be converted. */
static void tile_multiply(const struct host_device *host, const struct tile *tile, struct host_panels *scratch,
                          float *sums, int sums_leading)
{
    const struct matmul_plan *plan = tile->plan;
    bool whole = plan->a.dtype == DTYPE_FLOAT32 && plan->b.dtype == DTYPE_FLOAT32;
    int64_t k_step = whole || plan->k == 0 ? plan->k : PANEL_SIDE;
    int64_t k = 0;
    do { /* once even for k = 0, which leaves beta sums */
        int count = (int)(plan->k - k < k_step ? plan->k - k : k_step);
        panel_multiply(host, tile, scratch, k, count, k == 0 ? plan->beta : 1.0f, sums, sums_leading);
        k += k_step;
    } while (k < plan->k);
}

/* int8: the sum of a panel is at most 512 * 128^2 = 2^23, which float32 holds exactly; panels are added as integers. */
static void tile_multiply_integers(const struct host_device *host, const struct tile *tile, struct host_panels *scratch,
                                   int32_t *out)
{
    const struct matmul_plan *plan = tile->plan;
    for (int row = 0; row < tile->rows; row++) {
        memset(out + row * plan->out.leading, 0, (size_t)tile->columns * sizeof *out);
    }
    for (int64_t k = 0; k < plan->k; k += PANEL_SIDE) {
        int count = (int)(plan->k - k < PANEL_SIDE ? plan->k - k : PANEL_SIDE);
        panel_multiply(host, tile, scratch, k, count, 0.0f, scratch->sums, tile->columns);
        for (int row = 0; row < tile->rows; row++) {
            int32_t *line = out + row * plan->out.leading;
            const float *sums = scratch->sums + (int64_t)row * tile->columns;
#pragma omp simd
            for (int column = 0; column < tile->columns; column++) {
                line[column] += (int32_t)sums[column];
            }
        }
    }
}

static void tile_run(const struct host_device *host, const struct tile *tile, struct host_panels *scratch)
{
    const struct matmul_plan *plan = tile->plan;
    int element = dtype_bytes(plan->out.dtype);
    char *first = tile->out + (tile->row * plan->out.leading + tile->column) * element;
    if (plan->out.dtype == DTYPE_INT32) {
        tile_multiply_integers(host, tile, scratch, (int32_t *)(void *)first);
        return;
    }
    if (plan->out.dtype == DTYPE_FLOAT32) {
        float *sums = (float *)(void *)first;
        tile_multiply(host, tile, scratch, sums, (int)plan->out.leading);
        if (plan->has_bias) {
            bias_add(tile, sums, plan->out.leading);
        }
        return;
    }
    int64_t line_bytes = plan->out.leading * element;
    for (int row = 0; plan->beta != 0.0f && row < tile->rows; row++) {
        floats_load(scratch->sums + (int64_t)row * tile->columns, first + row * line_bytes, plan->out.dtype,
                    tile->columns);
    }
    tile_multiply(host, tile, scratch, scratch->sums, tile->columns);
    if (plan->has_bias) {
        bias_add(tile, scratch->sums, tile->columns);
    }
    for (int row = 0; row < tile->rows; row++) {
        floats_store(first + row * line_bytes, plan->out.dtype, scratch->sums + (int64_t)row * tile->columns,
                     tile->columns);
    }
}

static const char *batch_element(const struct product_matrix *matrix, int64_t outer, int64_t inner)
{
    int64_t offset = outer * matrix->batch_stride[0] + inner * matrix->batch_stride[1];
    return (const char *)matrix->data + offset * dtype_bytes(matrix->dtype);
}

static struct tile tile_make(const struct matmul_plan *plan, const struct tile_grid *grid, int64_t index)
{
    int64_t column = index % grid->column_count * grid->column_step;
    int64_t row = index / grid->column_count % grid->row_count * grid->row_step;
    int64_t element = index / (grid->column_count * grid->row_count);
    int64_t outer = element / plan->batch[1];
    int64_t inner = element % plan->batch[1];
    struct tile tile = {.plan = plan, .row = row, .column = column};
    tile.a = batch_element(&plan->a, outer, inner);
    tile.b = batch_element(&plan->b, outer, inner);
    tile.out = (char *)plan->out.data +
               (outer * plan->out.batch_stride[0] + inner * plan->out.batch_stride[1]) * dtype_bytes(plan->out.dtype);
    tile.rows = (int)(plan->m - row < grid->row_step ? plan->m - row : grid->row_step);
    tile.columns = (int)(plan->n - column < grid->column_step ? plan->n - column : grid->column_step);
    return tile;
}

enum status_code host_matmul_planned(const struct host_device *host, const struct matmul_plan *plan)
{
    if (plan->m == 0 || plan->n == 0 || plan->batch[0] == 0 || plan->batch[1] == 0) {
        return STATUS_OK;
    }
    if (plan->k > INT_MAX || plan->a.leading > INT_MAX || plan->b.leading > INT_MAX || plan->out.leading > INT_MAX) {
        return STATUS_OVERFLOW;
    }
    struct tile_grid grid = grid_make(plan, host->thread_count);
#pragma omp parallel for num_threads(host->thread_count) schedule(dynamic, 1) if (grid.tile_count > 1)
    for (int64_t index = 0; index < grid.tile_count; index++) {
        struct tile tile = tile_make(plan, &grid, index);
        tile_run(host, &tile, &host->scratch[thread_index()]);
    }
    return STATUS_OK;
}

enum status_code host_matmul(struct host_device *host, const struct operation_call *call, struct status *error)
{
    struct matmul_plan plan;
    char text[CALL_TEXT_BYTES];
    enum status_code code = matmul_plan(call, &plan, error);
    if (code == STATUS_OK && host_matmul_planned(host, &plan) != STATUS_OK) {
        code = status_set(error, STATUS_OVERFLOW, "host: %s: a side of 2^31 or more is beyond OpenBLAS",
                          call_describe(call, text));
    }
    return code;
}
