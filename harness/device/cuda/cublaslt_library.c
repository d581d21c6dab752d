/* cublasLt: its handle. Loading is in toolkit_library.c, the products are in cuda_linear.c. */
#include "harness/device/cuda/cublaslt_library.h"

#include "harness/device/cuda/cublas_library.h"
#include "harness/device/cuda/toolkit_library.h"

enum status_code cublaslt_library_open(struct cublaslt_library *cublaslt, struct status *error)
{
    struct cublaslt_library opened = {0};
    const struct toolkit_symbol symbols[] = {
        {"cublasLtCreate", &opened.create},
        {"cublasLtDestroy", &opened.destroy},
        {"cublasLtGetStatusName", &opened.status_name},
        {"cublasLtMatmulDescCreate", &opened.matmul_desc_create},
        {"cublasLtMatmulDescSetAttribute", &opened.matmul_desc_set},
        {"cublasLtMatmulDescDestroy", &opened.matmul_desc_destroy},
        {"cublasLtMatrixLayoutCreate", &opened.layout_create},
        {"cublasLtMatrixLayoutDestroy", &opened.layout_destroy},
        {"cublasLtMatmulPreferenceCreate", &opened.preference_create},
        {"cublasLtMatmulPreferenceSetAttribute", &opened.preference_set},
        {"cublasLtMatmulPreferenceDestroy", &opened.preference_destroy},
        {"cublasLtMatmulAlgoGetHeuristic", &opened.heuristic},
        {"cublasLtMatmul", &opened.matmul},
    };
    /* It has the version of the cuBLAS that it comes with. */
    enum status_code code = toolkit_library_open(TOOLKIT_FILE_NAME("libcublasLt", CUBLAS_VER_MAJOR), symbols,
                                                 sizeof symbols / sizeof symbols[0], &opened.library, error);
    if (code != STATUS_OK) {
        return code;
    }
    cublasStatus_t status = opened.create(&opened.handle);
    if (status != CUBLAS_STATUS_SUCCESS) {
        code = status_set(error, cublas_failure_code(status), "cublasLtCreate: %s", opened.status_name(status));
        opened.handle = NULL;
        cublaslt_library_close(&opened);
        return code;
    }
    *cublaslt = opened;
    return STATUS_OK;
}

void cublaslt_library_close(struct cublaslt_library *cublaslt)
{
    if (cublaslt->handle != NULL) {
        cublaslt->destroy(cublaslt->handle);
    }
    toolkit_library_close(cublaslt->library);
    *cublaslt = (struct cublaslt_library){0};
}
