/* MATMUL on CUDA: linear layers with bias as cuda_linear.c has them, else cuBLAS where it has the combination of
 * dtypes; a kernel of ours elsewhere, and for what cuBLAS refuses. cuBLAS counts columns first, so it is asked for
 * out^T = b^T a^T, whose memory is the same. */
#include <limits.h>

#include "harness/device/cuda/cuda_device.h"
#include "harness/device/cuda/product_kernels.h"

cudaDataType cuda_type_of(enum dtype dtype)
{
    static const cudaDataType types[DTYPE_COUNT] = {
        [DTYPE_FLOAT32] = CUDA_R_32F, [DTYPE_FLOAT16] = CUDA_R_16F, [DTYPE_BFLOAT16] = CUDA_R_16BF,
        [DTYPE_INT8] = CUDA_R_8I,     [DTYPE_INT32] = CUDA_R_32I,   [DTYPE_FLOAT8_E4M3FN] = CUDA_R_8F_E4M3};
    return types[dtype];
}

cublasComputeType_t cuda_compute_type_of(const struct matmul_plan *plan)
{
    return plan->tf32_allowed && plan->a.dtype == DTYPE_FLOAT32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
}

/* The bias is laid into out before cuBLAS adds the product to it, so that it is part of the float32 sum and out is
 * rounded once. A 16-bit out must then hold it exactly. */
static bool bias_suits_cublas(const struct matmul_plan *plan)
{
    return !plan->has_bias || plan->out.dtype == DTYPE_FLOAT32 ||
           (plan->beta == 0.0f && plan->bias_dtype == plan->out.dtype);
}

/* A factor of int8 products: rows and the first element at multiples of 4 bytes. */
static bool integers_align(const struct product_matrix *matrix)
{
    return (uintptr_t)matrix->data % 4 == 0 && matrix->leading % 4 == 0 && matrix->batch_stride[0] % 4 == 0 &&
           matrix->batch_stride[1] % 4 == 0;
}

/* cuBLAS with float32 sums takes two factors of one dtype, and gives that dtype or float32. int8 it sums in int32,
 * along the rows of both factors. */
static bool dtypes_suit_cublas(const struct matmul_plan *plan)
{
    if (plan->a.dtype == DTYPE_INT8) {
        return plan->batch[0] * plan->batch[1] == 1 && !plan->a.transposed && plan->b.transposed &&
               integers_align(&plan->a) && integers_align(&plan->b);
    }
    return plan->a_scale == NULL && plan->a.dtype == plan->b.dtype &&
           (plan->out.dtype == plan->a.dtype || plan->out.dtype == DTYPE_FLOAT32) && bias_suits_cublas(plan);
}

static bool plan_suits_cublas(const struct matmul_plan *plan)
{
    return dtypes_suit_cublas(plan) && plan->k > 0 && plan->m <= INT_MAX && plan->n <= INT_MAX && plan->k <= INT_MAX &&
           plan->a.leading <= INT_MAX && plan->b.leading <= INT_MAX && plan->out.leading <= INT_MAX &&
           plan->batch[1] <= INT_MAX;
}

static void *batch_element(const struct product_matrix *matrix, int64_t outer)
{
    return (char *)matrix->data + outer * matrix->batch_stride[0] * dtype_bytes(matrix->dtype);
}

static cublasOperation_t operation_of(const struct product_matrix *matrix)
{
    return matrix->transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
}

/* One product, or one for each element of the inner batch. Scalars are of the type in which cuBLAS sums. */
static cublasStatus_t cublas_multiply(const struct cublas_library *cublas, const struct matmul_plan *plan,
                                      int64_t outer, float beta)
{
    static const int32_t one = 1, zero = 0;
    bool integers = plan->out.dtype == DTYPE_INT32;
    const void *alpha = integers ? (const void *)&one : (const void *)&plan->alpha;
    const void *keep = integers ? (const void *)&zero : (const void *)&beta;
    cublasComputeType_t compute = integers ? CUBLAS_COMPUTE_32I : cuda_compute_type_of(plan);
    const void *a = batch_element(&plan->a, outer);
    const void *b = batch_element(&plan->b, outer);
    void *out = batch_element(&plan->out, outer);
    int m = (int)plan->m;
    int n = (int)plan->n;
    int k = (int)plan->k;
    cudaDataType factor = cuda_type_of(plan->a.dtype);
    cudaDataType result = cuda_type_of(plan->out.dtype);
    if (plan->batch[1] == 1) {
        return cublas->gemm(cublas->handle, operation_of(&plan->b), operation_of(&plan->a), n, m, k, alpha, b, factor,
                            (int)plan->b.leading, a, factor, (int)plan->a.leading, keep, out, result,
                            (int)plan->out.leading, compute, CUBLAS_GEMM_DEFAULT);
    }
    return cublas->gemm_strided_batched(
        cublas->handle, operation_of(&plan->b), operation_of(&plan->a), n, m, k, alpha, b, factor, (int)plan->b.leading,
        plan->b.batch_stride[1], a, factor, (int)plan->a.leading, plan->a.batch_stride[1], keep, out, result,
        (int)plan->out.leading, plan->out.batch_stride[1], (int)plan->batch[1], compute, CUBLAS_GEMM_DEFAULT);
}

