/* cuBLAS without a GPU: products as its documentation defines them, columns first, with its rules for arguments. A
 * sum whose columns and terms are multiples of 8, all on 16 bytes, is rounded to the dtype of C before what C held is
 * added: on an H100 that happened in ten of 2,448 convolutions, all of them such. */
#include <cstdint>
#include <cstring>
#include <vector>

#include "harness/kernels/convert.h"
#include "tests/cuda_emulation/emulated/emulated_toolkit.h"
#include "tests/cuda_emulation/emulated/emulated_work.h"
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

/* The rows of the left matrix or the columns of the right one, term by term, so that each is converted once. */
std::vector<float> factors_of(const side &matrix, int64_t offset, bool by_rows, int64_t lines, int64_t terms,
                              bool rounds)
{
    std::vector<float> factors((size_t)(lines * terms));
    for (int64_t line = 0; line < lines; line++) {
        for (int64_t term = 0; term < terms; term++) {
            float factor = by_rows ? side_get(matrix, offset, line, term) : side_get(matrix, offset, term, line);
            factors[(size_t)(line * terms + term)] = emulated_factor(factor, rounds);
        }
    }
    return factors;
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
    void *workspace = handle->workspace;
    size_t bytes = handle->workspace_bytes;
    if (bytes > 0) {
        emulated_work_add([=] { memset(workspace, 0xff, bytes); });
    }
    return handle->workspace_given;
}

/* A batch of products, as much of it as has been looked at. */
struct product {
    side left, right;
    void *c;
    enum dtype dtype;
    int ldc, m, n, k, count;
    long long stride_a, stride_b, stride_c;
};

/* int8 with int32 sums, as the documentation allows it: factors that lie along k, aligned to 4 bytes, whole scalars. */
bool integers_are_allowed(const product &made)
{
    bool aligned = (uintptr_t)made.left.data % 4 == 0 && (uintptr_t)made.right.data % 4 == 0 &&
                   made.left.leading % 4 == 0 && made.right.leading % 4 == 0;
    return made.left.transposed && !made.right.transposed && aligned && made.count == 1;
}

void integers_multiply(const product &made, int32_t alpha, int32_t beta)
{
    const auto left = factors_of(made.left, 0, true, made.m, made.k, false);
    const auto right = factors_of(made.right, 0, false, made.n, made.k, false);
    for (int64_t index = 0; index < (int64_t)made.m * made.n; index++) {
        int64_t row = index % made.m, column = index / made.m;
        int32_t sum = 0;
        for (int64_t term = 0; term < made.k; term++) {
            sum += (int32_t)left[(size_t)(row * made.k + term)] * (int32_t)right[(size_t)(column * made.k + term)];
        }
        int32_t *to = (int32_t *)made.c + column * made.ldc + row;
        *to = alpha * sum + (beta != 0 ? beta * *to : 0);
    }
}

/* stored_first: whether the sum is rounded before what C held is added. */
void element_put(const product &made, int64_t place, float sum, float scale, float keep, bool stored_first)
{
    float kept = keep != 0.0f ? keep * float_load(made.c, made.dtype, place) : 0.0f;
    if (kept != 0.0f && stored_first) {
        float_store(made.c, made.dtype, place, scale * sum);
        sum = float_load(made.c, made.dtype, place) / scale;
    }
    float_store(made.c, made.dtype, place, scale * sum + kept);
}

