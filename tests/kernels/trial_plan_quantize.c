/* Plans of quantised storage: every storage dtype, blocks that divide the tensor and that do not, one scale for all. */
#include "tests/kernels/trial_plan.h"

static const enum dtype code_dtypes[] = {DTYPE_INT8, DTYPE_FLOAT8_E4M3FN, DTYPE_NF4X2};

enum { CODE_DTYPE_COUNT = sizeof code_dtypes / sizeof code_dtypes[0] };

/* Rows, columns, block: of a matrix. */
static const int64_t matrices[][3] = {
    {1, 1, 2},
    {3, 5, 64},
    {3, 4, 0},
    {0, 4, 64},
    {7, 64, 64},
    {4, 66, 64},
    {5, 130, 130},
    {2, 1026, 1026},
    {40, 1025, 1 << 20},
    {9, 3000, 64},
    {33, 513, 33 * 513 + 1},
};

enum { MATRIX_COUNT = sizeof matrices / sizeof matrices[0], VARIANT_COUNT = CODE_DTYPE_COUNT * MATRIX_COUNT };

static int64_t code_count(enum dtype dtype, int64_t elements)
{
    return dtype == DTYPE_NF4X2 ? (elements + 1) / 2 : elements;
}

static int64_t scale_count(int64_t elements, int64_t block)
{
    return (elements + block - 1) / block;
}

static void codes_input(struct trial *trial, enum dtype dtype, int64_t elements, int64_t block)
{
    double low = dtype == DTYPE_NF4X2 ? 0.0 : dtype == DTYPE_INT8 ? -127.0 : -448.0;
    double high = dtype == DTYPE_NF4X2 ? 255.0 : dtype == DTYPE_INT8 ? 127.0 : 448.0;
    trial->call.attributes.i[0] = block;
    trial_input(trial, dtype, LAYOUT_DENSE, 1, (const int64_t[]){code_count(dtype, elements)}, low, high);
    trial_input(trial, DTYPE_FLOAT32, LAYOUT_DENSE, 1, (const int64_t[]){scale_count(elements, block)}, 0.01, 0.1);
}

bool plan_quantize(struct trial *trial, int variant)
{
    if (variant >= VARIANT_COUNT) {
        return false;
    }
    enum dtype dtype = code_dtypes[variant % CODE_DTYPE_COUNT];
    const int64_t *m = matrices[variant / CODE_DTYPE_COUNT];
    int64_t block = m[2] > 0 ? m[2] : 64;
    int64_t elements = m[0] * m[1];
    int a = trial_input(trial, trial_dtype(trial), LAYOUT_DENSE, 2, m, -1.0, 1.0);
    for (int64_t k = 0; k < elements && k < block && variant / CODE_DTYPE_COUNT == 4; k++) {
        trial_set(trial, a, k, 0.0); /* a block of zeros */
    }
    trial->call.attributes.i[0] = block;
    trial_output(trial, dtype, LAYOUT_DENSE, 1, (const int64_t[]){code_count(dtype, elements)});
    trial_output(trial, DTYPE_FLOAT32, LAYOUT_DENSE, 1, (const int64_t[]){scale_count(elements, block)});
    return true;
}

/* Every second variant looks rows up. */
bool plan_dequantize(struct trial *trial, int variant)
{
    if (variant >= 2 * VARIANT_COUNT) {
        return false;
    }
    enum dtype dtype = code_dtypes[variant / 2 % CODE_DTYPE_COUNT];
    const int64_t *m = matrices[variant / 2 / CODE_DTYPE_COUNT];
    int64_t rows = m[0];
    codes_input(trial, dtype, m[0] * m[1], m[2] > 0 ? m[2] : 64);
    if (variant % 2 == 1) {
        rows = m[0] > 0 ? 6 : 0;
        trial->call.attributes.i[1] = m[0];
        trial_input(trial, DTYPE_INT64, LAYOUT_DENSE, 1, &rows, 0.0, (double)(m[0] - 1));
    }
    trial_output(trial, trial_dtype(trial), LAYOUT_DENSE, 2, (const int64_t[]){rows, m[1]});
    return true;
}

bool plan_quantized_linear(struct trial *trial, int variant)
{
    if (variant >= 2 * VARIANT_COUNT) {
        return false;
    }
    enum dtype dtype = code_dtypes[variant / 2 % CODE_DTYPE_COUNT];
    const int64_t *m = matrices[variant / 2 / CODE_DTYPE_COUNT];
    int64_t rows = trial_integer(trial, 1, 4);
    trial_input(trial, trial_dtype(trial), LAYOUT_DENSE, 3, (const int64_t[]){1, rows, m[1]}, -1.0, 1.0);
    codes_input(trial, dtype, m[0] * m[1], m[2] > 0 ? m[2] : 64);
    if (variant % 2 == 1) {
        trial_input(trial, trial_dtype(trial), LAYOUT_DENSE, 1, (const int64_t[]){m[0]}, -1.0, 1.0);
    }
    trial_output(trial, trial_dtype(trial), LAYOUT_DENSE, 3, (const int64_t[]){1, rows, m[0]});
    return true;
}

bool plan_dequantize_sums(struct trial *trial, int variant)
{
    if (variant >= MATRIX_COUNT) {
        return false;
    }
    const int64_t *m = matrices[variant];
    trial_input(trial, DTYPE_INT32, LAYOUT_DENSE, 2, m, -20000000.0, 20000000.0);
    trial_input(trial, DTYPE_FLOAT32, LAYOUT_DENSE, 1, &m[0], 0.01, 0.1);
    trial_input(trial, DTYPE_FLOAT32, LAYOUT_DENSE, 1, &m[1], 0.01, 0.1);
    trial_output(trial, trial_dtype(trial), LAYOUT_DENSE, 2, m);
    return true;
}

/* Both ends. */
bool plan_extreme(struct trial *trial, int variant)
{
    if (variant >= 2 * MATRIX_COUNT) {
        return false;
    }
    const int64_t *m = matrices[variant / 2];
    trial->call.attributes.i[0] = variant % 2;
    trial_input(trial, trial_dtype(trial), LAYOUT_DENSE, 2, m, -3.0, 3.0);
    trial_output(trial, trial_dtype(trial), LAYOUT_DENSE, 2, (const int64_t[]){m[0], 1});
    return true;
}

/* Both widths at each of their places. */
bool plan_bits(struct trial *trial, int variant)
{
    static const int64_t widths[][2] = {{4, 0}, {4, 1}, {2, 0}, {2, 1}, {2, 2}, {2, 3}};
    enum { WIDTHS = sizeof widths / sizeof widths[0] };
    if (variant >= WIDTHS * MATRIX_COUNT) {
        return false;
    }
    const int64_t *width = widths[variant % WIDTHS], *m = matrices[variant / WIDTHS];
    bool packs = trial->call.opcode == OPCODE_PACK_BITS;
    trial->call.attributes.i[0] = width[0];
    trial->call.attributes.i[1] = width[1];
    trial_input(trial, DTYPE_UINT8, LAYOUT_DENSE, 2, m, 0.0, 255.0);
    trial_output(trial, DTYPE_UINT8, LAYOUT_DENSE, 2, (const int64_t[]){packs ? m[0] : 8 / width[0] * m[0], m[1]});
    if (packs) {
        trial_update(trial, DTYPE_UINT8, 2, m, 0.0, 255.0);
    }
    return true;
}
