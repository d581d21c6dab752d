/* Plans of the operations on images and on heads of attention. */
#include "tests/kernels/trial_plan.h"

#include <math.h>
#include <stdlib.h>

#include "tests/kernels/reference.h"

static const int64_t image_shapes[][4] = {
    {1, 1, 1, 1}, {2, 3, 5, 7}, {1, 2, 8, 8}, {3, 65, 4, 4}, {4, 3, 33, 31}, {2, 4, 56, 56}, {5, 7, 1, 1}, {1, 3, 6, 9},
};

enum { IMAGE_SHAPE_COUNT = sizeof image_shapes / sizeof image_shapes[0] };

/* And, of channels that no block keeps in registers: some images, and one alone. */
static const int64_t large_shapes[][4] = {{3, 2, 104, 96}, {1, 2, 171, 169}};

enum { BATCHNORM_SHAPE_COUNT = IMAGE_SHAPE_COUNT + sizeof large_shapes / sizeof large_shapes[0] };

static const int64_t *batchnorm_shape(int variant)
{
    return variant < IMAGE_SHAPE_COUNT ? image_shapes[variant] : large_shapes[variant - IMAGE_SHAPE_COUNT];
}

/* The inputs: images, scale and shift, running mean and variance; and the output. */
static void batchnorm_open(struct trial *trial, int variant, const int64_t *size)
{
    trial->call.attributes.f[0] = 1e-5;
    trial->tolerance = 3e-5;
    enum dtype dtype = trial_dtype(trial);
    enum dtype scale = variant % 2 == 0 ? DTYPE_FLOAT32 : dtype;
    trial_input(trial, dtype, LAYOUT_DENSE, 4, size, -1.0, 3.0);
    trial_input(trial, scale, LAYOUT_DENSE, 1, &size[1], 0.5, 1.5);
    trial_input(trial, scale, LAYOUT_DENSE, 1, &size[1], -1.0, 1.0);
    trial_input(trial, scale, LAYOUT_DENSE, 1, &size[1], -1.0, 1.0);
    trial_input(trial, scale, LAYOUT_DENSE, 1, &size[1], 0.5, 1.5);
    trial_output(trial, trial_dtype(trial), LAYOUT_DENSE, 4, size);
}

bool plan_batchnorm_inference(struct trial *trial, int variant)
{
    if (variant >= BATCHNORM_SHAPE_COUNT) {
        return false;
    }
    batchnorm_open(trial, variant, batchnorm_shape(variant));
    return true;
}

bool plan_batchnorm(struct trial *trial, int variant)
{
    if (variant >= 2 * BATCHNORM_SHAPE_COUNT) {
        return false;
    }
    const int64_t *size = batchnorm_shape(variant % BATCHNORM_SHAPE_COUNT);
    batchnorm_open(trial, variant, size);
    trial->call.attributes.f[1] = 0.1;
    trial->call.attributes.i[0] = variant < BATCHNORM_SHAPE_COUNT;
    trial->updated[3] = trial->updated[4] = true;
    trial_output(trial, DTYPE_FLOAT32, LAYOUT_DENSE, 1, &size[1]);
    trial_output(trial, DTYPE_FLOAT32, LAYOUT_DENSE, 1, &size[1]);
    return true;
}

bool plan_batchnorm_backward(struct trial *trial, int variant)
{
    if (variant >= BATCHNORM_SHAPE_COUNT) {
        return false;
    }
    const int64_t *size = batchnorm_shape(variant);
    trial->tolerance = 1e-4;
    trial_input(trial, trial_dtype(trial), LAYOUT_DENSE, 4, size, -1.0, 2.0);
    trial_input(trial, trial_dtype(trial), LAYOUT_DENSE, 4, size, -2.0, 2.0);
    trial_input(trial, trial_dtype(trial), LAYOUT_DENSE, 1, &size[1], 0.5, 1.5);
    trial_input(trial, DTYPE_FLOAT32, LAYOUT_DENSE, 1, &size[1], -0.2, 0.2);
    trial_input(trial, DTYPE_FLOAT32, LAYOUT_DENSE, 1, &size[1], 0.5, 1.5);
    trial_output(trial, trial_dtype(trial), LAYOUT_DENSE, 4, size);
    trial_output(trial, trial_dtype(trial), LAYOUT_DENSE, 1, &size[1]);
    trial_output(trial, trial_dtype(trial), LAYOUT_DENSE, 1, &size[1]);
    return true;
}

