/* cublasLt, opened on demand like cuBLAS: products that cuBLAS alone cannot do, such as one with a bias. The types are
 * those of NVIDIA's header; nothing is linked. */
#ifndef ASSAY_DEVICE_CUDA_CUBLASLT_LIBRARY_H
#define ASSAY_DEVICE_CUDA_CUBLASLT_LIBRARY_H

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/status.h"

struct cublaslt_library {
    void *library; /* NULL: not opened */
    cublasLtHandle_t handle;
    cublasStatus_t (*create)(cublasLtHandle_t *handle);
    cublasStatus_t (*destroy)(cublasLtHandle_t handle);
    const char *(*status_name)(cublasStatus_t status);
    cublasStatus_t (*matmul_desc_create)(cublasLtMatmulDesc_t *desc, cublasComputeType_t compute_type,
                                         cudaDataType scale_type);
    cublasStatus_t (*matmul_desc_set)(cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t attribute,
                                      const void *value, size_t bytes);
    cublasStatus_t (*matmul_desc_destroy)(cublasLtMatmulDesc_t desc);
    cublasStatus_t (*layout_create)(cublasLtMatrixLayout_t *layout, cudaDataType type, uint64_t rows, uint64_t columns,
                                    int64_t leading);
    cublasStatus_t (*layout_destroy)(cublasLtMatrixLayout_t layout);
    cublasStatus_t (*preference_create)(cublasLtMatmulPreference_t *preference);
    cublasStatus_t (*preference_set)(cublasLtMatmulPreference_t preference,
                                     cublasLtMatmulPreferenceAttributes_t attribute, const void *value, size_t bytes);
    cublasStatus_t (*preference_destroy)(cublasLtMatmulPreference_t preference);
    cublasStatus_t (*heuristic)(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a,
                                cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                cublasLtMatmulPreference_t preference, int wanted,
                                cublasLtMatmulHeuristicResult_t *results, int *found);
    cublasStatus_t (*matmul)(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void *alpha, const void *a,
                             cublasLtMatrixLayout_t a_layout, const void *b, cublasLtMatrixLayout_t b_layout,
                             const void *beta, const void *c, cublasLtMatrixLayout_t c_layout, void *d,
                             cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t *algorithm, void *workspace,
                             size_t workspace_bytes, cudaStream_t stream);
};

/* Loads libcublasLt and makes a handle on the current device. STATUS_UNAVAILABLE with the remedy. */
enum status_code cublaslt_library_open(struct cublaslt_library *cublaslt, struct status *error);
void cublaslt_library_close(struct cublaslt_library *cublaslt); /* one that was never opened is accepted */

#endif
