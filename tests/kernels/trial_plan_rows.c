/* Plans of the operations on rows, tables and losses. */
#include "tests/kernels/trial_plan.h"

#include <stddef.h>

/* Odd sizes, one row, one column, long rows, many rows, empty. */
static const int64_t row_shapes[][3] = {
    {1, 1, 1},     {2, 3, 5},    {1, 1, 1023}, {1, 7, 64}, {5, 1, 129},   {3, 11, 1},    {1, 1, 20011}, {2, 150, 77},
    {1, 1000, 31}, {4, 65, 768}, {0, 3, 4},    {2, 0, 6},  {1, 300, 130}, {1, 2, 17064}, {5, 70, 36},   {1, 3, 1032},
};

enum { ROW_SHAPE_COUNT = sizeof row_shapes / sizeof row_shapes[0] };

static bool rows_are_empty(const int64_t *size)
{
    return size[0] * size[1] * size[2] == 0;
}

/* Sums that a device may cut into parts, each of several: they have a workspace. */
static const int64_t part_shapes[][3] = {
    {1, 1, 20011}, {1, 2, 17064}, {1, 2500, 31}, {3, 1111, 8}, {2, 1030, 36}, {1, 70, 1032}, {1, 0, 40}, {1, 5000, 1},
};

enum {
    PART_SHAPE_COUNT = sizeof part_shapes / sizeof part_shapes[0],
    SUM_PATTERNS = 8, /* which of three dimensions are summed; more sums show no more */
    SUM_VARIANTS = 2 * ROW_SHAPE_COUNT * SUM_PATTERNS,
    SUM_PART_VARIANTS = 2 * PART_SHAPE_COUNT * SUM_PATTERNS
};

/* For two parts of each output and a little, for more than there can be, or for less than an element. */
static void sum_workspace_draw(struct trial *trial, int64_t outputs)
{
    const int64_t sizes[] = {3, 8 * outputs + 2, 12 * outputs, 1 << 17, 1 << 17};
    trial_workspace(trial, sizes[trial_integer(trial, 0, 4)]);
}

bool plan_sum(struct trial *trial, int variant)
{
    enum { OUTPUTS_MAXIMUM = 8192 };
    if (variant >= SUM_VARIANTS + SUM_PART_VARIANTS) {
        return false;
    }
    bool in_parts = variant >= SUM_VARIANTS;
    int shape_count = in_parts ? PART_SHAPE_COUNT : ROW_SHAPE_COUNT;
    variant -= in_parts ? SUM_VARIANTS : 0;
    const int64_t *shape = (in_parts ? part_shapes : row_shapes)[variant / SUM_PATTERNS % shape_count];
    int pattern = variant % SUM_PATTERNS;
    int64_t size[3], out[3], outputs = 1;
    for (int d = 0; d < 3; d++) {
        bool summed = (pattern >> d & 1) != 0;
        size[d] = summed || outputs * shape[d] <= OUTPUTS_MAXIMUM ? shape[d] : OUTPUTS_MAXIMUM / outputs;
        out[d] = summed ? 1 : size[d];
        outputs *= out[d] > 0 ? out[d] : 1;
    }
    trial->call.attributes.i[0] = variant / SUM_PATTERNS / shape_count; /* sums, then norms */
    trial->call.attributes.f[0] = variant % 2 == 0 ? 1.0 : 0.125;
    /* Up to 1024 elements are added in float32 before the sum goes on in float64; where they are one repeated number,
     * every addition may round to the same side. */
    trial->tolerance = 1024 * 0x1p-24;
    /* All of one sign: sums that cancel have no relative precision. */
    trial_input(trial, trial_dtype(trial), trial_layout(trial, LAYOUT_BROADCAST), 3, size, 0.0, 1.0);
    if (in_parts) {
        sum_workspace_draw(trial, outputs);
    }
    trial_output(trial, trial_dtype(trial), trial_layout(trial, LAYOUT_PERMUTED), 3, out);
    return true;
}

