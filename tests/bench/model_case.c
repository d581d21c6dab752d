/* Model cases: the table, the calls and the choice of what counts. Nothing here computes or measures. */
#include "tests/bench/model_case.h"

#include "harness/device/cuda/columns_traffic.h"
#include "harness/kernels/plan_attention.h"
#include "harness/kernels/plan_batchnorm.h"
#include "harness/kernels/plan_columns.h"
#include "harness/kernels/plan_copy.h"
#include "harness/kernels/plan_grouped.h"
#include "harness/kernels/plan_grouped_weight.h"
#include "harness/kernels/plan_rows.h"
#include "harness/kernels/plan_select.h"

#define F32 DTYPE_FLOAT32
#define B16 DTYPE_BFLOAT16

const struct model_case model_cases[] = {
    {"ADD, 8192 x 1024", OPCODE_ADD, F32, {8192, 1024}},
    {"COPY, transposed, 8192 x 1024", OPCODE_COPY, F32, {8192, 1024}},
    {"SOFTMAX, 8192 x 1024", OPCODE_SOFTMAX, F32, {8192, 1024}},
    {"SOFTMAX, 2048 x 128256", OPCODE_SOFTMAX, B16, {2048, 128256}},
    {"SUM, gradient of a bias, 8192 x 1024", OPCODE_SUM, F32, {8192, 1024, 1024}},
    {"SUM, to one number, 8192 x 1024", OPCODE_SUM, F32, {8192, 1024, 1}},
    {"SUM, to one number, 8192 x 1024, in 2 KiB", OPCODE_SUM, F32, {8192, 1024, 1, 2112}},
    {"SUM, gradient of a bias, 65536 x 64", OPCODE_SUM, F32, {65536, 64, 64}},
    {"SUM, gradient of a bias, 65536 x 64, in 1 MiB", OPCODE_SUM, F32, {65536, 64, 64, 1 << 20}},
    {"TOP_K, 8 of 1024, 8192 rows", OPCODE_TOP_K, F32, {8192, 1024, 8}},
    {"TOP_K, 50 of 128256, one row", OPCODE_TOP_K, F32, {1, 128256, 50}},
    {"TOP_K, 50 of 128256, one row, in 63 KiB", OPCODE_TOP_K, F32, {1, 128256, 50, 64512}},
    {"ARGMAX of 128256, one row", OPCODE_ARGMAX, F32, {1, 128256}},
    {"ARGMAX of 151936, one row", OPCODE_ARGMAX, F32, {1, 151936}},
    {"ARGMAX of 151936, one row, in 304 bytes", OPCODE_ARGMAX, F32, {1, 151936, 1, 304}},
    {"ATTENTION, 4 x 12 x 512 x 512 x 64", OPCODE_ATTENTION, F32, {4, 12, 12, 512, 512, 64}},
    {"ATTENTION, 4 x 12 x 512 x 512 x 64", OPCODE_ATTENTION, B16, {4, 12, 12, 512, 512, 64}},
    {"ATTENTION_BACKWARD, the same", OPCODE_ATTENTION_BACKWARD, F32, {4, 12, 12, 512, 512, 64}},
    {"ATTENTION_BACKWARD, the same", OPCODE_ATTENTION_BACKWARD, B16, {4, 12, 12, 512, 512, 64}},
    {"ATTENTION, 1 x 32/8 x 2048 x 2048 x 128", OPCODE_ATTENTION, B16, {1, 32, 8, 2048, 2048, 128}},
    {"ATTENTION, decoding 1 x 32/8 x 8192 x 128", OPCODE_ATTENTION, B16, {1, 32, 8, 1, 8192, 128}},
    {"ATTENTION, decoding 1 x 32/8 x 8192 x 128", OPCODE_ATTENTION, F32, {1, 32, 8, 1, 8192, 128}},
    {"ATTENTION_IN_PARTS, decoding 1 x 32/8 x 8192 x 128",
     OPCODE_ATTENTION_IN_PARTS,
     B16,
     {1, 32, 8, 1, 8192, 128, 32}},
    {"ATTENTION_BIAS_GRADIENT, 4 x 12 x 512 x 512 x 64",
     OPCODE_ATTENTION_BIAS_GRADIENT,
     F32,
     {4, 12, 12, 512, 512, 64}},
    {"GROUPED_MATMUL, 4096 x 2048 x 1024, 64 groups", OPCODE_GROUPED_MATMUL, B16, {4096, 2048, 1024, 64}},
    {"SORT_IDS, 65536 of 64 groups", OPCODE_SORT_IDS, DTYPE_INT64, {65536, 64}},
    {"CONVOLUTION, 32 x 128 x 28 x 28, 128 of 3 x 3", OPCODE_CONVOLUTION, F32, {32, 128, 28, 128, 3, 64}},
    {"CONVOLUTION, 32 x 128 x 28 x 28, 128 of 3 x 3", OPCODE_CONVOLUTION, B16, {32, 128, 28, 128, 3, 64}},
    {"CONVOLUTION_BACKWARD_INPUT, the same", OPCODE_CONVOLUTION_BACKWARD_INPUT, F32, {32, 128, 28, 128, 3, 64}},
    {"CONVOLUTION_BACKWARD_WEIGHT, the same", OPCODE_CONVOLUTION_BACKWARD_WEIGHT, F32, {32, 128, 28, 128, 3, 64}},
    {"CONVOLUTION_BACKWARD_WEIGHT, the same", OPCODE_CONVOLUTION_BACKWARD_WEIGHT, B16, {32, 128, 28, 128, 3, 64}},
    {"GROUPED_CONVOLUTION, 32 x 96 x 56 x 56, each of 7 x 7", OPCODE_GROUPED_CONVOLUTION, F32, {32, 96, 56, 96, 7, 96}},
    {"GROUPED_CONVOLUTION_BACKWARD_INPUT, 32 x 96 x 56 x 56, each of 7 x 7",
     OPCODE_GROUPED_CONVOLUTION_BACKWARD_INPUT,
     F32,
     {32, 96, 56, 96, 7, 96}},
    {"GROUPED_CONVOLUTION_BACKWARD_WEIGHT, 32 x 96 x 56 x 56, each of 7 x 7",
     OPCODE_GROUPED_CONVOLUTION_BACKWARD_WEIGHT,
     F32,
     {32, 96, 56, 96, 7, 96}},
    {"GROUPED_CONVOLUTION, 32 x 96 x 56 x 56, each of 7 x 7", OPCODE_GROUPED_CONVOLUTION, B16, {32, 96, 56, 96, 7, 96}},
    {"GROUPED_CONVOLUTION_BACKWARD_INPUT, 32 x 96 x 56 x 56, each of 7 x 7",
     OPCODE_GROUPED_CONVOLUTION_BACKWARD_INPUT,
     B16,
     {32, 96, 56, 96, 7, 96}},
    {"GROUPED_CONVOLUTION_BACKWARD_WEIGHT, 32 x 96 x 56 x 56, each of 7 x 7",
     OPCODE_GROUPED_CONVOLUTION_BACKWARD_WEIGHT,
     B16,
     {32, 96, 56, 96, 7, 96}},
    {"GROUPED_CONVOLUTION, 32 x 96 x 56 x 56, each of 7 x 7, channels last",
     OPCODE_GROUPED_CONVOLUTION,
     F32,
     {32, 96, 56, 96, 7, 96, 1}},
    {"GROUPED_CONVOLUTION_BACKWARD_INPUT, 32 x 96 x 56 x 56, each of 7 x 7, channels last",
     OPCODE_GROUPED_CONVOLUTION_BACKWARD_INPUT,
     F32,
     {32, 96, 56, 96, 7, 96, 1}},
    {"GROUPED_CONVOLUTION_BACKWARD_WEIGHT, 32 x 96 x 56 x 56, each of 7 x 7, channels last",
     OPCODE_GROUPED_CONVOLUTION_BACKWARD_WEIGHT,
     F32,
     {32, 96, 56, 96, 7, 96, 1}},
    {"GROUPED_CONVOLUTION, 32 x 32 x 112 x 112, each of 3 x 3",
     OPCODE_GROUPED_CONVOLUTION,
     F32,
     {32, 32, 112, 32, 3, 32}},
    {"GROUPED_CONVOLUTION_BACKWARD_INPUT, 32 x 32 x 112 x 112, each of 3 x 3",
     OPCODE_GROUPED_CONVOLUTION_BACKWARD_INPUT,
     F32,
     {32, 32, 112, 32, 3, 32}},
    {"GROUPED_CONVOLUTION_BACKWARD_WEIGHT, 32 x 32 x 112 x 112, each of 3 x 3",
     OPCODE_GROUPED_CONVOLUTION_BACKWARD_WEIGHT,
     F32,
     {32, 32, 112, 32, 3, 32}},
    {"GROUPED_CONVOLUTION, 32 x 960 x 7 x 7, each of 3 x 3",
     OPCODE_GROUPED_CONVOLUTION,
     F32,
     {32, 960, 7, 960, 3, 960}},
    {"GROUPED_CONVOLUTION_BACKWARD_INPUT, 32 x 960 x 7 x 7, each of 3 x 3",
     OPCODE_GROUPED_CONVOLUTION_BACKWARD_INPUT,
     F32,
     {32, 960, 7, 960, 3, 960}},
    {"GROUPED_CONVOLUTION_BACKWARD_WEIGHT, 32 x 960 x 7 x 7, each of 3 x 3",
     OPCODE_GROUPED_CONVOLUTION_BACKWARD_WEIGHT,
     F32,
     {32, 960, 7, 960, 3, 960}},
    {"GROUPED_CONVOLUTION, 32 x 128 x 56 x 56, 32 groups of 3 x 3",
     OPCODE_GROUPED_CONVOLUTION,
     F32,
     {32, 128, 56, 128, 3, 32}},
    {"GROUPED_CONVOLUTION_BACKWARD_INPUT, 32 x 128 x 56 x 56, 32 groups of 3 x 3",
     OPCODE_GROUPED_CONVOLUTION_BACKWARD_INPUT,
     F32,
     {32, 128, 56, 128, 3, 32}},
    {"GROUPED_CONVOLUTION_BACKWARD_WEIGHT, 32 x 128 x 56 x 56, 32 groups of 3 x 3",
     OPCODE_GROUPED_CONVOLUTION_BACKWARD_WEIGHT,
     F32,
     {32, 128, 56, 128, 3, 32}},
    {"GROUPED_CONVOLUTION, 32 x 128 x 56 x 56, 32 groups of 3 x 3",
     OPCODE_GROUPED_CONVOLUTION,
     B16,
     {32, 128, 56, 128, 3, 32}},
    {"GROUPED_CONVOLUTION_BACKWARD_INPUT, 32 x 128 x 56 x 56, 32 groups of 3 x 3",
     OPCODE_GROUPED_CONVOLUTION_BACKWARD_INPUT,
     B16,
     {32, 128, 56, 128, 3, 32}},
    {"GROUPED_CONVOLUTION_BACKWARD_WEIGHT, 32 x 128 x 56 x 56, 32 groups of 3 x 3",
     OPCODE_GROUPED_CONVOLUTION_BACKWARD_WEIGHT,
     B16,
     {32, 128, 56, 128, 3, 32}},
    {"BATCHNORM, 32 x 64 x 112 x 112", OPCODE_BATCHNORM, F32, {32, 64, 112}},
    {"BATCHNORM_BACKWARD, 32 x 64 x 112 x 112", OPCODE_BATCHNORM_BACKWARD, F32, {32, 64, 112}},
    {"BATCHNORM, 32 x 256 x 56 x 56", OPCODE_BATCHNORM, F32, {32, 256, 56}},
    {"BATCHNORM_BACKWARD, 32 x 256 x 56 x 56", OPCODE_BATCHNORM_BACKWARD, F32, {32, 256, 56}},
    {"BATCHNORM, 32 x 512 x 28 x 28", OPCODE_BATCHNORM, F32, {32, 512, 28}},
    {"BATCHNORM_BACKWARD, 32 x 512 x 28 x 28", OPCODE_BATCHNORM_BACKWARD, F32, {32, 512, 28}},
    {"BATCHNORM, 32 x 1024 x 14 x 14", OPCODE_BATCHNORM, F32, {32, 1024, 14}},
    {"BATCHNORM_BACKWARD, 32 x 1024 x 14 x 14", OPCODE_BATCHNORM_BACKWARD, F32, {32, 1024, 14}},
};

