/* cuBLAS: finding and loading it, its handle. The products are in cuda_matmul.c. */
#include "harness/device/cuda/cublas_library.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_TEXT(number)  #number
#define NUMBER_TEXT_OF(name) NUMBER_TEXT(name)
#define CUBLAS_FILE_NAME     "libcublas.so." NUMBER_TEXT_OF(CUBLAS_VER_MAJOR)

/* Where the loader finds it; else in the toolkit's own folder, which distributions do not always tell the loader. */
static void *cublas_load(char *reason, size_t reason_bytes)
{
    char path[PATH_MAX];
    void *library = dlopen(CUBLAS_FILE_NAME, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library != NULL) {
        return library;
    }
    snprintf(reason, reason_bytes, "%s", dlerror());
    const char *home = secure_getenv("CUDA_HOME");
    snprintf(path, sizeof path, "%s/lib64/%s", home != NULL && *home != '\0' ? home : "/usr/local/cuda",
             CUBLAS_FILE_NAME);
    return dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
}

/* POSIX: the bytes of the address that dlsym returns are the function pointer. */
static int symbol_find(void *library, const char *name, void *function_pointer)
{
    void *symbol = dlsym(library, name);
    memcpy(function_pointer, &symbol, sizeof symbol);
    return symbol != NULL;
}

static enum status_code cublas_symbols_find(struct cublas_library *cublas, struct status *error)
{
    const struct {
        const char *name;
        void *function_pointer;
    } rows[] = {
        {"cublasCreate_v2", &cublas->create},
        {"cublasDestroy_v2", &cublas->destroy},
        {"cublasSetWorkspace_v2", &cublas->set_workspace},
        {"cublasSetMathMode", &cublas->set_math_mode},
        {"cublasGetStatusString", &cublas->status_string},
        {"cublasGemmEx", &cublas->gemm},
        {"cublasGemmStridedBatchedEx", &cublas->gemm_strided_batched},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (!symbol_find(cublas->library, rows[i].name, rows[i].function_pointer)) {
            return status_set(error, STATUS_UNAVAILABLE,
                              "cuda: %s has no %s; install the cuBLAS of the CUDA toolkit that this program was built "
                              "with",
                              CUBLAS_FILE_NAME, rows[i].name);
        }
    }
    return STATUS_OK;
}

static enum status_code cublas_handle_make(struct cublas_library *cublas, void *workspace, size_t workspace_bytes,
                                           struct status *error)
{
    const char *doing = "cublasCreate";
    cublasStatus_t status = cublas->create(&cublas->handle);
    if (status == CUBLAS_STATUS_SUCCESS) {
        doing = "cublasSetWorkspace";
        status = cublas->set_workspace(cublas->handle, workspace, workspace_bytes);
    }
    if (status == CUBLAS_STATUS_SUCCESS) {
        doing = "cublasSetMathMode";
        status = cublas->set_math_mode(
            cublas->handle, (cublasMath_t)(CUBLAS_DEFAULT_MATH | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION));
    }
    if (status != CUBLAS_STATUS_SUCCESS) {
        /* A handle needs some device memory of its own. */
        return status_set(error, status == CUBLAS_STATUS_ALLOC_FAILED ? STATUS_OUT_OF_MEMORY : STATUS_DEVICE,
                          "cuda: %s: %s", doing, cublas->status_string(status));
    }
    return STATUS_OK;
}

enum status_code cublas_library_open(void *workspace, size_t workspace_bytes, struct cublas_library *cublas,
                                     struct status *error)
{
    struct cublas_library opened = {0};
    char reason[256] = "";
    opened.library = cublas_load(reason, sizeof reason);
    if (opened.library == NULL) {
        return status_set(error, STATUS_UNAVAILABLE,
                          "cuda: " CUBLAS_FILE_NAME " cannot be loaded (%s); install cuBLAS, or set CUDA_HOME to the "
                          "toolkit's folder",
                          reason);
    }
    enum status_code code = cublas_symbols_find(&opened, error);
    if (code == STATUS_OK) {
        code = cublas_handle_make(&opened, workspace, workspace_bytes, error);
    }
    if (code == STATUS_OK) {
        *cublas = opened;
    } else {
        cublas_library_close(&opened);
    }
    return code;
}

void cublas_library_close(struct cublas_library *cublas)
{
    if (cublas->handle != NULL) {
        cublas->destroy(cublas->handle);
    }
    if (cublas->library != NULL) {
        dlclose(cublas->library);
    }
    *cublas = (struct cublas_library){0};
}