/* Kernel, stride, padding. */
static const int64_t windows[][3] = {{3, 2, 1}, {2, 2, 0}, {1, 1, 0}, {3, 1, 1}, {4, 3, 2}, {5, 7, 2}, {67, 5, 33}};

enum { WINDOW_COUNT = sizeof windows / sizeof windows[0] };

/* The pooled size; 0 where the window does not fit. */
static int64_t pooled_size(int64_t size, const int64_t *window)
{
    int64_t reach = size + 2 * window[2] - window[0];
    return reach < 0 ? 0 : reach / window[1] + 1;
}

static void pool_shape(struct trial *trial, int variant, int64_t size[4], int64_t pooled[4])
{
    const int64_t *window = windows[variant % WINDOW_COUNT];
    for (int d = 0; d < 4; d++) {
        size[d] = image_shapes[variant / WINDOW_COUNT][d];
        pooled[d] = d < 2 ? size[d] : pooled_size(size[d], window);
    }
    for (int k = 0; k < 3; k++) {
        trial->call.attributes.i[k] = window[k];
    }
}

bool plan_max_pool(struct trial *trial, int variant)
{
    if (variant >= IMAGE_SHAPE_COUNT * WINDOW_COUNT) {
        return false;
    }
    int64_t size[4], pooled[4];
    pool_shape(trial, variant, size, pooled);
    int a = trial_input(trial, trial_dtype(trial), LAYOUT_DENSE, 4, size, -2.0, 2.0);
    int64_t count = tensor_element_count(&trial->call.tensors[a]);
    for (int64_t k = 0; k < count; k += 3) { /* equals and NaN, so that the winner is not left to chance */
        trial_set(trial, a, k, k % 21 == 0 ? NAN : 1.0);
    }
    trial_output(trial, trial_dtype(trial), LAYOUT_DENSE, 4, pooled);
    trial_output(trial, DTYPE_INT64, LAYOUT_DENSE, 4, pooled);
    return true;
}

bool plan_max_pool_backward(struct trial *trial, int variant)
{
    if (variant >= IMAGE_SHAPE_COUNT * WINDOW_COUNT) {
        return false;
    }
    int64_t size[4], pooled[4];
    pool_shape(trial, variant, size, pooled);
    trial_input(trial, trial_dtype(trial), LAYOUT_DENSE, 4, pooled, 0.0, 1.0);
    int indices = trial_input(trial, DTYPE_INT64, LAYOUT_DENSE, 4, pooled, 0.0, 0.0);
    const int64_t *window = trial->call.attributes.i;
    int64_t count = tensor_element_count(&trial->call.tensors[indices]);
    for (int64_t k = 0; k < count; k++) { /* any element of the window */
        int64_t y, x;
        do {
            y = k / pooled[3] % pooled[2] * window[1] - window[2] + trial_integer(trial, 0, window[0] - 1);
            x = k % pooled[3] * window[1] - window[2] + trial_integer(trial, 0, window[0] - 1);
        } while (y < 0 || x < 0 || y >= size[2] || x >= size[3]);
        trial_set(trial, indices, k, (double)(y * size[3] + x));
    }
    trial_output(trial, trial_dtype(trial), LAYOUT_DENSE, 4, size);
    return true;
}

enum { NO_LSE = -1 };

struct attention_shape {
    int64_t batch, heads, groups, rows, columns, width, padding; /* padding: S' - S; NO_LSE: S' is 0 */
    bool causal, masked, mask_per_head;
    double dropout;
    int64_t value_width; /* 0: that of the keys */
};

/* One element; odd sizes; several tiles; grouped heads; decoding; S > T under a causal mask leaves rows without any; no
 * rows but an lse to pad; so many groups that a thread of the host takes whole ones; wide heads; values narrower and
 * wider than keys; heads of which 64 KiB take two lines at a time; whole blocks of rows without any. Then, forward
 * only, decoding with 1, 3, 4, 8 and 20 heads to a group, few columns and many, heads wider than any model's; and
 * without lse, in each form of the kernels. */
