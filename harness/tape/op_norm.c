/* Reductions, softmax, layer and batch normalisation, with their gradients. */
#include <string.h>

#include "harness/tape/batchnorm_choice.h"
#include "harness/tape/graph.h"
#include "harness/tape/reduction_scratch.h"

/* -- means */

static struct value *mean_make(struct tape *tape, struct value *a, const struct shape *kept)
{
    if (a == NULL || tape_failed(tape)) {
        return NULL;
    }
    struct value *mean = value_new(tape, a->dtype, kept, "mean");
    if (mean == NULL) {
        return NULL;
    }
    int64_t count = value_count(mean) > 0 ? value_count(a) / value_count(mean) : 1;
    sum_run(tape, a, mean, count > 0 ? 1.0 / (double)count : 0.0);
    return mean;
}

/* The gradient is spread over the input and divided: one new tensor. */
static void mean_backward(struct tape *tape, struct node *node, struct value **out, struct value **in)
{
    const struct shape *shape = &node->edges[0].shape;
    in[0] = value_new(tape, out[0]->dtype, shape, "mean gradient");
    struct value *wide = value_broadcast(tape, out[0], shape);
    struct value *values[] = {wide, in[0]};
    struct operation_attributes attributes = attributes_f(node->attributes.f[0], 0.0);
    tape_run(tape, OPCODE_AFFINE, &attributes, 1, 2, values);
}

static struct value *mean_record(struct tape *tape, struct value *a, struct value *mean)
{
    struct node *node = node_new(tape, mean_backward, 1, &a, mean);
    if (node != NULL) {
        node->attributes.f[0] = (double)value_count(mean) / (double)value_count(a);
        if (tape->torch.mean_keeps_input) {
            node_save(tape, node, 0, a);
        }
    }
    return mean;
}

struct value *tape_mean_last(struct tape *tape, struct value *a)
{
    if (a == NULL || tape_failed(tape)) {
        return NULL;
    }
    struct shape kept = a->shape;
    kept.size[kept.rank - 1] = 1;
    return mean_record(tape, a, mean_make(tape, a, &kept));
}

struct value *tape_mean_spatial(struct tape *tape, struct value *a)
{
    if (a == NULL || tape_failed(tape)) {
        return NULL;
    }
    struct shape kept = a->shape;
    kept.size[2] = kept.size[3] = 1;
    return mean_record(tape, a, mean_make(tape, a, &kept));
}

/* -- softmax */

/* softmax_backward_cuda_out first makes gradient * result, behind the gradient that it returns: 2 * 12 heads of 512 *
 * 512 scores in float32, 25,165,824 bytes of each (measured, `softmax` in probe.jsonl). That of a log-softmax makes
 * nothing. */
static void softmax_backward(struct tape *tape, struct node *node, struct value **out, struct value **in)
{
    enum dtype dtype = node->edges[0].dtype;
    enum opcode opcode = (enum opcode)node->attributes.i[0];
    struct value *result = node->saved[0], *product = NULL;
    in[0] = value_new(tape, dtype, &result->shape, "softmax gradient");
    if (opcode == OPCODE_SOFTMAX_BACKWARD && tape_targets_gpu(tape)) {
        product = scratch_new(tape, dtype_promote(out[0]->dtype, result->dtype), &result->shape,
                              "softmax gradient by result");
    }
    struct value *values[] = {out[0], result, in[0]};
    tape_run(tape, opcode, NULL, 2, 3, values);
    tape_drop(tape, product);
}

static struct value *softmax_make(struct tape *tape, enum opcode forward, enum opcode backward, struct value *a,
                                  enum dtype dtype)
{
    if (a == NULL || tape_failed(tape)) {
        return NULL;
    }
    struct value *result = NULL, *dense = a;
    if (!value_is_dense(a)) { /* the kernel's own input_.contiguous() */
        dense = scratch_new(tape, a->dtype, &a->shape, "rows, side by side");
        tape_copy_into(tape, a, dense);
    }
    result = value_new(tape, dtype, &a->shape, opcode_name(forward));
    struct value *values[] = {dense, result};
    tape_run(tape, forward, NULL, 1, 2, values);
    if (dense != a) {
        tape_drop(tape, dense);
    }
    struct node *node = node_new(tape, softmax_backward, 1, &a, result);
    if (node != NULL) {
        node->attributes = attributes_i(backward, 0);
        node_save(tape, node, 0, result);
    }
    return result;
}