const int model_case_count = sizeof model_cases / sizeof model_cases[0];

static struct tensor dense(enum dtype dtype, int rank, int64_t a, int64_t b, int64_t c, int64_t d)
{
    struct tensor tensor = {.dtype = dtype, .rank = rank, .size = {a, b, c, d}};
    int64_t stride = 1;
    for (int k = rank - 1; k >= 0; k--) {
        tensor.stride[k] = stride;
        stride *= tensor.size[k];
    }
    return tensor;
}

static void call_add(struct operation_call *call, struct tensor tensor)
{
    call->tensors[call->tensor_count++] = tensor;
}

/* Scratch of s[6] parts, of heads that share keys. */
static void parts_add(const struct model_case *model, struct operation_call *call)
{
    const int64_t *s = model->size;
    struct tensor sums = dense(DTYPE_FLOAT32, 4, s[6], s[0], s[2], s[1] / s[2]), parts = sums;
    parts.rank = 5;
    parts.size[4] = s[5];
    for (int d = 0; d < 4; d++) {
        parts.stride[d] *= s[5];
    }
    parts.stride[4] = 1;
    call_add(call, sums);
    call_add(call, parts);
}

/* Heads of q, and of k and v; then of each opcode the tensors of its contract. The mask lies in memory: NULL is
 * none. */
