/* cuBLAS without a GPU: products as its documentation defines them, columns first, with its rules for arguments. A
 * sum whose columns and terms are multiples of 8, all on 16 bytes, is rounded to the dtype of C before what C held is
 * added: on an H100 that happened in ten of 2,448 convolutions, all of them such. */
#include <cstdint>
#include <cstring>

#include "harness/kernels/convert.h"
#include "tests/cuda_emulation/emulated/emulated_toolkit.h"
#include "tests/cuda_emulation/emulated/emulation.h"
#include <cublas_v2.h>
#include <cuda_runtime_api.h>

struct emulation_cublas {
    int device; /* that was set when it was made: it runs there alone */
    bool workspace_given;
    void *workspace;
    size_t workspace_bytes;
};

namespace
{

const size_t own_workspace_bytes = 4 << 20;

struct side {
    const void *data;
    enum dtype dtype;
    bool transposed;
    int leading;
};

float side_get(const side &matrix, int64_t offset, int64_t row, int64_t column)
{
    int64_t place = matrix.transposed ? row * matrix.leading + column : column * matrix.leading + row;
    return float_load(matrix.data, matrix.dtype, offset + place);
}

/* The leading dimension is at least the number of rows as they lie in memory, and at least 1. */
bool leading_fits(const side &matrix, int rows, int columns)
{
    int least = matrix.transposed ? columns : rows;
    return matrix.leading >= (least > 1 ? least : 1);
}

/* A handle that was given no workspace takes memory of its own, as the real one does. What it was given is
 * overwritten. */
bool workspace_use(cublasHandle_t handle)
{
    if (!handle->workspace_given) {
        handle->workspace_given = cudaMalloc(&handle->workspace, own_workspace_bytes) == cudaSuccess;
        handle->workspace_bytes = handle->workspace_given ? own_workspace_bytes : 0;
    }
    if (handle->workspace_bytes > 0) {
        memset(handle->workspace, 0xff, handle->workspace_bytes);
    }
    return handle->workspace_given;
}

/* int8 with int32 sums, as the documentation allows it: factors that lie along k, aligned to 4 bytes, whole scalars. */
cublasStatus_t integers_multiply(const side &left, const side &right, int32_t *c, int ldc, int m, int n, int k,
                                 const int32_t *alpha, const int32_t *beta)
{
    bool aligned = (uintptr_t)left.data % 4 == 0 && (uintptr_t)right.data % 4 == 0 && left.leading % 4 == 0 &&
                   right.leading % 4 == 0;
    if (!left.transposed || right.transposed || !aligned) {
        return CUBLAS_STATUS_NOT_SUPPORTED;
    }
    for (int64_t index = 0; index < (int64_t)m * n; index++) {
        int64_t row = index % m, column = index / m;
        int32_t sum = 0;
        for (int64_t term = 0; term < k; term++) {
            sum += (int32_t)side_get(left, 0, row, term) * (int32_t)side_get(right, 0, term, column);
        }
        int32_t *to = &c[column * ldc + row];
        *to = *alpha * sum + (*beta != 0 ? *beta * *to : 0);
    }
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t gemm_strided_batched(cublasHandle_t handle, cublasOperation_t transpose_a, cublasOperation_t transpose_b,
                                    int m, int n, int k, const void *alpha, const void *a, cudaDataType a_type, int lda,
                                    long long stride_a, const void *b, cudaDataType b_type, int ldb, long long stride_b,
                                    const void *beta, void *c, cudaDataType c_type, int ldc, long long stride_c,
                                    int batch_count, cublasComputeType_t compute_type, cublasGemmAlgo_t)
{
    side left = {a, emulated_dtype(a_type), transpose_a == CUBLAS_OP_T, lda};
    side right = {b, emulated_dtype(b_type), transpose_b == CUBLAS_OP_T, ldb};
    side out = {c, emulated_dtype(c_type), false, ldc};
    if (m < 0 || n < 0 || k < 0 || batch_count < 0 || !leading_fits(left, m, k) || !leading_fits(right, k, n) ||
        !leading_fits(out, m, n)) {
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    cublasStatus_t refusal = emulated_product_refusal(a_type, m, handle->workspace_bytes);
    if (refusal != CUBLAS_STATUS_SUCCESS) {
        return refusal;
    }
    if (a_type == CUDA_R_8I) {
        bool typed = b_type == CUDA_R_8I && c_type == CUDA_R_32I && compute_type == CUBLAS_COMPUTE_32I;
        return !typed || batch_count != 1 ? CUBLAS_STATUS_NOT_SUPPORTED
                                          : integers_multiply(left, right, (int32_t *)c, ldc, m, n, k,
                                                              (const int32_t *)alpha, (const int32_t *)beta);
    }
    bool rounds = emulated_compute_rounds(compute_type) > 0;
    float scale = *(const float *)alpha, keep = *(const float *)beta;
    if (a_type != b_type || (c_type != a_type && c_type != CUDA_R_32F) || emulated_compute_rounds(compute_type) < 0) {
        return CUBLAS_STATUS_NOT_SUPPORTED;
    }
    cublasStatus_t fault = emulated_library_call("cublasGemm");
    if (fault != CUBLAS_STATUS_SUCCESS) {
        return fault;
    }
    bool reaches = handle->device == emulated_device() && !emulated_is_elsewhere(a) && !emulated_is_elsewhere(b) &&
                   !emulated_is_elsewhere(c) && !emulated_is_elsewhere(handle->workspace);
    if (!reaches) {
        emulated_reach_beyond();
        return CUBLAS_STATUS_EXECUTION_FAILED;
    }
    if (!workspace_use(handle)) {
        return CUBLAS_STATUS_EXECUTION_FAILED;
    }
    bool packets = m % 8 == 0 && k % 8 == 0 && ldc % 8 == 0 && ((uintptr_t)a | (uintptr_t)b | (uintptr_t)c) % 16 == 0;
    for (int64_t index = 0; index < (int64_t)batch_count * m * n; index++) {
        int64_t batch = index / ((int64_t)m * n), row = index % m, column = index / m % n;
        float sum = 0.0f;
        for (int64_t term = 0; term < k; term++) {
            sum += emulated_factor(side_get(left, batch * stride_a, row, term), rounds) *
                   emulated_factor(side_get(right, batch * stride_b, term, column), rounds);
        }
        int64_t place = batch * stride_c + column * ldc + row;
        float kept = keep != 0.0f ? keep * float_load(c, out.dtype, place) : 0.0f;
        if (kept != 0.0f && packets) { /* the sum is stored first */
            float_store(c, out.dtype, place, scale * sum);
            sum = float_load(c, out.dtype, place) / scale;
        }
        float_store(c, out.dtype, place, scale * sum + kept);
    }
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t gemm(cublasHandle_t handle, cublasOperation_t transpose_a, cublasOperation_t transpose_b, int m, int n,
                    int k, const void *alpha, const void *a, cudaDataType a_type, int lda, const void *b,
                    cudaDataType b_type, int ldb, const void *beta, void *c, cudaDataType c_type, int ldc,
                    cublasComputeType_t compute_type, cublasGemmAlgo_t algorithm)
{
    return gemm_strided_batched(handle, transpose_a, transpose_b, m, n, k, alpha, a, a_type, lda, 0, b, b_type, ldb, 0,
                                beta, c, c_type, ldc, 0, 1, compute_type, algorithm);
}

cublasStatus_t create(cublasHandle_t *handle)
{
    cublasStatus_t status = emulated_library_call("cublasCreate");
    if (status != CUBLAS_STATUS_SUCCESS) {
        return status;
    }
    *handle = new emulation_cublas{emulated_device(), false, nullptr, 0};
    emulated_handle_made();
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t destroy(cublasHandle_t handle)
{
    if (handle == nullptr) {
        return CUBLAS_STATUS_NOT_INITIALIZED;
    }
    bool is_here = handle->device == emulated_device();
    delete handle;
    return is_here ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t set_workspace(cublasHandle_t handle, void *workspace, size_t bytes)
{
    if ((uintptr_t)workspace % 256 != 0) {
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    handle->workspace_given = true;
    handle->workspace = workspace;
    handle->workspace_bytes = bytes;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t set_math_mode(cublasHandle_t, cublasMath_t)
{
    return CUBLAS_STATUS_SUCCESS;
}

} // namespace

/* cuBLAS 13.1.2. */
static cublasStatus_t get_property(libraryPropertyType type, int *value)
{
    *value = type == MAJOR_VERSION ? CUBLAS_VER_MAJOR : type == MINOR_VERSION ? 1 : 2;
    return CUBLAS_STATUS_SUCCESS;
}

const emulated_symbol emulated_cublas_symbols[] = {
    {"cublasCreate_v2", (void *)create},
    {"cublasDestroy_v2", (void *)destroy},
    {"cublasSetWorkspace_v2", (void *)set_workspace},
    {"cublasSetMathMode", (void *)set_math_mode},
    {"cublasGetProperty", (void *)get_property},
    {"cublasGetStatusString", (void *)emulated_status_string},
    {"cublasGemmEx", (void *)gemm},
    {"cublasGemmStridedBatchedEx", (void *)gemm_strided_batched},
    {nullptr, nullptr},
};