struct value *tape_softmax(struct tape *tape, struct value *a, bool in_float32)
{
    if (a == NULL || tape_failed(tape)) {
        return NULL;
    }
    int frame = tape_frame_open(tape);
    enum dtype dtype = in_float32 ? DTYPE_FLOAT32 : a->dtype;
    struct value *input = autocast_float32(tape, a);
    if (input != NULL && input->dtype == DTYPE_FLOAT32) {
        dtype = DTYPE_FLOAT32;
    }
    /* float16 -> float32 is one kernel in PyTorch; from bfloat16 the input is converted first. */
    if (input != NULL && input->dtype == DTYPE_BFLOAT16 && dtype == DTYPE_FLOAT32) {
        input = tape_cast(tape, input, DTYPE_FLOAT32);
    }
    struct value *result = softmax_make(tape, OPCODE_SOFTMAX, OPCODE_SOFTMAX_BACKWARD, input, dtype);
    return tape_frame_close(tape, frame, result);
}

/* -- losses */

static void nll_backward(struct tape *tape, struct node *node, struct value **out, struct value **in)
{
    const struct edge *edge = &node->edges[0];
    in[0] = value_new(tape, edge->dtype, &edge->shape, "loss gradient");
    struct value *values[] = {out[0], node->saved[0], node->saved[1], in[0]};
    tape_run(tape, OPCODE_NLL_LOSS_BACKWARD, NULL, 3, 4, values);
}

struct value *make_log_softmax(struct tape *tape, struct value *a)
{
    return a != NULL ? softmax_make(tape, OPCODE_LOG_SOFTMAX, OPCODE_LOG_SOFTMAX_BACKWARD, a, a->dtype) : NULL;
}

struct value *tape_nll_loss(struct tape *tape, struct value *logp, struct value *targets)
{
    if (logp == NULL || tape_failed(tape)) {
        return NULL;
    }
    struct shape scalar = {0};
    struct value *loss = value_new(tape, value_dtype(logp), &scalar, "loss");
    struct value *total_weight = value_new(tape, value_dtype(logp), &scalar, "loss weight");
    struct value *values[] = {logp, targets, loss, total_weight};
    tape_run(tape, OPCODE_NLL_LOSS, NULL, 2, 4, values);
    struct node *node = node_new(tape, nll_backward, 1, &logp, loss);
    node_save(tape, node, 0, targets);
    node_save(tape, node, 1, total_weight);
    node_save(tape, node, 2, logp); /* PyTorch keeps it, though only its shape is needed */
    if (!tape_failed(tape)) {
        /* The loss is the first output: two operands from the end. */
        tape->loss_operand = tape->operand_count - 2;
    }
    return loss;
}

struct value *tape_cross_entropy(struct tape *tape, struct value *logits, struct value *targets)
{
    if (logits == NULL || targets == NULL || tape_failed(tape)) {
        return NULL;
    }
    int frame = tape_frame_open(tape);
    /* cross_entropy_loss asks for log_softmax in the dtype of its input, which autocast respects; nll_loss then gets a
     * float32 copy. */
    struct value *logp = autocast_float32(tape, make_log_softmax(tape, logits));
    return tape_frame_close(tape, frame, tape_nll_loss(tape, logp, targets));
}

/* -- layer and batch normalisation: gradients of the input, the weight and the bias come from one kernel */

static void slopes_new(struct tape *tape, struct value *input, struct value *weight, const char *const labels[3],
                       struct value *slopes[3])
{
    slopes[0] = value_new(tape, input->dtype, &input->shape, labels[0]);
    slopes[1] = value_new(tape, weight->dtype, &weight->shape, labels[1]);
    slopes[2] = value_new(tape, weight->dtype, &weight->shape, labels[2]);
}

static void slopes_hand_on(const struct node *node, struct value *const slopes[3], struct value **in)
{
    for (int i = 0; i < 3; i++) {
        in[i] = node_wants(node, i) ? slopes[i] : NULL;
    }
}

