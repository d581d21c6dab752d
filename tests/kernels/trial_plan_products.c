/* Plans of the products. Sums of rounded products err with their number of terms: that is allowed in absolute terms,
 * from elements between -1 and 1. */
#include "tests/kernels/trial_plan.h"

#include <math.h>

#include "tests/kernels/trial_site.h"

/* What float32 sums of so many terms may be off, whatever their order. */
static double sum_allowance(int64_t term_count)
{
    return (double)(term_count + 2) * 0x1p-23;
}

/* Tensor cores add core_terms products and the sum so far at once, cut what is some bits below the largest of them, and
 * cut the sum to float32: each time up to a unit in its last place, in one direction while it keeps its sign. A sum of
 * products of numbers between -1 and 1 is about a third of the root of how many there are. With half a unit in the last
 * place of the root for each time, cut sums use at most four fifths of what is allowed
 * (tests/conformance/test_core_sums.c). */
double product_allowance(int64_t term_count, int core_terms)
{
    double times = core_terms > 0 ? ceil((double)term_count / core_terms) : 0.0;
    return sum_allowance(term_count) + times * 0.5 * sqrt((double)term_count) * 0x1p-23;
}

/* What tensor cores may be off, where they may take the product, beyond float32's sum. To be called once the factors
 * are there; tf32: float32 factors may be rounded, and then half as many are added at once. */
static double cores_allowance(const struct trial *trial, bool tf32, int64_t term_count)
{
    enum dtype a = trial->call.tensors[0].dtype, b = trial->call.tensors[1].dtype;
    int at_once = trial->site != NULL && a == b ? trial->site->core_terms : 0;
    int terms = a != DTYPE_FLOAT32 ? at_once : tf32 ? at_once / 2 : 0;
    return product_allowance(term_count, terms) - product_allowance(term_count, 0);
}

/* What cores are allowed; and in one of four calls float32 factors may be rounded to TF32, each by 2^-11 of itself. To
 * be called once the factors are there; attribute: which of i says so. */
static void rounding_draw(struct trial *trial, int attribute, double factor, int64_t term_count)
{
    const struct tensor *tensors = trial->call.tensors;
    bool tf32 = trial_integer(trial, 0, 3) == 0;
    if (tf32) {
        bool rounds = tensors[0].dtype == DTYPE_FLOAT32 || tensors[1].dtype == DTYPE_FLOAT32;
        trial->call.attributes.i[attribute] = 1;
        trial->allowance += rounds ? fabs(factor) * (double)term_count * 0x1p-10 * 1.01 : 0.0;
    }
    trial->allowance += fabs(factor) * cores_allowance(trial, tf32, term_count);
}

/* In three of four calls: too little for some of the ways to compute a product, so little that a convolution's pixels,
 * channels and filters are cut, or enough. */
static void workspace_draw(struct trial *trial)
{
    enum { MIB = 1 << 20 };
    const int64_t sizes[] = {0,
                             trial_integer(trial, 1, 40000),
                             MIB + trial_integer(trial, 0, 300),
                             MIB + trial_integer(trial, 0, 9000),
                             MIB + 150000,
                             2 * MIB};
    if (trial_integer(trial, 0, 3) != 0) {
        trial_workspace(trial, sizes[trial_integer(trial, 0, 5)]);
    }
}

/* Dimensions as they lie in memory, innermost first, of rank 4: row-major; column-major; heads inside rows ([B, S, a,
 * D] seen as [B, a, S, D]); the two batch dimensions exchanged. */
static const int memory_orders[][4] = {{3, 2, 1, 0}, {2, 3, 1, 0}, {3, 1, 2, 0}, {3, 2, 0, 1}};

struct product_shape {
    int rank;
    int64_t batch[2], m, n, k;
};

/* Odd sizes, one row, one column, one term, many terms, beyond one tile and panel, empty in each dimension. */
static const struct product_shape product_shapes[] = {
    {2, {1, 1}, 1, 1, 1},     {2, {1, 1}, 5, 3, 7},    {2, {1, 1}, 1, 65, 33},    {2, {1, 1}, 17, 1, 65},
    {2, {1, 1}, 33, 17, 1},   {3, {1, 3}, 5, 8, 17},   {3, {1, 4}, 65, 2, 3},     {4, {2, 3}, 8, 17, 5},
    {4, {3, 1}, 33, 5, 8},    {4, {1, 2}, 3, 65, 65},  {2, {1, 1}, 0, 3, 4},      {2, {1, 1}, 3, 0, 4},
    {2, {1, 1}, 3, 5, 0},     {3, {1, 0}, 3, 4, 5},    {2, {1, 1}, 2, 3, 4096},   {2, {1, 1}, 531, 70, 1029},
    {4, {2, 2}, 130, 33, 64}, {3, {1, 2}, 64, 200, 9}, {2, {1, 1}, 64, 128, 256}, {4, {2, 4}, 16, 16, 32},
};

