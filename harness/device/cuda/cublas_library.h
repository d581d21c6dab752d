/* cuBLAS, opened on demand: loading it costs some 200 MiB of host memory, which a device that never multiplies saves.
 * The types are those of NVIDIA's header; nothing is linked. */
#ifndef ASSAY_DEVICE_CUDA_CUBLAS_LIBRARY_H
#define ASSAY_DEVICE_CUDA_CUBLAS_LIBRARY_H

#include <cublas_v2.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/status.h"

/* HANDLE: what a handle took of an H100 (cuBLAS 13.0). WORKSPACE: with as much, no call fails for want of workspace, as
 * NVIDIA says of cublasSetWorkspace; with less some do, as CUBLAS_STATUS_ALLOC_FAILED. */
enum {
    CUBLAS_WORKSPACE_ALIGNMENT_BYTES = 256,
    CUBLAS_WORKSPACE_BYTES_ENOUGH = 16 << 10,
    CUBLAS_HANDLE_BYTES_ENOUGH = 66 << 20
};

struct cublas_library {
    void *library; /* NULL: not opened */
    cublasHandle_t handle;
    void *workspace; /* what the handle was given last */
    size_t workspace_bytes;
    cublasStatus_t (*create)(cublasHandle_t *handle);
    cublasStatus_t (*destroy)(cublasHandle_t handle);
    cublasStatus_t (*set_workspace)(cublasHandle_t handle, void *workspace, size_t bytes);
    cublasStatus_t (*set_math_mode)(cublasHandle_t handle, cublasMath_t mode);
    const char *(*status_name)(cublasStatus_t status);
    cublasStatus_t (*gemm_strided_batched)(cublasHandle_t handle, cublasOperation_t transpose_a,
                                           cublasOperation_t transpose_b, int m, int n, int k, const void *alpha,
                                           const void *a, cudaDataType a_type, int lda, long long stride_a,
                                           const void *b, cudaDataType b_type, int ldb, long long stride_b,
                                           const void *beta, void *c, cudaDataType c_type, int ldc, long long stride_c,
                                           int batch_count, cublasComputeType_t compute_type,
                                           cublasGemmAlgo_t algorithm);
    cublasStatus_t (*gemm)(cublasHandle_t handle, cublasOperation_t transpose_a, cublasOperation_t transpose_b, int m,
                           int n, int k, const void *alpha, const void *a, cudaDataType a_type, int lda, const void *b,
                           cudaDataType b_type, int ldb, const void *beta, void *c, cudaDataType c_type, int ldc,
                           cublasComputeType_t compute_type, cublasGemmAlgo_t algorithm);
};

/* Loads libcublas and makes a handle on the current device, without a workspace. Sums are kept in float32; TF32 and
 * reduced-precision reductions are off. STATUS_UNAVAILABLE with the remedy. */
enum status_code cublas_library_open(struct cublas_library *cublas, struct status *error);

/* "cuBLAS 12.8.4" of the library that would be loaded, without a handle and so without memory of the device. False, and
 * text untouched, where it is not there or does not tell. */
bool cublas_version_read(char *text, size_t text_bytes);

/* What a failure of cuBLAS or cublasLt means. A full device, which has no room for a handle or for a kernel's code, is
 * told as CUBLAS_STATUS_ALLOC_FAILED, or as NOT_INITIALIZED
 * (github.com/EleutherAI/lm-evaluation-harness/issues/1689), EXECUTION_FAILED or INTERNAL_ERROR, which also have other
 * causes: those are STATUS_OUT_OF_MEMORY where less than CUBLAS_HANDLE_BYTES_ENOUGH are free on the current device,
 * else STATUS_DEVICE. */
enum status_code cublas_failure_code(cublasStatus_t status);

/* Whether a product was refused before anything was queued, and can be made another way: this GPU or these shapes are
 * not supported, or no memory was had although there is room on the device or the workspace was too small to do
 * without. */
bool cublas_refused(cublasStatus_t status, int64_t workspace_bytes);

/* Gives the handle this workspace for all calls to come; bytes 0: it must do without one. A handle that was never given
 * any would take memory of its own. Nothing is asked of cuBLAS where it has that workspace already. */
cublasStatus_t cublas_workspace_use(struct cublas_library *cublas, void *workspace, size_t bytes);
void cublas_library_close(struct cublas_library *cublas); /* one that was never opened is accepted */

#endif
