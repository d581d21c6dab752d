/* cuBLAS: its handle. Loading is in toolkit_library.c, the products are in cuda_matmul.c. */
#include "harness/device/cuda/cublas_library.h"

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdio.h>

#include "harness/device/cuda/toolkit_library.h"

static bool device_is_full(void)
{
    size_t free_bytes = 0, total_bytes = 0;
    return cudaMemGetInfo(&free_bytes, &total_bytes) == cudaSuccess && free_bytes < CUBLAS_HANDLE_BYTES_ENOUGH;
}

enum status_code cublas_failure_code(cublasStatus_t status)
{
    bool may_be_memory = status == CUBLAS_STATUS_NOT_INITIALIZED || status == CUBLAS_STATUS_EXECUTION_FAILED ||
                         status == CUBLAS_STATUS_INTERNAL_ERROR;
    bool is_memory = status == CUBLAS_STATUS_ALLOC_FAILED || (may_be_memory && device_is_full());
    return is_memory ? STATUS_OUT_OF_MEMORY : STATUS_DEVICE;
}

bool cublas_refused(cublasStatus_t status, int64_t workspace_bytes)
{
    return status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_ARCH_MISMATCH ||
           (status == CUBLAS_STATUS_ALLOC_FAILED &&
            (workspace_bytes < CUBLAS_WORKSPACE_BYTES_ENOUGH || !device_is_full()));
}

static enum status_code cublas_handle_make(struct cublas_library *cublas, struct status *error)
{
    const char *doing = "cublasCreate";
    cublasStatus_t status = cublas->create(&cublas->handle);
    if (status == CUBLAS_STATUS_SUCCESS) {
        doing = "cublasSetWorkspace";
        status = cublas->set_workspace(cublas->handle, NULL, 0);
    }
    if (status == CUBLAS_STATUS_SUCCESS) {
        doing = "cublasSetMathMode";
        status = cublas->set_math_mode(
            cublas->handle, (cublasMath_t)(CUBLAS_DEFAULT_MATH | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION));
    }
    if (status != CUBLAS_STATUS_SUCCESS) {
        return status_set(error, cublas_failure_code(status), "%s: %s", doing, cublas->status_name(status));
    }
    return STATUS_OK;
}

enum status_code cublas_library_open(struct cublas_library *cublas, struct status *error)
{
    struct cublas_library opened = {0};
    const struct toolkit_symbol symbols[] = {
        {"cublasCreate_v2", &opened.create},
        {"cublasDestroy_v2", &opened.destroy},
        {"cublasSetWorkspace_v2", &opened.set_workspace},
        {"cublasSetMathMode", &opened.set_math_mode},
        {"cublasGetStatusName", &opened.status_name},
        {"cublasGemmEx", &opened.gemm},
        {"cublasGemmStridedBatchedEx", &opened.gemm_strided_batched},
    };
    enum status_code code = toolkit_library_open(TOOLKIT_FILE_NAME("libcublas", CUBLAS_VER_MAJOR), symbols,
                                                 sizeof symbols / sizeof symbols[0], &opened.library, error);
    if (code != STATUS_OK) {
        return code;
    }
    code = cublas_handle_make(&opened, error);
    if (code == STATUS_OK) {
        *cublas = opened;
    } else {
        cublas_library_close(&opened);
    }
    return code;
}

bool cublas_version_read(char *text, size_t text_bytes)
{
    static const libraryPropertyType parts[] = {MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL};
    cublasStatus_t (*property)(libraryPropertyType type, int *value) = NULL;
    const struct toolkit_symbol symbol = {"cublasGetProperty", &property};
    void *library = NULL;
    int version[3] = {0};
    bool told =
        toolkit_library_open(TOOLKIT_FILE_NAME("libcublas", CUBLAS_VER_MAJOR), &symbol, 1, &library, NULL) == STATUS_OK;
    for (int i = 0; i < 3 && told; i++) {
        told = property(parts[i], &version[i]) == CUBLAS_STATUS_SUCCESS;
    }
    if (told) {
        snprintf(text, text_bytes, "cuBLAS %d.%d.%d", version[0], version[1], version[2]);
    }
    toolkit_library_close(library);
    return told;
}

cublasStatus_t cublas_workspace_use(struct cublas_library *cublas, void *workspace, size_t bytes)
{
    if (workspace == cublas->workspace && bytes == cublas->workspace_bytes) {
        return CUBLAS_STATUS_SUCCESS;
    }
    cublasStatus_t status = cublas->set_workspace(cublas->handle, workspace, bytes);
    if (status == CUBLAS_STATUS_SUCCESS) {
        cublas->workspace = workspace;
        cublas->workspace_bytes = bytes;
    }
    return status;
}

void cublas_library_close(struct cublas_library *cublas)
{
    if (cublas->handle != NULL) {
        cublas->destroy(cublas->handle);
    }
    toolkit_library_close(cublas->library);
    *cublas = (struct cublas_library){0};
}