enum { PRODUCT_SHAPE_COUNT = sizeof product_shapes / sizeof product_shapes[0] };

static struct product_shape product_draw(struct trial *trial)
{
    static const int64_t sizes[] = {1, 2, 3, 5, 8, 17, 33, 65, 130};
    enum { LAST = sizeof sizes / sizeof sizes[0] - 1 };
    return (struct product_shape){.rank = (int)trial_integer(trial, 2, 4),
                                  .batch = {trial_integer(trial, 1, 3), trial_integer(trial, 1, 4)},
                                  .m = sizes[trial_integer(trial, 0, LAST)],
                                  .n = sizes[trial_integer(trial, 0, LAST)],
                                  .k = sizes[trial_integer(trial, 0, LAST)]};
}

/* One of the memory orders; shared: one matrix for the whole batch. */
static struct placement operand_placement(struct trial *trial, const struct product_shape *s, bool shared)
{
    struct placement placement = {.gap = 3 * trial_integer(trial, 0, 1)};
    const int *order = memory_orders[trial_integer(trial, 0, 3)];
    int missing = 4 - s->rank, count = 0;
    for (int step = 0; step < 4; step++) {
        if (order[step] >= missing) {
            placement.order[count++] = order[step] - missing;
        }
    }
    for (int d = 0; d < s->rank - 2; d++) {
        placement.repeated[d] = shared;
    }
    return placement;
}

static void operand_size(const struct product_shape *s, int64_t rows, int64_t columns, int64_t size[4])
{
    const int64_t all[4] = {s->batch[0], s->batch[1], rows, columns};
    for (int d = 0; d < s->rank; d++) {
        size[d] = all[4 - s->rank + d];
    }
}

bool plan_matmul(struct trial *trial, int variant)
{
    enum { DRAWN = 20 };
    static const double scalars[] = {1.0, 0.125, -2.0};
    if (variant >= 2 * PRODUCT_SHAPE_COUNT + DRAWN) {
        return false;
    }
    struct product_shape drawn = product_draw(trial);
    bool listed = variant < 2 * PRODUCT_SHAPE_COUNT;
    bool biased = listed ? variant >= PRODUCT_SHAPE_COUNT : variant % 2 == 0;
    const struct product_shape *s = listed ? &product_shapes[variant % PRODUCT_SHAPE_COUNT] : &drawn;
    double alpha = scalars[trial_integer(trial, 0, 2)];
    double beta = trial_integer(trial, 0, 1) == 0 ? 0.0 : scalars[trial_integer(trial, 0, 2)];
    int64_t size[4];
    trial->call.attributes.f[0] = alpha;
    trial->call.attributes.f[1] = beta;
    trial->tolerance = 0.0;
    trial->allowance = fabs(alpha) * sum_allowance(s->k) + (1.0 + fabs(beta)) * sum_allowance(0);
    struct placement placement = operand_placement(trial, s, false);
    operand_size(s, s->m, s->k, size);
    trial_input_placed(trial, trial_dtype(trial), &placement, s->rank, size, -1.0, 1.0);
    placement = operand_placement(trial, s, trial_integer(trial, 0, 2) == 0);
    operand_size(s, s->k, s->n, size);
    trial_input_placed(trial, trial_dtype(trial), &placement, s->rank, size, -1.0, 1.0);
    rounding_draw(trial, 0, alpha, s->k);
    if (biased) {
        trial_input(trial, trial_dtype(trial), LAYOUT_DENSE, 1, &s->n, -1.0, 1.0);
    }
    workspace_draw(trial);
    placement = operand_placement(trial, s, false);
    operand_size(s, s->m, s->n, size);
    int out = trial_output_placed(trial, trial_dtype(trial), &placement, s->rank, size);
    if (beta != 0.0) {
        trial_fill(trial, out, -1.0, 1.0);
    }
    return true;
}