/* Softmax, log-softmax and their backward. */
bool plan_rows(struct trial *trial, int variant)
{
    if (variant >= ROW_SHAPE_COUNT) {
        return false;
    }
    const int64_t *size = row_shapes[variant];
    enum opcode opcode = trial->call.opcode;
    trial_input(trial, trial_dtype(trial), LAYOUT_DENSE, 3, size, -8.0, 8.0);
    if (opcode == OPCODE_SOFTMAX_BACKWARD) {
        trial_input(trial, trial_dtype(trial), LAYOUT_DENSE, 3, size, 0.0, 2.0 / (double)(size[2] + 1));
        trial->tolerance = 3e-5;
    } else if (opcode == OPCODE_LOG_SOFTMAX_BACKWARD) {
        trial_input(trial, trial_dtype(trial), LAYOUT_DENSE, 3, size, -9.0, -2.0);
        trial->tolerance = 3e-5;
    }
    trial_output(trial, trial_dtype(trial), LAYOUT_DENSE, 3, size);
    return true;
}

bool plan_loss(struct trial *trial, int variant)
{
    if (variant >= ROW_SHAPE_COUNT) {
        return false;
    }
    const int64_t *size = rows_are_empty(row_shapes[variant]) ? row_shapes[0] : row_shapes[variant];
    trial_input(trial, trial_dtype(trial), LAYOUT_DENSE, 3, size, -9.0, 0.0);
    trial_input(trial, DTYPE_INT64, LAYOUT_DENSE, 2, size, 0.0, (double)(size[2] - 1));
    if (variant % 2 == 1) {
        trial_set(trial, 1, 0, -100.0); /* with one row: nothing is left and the loss is NaN */
    }
    trial_output(trial, trial_dtype(trial), LAYOUT_DENSE, 1, (const int64_t[]){1});
    trial_output(trial, trial_dtype(trial), LAYOUT_DENSE, 0, NULL);
    return true;
}

bool plan_loss_backward(struct trial *trial, int variant)
{
    if (variant >= ROW_SHAPE_COUNT) {
        return false;
    }
    const int64_t *size = row_shapes[variant];
    trial_input(trial, trial_dtype(trial), LAYOUT_DENSE, 1, (const int64_t[]){1}, 0.5, 2.0);
    trial_input(trial, DTYPE_INT64, LAYOUT_DENSE, 2, size, 0.0, (double)(size[2] - 1));
    if (variant % 2 == 1 && !rows_are_empty(size)) {
        trial_set(trial, 1, 0, -100.0);
    }
    trial_input(trial, trial_dtype(trial), LAYOUT_DENSE, 1, (const int64_t[]){1}, 1.0, 100.0);
    trial_output(trial, trial_dtype(trial), LAYOUT_DENSE, 3, size);
    return true;
}

bool plan_target_mask(struct trial *trial, int variant)
{
    if (variant >= ROW_SHAPE_COUNT) {
        return false;
    }
    const int64_t *size = row_shapes[variant];
    trial->call.attributes.i[0] = size[2];
    trial_input(trial, DTYPE_INT64, LAYOUT_DENSE, 2, size, 0.0, (double)(size[2] - 1));
    if (variant % 2 == 1 && size[0] * size[1] > 0) {
        trial_set(trial, 0, 0, -100.0);
    }
    trial_output(trial, DTYPE_BOOL, LAYOUT_DENSE, 2, size);
    trial_output(trial, DTYPE_INT64, LAYOUT_DENSE, 2, size);
    trial_output(trial, DTYPE_INT64, LAYOUT_DENSE, 0, NULL);
    return true;
}

bool plan_cross_entropy(struct trial *trial, int variant)
{
    if (variant >= ROW_SHAPE_COUNT) {
        return false;
    }
    const int64_t *size = row_shapes[variant];
    trial_input(trial, DTYPE_INT64, LAYOUT_DENSE, 2, size, 0.0, (double)(size[2] - 1));
    if (variant % 2 == 1 && size[0] * size[1] > 0) {
        trial_set(trial, 0, 0, -100.0);
    }
    trial_input(trial, DTYPE_INT64, LAYOUT_DENSE, 0, NULL, 1.0, 9.0);
    trial_update(trial, trial_dtype(trial), 3, size, -8.0, 8.0);
    trial_output(trial, trial_dtype(trial), LAYOUT_DENSE, 2, size);
    return true;
}

