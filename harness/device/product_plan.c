/* Product plans: how the strides of a call map onto leading dimensions and batch strides. Nothing is computed here. */
#include "harness/device/product_plan.h"

#include "harness/base/size.h"

static enum status_code plan_refuse(const struct operation_call *call, const char *reason, struct status *error)
{
    char text[CALL_TEXT_BYTES];
    return status_set(error, STATUS_INTERNAL, "%s: %s", call_describe(call, text), reason);
}

/* The optional operands of a product. */
struct product_options {
    const struct tensor *bias; /* NULL: none */
    struct product_workspace workspace;
};

/* Reads what follows the `required` inputs: a bias where there may be one, and a workspace, told from it by its dtype.
 * A text if there is anything else, or not one output. */
static const char *options_read(const struct operation_call *call, int required, bool bias_allowed,
                                struct product_options *options)
{
    *options = (struct product_options){0};
    int inputs = call->input_count;
    if (inputs > required && inputs < OPERATION_TENSORS_MAXIMUM && call->tensors[inputs - 1].dtype == DTYPE_BOOL) {
        const struct tensor *memory = &call->tensors[--inputs];
        if (memory->rank != 1 || memory->size[0] < 0 || (memory->size[0] > 1 && memory->stride[0] != 1)) {
            return "the workspace must be dense and of rank 1";
        }
        options->workspace = (struct product_workspace){memory->data, memory->size[0]};
    }
    if (bias_allowed && inputs == required + 1) {
        options->bias = &call->tensors[--inputs];
    }
    if (inputs != required || call->tensor_count != call->input_count + 1) {
        return bias_allowed ? "takes two tensors, an optional bias, an optional workspace and one out"
                            : "takes two tensors, an optional workspace and one out";
    }
    return NULL;
}

/* A dimension of size 1 may have any stride, so it fits either orientation. */
static bool matrix_from_tensor(const struct tensor *tensor, struct product_matrix *matrix)
{
    int last = tensor->rank - 1;
    int64_t rows = tensor->size[last - 1];
    int64_t columns = tensor->size[last];
    int64_t row_stride = tensor->stride[last - 1];
    int64_t column_stride = tensor->stride[last];
    *matrix = (struct product_matrix){.data = tensor->data, .dtype = tensor->dtype};
    if ((column_stride == 1 || columns <= 1) && (row_stride >= columns || rows <= 1)) {
        matrix->leading = rows <= 1 ? columns : row_stride;
    } else if ((row_stride == 1 || rows <= 1) && (column_stride >= rows || columns <= 1)) {
        matrix->transposed = true;
        matrix->leading = columns <= 1 ? rows : column_stride;
    } else {
        return false;
    }
    matrix->leading = matrix->leading > 0 ? matrix->leading : 1;
    int leading_count = last - 1;
    for (int d = 0; d < leading_count; d++) {
        matrix->batch_stride[2 - leading_count + d] = tensor->stride[d];
    }
    return true;
}

static const char *matmul_dtypes_check(const struct operation_call *call, const struct tensor *bias)
{
    enum dtype a = call->tensors[0].dtype, b = call->tensors[1].dtype, out = call->tensors[call->input_count].dtype;
    if (call->opcode == OPCODE_SCALED_MATMUL) {
        const struct tensor *scales = &call->tensors[2];
        bool scaled = tensor_element_count(&scales[0]) == 1 && tensor_element_count(&scales[1]) == 1 &&
                      scales[0].dtype == DTYPE_FLOAT32 && scales[1].dtype == DTYPE_FLOAT32;
        bool fit = scaled && a == DTYPE_FLOAT8_E4M3FN && b == a && dtype_is_floating(out);
        return fit ? NULL : "takes float8_e4m3fn, a float32 scale for each, and gives a floating tensor";
    }
    if (call->opcode == OPCODE_INTEGER_MATMUL) {
        bool fit = a == DTYPE_INT8 && b == a && out == DTYPE_INT32 && bias == NULL;
        return fit ? NULL : "takes int8 and gives int32";
    }
    return dtype_is_floating(a) && dtype_is_floating(b) && dtype_is_floating(out)
               ? NULL
               : "only floating tensors can be multiplied";
}