static void attention_call(const struct model_case *model, struct operation_call *call)
{
    static char somewhere;
    const int64_t *s = model->size;
    struct tensor q = dense(model->dtype, 4, s[0], s[1], s[3], s[5]),
                  k = dense(model->dtype, 4, s[0], s[2], s[4], s[5]);
    struct tensor lse = dense(DTYPE_FLOAT32, 3, s[0], s[1], s[3], 0),
                  scores = dense(model->dtype, 4, s[0], s[1], s[3], s[4]);
    bool forward = attention_is_forward(model->opcode), bias = model->opcode == OPCODE_ATTENTION_BIAS_GRADIENT;
    scores.data = &somewhere;
    if (!forward) {
        call_add(call, q);
    }
    call_add(call, q);
    call_add(call, k);
    call_add(call, k);
    if (!forward) {
        call_add(call, q);
        call_add(call, lse);
    }
    if (bias) {
        call_add(call, scores);
    }
    if (model->opcode == OPCODE_ATTENTION_IN_PARTS) {
        parts_add(model, call);
    }
    call->input_count = call->tensor_count;
    call_add(call, bias ? scores : q);
    if (!bias) {
        call_add(call, forward ? lse : k);
    }
    if (!bias && !forward) {
        call_add(call, k);
    }
    call->attributes.f[0] = 1.0;
}