static const struct attention_shape attention_shapes[] = {
    {1, 1, 1, 1, 1, 1, 0, false, false, false, 0.0, 0},        {2, 3, 3, 5, 7, 9, 0, false, false, false, 0.0, 0},
    {1, 2, 2, 70, 70, 16, 2, true, false, false, 0.0, 0},      {2, 4, 2, 33, 65, 64, 31, true, false, false, 0.1, 0},
    {1, 6, 2, 1, 130, 32, 0, true, false, false, 0.0, 0},      {2, 2, 1, 40, 50, 24, 0, false, true, false, 0.0, 0},
    {1, 4, 4, 67, 129, 8, 0, false, true, true, 0.2, 0},       {1, 2, 1, 20, 12, 17, 4, true, false, false, 0.0, 0},
    {1, 1, 1, 200, 3, 80, 0, false, true, true, 0.0, 0},       {0, 2, 2, 4, 4, 8, 0, false, false, false, 0.0, 0},
    {1, 2, 2, 65, 66, 128, 0, true, true, false, 0.3, 0},      {1, 2, 1, 0, 5, 8, 3, false, false, false, 0.0, 0},
    {1, 4, 2, 260, 200, 32, 0, true, false, false, 0.1, 0},    {1, 2, 1, 128, 128, 64, 0, false, false, false, 0.0, 0},
    {1, 2, 2, 130, 150, 96, 0, true, true, true, 0.2, 0},      {2, 8, 2, 1, 300, 128, 0, false, false, false, 0.0, 0},
    {4, 4, 2, 70, 130, 20, 0, true, false, false, 0.2, 0},     {8, 2, 1, 33, 65, 24, 3, false, true, true, 0.1, 0},
    {1, 4, 2, 70, 90, 192, 0, true, false, false, 0.1, 0},     {1, 2, 2, 65, 50, 256, 0, false, true, true, 0.0, 0},
    {2, 3, 3, 40, 50, 24, 0, true, false, false, 0, 12},       {1, 4, 2, 65, 66, 32, 0, false, true, false, 0.1, 48},
    {1, 2, 2, 33, 70, 192, 3, true, false, false, 0, 128},     {8, 2, 1, 33, 65, 20, 0, true, false, false, 0.1, 9},
    {1, 2, 1, 8, 12, 1100, 0, false, true, true, 0.0, 0},      {1, 2, 2, 12, 8, 700, 3, true, true, false, 0.1, 0},
    {1, 2, 1, 300, 40, 16, 0, true, false, false, 0.0, 0},     {1, 2, 2, 290, 30, 40, 3, true, true, false, 0.1, 0},
    {1, 4, 4, 1, 1, 64, 31, true, false, false, 0.0, 0},       {2, 4, 1, 1, 33, 80, 0, false, true, true, 0.0, 0},
    {1, 8, 1, 1, 1021, 128, 0, true, true, false, 0.0, 0},     {3, 8, 1, 1, 161, 256, 7, false, true, false, 0.2, 0},
    {1, 2, 2, 1, 1300, 64, 0, true, false, false, 0.1, 0},     {1, 40, 2, 1, 75, 192, 0, true, false, false, 0.0, 0},
    {2, 6, 2, 1, 45, 600, 0, true, true, true, 0.1, 0},        {1, 2, 2, 1, 19, 1100, 0, true, false, false, 0.0, 0},
    {2, 4, 4, 1, 33, 24, 0, true, false, false, 0, 16},        {2, 8, 2, 1, 60, 64, 0, false, true, false, 0, 128},
    {2, 4, 2, 33, 65, 64, NO_LSE, true, false, false, 0.1, 0}, {2, 3, 3, 5, 7, 9, NO_LSE, false, true, false, 0, 0},
    {1, 6, 2, 1, 130, 32, NO_LSE, true, false, false, 0, 0},   {1, 2, 2, 1, 700, 64, NO_LSE, true, false, false, 0, 0},
};

enum { ATTENTION_SHAPE_COUNT = sizeof attention_shapes / sizeof attention_shapes[0], FORWARD_ONLY_COUNT = 14 };

/* The width must have stride 1; the other dimensions may be permuted: memory is [B, S, heads, D]. */
static void heads_permute(struct trial *trial, int t)
{
    struct tensor *tensor = &trial->call.tensors[t];
    tensor->stride[1] = tensor->size[3];
    tensor->stride[2] = tensor->size[1] * tensor->size[3];
}

static int heads_input(struct trial *trial, const int64_t *size)
{
    int t = trial_input(trial, trial_dtype(trial), LAYOUT_DENSE, 4, size, -1.5, 1.5);
    int64_t count = tensor_element_count(&trial->call.tensors[t]);
    if (trial_integer(trial, 0, 1) == 1) {
        heads_permute(trial, t);
        for (int64_t k = 0; k < count; k++) {
            trial_set(trial, t, k, trial_real(trial, -1.5, 1.5));
        }
    }
    return t;
}