/* Of many rows that are short, each block of 32 rows sums its own gradients of weight and bias, and these are added up
 * as any sum (LaunchGammaBetaBackwardCUDAKernel of layer_norm_kernel.cu, PyTorch 2.11). Worked: 131,072 rows of 768 in
 * float32, on a GPU of 132 multiprocessors: 24 blocks hold a row, so min(32,768 / 24, 131,072 / 32) = 1,365 rows of
 * sums for the weight and as many for the bias, 4,193,280 bytes each, and 8,650,752 and 24 to add them up. Measured:
 * the same. */
enum { TALL_ROWS = 65536, SUMS_COLUMNS = 32, SUMS_ROWS = 32, SUMS_BLOCKS = 32768 };

static bool is_tall(const struct tape *tape, int64_t rows, int64_t columns)
{
    return rows > TALL_ROWS && columns / SUMS_COLUMNS < tape->target->multiprocessor_count / 2;
}

/* As slopes_new, where the gradients that were made first are let go for those that the sums give. */
static void slopes_sum(struct tape *tape, struct value *input, struct value *weight, const char *const labels[3],
                       struct value *slopes[3])
{
    int64_t columns = value_size(weight, 0), rows = value_count(input) / columns;
    int64_t across = (columns + SUMS_COLUMNS - 1) / SUMS_COLUMNS, down = (rows + SUMS_ROWS - 1) / SUMS_ROWS;
    int64_t blocks = SUMS_BLOCKS / across < down ? SUMS_BLOCKS / across : down;
    const struct reduction sum = {
        .dtype = weight->dtype, .rank = 2, .size = {blocks, columns}, .stride = {columns, 1}, .summed = {true, false}};
    struct shape parts = {.rank = 2, .size = {blocks, columns}};
    struct value *first[2], *sums[2];
    slopes[0] = value_new(tape, input->dtype, &input->shape, labels[0]);
    for (int i = 0; i < 2; i++) {
        first[i] = scratch_new(tape, weight->dtype, &weight->shape, "gradient before sums");
    }
    for (int i = 0; i < 2; i++) {
        sums[i] = scratch_new(tape, weight->dtype, &parts, "sums of rows");
    }
    for (int i = 0; i < 2; i++) {
        slopes[i + 1] = value_new(tape, weight->dtype, &weight->shape, labels[i + 1]);
        sum_scratch_drop(tape, sum_scratch_take(tape, &sum));
        tape_drop(tape, first[i]);
    }
    tape_drop(tape, sums[1]);
    tape_drop(tape, sums[0]);
}

/* What is saved, in the order in which PyTorch lets it go. It keeps the bias too, which nothing reads. */
enum { LAYERNORM_BIAS, LAYERNORM_INPUT, LAYERNORM_WEIGHT, LAYERNORM_MEAN, LAYERNORM_DEVIATION, LAYERNORM_SAVED };

static void layernorm_backward(struct tape *tape, struct node *node, struct value **out, struct value **in)
{
    struct value *input = node->saved[LAYERNORM_INPUT], *weight = node->saved[LAYERNORM_WEIGHT];
    input = make_dense(tape, input);
    struct value *gradient = make_dense(tape, out[0]);
    if (input == NULL || gradient == NULL) {
        return;
    }
    static const char *const labels[] = {"LAYERNORM gradient", "LAYERNORM weight gradient", "LAYERNORM bias gradient"};
    struct value *values[8] = {gradient, input, node->saved[LAYERNORM_MEAN], node->saved[LAYERNORM_DEVIATION], weight};
    struct value *slopes[3] = {NULL};
    if (!node_wants(node, 1) && !node_wants(node, 2)) {
        in[0] = values[5] = value_new(tape, input->dtype, &input->shape, labels[0]);
        tape_run(tape, OPCODE_LAYERNORM_BACKWARD_INPUT, NULL, 5, 6, values);
        return;
    }
    bool tall = is_tall(tape, value_count(input) / value_size(weight, 0), value_size(weight, 0));
    (tall ? slopes_sum : slopes_new)(tape, input, weight, labels, slopes);
    memcpy(&values[5], slopes, sizeof slopes);
    tape_run(tape, OPCODE_LAYERNORM_BACKWARD, NULL, 5, 8, values);
    slopes_hand_on(node, slopes, in);
}