static void convolution_call(const struct model_case *model, struct operation_call *call)
{
    const int64_t *s = model->size;
    struct tensor image = dense(model->dtype, 4, s[0], s[1], s[2], s[2]);
    struct tensor weight = dense(model->dtype, 4, s[3], s[1], s[4], s[4]);
    struct tensor result = dense(model->dtype, 4, s[0], s[3], s[2], s[2]);
    bool forward = model->opcode == OPCODE_CONVOLUTION, of_input = model->opcode == OPCODE_CONVOLUTION_BACKWARD_INPUT;
    call_add(call, forward ? image : result);
    call_add(call, forward || of_input ? weight : image);
    call_add(call, dense(DTYPE_BOOL, 1, s[5] << 20, 0, 0, 0));
    call->input_count = 3;
    call_add(call, forward ? result : of_input ? image : weight);
    call->attributes.i[0] = 1;
    call->attributes.i[1] = s[4] / 2;
}

/* Channels last, where the case has them there. */
static struct tensor image_of(const struct model_case *model, int64_t images, int64_t channels, int64_t side)
{
    struct tensor image = dense(model->dtype, 4, images, channels, side, side);
    if (model->size[6] == 1) {
        image.stride[1] = 1;
        image.stride[2] = side * channels;
        image.stride[3] = channels;
    }
    return image;
}