static void heads_output(struct trial *trial, const int64_t *size)
{
    int t = trial_output(trial, trial_dtype(trial), LAYOUT_DENSE, 4, size);
    if (trial_integer(trial, 0, 1) == 1) {
        heads_permute(trial, t);
    }
}

static void mask_input(struct trial *trial, const struct attention_shape *s)
{
    int64_t size[4] = {s->batch, s->mask_per_head ? s->heads : 1, s->rows, s->columns};
    enum layout layout = s->mask_per_head ? LAYOUT_DENSE : trial_layout(trial, LAYOUT_BROADCAST);
    int mask = trial_input(trial, trial_dtype(trial), layout, 4, size, -2.0, 0.0);
    int64_t count = tensor_element_count(&trial->call.tensors[mask]);
    for (int64_t k = 0; k < count && layout != LAYOUT_BROADCAST; k++) {
        bool whole_row = k / s->columns % s->rows == 2; /* nothing to look at */
        if (whole_row || trial_integer(trial, 0, 9) == 0) {
            trial_set(trial, mask, k, -INFINITY);
        }
    }
}

/* A score is a sum of `width` terms, each addition rounded: with random signs that is sqrt(width / 2) roundings of a
 * term, and one sum in thousands is four times as far off. */
static void attention_attributes(struct trial *trial, const struct attention_shape *s)
{
    trial->roundings = fmax(trial->roundings, 4.0 * sqrt((double)s->width));
    trial->call.attributes.f[0] = 0.7;
    trial->call.attributes.f[1] = s->dropout;
    trial->call.attributes.i[0] = s->causal;
    trial->call.attributes.i[1] = trial_integer(trial, 0, INT64_MAX - 1);
}

static int64_t value_width_of(const struct attention_shape *s)
{
    return s->value_width > 0 ? s->value_width : s->width;
}

bool plan_attention(struct trial *trial, int variant)
{
    if (variant >= ATTENTION_SHAPE_COUNT) {
        return false;
    }
    const struct attention_shape *s = &attention_shapes[variant];
    const int64_t q[4] = {s->batch, s->heads, s->rows, s->width}, k[4] = {s->batch, s->groups, s->columns, s->width};
    const int64_t out[4] = {q[0], q[1], q[2], value_width_of(s)}, v[4] = {k[0], k[1], k[2], value_width_of(s)};
    attention_attributes(trial, s);
    heads_input(trial, q);
    heads_input(trial, k);
    heads_input(trial, v);
    if (s->masked) {
        mask_input(trial, s);
    }
    heads_output(trial, out);
    const int64_t lse[3] = {s->batch, s->heads, s->padding == NO_LSE ? 0 : s->rows + s->padding};
    trial_output(trial, DTYPE_FLOAT32, LAYOUT_DENSE, 3, lse);
    return true;
}

/* Heads that share keys or do not, widths that fill their tiles or do not, parts without columns and no
 * columns at all, one part alone, more room in a row than it needs; rows that no lane can store whole, and more rows
 * than one. */
static const struct parts_shape {
    int64_t parts, room; /* room: by how much a row of a part is wider */
    struct attention_shape shape;
} parts_shapes[] = {
    {1, 0, {1, 1, 1, 1, 1, 1, 0, false, false, false, 0.0, 0}},
    {2, 0, {2, 8, 2, 1, 300, 128, 0, false, false, false, 0.0, 0}},
    {5, 8, {1, 4, 4, 1, 1300, 24, 7, true, false, false, 0.0, 0}},
    {3, 0, {1, 40, 2, 1, 700, 64, NO_LSE, true, false, false, 0.0, 0}},
    {7, 0, {3, 2, 1, 1, 161, 256, 0, false, false, false, 0.2, 0}},
    {30, 0, {1, 14, 2, 1, 75, 192, 0, true, false, false, 0.0, 0}},
    {3, 0, {1, 2, 1, 1, 0, 64, 0, false, false, false, 0.0, 0}},
    {2, 3, {1, 2, 2, 1, 60, 64, 0, false, false, false, 0.0, 0}},
    {4, 24, {2, 4, 2, 33, 65, 72, 31, true, false, false, 0.1, 0}},
};

