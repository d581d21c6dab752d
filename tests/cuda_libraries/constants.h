/* The constants of CUDA that the harness names, once as NVIDIA's headers have them and once as those of
 * tests/cuda_emulation/include, which cannot be in one file. */
#ifndef ASSAY_TESTS_CUDA_LIBRARIES_CONSTANTS_H
#define ASSAY_TESTS_CUDA_LIBRARIES_CONSTANTS_H

struct constant {
    const char *name;
    long long value;
};

extern const struct constant constants_of_nvidia[]; /* empty where its headers are not here */
extern const struct constant constants_of_the_emulation[];

/* clang-format off */
#define CONSTANTS(X) \
    X(CUBLAS_STATUS_SUCCESS) X(CUBLAS_STATUS_NOT_INITIALIZED) X(CUBLAS_STATUS_ALLOC_FAILED) \
    X(CUBLAS_STATUS_INVALID_VALUE) X(CUBLAS_STATUS_ARCH_MISMATCH) X(CUBLAS_STATUS_EXECUTION_FAILED) \
    X(CUBLAS_STATUS_INTERNAL_ERROR) X(CUBLAS_STATUS_NOT_SUPPORTED) \
    X(MAJOR_VERSION) X(MINOR_VERSION) X(PATCH_LEVEL) X(CUBLAS_OP_N) X(CUBLAS_OP_T) \
    X(CUBLAS_DEFAULT_MATH) X(CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION) \
    X(CUDA_R_32F) X(CUDA_R_16F) X(CUDA_R_8I) X(CUDA_R_32I) X(CUDA_R_16BF) X(CUDA_R_8F_E4M3) \
    X(CUBLAS_COMPUTE_32F) X(CUBLAS_COMPUTE_32I) X(CUBLAS_COMPUTE_32F_FAST_TF32) X(CUBLAS_GEMM_DEFAULT) \
    X(CUBLASLT_MATMUL_DESC_TRANSA) X(CUBLASLT_MATMUL_DESC_TRANSB) X(CUBLASLT_MATMUL_DESC_EPILOGUE) \
    X(CUBLASLT_MATMUL_DESC_BIAS_POINTER) X(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER) \
    X(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER) X(CUBLASLT_EPILOGUE_DEFAULT) X(CUBLASLT_EPILOGUE_BIAS) \
    X(CUBLASLT_REDUCTION_SCHEME_NONE) X(CUBLASLT_REDUCTION_SCHEME_INPLACE) \
    X(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE) X(CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE) \
    X(CUBLASLT_REDUCTION_SCHEME_MASK) X(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES) \
    X(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK) X(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES) \
    X(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES) X(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES) \
    X(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES) \
    X(cudaSuccess) X(cudaErrorInvalidValue) X(cudaErrorMemoryAllocation) X(cudaErrorInitializationError) \
    X(cudaErrorInvalidConfiguration) X(cudaErrorInsufficientDriver) X(cudaErrorDevicesUnavailable) \
    X(cudaErrorNoDevice) X(cudaErrorInvalidDevice) X(cudaErrorNoKernelImageForDevice) \
    X(cudaErrorECCUncorrectable) X(cudaErrorUnsupportedPtxVersion) X(cudaErrorOperatingSystem) \
    X(cudaErrorNotReady) X(cudaErrorIllegalAddress) X(cudaErrorLaunchFailure) X(cudaErrorNotSupported) \
    X(cudaMemcpyHostToDevice) X(cudaMemcpyDeviceToHost) X(cudaFuncAttributeMaxDynamicSharedMemorySize) \
    X(cudaHostAllocPortable)
/* clang-format on */
#define CONSTANT_ROW(name) {#name, (long long)(name)},

#endif
