/* Linear layers with a bias, and of float8, on CUDA: one call of cublasLt that adds the bias before the sum is rounded,
 * where PyTorch makes one too. What cublasLt does not take is left to cuda_matmul.c. It counts columns first, as cuBLAS
 * does: it is asked for out^T = b^T a^T, whose rows are the columns that the bias runs along. */
#include "harness/device/cuda/cuda_device.h"

/* The objects of one call. */
struct linear_call {
    cublasLtMatmulDesc_t desc;
    cublasLtMatrixLayout_t a, b, out;
    cublasLtMatmulPreference_t preference;
};

enum { ALIGNMENT_MAXIMUM_BYTES = 256, FLOAT8_ALIGNMENT = 16 };

static bool float8_aligns(const struct product_matrix *matrix)
{
    return (uintptr_t)matrix->data % FLOAT8_ALIGNMENT == 0 && matrix->leading % FLOAT8_ALIGNMENT == 0;
}

/* cublasLt's conditions for float8 on Ada and Hopper: both factors along k, multiples of 16; a bias of 16 bits. Older
 * GPUs have no algorithm for it, which the heuristic says. */
static bool plan_suits_float8(const struct matmul_plan *plan)
{
    bool biased = plan->bias_dtype == plan->out.dtype && plan->out.dtype != DTYPE_FLOAT32;
    return !plan->a.transposed && plan->b.transposed && float8_aligns(&plan->a) && float8_aligns(&plan->b) &&
           plan->k % FLOAT8_ALIGNMENT == 0 && plan->n % FLOAT8_ALIGNMENT == 0 && (!plan->has_bias || biased);
}

/* PyTorch's condition for addmm: one matrix, a bias of the result's dtype along its columns, added once. */
static bool plan_suits_linear(const struct matmul_plan *plan)
{
    enum dtype dtype = plan->out.dtype;
    bool once = !plan->bias_along_rows && plan->beta == 0.0f && plan->batch[0] == 1 && plan->batch[1] == 1;
    if (plan->a_scale != NULL) {
        return once && plan->k > 0 && plan_suits_float8(plan);
    }
    return once && plan->has_bias && plan->k > 0 && plan->a.dtype == dtype && plan->b.dtype == dtype &&
           plan->bias_dtype == dtype;
}

static uint32_t alignment_of(const void *address)
{
    uint32_t alignment = ALIGNMENT_MAXIMUM_BYTES;
    while ((uintptr_t)address % alignment != 0) {
        alignment /= 2;
    }
    return alignment;
}

static cublasStatus_t desc_make(const struct cublaslt_library *lt, const struct matmul_plan *plan,
                                struct linear_call *call)
{
    const cublasOperation_t first = plan->b.transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    const cublasOperation_t second = plan->a.transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    const cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_BIAS;
    const bool biased = plan->has_bias, scaled = plan->a_scale != NULL;
    const struct {
        bool wanted;
        cublasLtMatmulDescAttributes_t attribute;
        const void *value;
        size_t bytes;
    } rows[] = {
        {true, CUBLASLT_MATMUL_DESC_TRANSA, &first, sizeof first},
        {true, CUBLASLT_MATMUL_DESC_TRANSB, &second, sizeof second},
        {biased, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue},
        {biased, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &plan->bias, sizeof plan->bias},
        {scaled, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, &plan->b_scale, sizeof plan->b_scale},
        {scaled, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, &plan->a_scale, sizeof plan->a_scale},
    };
    cublasStatus_t status = lt->matmul_desc_create(&call->desc, cuda_compute_type_of(plan), CUDA_R_32F);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] && status == CUBLAS_STATUS_SUCCESS; i++) {
        if (rows[i].wanted) {
            status = lt->matmul_desc_set(call->desc, rows[i].attribute, rows[i].value, rows[i].bytes);
        }
    }
    return status;
}

/* rows x columns: the matrix as the plan sees it; a matrix of ours that is not transposed is one of cublasLt's with its
 * columns as rows. */
static cublasStatus_t layout_make(const struct cublaslt_library *lt, const struct product_matrix *matrix, int64_t rows,
                                  int64_t columns, cublasLtMatrixLayout_t *layout)
{
    int64_t lines = matrix->transposed ? rows : columns;
    int64_t count = matrix->transposed ? columns : rows;
    return lt->layout_create(layout, cuda_type_of(matrix->dtype), (uint64_t)lines, (uint64_t)count, matrix->leading);
}

/* The sum over k is not cut into parts. Parts that are kept in the result's 16 bits are each rounded, which cuBLAS's
 * handle is forbidden too (cublas_library.c); and however they are kept, the bias seems to be added to what is stored
 * of their sum, so that a 16-bit result is rounded twice. docs/NUMBERS.md, 11, has what an H100 left. */