static void grouped_convolution_call(const struct model_case *model, struct operation_call *call)
{
    const int64_t *s = model->size;
    struct tensor image = image_of(model, s[0], s[1], s[2]), result = image_of(model, s[0], s[3], s[2]);
    struct tensor weight = dense(model->dtype, 4, s[3], s[1] / s[5], s[4], s[4]);
    bool forward = model->opcode == OPCODE_GROUPED_CONVOLUTION,
         to_weight = model->opcode == OPCODE_GROUPED_CONVOLUTION_BACKWARD_WEIGHT;
    call_add(call, forward ? image : result);
    call_add(call, to_weight ? image : weight);
    call->input_count = 2;
    call_add(call, forward ? result : to_weight ? weight : image);
    call->attributes.i[0] = 1;
    call->attributes.i[1] = s[4] / 2;
    call->attributes.i[2] = s[5];
}

static bool is_grouped_convolution(enum opcode opcode)
{
    return opcode == OPCODE_GROUPED_CONVOLUTION || opcode == OPCODE_GROUPED_CONVOLUTION_BACKWARD_INPUT ||
           opcode == OPCODE_GROUPED_CONVOLUTION_BACKWARD_WEIGHT;
}

static void batchnorm_call(const struct model_case *model, struct operation_call *call)
{
    const int64_t *s = model->size;
    struct tensor image = dense(model->dtype, 4, s[0], s[1], s[2], s[2]), channels = dense(F32, 1, s[1], 0, 0, 0);
    bool backward = model->opcode == OPCODE_BATCHNORM_BACKWARD;
    for (int t = 0; t < 8; t++) {
        call_add(call, t == 0 || t == 5 || (t == 1 && backward) ? image : channels);
    }
    call->input_count = 5;
    call->attributes.i[0] = 1;
}

/* Rows by columns, and what becomes of them. */
static void rows_call(const struct model_case *model, struct operation_call *call)
{
    const int64_t *s = model->size;
    call_add(call, dense(model->dtype, 2, s[0], s[1], 0, 0));
    if (model->opcode == OPCODE_COPY) {
        call->tensors[0].stride[0] = 1;
        call->tensors[0].stride[1] = s[0];
    }
    if (model->opcode == OPCODE_ADD) {
        call_add(call, call->tensors[0]);
    }
    if (s[3] > 0) {
        call_add(call, dense(DTYPE_BOOL, 1, s[3], 0, 0, 0));
    }
    call->input_count = call->tensor_count;
    switch (model->opcode) {
    case OPCODE_TOP_K:
        call_add(call, dense(model->dtype, 2, s[0], s[2], 0, 0));
        call_add(call, dense(DTYPE_INT64, 2, s[0], s[2], 0, 0));
        break;
    case OPCODE_ARGMAX:
        call_add(call, dense(DTYPE_INT64, 1, s[0], 0, 0, 0));
        break;
    case OPCODE_SUM:
        call_add(call, dense(model->dtype, 2, 1, s[2], 0, 0));
        break;
    default:
        call_add(call, call->tensors[0]);
    }
}

static void grouped_call(const struct model_case *model, struct operation_call *call)
{
    const int64_t *s = model->size;
    if (model->opcode == OPCODE_SORT_IDS) {
        call_add(call, dense(DTYPE_INT64, 1, s[0], 0, 0, 0));
        call->input_count = 1;
        call_add(call, call->tensors[0]);
        call_add(call, call->tensors[0]);
        call->attributes.i[0] = s[1];
        return;
    }
    call_add(call, dense(model->dtype, 2, s[0], s[1], 0, 0));
    call_add(call, dense(model->dtype, 3, s[3], s[1], s[2], 0));
    call_add(call, dense(DTYPE_INT32, 1, s[3], 0, 0, 0));
    call->input_count = 3;
    call_add(call, dense(model->dtype, 2, s[0], s[2], 0, 0));
}

