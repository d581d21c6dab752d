/* cuDNN 9, opened on demand where it is there: convolutions can do without it. It is asked through its backend
 * interface, descriptors with attributes, which is what PyTorch's convolutions use. None of cuDNN's headers is needed:
 * handles and descriptors are opaque, enumerations are int. */
#ifndef ASSAY_DEVICE_CUDA_CUDNN_LIBRARY_H
#define ASSAY_DEVICE_CUDA_CUDNN_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/status.h"

/* clang-format off */
/* X(NAME, value): CUDNN_NAME of NVIDIA's headers. */
#define CUDNN_VALUE_TABLE(X) \
    X(STATUS_SUCCESS, 0) \
    X(DATA_FLOAT, 0) X(DATA_HALF, 2) X(DATA_BFLOAT16, 9) X(CROSS_CORRELATION, 1) \
    X(TYPE_HANDLE, 0) X(TYPE_DATA_TYPE, 1) X(TYPE_INT64, 3) X(TYPE_FLOAT, 4) X(TYPE_VOID_PTR, 6) \
    X(TYPE_CONVOLUTION_MODE, 7) X(TYPE_HEUR_MODE, 8) X(TYPE_NUMERICAL_NOTE, 11) X(TYPE_BACKEND_DESCRIPTOR, 15) \
    X(BACKEND_CONVOLUTION_DESCRIPTOR, 1) X(BACKEND_ENGINE_DESCRIPTOR, 2) X(BACKEND_ENGINECFG_DESCRIPTOR, 3) \
    X(BACKEND_ENGINEHEUR_DESCRIPTOR, 4) X(BACKEND_EXECUTION_PLAN_DESCRIPTOR, 5) \
    X(BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, 10) \
    X(BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR, 11) \
    X(BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR, 12) X(BACKEND_OPERATIONGRAPH_DESCRIPTOR, 15) \
    X(BACKEND_VARIANT_PACK_DESCRIPTOR, 16) X(BACKEND_TENSOR_DESCRIPTOR, 17) \
    X(ATTR_CONVOLUTION_COMP_TYPE, 100) X(ATTR_CONVOLUTION_CONV_MODE, 101) X(ATTR_CONVOLUTION_DILATIONS, 102) \
    X(ATTR_CONVOLUTION_FILTER_STRIDES, 103) X(ATTR_CONVOLUTION_POST_PADDINGS, 104) \
    X(ATTR_CONVOLUTION_PRE_PADDINGS, 105) X(ATTR_CONVOLUTION_SPATIAL_DIMS, 106) \
    X(ATTR_ENGINEHEUR_MODE, 200) X(ATTR_ENGINEHEUR_OPERATION_GRAPH, 201) X(ATTR_ENGINEHEUR_RESULTS, 202) \
    X(ATTR_ENGINEHEUR_DEVICEPROP, 204) X(ATTR_ENGINECFG_ENGINE, 300) X(ATTR_ENGINECFG_WORKSPACE_SIZE, 303) \
    X(ATTR_EXECUTION_PLAN_HANDLE, 400) X(ATTR_EXECUTION_PLAN_ENGINE_CONFIG, 401) \
    X(ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, 402) X(ATTR_EXECUTION_PLAN_DEVICEPROP, 407) \
    X(ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, 700) X(ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, 701) \
    X(ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, 702) X(ATTR_OPERATION_CONVOLUTION_FORWARD_W, 703) \
    X(ATTR_OPERATION_CONVOLUTION_FORWARD_X, 704) X(ATTR_OPERATION_CONVOLUTION_FORWARD_Y, 705) \
    X(ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, 706) X(ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA, 707) \
    X(ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, 708) X(ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, 709) \
    X(ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, 710) X(ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, 711) \
    X(ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA, 712) X(ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA, 713) \
    X(ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, 714) X(ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, 715) \
    X(ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, 716) X(ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY, 717) \
    X(ATTR_OPERATIONGRAPH_HANDLE, 800) X(ATTR_OPERATIONGRAPH_OPS, 801) \
    X(ATTR_TENSOR_BYTE_ALIGNMENT, 900) X(ATTR_TENSOR_DATA_TYPE, 901) X(ATTR_TENSOR_DIMENSIONS, 902) \
    X(ATTR_TENSOR_STRIDES, 903) X(ATTR_TENSOR_UNIQUE_ID, 906) \
    X(ATTR_VARIANT_PACK_UNIQUE_IDS, 1000) X(ATTR_VARIANT_PACK_DATA_POINTERS, 1001) \
    X(ATTR_VARIANT_PACK_WORKSPACE, 1003) X(ATTR_ENGINE_GLOBAL_INDEX, 1301) X(ATTR_ENGINE_NUMERICAL_NOTE, 1303) \
    X(NUMERICAL_NOTE_TENSOR_CORE, 0) X(NUMERICAL_NOTE_DOWN_CONVERT_INPUTS, 1) \
    X(NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION, 2) X(NUMERICAL_NOTE_FFT, 3) X(NUMERICAL_NOTE_NONDETERMINISTIC, 4) \
    X(NUMERICAL_NOTE_WINOGRAD, 5) X(NUMERICAL_NOTE_WINOGRAD_TILE_4x4, 6) X(NUMERICAL_NOTE_WINOGRAD_TILE_6x6, 7) \
    X(NUMERICAL_NOTE_WINOGRAD_TILE_13x13, 8) \
    X(HEUR_MODE_INSTANT, 0) X(HEUR_MODE_FALLBACK, 2)
