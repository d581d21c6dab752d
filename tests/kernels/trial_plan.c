/* The plans' table, and the plans of operations that treat each element by itself. */
#include "tests/kernels/trial_plan.h"

#include <math.h>
#include <stddef.h>

static trial_plan *const plans[OPCODE_COUNT] = {
#define TRIAL_PLAN(name, reference, plan) [OPCODE_##name] = (plan),
    TRIAL_TABLE(TRIAL_PLAN)
#undef TRIAL_PLAN
};

trial_plan *trial_plan_for(enum opcode opcode)
{
    return plans[opcode];
}

struct shape {
    int rank;
    int64_t size[TENSOR_RANK_MAXIMUM];
};

/* Scalars, odd sizes, sizes of 1, empty ones, one beyond a span, one beyond the threshold of threads, the full rank,
 * rows of whole groups, rows of 13 that lie 16 apart where they are gapped. */
static const struct shape shapes[] = {
    {0, {0}},
    {1, {1}},
    {1, {7}},
    {1, {1025}},
    {2, {0, 4}},
    {2, {3, 0}},
    {3, {3, 1, 5}},
    {3, {1, 1, 1}},
    {2, {33, 129}},
    {4, {2, 3, 4, 5}},
    {5, {2, 1, 3, 2, 17}},
    {2, {1, 5003}},
    {2, {5003, 1}},
    {3, {4, 130, 65}},
    {5, {3, 2, 3, 2, 3}},
    {2, {37, 64}},
    {2, {9, 13}},
};

enum { SHAPE_COUNT = sizeof shapes / sizeof shapes[0] };

bool plan_create(struct trial *trial, int variant)
{
    if (variant >= SHAPE_COUNT) {
        return false;
    }
    struct shape shape = shapes[variant];
    enum opcode opcode = trial->call.opcode;
    double *f = trial->call.attributes.f;
    int64_t *i = trial->call.attributes.i;
    enum dtype dtype = trial_dtype(trial);
    enum layout layout = LAYOUT_DENSE;
    i[0] = trial_integer(trial, 0, INT64_MAX - 1);
    if (opcode == OPCODE_FILL) {
        static const enum dtype all[] = {DTYPE_FLOAT32,       DTYPE_FLOAT16, DTYPE_BFLOAT16, DTYPE_INT64,
                                         DTYPE_BOOL,          DTYPE_UINT8,   DTYPE_INT8,     DTYPE_INT32,
                                         DTYPE_FLOAT8_E4M3FN, DTYPE_NF4X2};
        static const double values[] = {0.25, 0.25, 0.25, -123456789012.0, 1.0, 200.0, -7.0, -123456.0, 0.25, 119.0};
        dtype = trial->mix == MIX_ANY ? trial_dtype_among(trial, all, sizeof all / sizeof all[0]) : dtype;
        f[0] = values[dtype];
        layout = trial_layout(trial, LAYOUT_PERMUTED);
    } else if (opcode == OPCODE_RANDOM_NORMAL) {
        f[0] = 0.5;
        f[1] = 0.02;
    } else if (opcode == OPCODE_CAUSAL_MASK) {
        i[0] = trial_integer(trial, -1, 3);
        shape = shape.rank < 2 ? (struct shape){2, {5 + variant, 7}} : shape;
    } else {
        dtype = DTYPE_INT64;
        i[0] = opcode == OPCODE_SEQUENCE ? trial_integer(trial, 0, 9) : i[0];
        i[1] = trial_integer(trial, 1, 1000);
    }
    trial_output(trial, dtype, layout, shape.rank, shape.size);
    return true;
}

bool plan_attention_mask(struct trial *trial, int variant)
{
    static const int64_t sizes[][3] = {{2, 1, 7}, {1, 5, 5}, {3, 33, 130}, {2, 0, 4}}; /* batch, rows, columns */
    enum { SIZES = sizeof sizes / sizeof sizes[0] };
    if (variant >= 4 * SIZES) {
        return false;
    }
    const int64_t *s = sizes[variant % SIZES];
    trial->call.attributes.i[0] = trial_integer(trial, -1, 130);
    trial->call.attributes.i[1] = variant / SIZES % 2 == 0 ? 0 : trial_integer(trial, 1, 60);
    if (variant / SIZES < 2) {
        trial_input(trial, DTYPE_INT64, LAYOUT_DENSE, 2, (const int64_t[]){s[0], s[2]}, 0.0, 1.0);
    }
    trial_output(trial, DTYPE_BOOL, LAYOUT_DENSE, 4, (const int64_t[]){s[0], 1, s[1], s[2]});
    return true;
}