/* One step of the outer batch. The kernel of ours takes every shape and needs no workspace. */
static enum status_code cublas_step(struct cuda_device *cuda, const struct matmul_plan *plan, int64_t outer, float beta,
                                    const char *doing, struct status *error)
{
    cublasStatus_t status = cublas_multiply(&cuda->cublas, plan, outer, beta);
    if (!cublas_refused(status, plan->workspace.bytes)) {
        return cublas_check(cuda, status, doing, error);
    }
    cublas_declined_note(cuda, "cuBLAS", status);
    struct matmul_plan step = *plan;
    step.batch[0] = 1;
    step.a.data = batch_element(&plan->a, outer);
    step.b.data = batch_element(&plan->b, outer);
    step.out.data = batch_element(&plan->out, outer);
    step.has_bias = false; /* it is in out */
    step.beta = beta;
    return cuda_check(cuda, product_any_launch(&step), doing, error);
}

enum status_code cuda_cublas_ready(struct cuda_device *cuda, const char *doing, struct status *error)
{
    if (cuda->cublas.library != NULL) {
        return STATUS_OK;
    }
    struct load_stretch stretch = load_begin(&cuda->loads);
    enum status_code code = library_check(cuda, cublas_library_open(&cuda->cublas, error), doing, error);
    load_end(&cuda->loads, &stretch, LOAD_LIBRARY);
    return code;
}

static enum status_code cublas_prepare(struct cuda_device *cuda, const struct product_workspace *workspace,
                                       const char *doing, struct status *error)
{
    enum status_code code = cuda_cublas_ready(cuda, doing, error);
    if (code == STATUS_OK) {
        code = cublas_check(cuda,
                            cublas_workspace_use(&cuda->cublas, workspace->bytes > 0 ? workspace->data : NULL,
                                                 (size_t)workspace->bytes),
                            doing, error);
    }
    return code;
}

static enum status_code cublas_run(struct cuda_device *cuda, const struct matmul_plan *plan, const char *doing,
                                   struct status *error)
{
    float beta = plan->beta;
    enum status_code code = cublas_prepare(cuda, &plan->workspace, doing, error);
    if (code == STATUS_OK && plan->has_bias) {
        code = cuda_check(cuda, product_bias_launch(plan), doing, error);
        beta = 1.0f;
    }
    for (int64_t outer = 0; code == STATUS_OK && outer < plan->batch[0]; outer++) {
        code = cublas_step(cuda, plan, outer, beta, doing, error);
    }
    return code;
}

enum status_code cuda_matmul_planned(struct cuda_device *cuda, const struct matmul_plan *plan, const char *doing,
                                     struct status *error)
{
    if (plan->m == 0 || plan->n == 0 || plan->batch[0] == 0 || plan->batch[1] == 0) {
        return STATUS_OK;
    }
    if ((uintptr_t)plan->workspace.data % CUBLAS_WORKSPACE_ALIGNMENT_BYTES != 0) {
        return status_set(error, STATUS_INTERNAL, "cuda:%d: %s: the workspace is not aligned to %d bytes", cuda->index,
                          doing, CUBLAS_WORKSPACE_ALIGNMENT_BYTES);
    }
    bool done = false;
    enum status_code code = cuda_linear(cuda, plan, doing, &done, error);
    if (code != STATUS_OK || done) {
        return code;
    }
    if (plan_suits_cublas(plan)) {
        return cublas_run(cuda, plan, doing, error);
    }
    return cuda_check(cuda, product_any_launch(plan), doing, error);
}

enum status_code cuda_matmul(struct cuda_device *cuda, const struct operation_call *call, struct status *error)
{
    struct matmul_plan plan;
    char text[CALL_TEXT_BYTES];
    enum status_code code = matmul_plan(call, &plan, error);
    return code == STATUS_OK ? cuda_matmul_planned(cuda, &plan, call_describe(call, text), error) : code;
}