/* A linear layer of quantised storage: a [m, k] and the transposed weight [n, k]; of every third one b is [k, n]. */
static void factors_input(struct trial *trial, const struct product_shape *s, enum dtype dtype, bool turned, double low,
                          double high)
{
    const struct placement rows = {.order = {1, 0}}, columns = {.order = {0, 1}};
    trial_input_placed(trial, dtype, &rows, 2, (const int64_t[]){s->m, s->k}, low, high);
    trial_input_placed(trial, dtype, turned ? &columns : &rows, 2, (const int64_t[]){s->k, s->n}, low, high);
}

/* Aligned to 4 and to 16, and not; terms enough to leave float32, panels and tiles behind. Tensor cores take float8
 * where n and k are multiples of 16: less than one instruction's terms, a few instructions, and many with half a one at
 * the end. */
static const struct product_shape linear_shapes[] = {
    {2, {1, 1}, 1, 1, 1},      {2, {1, 1}, 3, 5, 7},      {2, {1, 1}, 4, 8, 16},     {2, {1, 1}, 5, 12, 20},
    {2, {1, 1}, 1, 33, 64},    {2, {1, 1}, 65, 17, 36},   {2, {1, 1}, 2, 3, 1500},   {2, {1, 1}, 4, 8, 4096},
    {2, {1, 1}, 0, 4, 8},      {2, {1, 1}, 4, 0, 8},      {2, {1, 1}, 4, 4, 0},      {2, {1, 1}, 530, 12, 520},
    {2, {1, 1}, 7, 531, 1},    {2, {1, 1}, 33, 64, 1028}, {2, {1, 1}, 16, 160, 160}, {2, {1, 1}, 1, 32, 16},
    {2, {1, 1}, 17, 48, 2064},
};

enum { LINEAR_SHAPE_COUNT = sizeof linear_shapes / sizeof linear_shapes[0] };

/* Every second variant has the largest magnitudes: sums beyond 2^24, where float32 no longer counts one by one. */
bool plan_integer_matmul(struct trial *trial, int variant)
{
    if (variant >= 2 * LINEAR_SHAPE_COUNT) {
        return false;
    }
    const struct product_shape *s = &linear_shapes[variant % LINEAR_SHAPE_COUNT];
    bool large = variant >= LINEAR_SHAPE_COUNT;
    factors_input(trial, s, DTYPE_INT8, variant % 3 != 0, large ? -128.0 : -127.0, large ? -125.0 : 127.0);
    trial_output(trial, DTYPE_INT32, LAYOUT_DENSE, 2, (const int64_t[]){s->m, s->n});
    return true;
}

bool plan_scaled_matmul(struct trial *trial, int variant)
{
    if (variant >= 2 * LINEAR_SHAPE_COUNT) {
        return false;
    }
    const struct product_shape *s = &linear_shapes[variant % LINEAR_SHAPE_COUNT];
    const int64_t one = 1;
    trial->call.attributes.f[0] = 1.0;
    trial->tolerance = 0.0;
    trial->allowance = sum_allowance(s->k);
    factors_input(trial, s, DTYPE_FLOAT8_E4M3FN, variant % 3 != 0, -448.0, 448.0);
    trial_input(trial, DTYPE_FLOAT32, LAYOUT_DENSE, 1, &one, 0.001, 1.0 / 448.0);
    trial_input(trial, DTYPE_FLOAT32, LAYOUT_DENSE, 1, &one, 0.001, 1.0 / 448.0);
    if (variant >= LINEAR_SHAPE_COUNT) {
        trial_input(trial, trial_dtype(trial), LAYOUT_DENSE, 1, &s->n, -1.0, 1.0);
    }
    workspace_draw(trial);
    trial_output(trial, trial_dtype(trial), LAYOUT_DENSE, 2, (const int64_t[]){s->m, s->n});
    return true;
}

struct convolution_shape {
    int64_t images, channels, height, width, filters, kernel, stride, padding;
};

/* Every kind of window; then more pixels, images, channels or filters than one block holds, an image that is cut into
 * bands; then empty ones. */
