/* cuDNN: finding it, its handle. What it is asked to compute is in cudnn_graph.c. */
#include "harness/device/cuda/cudnn_library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/device/cuda/toolkit_library.h"

static enum status_code release_load(const char *file_name, struct cudnn_library *cudnn, struct status *error)
{
    struct cudnn_library loaded = {0};
    const struct toolkit_symbol symbols[] = {
        {"cudnnGetVersion", &loaded.version},
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
    enum status_code code =
        toolkit_library_open(file_name, symbols, sizeof symbols / sizeof symbols[0], &loaded.library, error);
    if (code == STATUS_OK) {
        *cudnn = loaded;
    }
    return code;
}

enum status_code cudnn_library_load(struct cudnn_library *cudnn, struct status *error)
{
    const char *wish = secure_getenv("ASSAY_CUDNN");
    if (wish != NULL && strcmp(wish, "no") == 0) {
        return status_set(error, STATUS_UNAVAILABLE, "left out by ASSAY_CUDNN=no");
    }
    enum status_code code = release_load("libcudnn.so.9", cudnn, error);
    return code == STATUS_OK || release_load("libcudnn.so.8", cudnn, NULL) != STATUS_OK ? code : STATUS_OK;
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

/* 91900 is 9.19.0, and 8907, as releases before 9 count, 8.9.7. */
const char *cudnn_version_words(const struct cudnn_library *cudnn, char text[CUDNN_VERSION_BYTES])
{
    unsigned version = (unsigned)cudnn->version(), major_unit = version >= 10000 ? 10000 : 1000;
    snprintf(text, CUDNN_VERSION_BYTES, "cuDNN %u.%u.%u", version / major_unit, version % major_unit / 100,
             version % 100);
    return text;
}

bool cudnn_version_read(char text[CUDNN_VERSION_BYTES])
{
    struct cudnn_library cudnn = {0};
    if (cudnn_library_load(&cudnn, NULL) != STATUS_OK) {
        return false;
    }
    cudnn_version_words(&cudnn, text);
    cudnn_library_close(&cudnn);
    return true;
}