static cublasStatus_t preference_make(const struct cublaslt_library *lt, const struct matmul_plan *plan,
                                      struct linear_call *call)
{
    const size_t workspace_bytes = (size_t)plan->workspace.bytes;
    const uint32_t first = alignment_of(plan->b.data), second = alignment_of(plan->a.data);
    const uint32_t out = alignment_of(plan->out.data), bias = alignment_of(plan->bias);
    const uint32_t least = out < bias ? out : bias;
    const uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_NONE;
    const struct {
        cublasLtMatmulPreferenceAttributes_t attribute;
        const void *value;
        size_t bytes;
    } rows[] = {
        {CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace_bytes, sizeof workspace_bytes},
        {CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &reductions, sizeof reductions},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, &first, sizeof first},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, &second, sizeof second},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, &least, sizeof least},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, &least, sizeof least},
    };
    cublasStatus_t status = lt->preference_create(&call->preference);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] && status == CUBLAS_STATUS_SUCCESS; i++) {
        status = lt->preference_set(call->preference, rows[i].attribute, rows[i].value, rows[i].bytes);
    }
    return status;
}

static cublasStatus_t call_make(const struct cublaslt_library *lt, const struct matmul_plan *plan,
                                struct linear_call *call)
{
    cublasStatus_t status = desc_make(lt, plan, call);
    if (status == CUBLAS_STATUS_SUCCESS) {
        status = layout_make(lt, &plan->b, plan->k, plan->n, &call->b);
    }
    if (status == CUBLAS_STATUS_SUCCESS) {
        status = layout_make(lt, &plan->a, plan->m, plan->k, &call->a);
    }
    if (status == CUBLAS_STATUS_SUCCESS) {
        status = layout_make(lt, &plan->out, plan->m, plan->n, &call->out);
    }
    return status == CUBLAS_STATUS_SUCCESS ? preference_make(lt, plan, call) : status;
}

static void call_release(const struct cublaslt_library *lt, struct linear_call *call)
{
    cublasLtMatrixLayout_t layouts[] = {call->a, call->b, call->out};
    for (int i = 0; i < 3; i++) {
        if (layouts[i] != NULL) {
            lt->layout_destroy(layouts[i]);
        }
    }
    if (call->preference != NULL) {
        lt->preference_destroy(call->preference);
    }
    if (call->desc != NULL) {
        lt->matmul_desc_destroy(call->desc);
    }
}

/* found is 0 where cublasLt has no way within the workspace. */
static cublasStatus_t call_run(const struct cublaslt_library *lt, const struct matmul_plan *plan,
                               const struct linear_call *call, int *found)
{
    const float zero = 0.0f;
    cublasLtMatmulHeuristicResult_t result;
    cublasStatus_t status = lt->heuristic(lt->handle, call->desc, call->b, call->a, call->out, call->out,
                                          call->preference, 1, &result, found);
    if (status != CUBLAS_STATUS_SUCCESS || *found == 0) {
        return status;
    }
    return lt->matmul(lt->handle, call->desc, &plan->alpha, plan->b.data, call->b, plan->a.data, call->a, &zero,
                      plan->out.data, call->out, plan->out.data, call->out, &result.algo, plan->workspace.data,
                      (size_t)plan->workspace.bytes, NULL);
}

/* PyTorch's handle of cublasLt is its handle of cuBLAS, so a process that multiplies has both, whichever it calls: 66
 * MiB of an H100 that a process with linear layers alone would else be without. */
static enum status_code cublaslt_ready(struct cuda_device *cuda, const char *doing, struct status *error)
{
    if (cuda->cublaslt.library != NULL) {
        return STATUS_OK;
    }
    enum status_code code = cuda_cublas_ready(cuda, doing, error);
    if (code == STATUS_OK) {
        struct load_stretch stretch = load_begin(&cuda->loads);
        code = library_check(cuda, cublaslt_library_open(&cuda->cublaslt, error), doing, error);
        load_end(&cuda->loads, &stretch, LOAD_LIBRARY);
    }
    return code;
}

enum status_code cuda_linear(struct cuda_device *cuda, const struct matmul_plan *plan, const char *doing, bool *done,
                             struct status *error)
{
    struct linear_call call = {0};
    int found = 0;
    *done = false;
    if (!plan_suits_linear(plan)) {
        return STATUS_OK;
    }
    enum status_code code = cublaslt_ready(cuda, doing, error);
    if (code != STATUS_OK) {
        return code;
    }
    cublasStatus_t status = call_make(&cuda->cublaslt, plan, &call);
    if (status == CUBLAS_STATUS_SUCCESS) {
        status = call_run(&cuda->cublaslt, plan, &call, &found);
    }
    call_release(&cuda->cublaslt, &call);
    if (cublas_refused(status, plan->workspace.bytes)) {
        cublas_declined_note(cuda, "cublasLt", status);
        return STATUS_OK;
    }
    if (status == CUBLAS_STATUS_SUCCESS && found == 0) {
        declined_note(cuda, "cublasLt", "no algorithm");
    }
    *done = status == CUBLAS_STATUS_SUCCESS && found > 0;
    return cublas_check(cuda, status, doing, error);
}