static const char *matmul_shapes_check(const struct operation_call *call, const struct tensor *bias)
{
    const struct tensor *a = &call->tensors[0];
    const struct tensor *b = &call->tensors[1];
    const struct tensor *out = &call->tensors[call->input_count];
    int rank = out->rank;
    if (a->rank != rank || b->rank != rank || rank < 2 || rank > 4) {
        return "ranks must be equal and 2 to 4";
    }
    for (int d = 0; d < rank - 2; d++) {
        if (a->size[d] != out->size[d] || b->size[d] != out->size[d]) {
            return "leading sizes differ";
        }
    }
    if (a->size[rank - 2] != out->size[rank - 2] || b->size[rank - 1] != out->size[rank - 1] ||
        a->size[rank - 1] != b->size[rank - 2]) {
        return "the sizes of the matrices do not fit";
    }
    const char *reason = matmul_dtypes_check(call, bias);
    if (reason != NULL) {
        return reason;
    }
    if (bias != NULL && (bias->rank != 1 || bias->size[0] != out->size[rank - 1] || !tensor_is_dense(bias) ||
                         !dtype_is_floating(bias->dtype))) {
        return "the bias must be dense, floating, one element for each column";
    }
    return NULL;
}

/* out^T = b^T a^T: the same memory, read in the other orientation. */
static void matmul_plan_turn(struct matmul_plan *plan)
{
    struct product_matrix a = plan->a;
    plan->a = plan->b;
    plan->b = a;
    plan->a.transposed = !plan->a.transposed;
    plan->b.transposed = !plan->b.transposed;
    plan->out.transposed = false;
    int64_t m = plan->m;
    plan->m = plan->n;
    plan->n = m;
    plan->bias_along_rows = true;
    const float *a_scale = plan->a_scale;
    plan->a_scale = plan->b_scale;
    plan->b_scale = a_scale;
}

static bool batch_merges(const struct product_matrix *matrix, int64_t inner_count)
{
    return matrix->batch_stride[0] == matrix->batch_stride[1] * inner_count;
}

/* [outer, inner] becomes one loop where all three step evenly through it. */
static void matmul_plan_merge_batches(struct matmul_plan *plan)
{
    int64_t inner = plan->batch[1];
    if (inner == 1) { /* its stride is of no meaning: the outer loop takes its place */
        plan->a.batch_stride[1] = plan->a.batch_stride[0];
        plan->b.batch_stride[1] = plan->b.batch_stride[0];
        plan->out.batch_stride[1] = plan->out.batch_stride[0];
    } else if (plan->batch[0] != 1 &&
               (!batch_merges(&plan->a, inner) || !batch_merges(&plan->b, inner) || !batch_merges(&plan->out, inner))) {
        return;
    }
    plan->batch[1] *= plan->batch[0];
    plan->batch[0] = 1;
}

/* Rows of the merged batch lie `row stride` apart; 0 where they are not evenly spaced. */
static int64_t merged_row_stride(const struct product_matrix *matrix, int64_t rows, int64_t columns)
{
    int64_t step = matrix->batch_stride[1];
    if (rows == 1) {
        return step >= columns && step > 0 ? step : 0;
    }
    return step == rows * matrix->leading ? matrix->leading : 0;
}

/* One b for the whole batch, and rows that go on evenly from one element of the batch to the next: one large
 * product. */
static void matmul_plan_merge_rows(struct matmul_plan *plan)
{
    if (plan->batch[0] != 1 || plan->batch[1] <= 1 || plan->b.batch_stride[1] != 0 || plan->a.transposed ||
        plan->bias_along_rows) {
        return;
    }
    int64_t a_leading = merged_row_stride(&plan->a, plan->m, plan->k);
    int64_t out_leading = merged_row_stride(&plan->out, plan->m, plan->n);
    if (a_leading > 0 && out_leading > 0) {
        plan->a.leading = a_leading;
        plan->out.leading = out_leading;
        plan->m *= plan->batch[1];
        plan->batch[1] = 1;
    }
}

enum status_code matmul_plan(const struct operation_call *call, struct matmul_plan *plan, struct status *error)
{
    struct product_options options;
    bool scaled = call->opcode == OPCODE_SCALED_MATMUL, integers = call->opcode == OPCODE_INTEGER_MATMUL;
    const char *reason = options_read(call, scaled ? 4 : 2, true, &options);
    if (reason == NULL) {
        reason = matmul_shapes_check(call, options.bias);
    }
    if (reason != NULL) {
        return plan_refuse(call, reason, error);
    }
    const struct tensor *out = &call->tensors[call->input_count];
    int rank = out->rank;
    struct matmul_plan made = {.m = out->size[rank - 2],
                               .n = out->size[rank - 1],
                               .k = call->tensors[0].size[rank - 1],
                               .batch = {rank == 4 ? out->size[0] : 1, rank >= 3 ? out->size[rank - 3] : 1},
                               .alpha = integers ? 1.0f : (float)call->attributes.f[0],
                               .beta = integers ? 0.0f : (float)call->attributes.f[1],
                               .tf32_allowed = call->attributes.i[0] != 0,
                               .a_scale = scaled ? call->tensors[2].data : NULL,
                               .b_scale = scaled ? call->tensors[3].data : NULL,
                               .workspace = options.workspace};
    if (!matrix_from_tensor(&call->tensors[0], &made.a) || !matrix_from_tensor(&call->tensors[1], &made.b) ||
        !matrix_from_tensor(out, &made.out)) {
        return plan_refuse(call, "one of the last two strides must be 1, the other at least the size it steps over",
                           error);
    }
    if (options.bias != NULL) {
        made.has_bias = true;
        made.bias = options.bias->data;
        made.bias_dtype = options.bias->dtype;
    }
    if (made.out.transposed) {
        matmul_plan_turn(&made);
    }
    matmul_plan_merge_batches(&made);
    matmul_plan_merge_rows(&made);
    *plan = made;
    return STATUS_OK;
}