static bool is_attention(enum opcode opcode)
{
    return attention_is_forward(opcode) || opcode == OPCODE_ATTENTION_BACKWARD ||
           opcode == OPCODE_ATTENTION_BIAS_GRADIENT;
}

void model_call(const struct model_case *model, struct operation_call *call)
{
    *call = (struct operation_call){.opcode = model->opcode};
    if (is_attention(model->opcode)) {
        attention_call(model, call);
    } else if (opcode_product(model->opcode) == PRODUCT_CONVOLUTION) {
        convolution_call(model, call);
    } else if (model->opcode == OPCODE_BATCHNORM || model->opcode == OPCODE_BATCHNORM_BACKWARD) {
        batchnorm_call(model, call);
    } else if (is_grouped_convolution(model->opcode)) {
        grouped_convolution_call(model, call);
    } else if (model->opcode == OPCODE_GROUPED_MATMUL || model->opcode == OPCODE_SORT_IDS) {
        grouped_call(model, call);
    } else {
        rows_call(model, call);
    }
}

/* Of what is computed element by element. */
static void dense_traffic(const struct operation_call *call, struct traffic *traffic)
{
    elements_traffic(call, "element_kernel", tensor_element_count(&call->tensors[0]), traffic);
    traffic->needed_bytes = operands_bytes(call, 0, call->tensor_count);
}

static bool attention_call_traffic(const struct operation_call *call, const struct model_device *device,
                                   struct traffic *traffic)
{
    struct tile_room room = {device->shared_block_bytes, device->processors};
    switch (call->opcode) {
    case OPCODE_ATTENTION:
    case OPCODE_ATTENTION_IN_PARTS:
        attention_traffic(call, device->has_cores, room, traffic);
        return true;
    case OPCODE_ATTENTION_BACKWARD:
        attention_backward_traffic(call, device->has_cores, room, traffic);
        return true;
    case OPCODE_ATTENTION_BIAS_GRADIENT:
        attention_bias_traffic(call, room, traffic);
        return true;
    default:
        return false;
    }
}

bool model_call_traffic(const struct operation_call *call, const struct model_device *device, struct traffic *traffic)
{
    *traffic = (struct traffic){.count = 0};
    switch (call->opcode) {
    case OPCODE_COPY:
        copy_traffic(call, traffic);
        return true;
    case OPCODE_ADD:
    case OPCODE_GELU:
        dense_traffic(call, traffic);
        return true;
    case OPCODE_SOFTMAX:
        rows_traffic(call, "softmax_kernel", 2, traffic);
        return true;
    case OPCODE_SUM:
        sum_traffic(call, traffic);
        return true;
    case OPCODE_TOP_K:
    case OPCODE_ARGMAX:
        select_traffic(call, traffic);
        return true;
    case OPCODE_GROUPED_MATMUL:
        grouped_matmul_traffic(call, device->has_cores, traffic);
        return true;
    case OPCODE_SORT_IDS:
        sort_ids_traffic(call, traffic);
        return true;
    case OPCODE_BATCHNORM:
    case OPCODE_BATCHNORM_BACKWARD:
        batchnorm_traffic(call, traffic);
        return true;
    case OPCODE_GROUPED_CONVOLUTION:
    case OPCODE_GROUPED_CONVOLUTION_BACKWARD_INPUT:
        grouped_pass_traffic(call, traffic);
        return true;
    case OPCODE_GROUPED_CONVOLUTION_BACKWARD_WEIGHT:
        grouped_weight_traffic(call, traffic);
        return true;
    default:
        break;
    }
    if (opcode_product(call->opcode) == PRODUCT_CONVOLUTION && call->input_count > 2) { /* with a workspace */
        convolution_traffic(call, traffic);
        return true;
    }
    return attention_call_traffic(call, device, traffic);
}

void model_traffic(const struct model_case *model, const struct model_device *device, struct traffic *traffic)
{
    struct operation_call call;
    model_call(model, &call);
    model_call_traffic(&call, device, traffic);
}
