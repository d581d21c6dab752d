/* What the files of the CUDA plug-in share. Only this folder includes it.
 *
 * Everything runs on the default stream of one device, in order. The plug-in takes no device memory but segments:
 * scratch memory comes with the calls. What the runtime and the libraries take for themselves (context, code, handles)
 * they take at the first use of each. */
#ifndef ASSAY_DEVICE_CUDA_CUDA_DEVICE_H
#define ASSAY_DEVICE_CUDA_CUDA_DEVICE_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>

#include "harness/base/status.h"
#include "harness/device/cuda/cublas_library.h"
#include "harness/device/cuda/cublaslt_library.h"
#include "harness/device/cuda/cudnn_forms.h"
#include "harness/device/cuda/gpu_watch.h"
#include "harness/device/cuda/load_meter.h"
#include "harness/device/cuda/nvml_library.h"
#include "harness/device/device.h"
#include "harness/device/product_plan.h"

/* What a convolution's products are given of its workspace, at most one part of so many; columns and sums have what is
 * left. */
enum { CUDA_CONVOLUTION_PRODUCTS_BYTES = 1 << 20, CUDA_CONVOLUTION_PRODUCTS_PART = 4 };

struct cuda_device {
    struct device base;
    int index;
    int64_t total_bytes;
    int64_t held_bytes;   /* by segments */
    int64_t memory_bytes; /* all that cudaMemGetInfo counts, once it has answered; less than total_bytes */
    char name[128];
    char target[16];
    char pci_bus_id[32];
    char uuid[48];
    struct cublas_library cublas;     /* opened by the first product */
    struct cublaslt_library cublaslt; /* opened by the first linear layer with a bias */
    struct cudnn_forms cudnn;         /* opened by the first convolution that suits it */
    struct nvml_library nvml;         /* not there where the library is missing: then no process reading */
    struct gpu_watch watch;
    struct load_meter loads;
    struct operation_call last_call; /* what was queued last, without its attributes; valid where queued_count > 0 */
    struct declined_products declined[DECLINED_ROWS];
    int64_t queued_count; /* operations queued since all were last known to be done */
    bool has_context;     /* false while it is opened: asking CUDA would make one */
    struct status fault;  /* code not STATUS_OK: the context is lost, and this was the first to tell it */
};

/* -- cuda_status.c: every status of CUDA and its libraries goes through one of these. doing: the operation with its
 * shapes, or the call.
 *
 * STATUS_OK for cudaSuccess. cudaErrorMemoryAllocation becomes STATUS_OUT_OF_MEMORY, all else STATUS_DEVICE, with
 * "cuda:0: <doing>: <CUDA's text>". An error that CUDA remembers is cleared. Where it cannot be cleared (an illegal
 * address, a launch failure, an ECC error: the context is lost) the device is at fault from then on, and the text says
 * what was queued, because work is asynchronous and who reports a fault has seldom made it. */
enum status_code cuda_check(struct cuda_device *cuda, cudaError_t code, const char *doing, struct status *error);

/* The same for cuBLAS and cublasLt; what is want of memory is told by cublas_failure_code. */
enum status_code cublas_check(struct cuda_device *cuda, cublasStatus_t code, const char *doing, struct status *error);

/* Counts a product of the operation that was queued last, which library would not compute; status: what it said. */
void declined_note(struct cuda_device *cuda, const char *library, const char *status);

/* The same, with cuBLAS's word for a status of cuBLAS or cublasLt. */
void cublas_declined_note(struct cuda_device *cuda, const char *library, cublasStatus_t status);

/* The same for what kernel_cuda_run says; NULL: all is well. */
enum status_code launch_check(struct cuda_device *cuda, const char *reason, const char *doing, struct status *error);

/* What opening a library came to, with the operation that wanted it. */
enum status_code library_check(const struct cuda_device *cuda, enum status_code code, const char *doing,
                               struct status *error);

/* The first fault of a device that is at fault, without asking it. Every entry of the table begins with it. */
enum status_code fault_check(const struct cuda_device *cuda, struct status *error);

/* Notes an operation that is about to be queued. */
void queued_note(struct cuda_device *cuda, const struct operation_call *call);

enum status_code cuda_open(int index, struct device **device, struct status *error);
enum status_code cuda_identify(int index, struct device_identity *identity, struct status *error);

/* -- cuda_matmul.c. Opens cuBLAS where that has not happened; STATUS_UNAVAILABLE with the remedy where it is
 * missing. */
enum status_code cuda_cublas_ready(struct cuda_device *cuda, const char *doing, struct status *error);
enum status_code cuda_matmul(struct cuda_device *cuda, const struct operation_call *call, struct status *error);
enum status_code cuda_matmul_planned(struct cuda_device *cuda, const struct matmul_plan *plan, const char *doing,
                                     struct status *error);

/* -- cuda_linear.c: a product with a bias through cublasLt. *done is false, and nothing has happened, where the plan is
 * not of the form that PyTorch hands to it, or cublasLt has no way to compute it. */
enum status_code cuda_linear(struct cuda_device *cuda, const struct matmul_plan *plan, const char *doing, bool *done,
                             struct status *error);
/* The type of a floating dtype, and how sums are made: in float32, from TF32 factors where that is allowed. */
cudaDataType cuda_type_of(enum dtype dtype);
cublasComputeType_t cuda_compute_type_of(const struct matmul_plan *plan);

/* -- cuda_cudnn.c: a convolution through cuDNN. *done is false where cuDNN is not there, has no engine for it within
 * the call's workspace, or refuses: then our own kernels compute it. */
enum status_code cuda_cudnn(struct cuda_device *cuda, enum opcode opcode, const struct convolution_plan *plan,
                            const char *doing, bool *done, struct status *error);
void cuda_cudnn_tell(const struct device *device, struct device_convolutions *told);

/* -- cuda_convolution.c */
enum status_code cuda_convolution(struct cuda_device *cuda, const struct operation_call *call, struct status *error);

#endif
