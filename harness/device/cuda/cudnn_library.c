/* cuDNN: finding it, its handle. What it is asked to compute is in cudnn_graph.c. */
#include "harness/device/cuda/cudnn_library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/device/cuda/cublas_library.h"
#include "harness/device/cuda/toolkit_library.h"

/* libcudnn.so.9 passes every call on to this one, and ends the process where it does not find it. */
static const char graph_file_name[] = "libcudnn_graph.so.9";

static enum status_code graph_load(struct cudnn_library *cudnn, struct status *error)
{
    struct cudnn_library loaded = {0};
    const struct toolkit_symbol symbols[] = {
        {"cudnnGetVersion", &loaded.version},
        {"cudnnGetCudartVersion", &loaded.cuda_version},
        {"cudnnGetErrorString", &loaded.status_text},
        {"cudnnCreate", &loaded.create},
        {"cudnnDestroy", &loaded.destroy},
        {"cudnnBackendCreateDescriptor", &loaded.descriptor_create},
        {"cudnnBackendDestroyDescriptor", &loaded.descriptor_destroy},
        {"cudnnBackendSetAttribute", &loaded.attribute_set},
        {"cudnnBackendGetAttribute", &loaded.attribute_get},
        {"cudnnBackendFinalize", &loaded.finalize},
        {"cudnnBackendExecute", &loaded.execute},
    };
    if (toolkit_library_open(graph_file_name, symbols, sizeof symbols / sizeof symbols[0], &loaded.library, NULL) !=
        STATUS_OK) {
        return status_set(error, STATUS_UNAVAILABLE,
                          "%s is not where the loader looks, or lacks a function; pip install nvidia-cudnn-cu13 (cu12 "
                          "for CUDA 12), and LD_LIBRARY_PATH=.../nvidia/cudnn/lib",
                          graph_file_name);
    }
    *cudnn = loaded;
    return STATUS_OK;
}

/* cuDNN loads the cublasLt of its own CUDA when its heuristics are asked, and ends the process where there is none. One
 * that is loaded is found by its name. The folders are those of its wheels. */
static bool cublaslt_load(const struct cudnn_library *cudnn, int cuda_major)
{
    char file_name[32], of_cuda[32];
    snprintf(file_name, sizeof file_name, "libcublasLt.so.%d", cuda_major);
    snprintf(of_cuda, sizeof of_cuda, "../../cu%d/lib", cuda_major);
    const char *const folders[] = {".", "../../cublas/lib", of_cuda};
    void *found = NULL;
    if (toolkit_library_open(file_name, NULL, 0, &found, NULL) == STATUS_OK) {
        return true;
    }
    for (int i = 0; i < 3 && found == NULL; i++) {
        found = toolkit_library_beside(cudnn->library, folders[i], file_name);
    }
    return found != NULL;
}

/* cuBLAS comes first, with the cublasLt that belongs to it: it does not load beside an older one of the same name, and
 * cuDNN does with either. */
enum status_code cudnn_library_load(struct cudnn_library *cudnn, struct status *error)
{
    struct cudnn_library loaded = {0};
    char cublas[64], version[CUDNN_VERSION_BYTES];
    const char *wish = secure_getenv("ASSAY_CUDNN");
    if (wish != NULL && strcmp(wish, "no") == 0) {
        return status_set(error, STATUS_UNAVAILABLE, "left out by ASSAY_CUDNN=no");
    }
    cublas_version_read(cublas, sizeof cublas);
    enum status_code code = graph_load(&loaded, error);
    if (code != STATUS_OK) {
        return code;
    }
    int cuda_major = (int)(loaded.cuda_version() / 1000);
    if (!cublaslt_load(&loaded, cuda_major)) {
        code =
            status_set(error, STATUS_UNAVAILABLE,
                       "%s is for CUDA %d, and libcublasLt.so.%d is not where the loader looks; install the cuBLAS of "
                       "CUDA %d, or the cuDNN of this plug-in's CUDA",
                       cudnn_version_words(&loaded, version), cuda_major, cuda_major, cuda_major);
        cudnn_library_close(&loaded);
        return code;
    }
    *cudnn = loaded;
    return STATUS_OK;
}

enum status_code cudnn_library_open(struct cudnn_library *cudnn, struct status *error)
{
    struct cudnn_library opened = {0};
    enum status_code code = cudnn_library_load(&opened, error);
    if (code != STATUS_OK) {
        return code;
    }
    int status = opened.create(&opened.handle);
    if (status != DNN_STATUS_SUCCESS) {
        code = status_set(error, STATUS_UNAVAILABLE, "cudnnCreate: %s", opened.status_text(status));
        opened.handle = NULL;
        cudnn_library_close(&opened);
        return code;
    }
    *cudnn = opened;
    return STATUS_OK;
}

void cudnn_library_close(struct cudnn_library *cudnn)
{
    if (cudnn->handle != NULL) {
        cudnn->destroy(cudnn->handle);
    }
    toolkit_library_close(cudnn->library);
    *cudnn = (struct cudnn_library){0};
}

/* 91900 is 9.19.0. */
const char *cudnn_version_words(const struct cudnn_library *cudnn, char text[CUDNN_VERSION_BYTES])
{
    unsigned version = (unsigned)cudnn->version();
    snprintf(text, CUDNN_VERSION_BYTES, "cuDNN %u.%u.%u", version / 10000, version % 10000 / 100, version % 100);
    return text;
}

bool cudnn_version_read(char text[CUDNN_VERSION_BYTES], struct status *error)
{
    struct cudnn_library cudnn = {0};
    if (cudnn_library_load(&cudnn, error) != STATUS_OK) {
        return false;
    }
    cudnn_version_words(&cudnn, text);
    cudnn_library_close(&cudnn);
    return true;
}
