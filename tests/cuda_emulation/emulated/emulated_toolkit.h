/* What the emulated libraries of the toolkit share, and their functions: each library a table that ends with a NULL
 * name.
 */
#ifndef ASSAY_TESTS_EMULATED_TOOLKIT_H
#define ASSAY_TESTS_EMULATED_TOOLKIT_H

#include <cstdint>

#include <cublas_v2.h>

#include "harness/kernels/dtype.h"

struct emulated_symbol {
    const char *name;
    void *function;
};

extern const emulated_symbol emulated_cublas_symbols[];
extern const emulated_symbol emulated_cublaslt_symbols[];
extern const emulated_symbol emulated_cudnn_symbols[];
extern const emulated_symbol emulated_nvml_symbols[];
extern const emulated_symbol emulated_driver_symbols[]; /* of libcuda */

/* Whether this process has an NVML, and one with a function of that name. */
bool emulated_nvml_is_there(void);
bool emulated_nvml_has(const char *name);

/* EMULATED_CUDNN=9.19.0[,WORD...]: there is a cuDNN of that release; unset: none. Words: "unsupported:N": one engine in
 * N cannot be made ready; "fails:N": one convolution in N fails as it is executed; "broken:N": engine
 * N fails as it is executed; "bare": no engine does without a workspace; "plain": the one that does is none of tensor
 * cores; "lone": it is for a CUDA whose cublasLt is not there; "dies": asking its release ends the process.
 * emulated_cudnn_version: as cudnnGetVersion counts, 0 if there is none. emulated_cudnn_refuses: whether the
 * word is there, and of those with a number, whether it falls on this call. */
size_t emulated_cudnn_version(void);
size_t emulated_cudnn_cuda_version(void);
bool emulated_cudnn_refuses(const char *word);
int64_t emulated_cudnn_number(const char *word); /* behind the word; -1: it is not there */

/* Whether the cublasLt of that CUDA was loaded, by itself or with cuBLAS. */
bool emulated_cublaslt_is_loaded(size_t cuda_major);

enum dtype emulated_dtype(cudaDataType type);

/* 0: float32 factors stay as they are, 1: they are rounded to TF32, -1: no such way to compute. */
int emulated_compute_rounds(cublasComputeType_t compute_type);

/* A factor as the product sees it. */
float emulated_factor(float value, bool rounds);

/* The status that a call of that name is to give: an error where one was injected or the context is lost. In
 * emulated_runtime.cpp. */
cublasStatus_t emulated_library_call(const char *name);

/* What EMULATED_CUBLAS says that a product is answered instead of being made; SUCCESS: nothing. Words: "workspace":
 * ALLOC_FAILED with less than 16 KiB of workspace, as NVIDIA documents it; "unsupported:N": NOT_SUPPORTED for one in N,
 * whichever come; "rows": NOT_SUPPORTED for int8 whose first dimension, of the columns-first product, is no multiple of
 * 4; "full:BYTES": EXECUTION_FAILED where less is free. */
cublasStatus_t emulated_product_refusal(cudaDataType type, int64_t rows, size_t workspace_bytes);

const char *emulated_status_name(cublasStatus_t status);

#endif