struct value *tape_layernorm(struct tape *tape, struct value *a, struct value *weight, struct value *bias,
                             double epsilon)
{
    if (a == NULL || weight == NULL || bias == NULL || tape_failed(tape)) {
        return NULL;
    }
    int frame = tape_frame_open(tape);
    bias = autocast_float32(tape, bias); /* arguments are converted from the last to the first */
    weight = autocast_float32(tape, weight);
    struct value *input = autocast_float32(tape, a);
    struct shape rows = input != NULL ? input->shape : a->shape;
    rows.size[rows.rank - 1] = 1;
    struct value *dense = make_dense(tape, input); /* gone when the operation returns: the graph keeps input */
    struct value *result = value_new(tape, value_dtype(input), &a->shape, "LAYERNORM");
    struct value *mean = value_new(tape, DTYPE_FLOAT32, &rows, "LAYERNORM mean");
    struct value *deviation = value_new(tape, DTYPE_FLOAT32, &rows, "LAYERNORM deviation");
    struct value *values[] = {dense, weight, bias, result, mean, deviation};
    struct operation_attributes attributes = attributes_f(epsilon, 0.0);
    tape_run(tape, OPCODE_LAYERNORM, &attributes, 3, 6, values);
    values[0] = input;
    struct node *node = node_new(tape, layernorm_backward, 3, values, result);
    struct value *const saved[LAYERNORM_SAVED] = {bias, input, weight, mean, deviation};
    for (int i = 0; i < LAYERNORM_SAVED; i++) {
        node_save(tape, node, i, saved[i]);
    }
    return tape_frame_close(tape, frame, result);
}

static void batchnorm_backward(struct tape *tape, struct node *node, struct value **out, struct value **in)
{
    struct value *input = node->saved[0], *weight = node->saved[1];
    static const char *const labels[] = {"BATCHNORM gradient", "BATCHNORM weight gradient", "BATCHNORM bias gradient"};
    struct value *slopes[3] = {NULL};
    slopes_new(tape, input, weight, labels, slopes);
    struct value *values[] = {out[0], input, weight, node->saved[2], node->saved[3], slopes[0], slopes[1], slopes[2]};
    tape_run(tape, OPCODE_BATCHNORM_BACKWARD, NULL, 5, 8, values);
    slopes_hand_on(node, slopes, in);
}

/* Whether mean and deviation are outputs of the call. Our own backward pass always needs them. */
static bool statistics_are_made(const struct tape *tape, const struct value *a, const struct value *weight)
{
    const struct batchnorm_case batchnorm = {.dtype = a->dtype,
                                             .weight_dtype = weight->dtype,
                                             .rank = a->shape.rank,
                                             .batch = a->shape.size[0],
                                             .element_count = value_count(a),
                                             .training = tape->training};
    return tape->gradients || batchnorm_makes_statistics(tape->target->capability, &batchnorm);
}

struct value *tape_batchnorm(struct tape *tape, struct value *a, struct value *weight, struct value *bias,
                             struct value *running_mean, struct value *running_variance, double epsilon,
                             double momentum)
{
    if (a == NULL || weight == NULL || tape_failed(tape)) {
        return NULL;
    }
    int frame = tape_frame_open(tape);
    struct value *result = value_new(tape, a->dtype, &a->shape, "BATCHNORM");
    struct value *values[8] = {a, weight, bias, running_mean, running_variance, result};
    struct operation_attributes attributes = attributes_f(epsilon, momentum);
    if (!statistics_are_made(tape, a, weight)) {
        attributes = attributes_f(epsilon, 0.0);
        tape_run(tape, OPCODE_BATCHNORM_INFERENCE, &attributes, 5, 6, values);
        return tape_frame_close(tape, frame, result);
    }
    struct value *mean = values[6] = value_new(tape, DTYPE_FLOAT32, &weight->shape, "BATCHNORM mean");
    struct value *deviation = values[7] = value_new(tape, DTYPE_FLOAT32, &weight->shape, "BATCHNORM deviation");
    attributes.i[0] = tape->training ? 1 : 0;
    tape_run(tape, OPCODE_BATCHNORM, &attributes, 5, 8, values);
    struct node *node = node_new(tape, batchnorm_backward, 3, values, result);
    node_save(tape, node, 0, a);
    node_save(tape, node, 1, weight);
    node_save(tape, node, 2, mean);
    node_save(tape, node, 3, deviation);
    return tape_frame_close(tape, frame, result);
}