bool plan_attention_in_parts(struct trial *trial, int variant)
{
    if (variant >= (int)(sizeof parts_shapes / sizeof parts_shapes[0])) {
        return false;
    }
    const struct parts_shape *p = &parts_shapes[variant];
    const struct attention_shape *s = &p->shape;
    const int64_t q[4] = {s->batch, s->heads, s->rows, s->width}, k[4] = {s->batch, s->groups, s->columns, s->width};
    bool packs = s->rows == 1 && s->heads > s->groups;
    const int64_t parts[5] = {p->parts, s->batch, packs ? s->groups : s->heads, packs ? s->heads / s->groups : s->rows,
                              s->width + p->room};
    attention_attributes(trial, s);
    heads_input(trial, q);
    heads_input(trial, k);
    heads_input(trial, k);
    trial_scratch(trial, 4, parts);
    trial_scratch(trial, 5, parts);
    heads_output(trial, q);
    const int64_t lse[3] = {s->batch, s->heads, s->padding == NO_LSE ? 0 : s->rows + s->padding};
    trial_output(trial, DTYPE_FLOAT32, LAYOUT_DENSE, 3, lse);
    return true;
}

/* out and lse of the backward are what the forward gives, rounded to their dtypes. */
static void forward_results(struct trial *trial)
{
    struct operation_call forward = trial->call;
    double *values[OPERATION_TENSORS_MAXIMUM] = {trial->value[1], trial->value[2], trial->value[3]};
    bool masked = trial->call.input_count == 7;
    forward.opcode = OPCODE_ATTENTION;
    forward.input_count = masked ? 4 : 3;
    forward.tensor_count = forward.input_count + 2;
    for (int t = 0; t < 3; t++) {
        forward.tensors[t] = trial->call.tensors[t + 1];
    }
    forward.tensors[3] = trial->call.tensors[6];
    values[3] = trial->value[6];
    for (int t = 0; t < 2; t++) {
        const struct tensor *result = &trial->call.tensors[4 + t];
        forward.tensors[forward.input_count + t] = *result;
        values[forward.input_count + t] = calloc((size_t)tensor_element_count(result) + 1, sizeof(double));
    }
    reference_run(&forward, values);
    for (int t = 0; t < 2; t++) {
        int64_t count = tensor_element_count(&trial->call.tensors[4 + t]);
        for (int64_t k = 0; k < count; k++) {
            trial_set(trial, 4 + t, k, values[forward.input_count + t][k]);
        }
        free(values[forward.input_count + t]);
    }
}

static void backward_inputs(struct trial *trial, const struct attention_shape *s, bool masked)
{
    const int64_t q[4] = {s->batch, s->heads, s->rows, s->width}, k[4] = {s->batch, s->groups, s->columns, s->width};
    const int64_t out[4] = {q[0], q[1], q[2], value_width_of(s)}, v[4] = {k[0], k[1], k[2], value_width_of(s)};
    const int64_t lse[3] = {s->batch, s->heads, s->rows + s->padding};
    attention_attributes(trial, s);
    trial->tolerance = fmax(trial->tolerance, 2e-5);
    heads_input(trial, out);
    heads_input(trial, q);
    heads_input(trial, k);
    heads_input(trial, v);
    heads_input(trial, out);
    trial_input(trial, DTYPE_FLOAT32, LAYOUT_DENSE, 3, lse, 0.0, 0.0);
    if (masked) {
        mask_input(trial, s);
    }
    forward_results(trial);
}

bool plan_attention_backward(struct trial *trial, int variant)
{
    if (variant >= ATTENTION_SHAPE_COUNT - FORWARD_ONLY_COUNT) {
        return false;
    }
    const struct attention_shape *s = &attention_shapes[variant];
    const int64_t q[4] = {s->batch, s->heads, s->rows, s->width}, k[4] = {s->batch, s->groups, s->columns, s->width};
    const int64_t v[4] = {k[0], k[1], k[2], value_width_of(s)};
    backward_inputs(trial, s, s->masked);
    heads_output(trial, q);
    heads_output(trial, k);
    heads_output(trial, v);
    return true;
}

bool plan_attention_bias_gradient(struct trial *trial, int variant)
{
    if (variant >= ATTENTION_SHAPE_COUNT - FORWARD_ONLY_COUNT) {
        return false;
    }
    const struct attention_shape *s = &attention_shapes[variant];
    backward_inputs(trial, s, true);
    trial_output(trial, trial_dtype(trial), trial_layout(trial, LAYOUT_PERMUTED), 4,
                 (const int64_t[]){s->batch, s->heads, s->rows, s->columns});
    return true;
}