bool plan_position_buckets(struct trial *trial, int variant)
{
    /* rows, columns, first row, buckets, farthest distance, both directions */
    static const int64_t sizes[][6] = {{1, 1, 0, 4, 2, 1},        {7, 9, 0, 8, 16, 1},       {7, 9, 2, 8, 16, 0},
                                       {130, 300, 0, 32, 128, 1}, {300, 300, 0, 32, 128, 0}, {1, 700, 699, 32, 128, 0},
                                       {0, 5, 0, 2, 9, 0},        {40, 90, 50, 12, 77, 1}};
    if (variant >= (int)(sizeof sizes / sizeof sizes[0])) {
        return false;
    }
    const int64_t *s = sizes[variant];
    for (int n = 0; n < 4; n++) {
        trial->call.attributes.i[n] = s[2 + n];
    }
    trial_output(trial, DTYPE_INT64, LAYOUT_DENSE, 2, s);
    return true;
}

/* The range from which an operation's first input is drawn. */
static void element_range(struct trial *trial, double *low, double *high)
{
    enum opcode opcode = trial->call.opcode;
    bool positive = opcode == OPCODE_SQUARE_ROOT || opcode == OPCODE_RECIPROCAL_ROOT ||
                    (opcode == OPCODE_POWER && trial->call.attributes.f[0] < 2.0);
    bool wave = opcode == OPCODE_COSINE || opcode == OPCODE_SINE;
    *low = positive ? 0.01 : wave ? -2000.0 : -6.0;
    *high = wave ? 2000.0 : 6.0;
}

/* Codes times their scale: the last repeat of MULTIPLY. */
static enum dtype second_dtype(struct trial *trial, int repeat)
{
    bool codes = trial->call.opcode == OPCODE_MULTIPLY && repeat == 3;
    return trial->call.opcode == OPCODE_DROPOUT_BACKWARD ? DTYPE_BOOL : codes ? DTYPE_UINT8 : trial_dtype(trial);
}

/* The dtype that COPY converts to: in the first repeat every third shape is a code's. */
static enum dtype copied_dtype(struct trial *trial, int variant, bool to_same, enum dtype from)
{
    static const enum dtype codes[] = {DTYPE_UINT8, DTYPE_FLOAT8_E4M3FN};
    bool to_code = trial->call.opcode == OPCODE_COPY && variant < SHAPE_COUNT && variant % 3 == 1;
    return to_same ? from : to_code ? trial_dtype_among(trial, codes, 2) : trial_dtype(trial);
}

bool plan_element(struct trial *trial, int variant)
{
    enum { REPEATS = 4 };
    static const double exponents[REPEATS] = {2.0, 3.0, -0.5, 1.7};
    if (variant >= SHAPE_COUNT * REPEATS) {
        return false;
    }
    struct shape shape = shapes[variant % SHAPE_COUNT];
    int repeat = variant / SHAPE_COUNT;
    enum opcode opcode = trial->call.opcode;
    double low, high;
    trial->call.attributes.f[0] = opcode == OPCODE_POWER ? exponents[repeat] : trial_real(trial, -2.0, 2.0);
    trial->call.attributes.f[1] = trial_real(trial, -2.0, 2.0);
    trial->call.attributes.i[0] = repeat % 2;
    element_range(trial, &low, &high);
    enum dtype from = trial_dtype(trial);
    if (opcode == OPCODE_COPY && repeat == 3) {
        static const enum dtype others[] = {DTYPE_INT64, DTYPE_BOOL,          DTYPE_UINT8, DTYPE_INT8,
                                            DTYPE_INT32, DTYPE_FLOAT8_E4M3FN, DTYPE_NF4X2};
        from = trial_dtype_among(trial, others, sizeof others / sizeof others[0]);
        low = 0.0, high = from == DTYPE_BOOL ? 1.0 : 120.0;
    }
    if (opcode == OPCODE_COPY && repeat == 0) {
        low = 0.0, high = 250.0; /* what uint8 holds */
    }
    bool to_same = opcode == OPCODE_COPY && (repeat == 2 || (repeat == 3 && variant % 3 == 0) || from == DTYPE_NF4X2);
    trial_input(trial, from, trial_layout(trial, LAYOUT_BROADCAST), shape.rank, shape.size, low, high);
    if (opcode_input_count(opcode) == 2) {
        low = opcode == OPCODE_DROPOUT_BACKWARD                                              ? 0.0
              : opcode == OPCODE_DIVIDE || opcode == OPCODE_BOUND || opcode == OPCODE_WITHIN ? 0.5
              : opcode == OPCODE_TANH_BACKWARD                                               ? -1.0
                                                                                             : -6.0;
        high = opcode == OPCODE_DROPOUT_BACKWARD || opcode == OPCODE_TANH_BACKWARD ? 1.0 : 6.0;
        enum dtype second = second_dtype(trial, repeat);
        low = second == DTYPE_UINT8 ? 0.0 : low;
        trial_input(trial, second, trial_layout(trial, LAYOUT_BROADCAST), shape.rank, shape.size, low, high);
    }
    trial_output(trial, copied_dtype(trial, variant, to_same, from), trial_layout(trial, LAYOUT_PERMUTED), shape.rank,
                 shape.size);
    return true;
}