static const struct convolution_shape convolution_shapes[] = {
    {1, 1, 1, 1, 1, 1, 1, 0},     {2, 3, 5, 7, 4, 1, 1, 0},     {3, 2, 9, 4, 5, 1, 2, 0},
    {2, 5, 6, 11, 1, 2, 1, 2},    {4, 1, 3, 3, 6, 3, 1, 0},     {1, 4, 8, 13, 3, 3, 1, 1},
    {2, 3, 11, 9, 2, 3, 2, 1},    {1, 2, 10, 10, 2, 3, 3, 3},   {2, 2, 5, 12, 3, 5, 1, 2},
    {1, 3, 16, 15, 4, 7, 2, 3},   {1, 2, 40, 37, 3, 3, 1, 1},   {21, 3, 7, 7, 5, 3, 1, 1},
    {2, 600, 3, 4, 2, 1, 1, 0},   {2, 2, 3, 4, 1100, 1, 1, 0},  {1, 70, 9, 9, 4, 3, 2, 1},
    {1, 1, 5, 1500, 2, 3, 1, 1},  {1, 2, 190, 170, 1, 3, 2, 1}, {3, 2, 26, 25, 2, 24, 1, 2},
    {1, 1, 530, 520, 1, 3, 1, 1}, {0, 2, 4, 4, 3, 3, 1, 1},     {2, 0, 4, 4, 3, 3, 1, 1},
    {2, 2, 4, 4, 0, 3, 1, 1},     {2, 3, 0, 4, 2, 3, 1, 2},     {2, 3, 4, 0, 2, 3, 1, 2},
};

enum { CONVOLUTION_SHAPE_COUNT = sizeof convolution_shapes / sizeof convolution_shapes[0] };

static struct convolution_shape convolution_draw(struct trial *trial)
{
    int64_t kernel = trial_integer(trial, 1, 7);
    return (struct convolution_shape){.images = trial_integer(trial, 1, 4),
                                      .channels = trial_integer(trial, 1, 5),
                                      .height = kernel + trial_integer(trial, 0, 8),
                                      .width = kernel + trial_integer(trial, 0, 11),
                                      .filters = trial_integer(trial, 1, 6),
                                      .kernel = kernel,
                                      .stride = trial_integer(trial, 1, 3),
                                      .padding = trial_integer(trial, 0, kernel)};
}

bool plan_convolution(struct trial *trial, int variant)
{
    enum { DRAWN = 20, SEVERAL_PARTS = 21 };
    enum opcode opcode = trial->call.opcode;
    bool forward = opcode == OPCODE_CONVOLUTION;
    if (variant >= CONVOLUTION_SHAPE_COUNT + DRAWN) {
        return false;
    }
    struct convolution_shape drawn = convolution_draw(trial);
    const struct convolution_shape *s = variant < CONVOLUTION_SHAPE_COUNT ? &convolution_shapes[variant] : &drawn;
    int64_t rows = (s->height + 2 * s->padding - s->kernel) / s->stride + 1;
    int64_t columns = (s->width + 2 * s->padding - s->kernel) / s->stride + 1;
    const int64_t image[4] = {s->images, s->channels, s->height, s->width};
    const int64_t weight[4] = {s->filters, s->channels, s->kernel, s->kernel};
    const int64_t result[4] = {s->images, s->filters, rows, columns};
    bool to_weight = opcode == OPCODE_CONVOLUTION_BACKWARD_WEIGHT;
    int64_t window = s->kernel * s->kernel;
    int64_t terms = forward ? s->channels * window : to_weight ? s->images * rows * columns : s->filters * window;
    trial->call.attributes.i[0] = s->stride;
    trial->call.attributes.i[1] = s->padding;
    trial->tolerance = 0.0;
    trial->allowance = sum_allowance(terms);
    trial_input(trial, trial_dtype(trial), LAYOUT_DENSE, 4, forward ? image : result, -1.0, 1.0);
    trial_input(trial, trial_dtype(trial), LAYOUT_DENSE, 4, to_weight ? image : weight, -1.0, 1.0);
    rounding_draw(trial, 2, 1.0, terms);
    if (forward && variant % 2 == 1) {
        trial_input(trial, trial_dtype(trial), LAYOUT_DENSE, 1, &s->filters, -1.0, 1.0);
    }
    if (s->images == SEVERAL_PARTS) {
        trial_workspace(trial, 40000); /* for some of the images at once, several times */
    } else {
        workspace_draw(trial);
    }
    trial_output(trial, trial_dtype(trial), LAYOUT_DENSE, 4, forward ? result : to_weight ? weight : image);
    return true;
}