/* Which tensors of the call are the image, the weight and the result of the forward convolution. */
static const char *convolution_roles(const struct operation_call *call, struct convolution_plan *plan)
{
    const struct tensor *tensors = call->tensors;
    struct product_options options;
    const char *reason = options_read(call, 2, call->opcode == OPCODE_CONVOLUTION, &options);
    if (reason != NULL) {
        return reason;
    }
    const struct tensor *out = &tensors[call->input_count];
    bool forward = call->opcode == OPCODE_CONVOLUTION;
    bool to_weight = call->opcode == OPCODE_CONVOLUTION_BACKWARD_WEIGHT;
    plan->image = forward ? &tensors[0] : to_weight ? &tensors[1] : out;
    plan->weight = to_weight ? out : &tensors[1];
    plan->result = forward ? out : &tensors[0];
    plan->bias = options.bias;
    plan->workspace = options.workspace;
    return NULL;
}

/* The strides of an empty tensor are of no meaning. */
static bool tensor_is_dense_floating(const struct tensor *tensor)
{
    return dtype_is_floating(tensor->dtype) && (tensor_element_count(tensor) == 0 || tensor_is_dense(tensor));
}

static const char *convolution_shapes_check(const struct convolution_plan *plan)
{
    const struct tensor *parts[] = {plan->image, plan->weight, plan->result};
    for (int i = 0; i < 3; i++) {
        if (parts[i]->rank != 4 || !tensor_is_dense_floating(parts[i])) {
            return "tensors must be dense, floating, of rank 4";
        }
    }
    if (plan->weight->size[1] != plan->image->size[1] || plan->weight->size[0] != plan->result->size[1] ||
        plan->image->size[0] != plan->result->size[0] || plan->weight->size[2] != plan->weight->size[3]) {
        return "images, channels or filters do not fit";
    }
    if (plan->bias != NULL && (plan->bias->rank != 1 || plan->bias->size[0] != plan->weight->size[0] ||
                               !tensor_is_dense_floating(plan->bias))) {
        return "the bias must be dense, floating, one element for each filter";
    }
    return NULL;
}

/* (size + 2 padding - kernel) / stride + 1, as PyTorch counts; false if the window does not fit. */
static bool convolution_output_size(int64_t size, int64_t kernel, int64_t stride, int64_t padding, int64_t *result)
{
    int64_t margin = 0;
    int64_t padded = 0;
    if (kernel < 1 || stride < 1 || !size_multiply(padding, 2, &margin) || !size_add(size, margin, &padded) ||
        padded < kernel) {
        return false;
    }
    *result = (padded - kernel) / stride + 1;
    return true;
}

enum status_code convolution_plan(const struct operation_call *call, struct convolution_plan *plan,
                                  struct status *error)
{
    struct convolution_plan made = {
        .stride = call->attributes.i[0], .padding = call->attributes.i[1], .tf32_allowed = call->attributes.i[2] != 0};
    const char *reason = convolution_roles(call, &made);
    if (reason == NULL) {
        reason = convolution_shapes_check(&made);
    }
    if (reason != NULL) {
        return plan_refuse(call, reason, error);
    }
    made.images = made.image->size[0];
    made.channels = made.image->size[1];
    made.height = made.image->size[2];
    made.width = made.image->size[3];
    made.filters = made.weight->size[0];
    made.kernel = made.weight->size[2];
    if (!convolution_output_size(made.height, made.kernel, made.stride, made.padding, &made.rows) ||
        !convolution_output_size(made.width, made.kernel, made.stride, made.padding, &made.columns) ||
        made.rows != made.result->size[2] || made.columns != made.result->size[3]) {
        return plan_refuse(call, "kernel, stride and padding do not give the size of the result", error);
    }
    made.pointwise = made.kernel == 1 && made.stride == 1 && made.padding == 0;
    *plan = made;
    return STATUS_OK;
}