void floats_multiply(const product &made, bool rounds, float scale, float keep)
{
    bool packets = made.m % 8 == 0 && made.k % 8 == 0 && made.ldc % 8 == 0 &&
                   ((uintptr_t)made.left.data | (uintptr_t)made.right.data | (uintptr_t)made.c) % 16 == 0;
    for (int64_t batch = 0; batch < (made.m > 0 && made.n > 0 ? made.count : 0); batch++) {
        const auto left = factors_of(made.left, batch * made.stride_a, true, made.m, made.k, rounds);
        const auto right = factors_of(made.right, batch * made.stride_b, false, made.n, made.k, rounds);
        for (int64_t index = 0; index < (int64_t)made.m * made.n; index++) {
            int64_t row = index % made.m, column = index / made.m;
            const float *of_row = left.data() + row * made.k, *of_column = right.data() + column * made.k;
            float sum = 0.0f;
            for (int64_t term = 0; term < made.k; term++) {
                sum += of_row[term] * of_column[term];
            }
            int64_t place = batch * made.stride_c + column * made.ldc + row;
            element_put(made, place, sum, scale, keep, packets);
        }
    }
}

/* A handle and memory of another device are no more to be had than on a GPU without peer access. */
bool is_within_reach(cublasHandle_t handle, const product &made)
{
    return handle->device == emulated_device() && !emulated_is_elsewhere(made.left.data) &&
           !emulated_is_elsewhere(made.right.data) && !emulated_is_elsewhere(made.c) &&
           !emulated_is_elsewhere(handle->workspace);
}

cublasStatus_t gemm_strided_batched(cublasHandle_t handle, cublasOperation_t transpose_a, cublasOperation_t transpose_b,
                                    int m, int n, int k, const void *alpha, const void *a, cudaDataType a_type, int lda,
                                    long long stride_a, const void *b, cudaDataType b_type, int ldb, long long stride_b,
                                    const void *beta, void *c, cudaDataType c_type, int ldc, long long stride_c,
                                    int batch_count, cublasComputeType_t compute_type, cublasGemmAlgo_t)
{
    const product made = {{a, emulated_dtype(a_type), transpose_a == CUBLAS_OP_T, lda},
                          {b, emulated_dtype(b_type), transpose_b == CUBLAS_OP_T, ldb},
                          c,
                          emulated_dtype(c_type),
                          ldc,
                          m,
                          n,
                          k,
                          batch_count,
                          stride_a,
                          stride_b,
                          stride_c};
    bool whole = a_type == CUDA_R_8I;
    if (m < 0 || n < 0 || k < 0 || batch_count < 0 || !leading_fits(made.left, m, k) ||
        !leading_fits(made.right, k, n) || !leading_fits({c, made.dtype, false, ldc}, m, n)) {
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    cublasStatus_t refusal = emulated_product_refusal(a_type, m, handle->workspace_bytes);
    if (refusal != CUBLAS_STATUS_SUCCESS) {
        return refusal;
    }
    bool typed = whole ? c_type == CUDA_R_32I && compute_type == CUBLAS_COMPUTE_32I && integers_are_allowed(made)
                       : (c_type == a_type || c_type == CUDA_R_32F) && emulated_compute_rounds(compute_type) >= 0;
    if (a_type != b_type || !typed) {
        return CUBLAS_STATUS_NOT_SUPPORTED;
    }
    cublasStatus_t fault = emulated_library_call("cublasGemm");
    if (fault != CUBLAS_STATUS_SUCCESS) {
        return fault;
    }
    if (!is_within_reach(handle, made)) {
        emulated_reach_beyond();
        return CUBLAS_STATUS_EXECUTION_FAILED;
    }
    if (!workspace_use(handle)) {
        return CUBLAS_STATUS_EXECUTION_FAILED;
    }
    if (whole) { /* scalars are read now, because they are the host's */
        emulated_work_add([made, scale = *(const int32_t *)alpha, keep = *(const int32_t *)beta] {
            integers_multiply(made, scale, keep);
        });
    } else {
        emulated_work_add([made, rounds = emulated_compute_rounds(compute_type) > 0, scale = *(const float *)alpha,
                           keep = *(const float *)beta] { floats_multiply(made, rounds, scale, keep); });
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
    {"cublasGetStatusName", (void *)emulated_status_name},
    {"cublasGemmEx", (void *)gemm},
    {"cublasGemmStridedBatchedEx", (void *)gemm_strided_batched},
    {nullptr, nullptr},
};