bool plan_dropout(struct trial *trial, int variant)
{
    static const double probabilities[] = {0.1, 0.0, 0.5, 0.9};
    if (variant >= SHAPE_COUNT) {
        return false;
    }
    struct shape shape = shapes[variant];
    trial->call.attributes.f[0] = probabilities[variant % 4];
    trial->call.attributes.i[0] = trial_integer(trial, 0, INT64_MAX - 1);
    trial_input(trial, trial_dtype(trial), LAYOUT_DENSE, shape.rank, shape.size, -3.0, 3.0);
    trial_output(trial, trial_dtype(trial), LAYOUT_DENSE, shape.rank, shape.size);
    trial_output(trial, DTYPE_BOOL, LAYOUT_DENSE, shape.rank, shape.size);
    return true;
}

/* Attributes of the optimizer's kind; odd variants of Adam are decoupled. */
static void optimizer_attributes(struct trial *trial, int variant)
{
    double *f = trial->call.attributes.f;
    switch (trial->call.opcode) {
    case OPCODE_ADAM_MOMENTS:
        f[0] = 0.9, f[1] = 0.999;
        break;
    case OPCODE_ADAM_APPLY:
        f[0] = 1e-2;
        break;
    case OPCODE_ADAM:
        f[0] = 1e-2, f[1] = 0.9, f[2] = 0.999, f[3] = 1e-8, f[4] = variant % 3 == 0 ? 0.0 : 0.1;
        trial->call.attributes.i[0] = variant % 2;
        trial->call.attributes.i[1] = 1 + variant;
        break;
    case OPCODE_SGD:
        f[0] = 1e-2;
        break;
    case OPCODE_SGD_MOMENTUM:
        f[0] = 1e-2, f[1] = 0.9;
        break;
    default:
        f[0] = 1.0 / 1024.0;
    }
}

bool plan_optimizer(struct trial *trial, int variant)
{
    if (variant >= 2 * SHAPE_COUNT) {
        return false;
    }
    struct shape shape = shapes[variant % SHAPE_COUNT];
    enum opcode opcode = trial->call.opcode;
    optimizer_attributes(trial, variant);
    if (opcode == OPCODE_UNSCALE) {
        trial_update(trial, trial_dtype(trial), shape.rank, shape.size, -500.0, 500.0);
        int64_t count = tensor_element_count(&trial->call.tensors[0]);
        if (variant % 3 != 0 && count > 0) {
            trial_set(trial, 0, trial_integer(trial, 0, count - 1), variant % 3 == 1 ? INFINITY : NAN);
        }
        trial_update(trial, DTYPE_FLOAT32, 1, (const int64_t[]){1}, 0.0, 0.0);
        return true;
    }
    trial_input(trial, trial_dtype(trial), LAYOUT_DENSE, shape.rank, shape.size, -1.0, 1.0);
    if (opcode == OPCODE_ADAM_APPLY) {
        trial_input(trial, trial_dtype(trial), LAYOUT_DENSE, shape.rank, shape.size, 0.1, 1.0);
    }
    if (variant >= SHAPE_COUNT) {
        double found = variant % 2;
        trial_input(trial, DTYPE_FLOAT32, LAYOUT_DENSE, 1, (const int64_t[]){1}, found, found);
    }
    int outs = opcode_output_count(opcode);
    for (int out = 0; out < outs; out++) {
        bool square = out == outs - 1 && (opcode == OPCODE_ADAM || opcode == OPCODE_ADAM_MOMENTS);
        trial_update(trial, trial_dtype(trial), shape.rank, shape.size, square ? 0.01 : -1.0, 1.0);
    }
    return true;
}