/* Images, groups, channels and filters of a group, height, width, kernel, stride, padding. */
static const int64_t grouped_shapes[][9] = {
    {1, 1, 1, 1, 1, 1, 1, 1, 0},    {2, 5, 1, 1, 9, 11, 7, 1, 3},   {3, 1, 4, 6, 8, 8, 2, 2, 0},
    {2, 3, 2, 4, 7, 5, 3, 1, 1},    {1, 4, 3, 1, 6, 9, 4, 3, 2},    {2, 5, 1, 2, 14, 14, 7, 1, 3},
    {2, 2, 2, 3, 5, 4, 1, 2, 3},    {0, 2, 1, 1, 4, 4, 3, 1, 1},    {1, 3, 1, 1, 3, 3, 7, 1, 3},
    {4, 9, 1, 1, 5, 6, 3, 2, 1},    {1, 2, 12, 8, 9, 10, 3, 1, 1},  {1, 1, 2, 40, 15, 20, 1, 1, 0},
    {2, 80, 1, 1, 8, 9, 5, 1, 2},   {1, 3, 1, 1, 61, 37, 3, 1, 1},  {2, 4, 4, 4, 20, 18, 3, 2, 1},
    {2, 1, 10, 12, 8, 11, 2, 2, 0}, {1, 1, 1, 1, 73, 72, 71, 1, 1}, {1, 1, 1, 1, 100, 99, 99, 1, 1},
};

enum { GROUPED_SHAPE_COUNT = sizeof grouped_shapes / sizeof grouped_shapes[0] };

/* How the images of a variant lie in memory: all dense; all with channels last; any. */
static const struct placement *grouped_placement(int variant, int image)
{
    static const struct placement placements[] = {{{3, 2, 1, 0}, {0}, 0},
                                                  {{1, 3, 2, 0}, {0}, 0},
                                                  {{0, 1, 2, 3}, {0}, 0},
                                                  {{3, 2, 1, 0}, {0}, 3},
                                                  {{1, 3, 2, 0}, {0}, 5}};
    return &placements[variant / GROUPED_SHAPE_COUNT < 2 ? variant / GROUPED_SHAPE_COUNT : (variant + 2 * image) % 5];
}

bool plan_grouped_convolution(struct trial *trial, int variant)
{
    if (variant >= 3 * GROUPED_SHAPE_COUNT) {
        return false;
    }
    const int64_t *s = grouped_shapes[variant % GROUPED_SHAPE_COUNT];
    enum opcode opcode = trial->call.opcode;
    bool forward = opcode == OPCODE_GROUPED_CONVOLUTION,
         to_weight = opcode == OPCODE_GROUPED_CONVOLUTION_BACKWARD_WEIGHT;
    const struct placement *first = grouped_placement(variant, 0), *second = grouped_placement(variant, 1);
    const struct placement dense = {.order = {3, 2, 1, 0}};
    int64_t rows = (s[4] + 2 * s[8] - s[6]) / s[7] + 1, columns = (s[5] + 2 * s[8] - s[6]) / s[7] + 1;
    int64_t filters = s[1] * s[3], window = s[6] * s[6];
    const int64_t image[4] = {s[0], s[1] * s[2], s[4], s[5]};
    const int64_t weight[4] = {filters, s[2], s[6], s[6]};
    const int64_t result[4] = {s[0], filters, rows, columns};
    trial->call.attributes.i[0] = s[7];
    trial->call.attributes.i[1] = s[8];
    trial->call.attributes.i[2] = s[1];
    trial->tolerance = 0.0;
    trial->allowance = sum_allowance(forward ? s[2] * window : to_weight ? s[0] * rows * columns : s[3] * window);
    trial_input_placed(trial, trial_dtype(trial), first, 4, forward ? image : result, -1.0, 1.0);
    trial_input_placed(trial, trial_dtype(trial), to_weight ? second : &dense, 4, to_weight ? image : weight, -1.0,
                       1.0);
    if (forward && variant % 2 == 1) {
        trial_input(trial, trial_dtype(trial), LAYOUT_DENSE, 1, &filters, -1.0, 1.0);
    }
    trial_output_placed(trial, trial_dtype(trial), to_weight ? &dense : second, 4,
                        forward     ? result
                        : to_weight ? weight
                                    : image);
    return true;
}
