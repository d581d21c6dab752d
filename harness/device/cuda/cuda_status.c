/* Statuses of CUDA and its libraries as statuses of ours, and the faults after which a device answers nothing else.
 * What to do about a status is the caller's affair. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "harness/device/cuda/cuda_device.h"

void queued_note(struct cuda_device *cuda, const struct operation_call *call)
{
    cuda->queued_count++;
    cuda->last_call.opcode = call->opcode;
    cuda->last_call.input_count = call->input_count;
    cuda->last_call.tensor_count = call->tensor_count;
    memcpy(cuda->last_call.tensors, call->tensors, (size_t)call->tensor_count * sizeof call->tensors[0]);
}

/* An error of one call is cleared by asking for it; one that destroyed the context is told again by every call. */
static bool context_is_lost(void)
{
    cudaGetLastError();
    cudaError_t still = cudaStreamQuery(NULL);
    cudaGetLastError();
    return still != cudaSuccess && still != cudaErrorNotReady;
}

/* Kernels run long after they were queued: whoever reports a fault has seldom made it. */
static void fault_note(struct cuda_device *cuda, struct status *told)
{
    char last[CALL_TEXT_BYTES];
    char text[STATUS_TEXT_BYTES];
    memcpy(text, told->text, sizeof text);
    if (cuda->queued_count > 0) {
        status_set(told, STATUS_DEVICE,
                   "%s; the context is lost. The fault lies in one of the %" PRId64
                   " operations queued since the last synchronisation, of which the last is %s",
                   text, cuda->queued_count, call_describe(&cuda->last_call, last));
    } else {
        status_set(told, STATUS_DEVICE, "%s; the context is lost", text);
    }
    cuda->fault = *told;
}

/* Ends every failure: told is what is known of it. */
static enum status_code failure_end(struct cuda_device *cuda, struct status *told, struct status *error)
{
    if (cuda->has_context && cuda->fault.code == STATUS_OK && context_is_lost()) {
        fault_note(cuda, told);
    }
    return status_set(error, told->code, "%s", told->text);
}

enum status_code fault_check(const struct cuda_device *cuda, struct status *error)
{
    return cuda->fault.code == STATUS_OK ? STATUS_OK : status_set(error, cuda->fault.code, "%s", cuda->fault.text);
}

enum status_code cuda_check(struct cuda_device *cuda, cudaError_t code, const char *doing, struct status *error)
{
    struct status told;
    if (code == cudaSuccess) {
        return STATUS_OK;
    }
    status_set(&told, code == cudaErrorMemoryAllocation ? STATUS_OUT_OF_MEMORY : STATUS_DEVICE, "cuda:%d: %s: %s (%s)",
               cuda->index, doing, cudaGetErrorString(code), cudaGetErrorName(code));
    return failure_end(cuda, &told, error);
}

static const char *cublas_status_name(const struct cuda_device *cuda, cublasStatus_t status)
{
    return cuda->cublas.library != NULL ? cuda->cublas.status_name(status) : cuda->cublaslt.status_name(status);
}

enum status_code cublas_check(struct cuda_device *cuda, cublasStatus_t code, const char *doing, struct status *error)
{
    struct status told;
    if (code == CUBLAS_STATUS_SUCCESS) {
        return STATUS_OK;
    }
    status_set(&told, cublas_failure_code(code), "cuda:%d: %s: %s", cuda->index, doing, cublas_status_name(cuda, code));
    return failure_end(cuda, &told, error);
}

static bool declined_is_like(const struct declined_products *row, const struct declined_products *wanted)
{
    return row->opcode == wanted->opcode && strcmp(row->library, wanted->library) == 0 &&
           strcmp(row->status, wanted->status) == 0;
}

/* A row like it, else the first empty one, else the last, which then has others too. */
void declined_note(struct cuda_device *cuda, const char *library, const char *status)
{
    struct declined_products wanted = {.opcode = cuda->last_call.opcode};
    struct declined_products *row = cuda->declined;
    struct declined_products *last = row + DECLINED_ROWS - 1;
    snprintf(wanted.library, sizeof wanted.library, "%s", library);
    snprintf(wanted.status, sizeof wanted.status, "%s", status);
    while (row < last && row->count > 0 && !declined_is_like(row, &wanted)) {
        row++;
    }
    if (row->count == 0) {
        *row = wanted;
    } else if (!declined_is_like(row, &wanted)) {
        snprintf(row->status, sizeof row->status, "others");
    }
    row->count++;
}

void cublas_declined_note(struct cuda_device *cuda, const char *library, cublasStatus_t status)
{
    declined_note(cuda, library, cublas_status_name(cuda, status));
}

enum status_code launch_check(struct cuda_device *cuda, const char *reason, const char *doing, struct status *error)
{
    struct status told;
    if (reason == NULL) {
        return STATUS_OK;
    }
    /* The runtime loads a kernel with its first launch, for which a full device has no memory. */
    bool full = strcmp(reason, cudaGetErrorString(cudaErrorMemoryAllocation)) == 0;
    status_set(&told, full ? STATUS_OUT_OF_MEMORY : STATUS_DEVICE, "cuda:%d: %s: %s", cuda->index, doing, reason);
    return failure_end(cuda, &told, error);
}

enum status_code library_check(const struct cuda_device *cuda, enum status_code code, const char *doing,
                               struct status *error)
{
    if (code != STATUS_OK && code != STATUS_UNAVAILABLE) { /* that one is a sentence for itself */
        status_prefix(error, "cuda:%d: %s", cuda->index, doing);
    }
    return code;
}