bool plan_layernorm(struct trial *trial, int variant)
{
    if (variant >= ROW_SHAPE_COUNT) {
        return false;
    }
    const int64_t *size = row_shapes[variant];
    trial->call.attributes.f[0] = 1e-5;
    trial->tolerance = 2e-5;
    trial_input(trial, trial_dtype(trial), LAYOUT_DENSE, 3, size, -1.0, 3.0);
    trial_input(trial, trial_dtype(trial), LAYOUT_DENSE, 1, &size[2], 0.5, 1.5);
    trial_input(trial, trial_dtype(trial), LAYOUT_DENSE, 1, &size[2], -1.0, 1.0);
    trial_output(trial, trial_dtype(trial), LAYOUT_DENSE, 3, size);
    trial_output(trial, DTYPE_FLOAT32, LAYOUT_DENSE, 2, size);
    trial_output(trial, DTYPE_FLOAT32, LAYOUT_DENSE, 2, size);
    return true;
}

bool plan_layernorm_backward(struct trial *trial, int variant)
{
    if (variant >= ROW_SHAPE_COUNT) {
        return false;
    }
    const int64_t *size = row_shapes[variant];
    trial->tolerance = 3e-5;
    trial_input(trial, trial_dtype(trial), LAYOUT_DENSE, 3, size, -1.0, 1.0);
    trial_input(trial, trial_dtype(trial), LAYOUT_DENSE, 3, size, -2.0, 2.0);
    trial_input(trial, DTYPE_FLOAT32, LAYOUT_DENSE, 2, size, -0.2, 0.2);
    trial_input(trial, DTYPE_FLOAT32, LAYOUT_DENSE, 2, size, 0.5, 2.0);
    trial_input(trial, trial_dtype(trial), LAYOUT_DENSE, 1, &size[2], 0.5, 1.5);
    trial_output(trial, trial_dtype(trial), LAYOUT_DENSE, 3, size);
    for (int slope = 1; slope < opcode_output_count(trial->call.opcode); slope++) {
        trial_output(trial, trial_dtype(trial), LAYOUT_DENSE, 1, &size[2]);
    }
    return true;
}

/* Rows of the table, tokens, columns. */
static const int64_t table_shapes[][3] = {
    {1, 1, 1}, {5, 7, 3}, {300, 40, 65}, {2, 600, 33}, {30, 0, 8}, {50, 700, 257}, {1000, 13, 48},
};

enum { TABLE_SHAPE_COUNT = sizeof table_shapes / sizeof table_shapes[0] };

bool plan_embedding(struct trial *trial, int variant)
{
    if (variant >= TABLE_SHAPE_COUNT) {
        return false;
    }
    const int64_t *s = table_shapes[variant];
    trial_input(trial, trial_dtype(trial), LAYOUT_DENSE, 2, (const int64_t[]){s[0], s[2]}, -1.0, 1.0);
    trial_input(trial, DTYPE_INT64, LAYOUT_DENSE, 2, (const int64_t[]){1, s[1]}, 0.0, (double)(s[0] - 1));
    trial_output(trial, trial_dtype(trial), LAYOUT_DENSE, 3, (const int64_t[]){1, s[1], s[2]});
    return true;
}

bool plan_embedding_backward(struct trial *trial, int variant)
{
    if (variant >= 2 * TABLE_SHAPE_COUNT) {
        return false;
    }
    const int64_t *s = table_shapes[variant % TABLE_SHAPE_COUNT];
    trial->call.attributes.i[0] = variant < TABLE_SHAPE_COUNT ? -1 : s[0] / 2;
    trial_input(trial, trial_dtype(trial), LAYOUT_DENSE, 3, (const int64_t[]){1, s[1], s[2]}, 0.0, 1.0);
    trial_input(trial, DTYPE_INT64, LAYOUT_DENSE, 2, (const int64_t[]){1, s[1]}, 0.0, (double)(s[0] - 1));
    trial_output(trial, trial_dtype(trial), LAYOUT_DENSE, 2, (const int64_t[]){s[0], s[2]});
    return true;
}
