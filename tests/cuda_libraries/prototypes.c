/* Our prototypes of functions that are looked up by name, held against NVIDIA's headers while this is compiled, as far
 * as they are here. Nothing of it runs. */
#include "tests/cuda_libraries/prototypes.h"

#include <stddef.h>

#ifdef HAS_NVIDIA_HEADERS
#if __has_include(<nvml.h>)
#define HAS_NVML_HEADER
#endif
#if __has_include(<cudnn.h>)
#define HAS_CUDNN_HEADER
#endif
#endif

#ifdef HAS_NVIDIA_HEADERS
#include "harness/device/cuda/cublas_library.h"
#include "harness/device/cuda/cublaslt_library.h"

#define SAME(library, field, function)                                                                                 \
    _Static_assert(_Generic(((struct library *)0)->field, __typeof__(&(function)) : 1, default : 0),                   \
                   #field " is not what NVIDIA's " #function " is")

SAME(cublas_library, create, cublasCreate_v2);
SAME(cublas_library, destroy, cublasDestroy_v2);
SAME(cublas_library, set_workspace, cublasSetWorkspace_v2);
SAME(cublas_library, set_math_mode, cublasSetMathMode);
SAME(cublas_library, status_name, cublasGetStatusName);
SAME(cublas_library, gemm, cublasGemmEx);
SAME(cublas_library, gemm_strided_batched, cublasGemmStridedBatchedEx);
SAME(cublaslt_library, create, cublasLtCreate);
SAME(cublaslt_library, destroy, cublasLtDestroy);
SAME(cublaslt_library, status_name, cublasLtGetStatusName);
SAME(cublaslt_library, matmul_desc_create, cublasLtMatmulDescCreate);
SAME(cublaslt_library, matmul_desc_set, cublasLtMatmulDescSetAttribute);
SAME(cublaslt_library, matmul_desc_destroy, cublasLtMatmulDescDestroy);
SAME(cublaslt_library, layout_create, cublasLtMatrixLayoutCreate);
SAME(cublaslt_library, layout_destroy, cublasLtMatrixLayoutDestroy);
SAME(cublaslt_library, preference_create, cublasLtMatmulPreferenceCreate);
SAME(cublaslt_library, preference_set, cublasLtMatmulPreferenceSetAttribute);
SAME(cublaslt_library, preference_destroy, cublasLtMatmulPreferenceDestroy);
SAME(cublaslt_library, heuristic, cublasLtMatmulAlgoGetHeuristic);
SAME(cublaslt_library, matmul, cublasLtMatmul);
/* cublas_version_read has it in a function. */
_Static_assert(_Generic(&cublasGetProperty, cublasStatus_t (*)(libraryPropertyType, int *) : 1, default : 0),
               "cublasGetProperty is not what we call");
#endif

#ifdef HAS_NVML_HEADER
#include <nvml.h>

#include "harness/device/cuda/nvml_library.h"

/* Ours have opaque types for NVML's handles, and int for its enums. */
#define NVML_IS(function, ...)                                                                                         \
    _Static_assert(_Generic(&(function), nvmlReturn_t(*)(__VA_ARGS__) : 1, default : 0),                               \
                   #function " is not what we call")

NVML_IS(nvmlInit_v2, void);
NVML_IS(nvmlShutdown, void);
NVML_IS(nvmlSystemGetDriverVersion, char *, unsigned);
NVML_IS(nvmlDeviceGetHandleByPciBusId_v2, const char *, nvmlDevice_t *);
NVML_IS(nvmlDeviceGetHandleByUUID, const char *, nvmlDevice_t *);
NVML_IS(nvmlDeviceGetMemoryInfo, nvmlDevice_t, nvmlMemory_t *);
NVML_IS(nvmlDeviceGetEccMode, nvmlDevice_t, nvmlEnableState_t *, nvmlEnableState_t *);
NVML_IS(nvmlDeviceGetMigMode, nvmlDevice_t, unsigned *, unsigned *);
NVML_IS(nvmlDeviceGetMaxMigDeviceCount, nvmlDevice_t, unsigned *);
NVML_IS(nvmlDeviceGetMigDeviceHandleByIndex, nvmlDevice_t, unsigned, nvmlDevice_t *);
NVML_IS(nvmlDeviceGetComputeRunningProcesses_v3, nvmlDevice_t, unsigned *, nvmlProcessInfo_t *);
NVML_IS(nvmlDeviceGetGraphicsRunningProcesses_v3, nvmlDevice_t, unsigned *, nvmlProcessInfo_t *);
_Static_assert(sizeof(nvmlReturn_t) == sizeof(int) && sizeof(nvmlEnableState_t) == sizeof(int), "they are no int");
_Static_assert(NVML_SUCCESS == 0 && NVML_ERROR_INSUFFICIENT_SIZE == 7, "codes are not those of nvml_library.c");
_Static_assert(sizeof(nvmlMemory_t) == sizeof(struct nvml_memory) &&
                   offsetof(nvmlMemory_t, total) == offsetof(struct nvml_memory, total_bytes) &&
                   offsetof(nvmlMemory_t, free) == offsetof(struct nvml_memory, free_bytes) &&
                   offsetof(nvmlMemory_t, used) == offsetof(struct nvml_memory, used_bytes),
               "nvmlMemory_t has another layout");
_Static_assert(sizeof(nvmlProcessInfo_t) == 24 && offsetof(nvmlProcessInfo_t, pid) == 0 &&
                   offsetof(nvmlProcessInfo_t, usedGpuMemory) == 8,
               "an entry of the lists of processes has another layout");
#endif

#ifdef HAS_CUDNN_HEADER
#include <cudnn.h>

#include "harness/device/cuda/cudnn_library.h"

/* Ours have void * for cuDNN's handles and descriptors, and int for its enums. */
#define CUDNN_IS(function, result, ...)                                                                                \
    _Static_assert(_Generic(&(function), result(*)(__VA_ARGS__) : 1, default : 0), #function " is not what we call")

CUDNN_IS(cudnnGetVersion, size_t, void);
CUDNN_IS(cudnnGetCudartVersion, size_t, void);
CUDNN_IS(cudnnGetErrorString, const char *, cudnnStatus_t);
CUDNN_IS(cudnnCreate, cudnnStatus_t, cudnnHandle_t *);
CUDNN_IS(cudnnDestroy, cudnnStatus_t, cudnnHandle_t);
CUDNN_IS(cudnnBackendCreateDescriptor, cudnnStatus_t, cudnnBackendDescriptorType_t, cudnnBackendDescriptor_t *);
CUDNN_IS(cudnnBackendDestroyDescriptor, cudnnStatus_t, cudnnBackendDescriptor_t);
CUDNN_IS(cudnnBackendFinalize, cudnnStatus_t, cudnnBackendDescriptor_t);
CUDNN_IS(cudnnBackendSetAttribute, cudnnStatus_t, cudnnBackendDescriptor_t, cudnnBackendAttributeName_t,
         cudnnBackendAttributeType_t, int64_t, const void *);
CUDNN_IS(cudnnBackendGetAttribute, cudnnStatus_t, cudnnBackendDescriptor_t const, cudnnBackendAttributeName_t,
         cudnnBackendAttributeType_t, int64_t, int64_t *, void *);
CUDNN_IS(cudnnBackendExecute, cudnnStatus_t, cudnnHandle_t, cudnnBackendDescriptor_t, cudnnBackendDescriptor_t);
_Static_assert(sizeof(cudnnHandle_t) == sizeof(void *) && sizeof(cudnnBackendDescriptor_t) == sizeof(void *),
               "they are no pointers");
_Static_assert(sizeof(cudnnStatus_t) == sizeof(int) && sizeof(cudnnBackendAttributeName_t) == sizeof(int) &&
                   sizeof(cudnnDataType_t) == sizeof(int) && sizeof(cudnnConvolutionMode_t) == sizeof(int) &&
                   sizeof(cudnnBackendHeurMode_t) == sizeof(int) && sizeof(cudnnBackendNumericalNote_t) == sizeof(int),
               "they are no int");
#define CUDNN_VALUE_IS(name, value)                                                                                    \
    _Static_assert((int)CUDNN_##name == DNN_##name, "CUDNN_" #name " has another value");
#if CUDNN_VERSION >= 90800 /* which describe devices */
CUDNN_VALUE_TABLE(CUDNN_VALUE_IS)
#endif
#endif

const char *prototypes_checked(void)
{
#if defined(HAS_NVML_HEADER) && defined(HAS_CUDNN_HEADER)
    return "cuBLAS, cublasLt, cuDNN and NVML";
#elif defined(HAS_NVML_HEADER)
    return "cuBLAS, cublasLt and NVML; cudnn.h is not here";
#elif defined(HAS_CUDNN_HEADER)
    return "cuBLAS, cublasLt and cuDNN; nvml.h is not here";
#elif defined(HAS_NVIDIA_HEADERS)
    return "cuBLAS and cublasLt; nvml.h and cudnn.h are not here";
#else
    return NULL;
#endif
}