/* clang-format on */

enum cudnn_value {
#define CUDNN_VALUE_ENUM(name, value) DNN_##name = (value),
    CUDNN_VALUE_TABLE(CUDNN_VALUE_ENUM)
#undef CUDNN_VALUE_ENUM
};

enum {
    CUDNN_VERSION_BYTES = 32,
    CUDNN_LARGE_TENSORS_SINCE = 90300 /* tensors of more than 2^31 - 1 elements */
};

struct cudnn_library {
    void *library; /* NULL: not opened */
    void *handle;  /* NULL: none was made */
    void *device;  /* the descriptor of a GPU that is described and not here; NULL: that of the handle */
    size_t (*version)(void);
    size_t (*cuda_version)(void); /* that it was built with; 13000 is 13.0 */
    const char *(*status_text)(int status);
    int (*create)(void **handle);
    int (*destroy)(void *handle);
    int (*descriptor_create)(int kind, void **descriptor);
    int (*descriptor_destroy)(void *descriptor);
    int (*attribute_set)(void *descriptor, int attribute, int type, int64_t count, const void *values);
    int (*attribute_get)(void *descriptor, int attribute, int type, int64_t room, int64_t *count, void *values);
    int (*finalize)(void *descriptor);
    int (*execute)(void *handle, void *plan, void *pack);
};

/* Loads cuDNN without a handle and so without memory of the device. STATUS_UNAVAILABLE with the reason where there is
 * none, where ASSAY_CUDNN=no leaves it out, or where a library is missing without which cuDNN ends the process. */
enum status_code cudnn_library_load(struct cudnn_library *cudnn, struct status *error);

/* Loads it and makes a handle on the current device. */
enum status_code cudnn_library_open(struct cudnn_library *cudnn, struct status *error);
void cudnn_library_close(struct cudnn_library *cudnn); /* one that was never opened is accepted */

/* "cuDNN 9.19.0" of the library that would be loaded. False, text untouched, and error with the reason, where there is
 * none. */
bool cudnn_version_read(char text[CUDNN_VERSION_BYTES], struct status *error);

/* The same of one that is loaded. Returns text. */
const char *cudnn_version_words(const struct cudnn_library *cudnn, char text[CUDNN_VERSION_BYTES]);

#endif
