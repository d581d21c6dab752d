/* cublasLt without a GPU: a product with the bias along the rows of the result, columns first, with its rules for
 * arguments. It has no algorithm for factors that are not aligned to 16 bytes, as the real one has few. */
#include <cstring>
#include <vector>

#include "harness/kernels/convert.h"
#include "tests/cuda_emulation/emulated/emulated_toolkit.h"
#include "tests/cuda_emulation/emulated/emulated_work.h"
#include "tests/cuda_emulation/emulated/emulation.h"
#include <cublasLt.h>
#include <cuda_runtime_api.h>

struct emulation_lt {
    int device; /* that was set when it was made: it runs there alone */
};

struct emulation_lt_desc {
    cublasComputeType_t compute_type;
    cublasOperation_t transpose_a, transpose_b;
    cublasLtEpilogue_t epilogue;
    const void *bias;
    const float *a_scale, *b_scale;
};

struct emulation_lt_layout {
    cudaDataType type;
    uint64_t rows, columns;
    int64_t leading;
};

struct emulation_lt_preference {
    uint64_t workspace_bytes;
    uint32_t reductions; /* that are allowed */
    uint32_t alignment[4];
};

namespace
{

cublasStatus_t create(cublasLtHandle_t *handle)
{
    cublasStatus_t status = emulated_library_call("cublasLtCreate");
    if (status != CUBLAS_STATUS_SUCCESS) {
        return status;
    }
    *handle = new emulation_lt{emulated_device()};
    emulated_handle_made();
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t destroy(cublasLtHandle_t handle)
{
    bool is_here = handle != nullptr && handle->device == emulated_device();
    delete handle;
    return is_here ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t desc_create(cublasLtMatmulDesc_t *desc, cublasComputeType_t compute_type, cudaDataType)
{
    *desc = new emulation_lt_desc{compute_type, CUBLAS_OP_N, CUBLAS_OP_N, CUBLASLT_EPILOGUE_DEFAULT,
                                  nullptr,      nullptr,     nullptr};
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t desc_set(cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t attribute, const void *value,
                        size_t bytes)
{
    struct {
        cublasLtMatmulDescAttributes_t attribute;
        void *field;
        size_t bytes;
    } fields[] = {{CUBLASLT_MATMUL_DESC_TRANSA, &desc->transpose_a, sizeof desc->transpose_a},
                  {CUBLASLT_MATMUL_DESC_TRANSB, &desc->transpose_b, sizeof desc->transpose_b},
                  {CUBLASLT_MATMUL_DESC_EPILOGUE, &desc->epilogue, sizeof desc->epilogue},
                  {CUBLASLT_MATMUL_DESC_BIAS_POINTER, &desc->bias, sizeof desc->bias},
                  {CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, &desc->a_scale, sizeof desc->a_scale},
                  {CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, &desc->b_scale, sizeof desc->b_scale}};
    for (auto &field : fields) {
        if (field.attribute == attribute && field.bytes == bytes) {
            memcpy(field.field, value, bytes);
            return CUBLAS_STATUS_SUCCESS;
        }
    }
    return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t desc_destroy(cublasLtMatmulDesc_t desc)
{
    delete desc;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t layout_create(cublasLtMatrixLayout_t *layout, cudaDataType type, uint64_t rows, uint64_t columns,
                             int64_t leading)
{
    if (leading < (int64_t)rows) {
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    *layout = new emulation_lt_layout{type, rows, columns, leading};
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t layout_destroy(cublasLtMatrixLayout_t layout)
{
    delete layout;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t preference_create(cublasLtMatmulPreference_t *preference)
{
    *preference = new emulation_lt_preference{0, CUBLASLT_REDUCTION_SCHEME_MASK, {256, 256, 256, 256}};
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t preference_set(cublasLtMatmulPreference_t preference, cublasLtMatmulPreferenceAttributes_t attribute,
                              const void *value, size_t bytes)
{
    if (attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES && bytes == 8) {
        memcpy(&preference->workspace_bytes, value, bytes);
        return CUBLAS_STATUS_SUCCESS;
    }
    if (attribute == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK && bytes == 4) {
        memcpy(&preference->reductions, value, bytes);
        return CUBLAS_STATUS_SUCCESS;
    }
    if (attribute < CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES || bytes != 4) {
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    memcpy(&preference->alignment[attribute - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES], value, bytes);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t preference_destroy(cublasLtMatmulPreference_t preference)
{
    delete preference;
    return CUBLAS_STATUS_SUCCESS;
}

int64_t term_count(const emulation_lt_desc *desc, const emulation_lt_layout *a)
{
    return (int64_t)(desc->transpose_a == CUBLAS_OP_T ? a->rows : a->columns);
}

/* What an algorithm has in its words: in how many parts it sums, and the bits of the scheme that joins them. */
enum { ALGORITHM_PARTS, ALGORITHM_SCHEME };

/* Many terms are summed in parts where there is a workspace for them, in that way of those allowed that keeps least. */
void algorithm_choose(cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a, cublasLtMatmulPreference_t preference,
                      cublasLtMatmulAlgo_t *algorithm)
{
    static const cublasLtReductionScheme_t schemes[] = {CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE,
                                                        CUBLASLT_REDUCTION_SCHEME_INPLACE,
                                                        CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE};
    algorithm->data[ALGORITHM_PARTS] = 1;
    algorithm->data[ALGORITHM_SCHEME] = CUBLASLT_REDUCTION_SCHEME_NONE;
    for (auto scheme : schemes) {
        bool parts = algorithm->data[ALGORITHM_PARTS] == 1 && preference->workspace_bytes > 0;
        if (parts && (preference->reductions & scheme) != 0 && term_count(desc, a) >= 64) {
            algorithm->data[ALGORITHM_PARTS] = 2;
            algorithm->data[ALGORITHM_SCHEME] = scheme;
        }
    }
}

cublasStatus_t heuristic(cublasLtHandle_t, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a,
                         cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t d,
                         cublasLtMatmulPreference_t preference, int, cublasLtMatmulHeuristicResult_t *results,
                         int *found)
{
    *found = 0;
    cublasStatus_t refusal = emulated_product_refusal(a->type, (int64_t)d->rows, (size_t)preference->workspace_bytes);
    if (refusal != CUBLAS_STATUS_SUCCESS) {
        return refusal;
    }
    if (a->type == CUDA_R_8F_E4M3) {
        bool along_k = desc->transpose_a == CUBLAS_OP_T && desc->transpose_b == CUBLAS_OP_N;
        if (b->type != a->type || !along_k || a->rows % 16 != 0 || d->rows % 16 != 0 || a->leading % 16 != 0 ||
            b->leading % 16 != 0 || emulated_compute_rounds(desc->compute_type) != 0) {
            return CUBLAS_STATUS_NOT_SUPPORTED;
        }
    } else if (a->type != b->type || a->type != d->type || emulated_compute_rounds(desc->compute_type) < 0) {
        return CUBLAS_STATUS_NOT_SUPPORTED;
    }
    if (preference->alignment[0] < 16 || preference->alignment[1] < 16 || preference->alignment[3] < 16) {
        return CUBLAS_STATUS_SUCCESS;
    }
    *results = {};
    results->workspaceSize = preference->workspace_bytes;
    algorithm_choose(desc, a, preference, &results->algo);
    *found = 1;
    return CUBLAS_STATUS_SUCCESS;
}

float element(const void *data, const emulation_lt_layout &layout, cublasOperation_t transpose, int64_t row,
              int64_t column)
{
    int64_t place = transpose == CUBLAS_OP_T ? row * layout.leading + column : column * layout.leading + row;
    return float_load(data, emulated_dtype(layout.type), place);
}

/* A product with what it was described by, which may be gone when it is made. */
struct emulation_lt_product {
    emulation_lt_desc desc;
    const void *a, *b;
    void *d;
    emulation_lt_layout a_layout, b_layout, d_layout;
    cublasLtMatmulAlgo_t algorithm;
    float alpha;
};

bool algorithm_splits(const cublasLtMatmulAlgo_t *algorithm)
{
    return algorithm->data[ALGORITHM_PARTS] > 1;
}

float value_stored(float value, cudaDataType type)
{
    uint64_t stored[1] = {0};
    float_store(stored, emulated_dtype(type), 0, value);
    return float_load(stored, emulated_dtype(type), 0);
}

/* The factors of each line of the result in one of its two directions, term by term, so that each is converted once. */
std::vector<float> factors_of(const emulation_lt_product &made, bool of_rows, int64_t lines, int64_t terms)
{
    const bool tf32 = emulated_compute_rounds(made.desc.compute_type) > 0;
    std::vector<float> factors((size_t)(lines * terms));
    for (int64_t line = 0; line < lines; line++) {
        for (int64_t term = 0; term < terms; term++) {
            float factor = of_rows ? element(made.a, made.a_layout, made.desc.transpose_a, line, term)
                                   : element(made.b, made.b_layout, made.desc.transpose_b, term, line);
            factors[(size_t)(line * terms + term)] = emulated_factor(factor, tf32);
        }
    }
    return factors;
}

/* Parts are kept in float32 where the scheme says so, else in the type of the result, each rounded. */
float product_sum(const emulation_lt_product &made, const float *of_row, const float *of_column, int64_t terms)
{
    const int64_t parts = (int64_t)made.algorithm.data[ALGORITHM_PARTS];
    const uint64_t scheme = made.algorithm.data[ALGORITHM_SCHEME];
    float sum = 0.0f;
    for (int64_t part = 0; part < parts; part++) {
        float kept = 0.0f;
        for (int64_t term = part * terms / parts; term < (part + 1) * terms / parts; term++) {
            kept += of_row[term] * of_column[term];
        }
        bool narrow = scheme == CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE || scheme == CUBLASLT_REDUCTION_SCHEME_INPLACE;
        sum += narrow ? value_stored(kept, made.d_layout.type) : kept;
    }
    return sum;
}

void product_make(const emulation_lt_product &made)
{
    const emulation_lt_desc &desc = made.desc;
    const enum dtype dtype = emulated_dtype(made.d_layout.type);
    const int64_t rows = (int64_t)made.d_layout.rows, columns = (int64_t)made.d_layout.columns;
    const int64_t terms = term_count(&made.desc, &made.a_layout);
    const auto left = factors_of(made, true, rows, terms), right = factors_of(made, false, columns, terms);
    for (int64_t index = 0; index < rows * columns; index++) {
        int64_t row = index % rows, column = index / rows;
        float sum = product_sum(made, left.data() + row * terms, right.data() + column * terms, terms) * made.alpha;
        if (desc.a_scale != nullptr) {
            sum *= *desc.a_scale * *desc.b_scale;
        }
        if (desc.epilogue == CUBLASLT_EPILOGUE_BIAS) { /* of a sum of parts, to what was stored of it */
            sum = algorithm_splits(&made.algorithm) ? value_stored(sum, made.d_layout.type) : sum;
            sum += float_load(desc.bias, dtype, row);
        }
        float_store(made.d, dtype, column * made.d_layout.leading + row, sum);
    }
}

cublasStatus_t matmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void *alpha, const void *a,
                      cublasLtMatrixLayout_t a_layout, const void *b, cublasLtMatrixLayout_t b_layout, const void *,
                      const void *, cublasLtMatrixLayout_t, void *d, cublasLtMatrixLayout_t d_layout,
                      const cublasLtMatmulAlgo_t *algorithm, void *workspace, size_t workspace_bytes, cudaStream_t)
{
    cublasStatus_t fault = emulated_library_call("cublasLtMatmul");
    fault = fault == CUBLAS_STATUS_SUCCESS
                ? emulated_product_refusal(a_layout->type, (int64_t)d_layout->rows, workspace_bytes)
                : fault;
    if (fault != CUBLAS_STATUS_SUCCESS) {
        return fault;
    }
    bool reaches = handle->device == emulated_device() && !emulated_is_elsewhere(a) && !emulated_is_elsewhere(b) &&
                   !emulated_is_elsewhere(d) && !emulated_is_elsewhere(workspace) && !emulated_is_elsewhere(desc->bias);
    if (!reaches) {
        emulated_reach_beyond();
        return CUBLAS_STATUS_EXECUTION_FAILED;
    }
    if (workspace_bytes > 0) { /* another value than cuBLAS writes */
        emulated_work_add([=] { memset(workspace, 0xee, workspace_bytes); });
    }
    emulated_work_add([made = emulation_lt_product{*desc, a, b, d, *a_layout, *b_layout, *d_layout, *algorithm,
                                                   *(const float *)alpha}] { product_make(made); });
    return CUBLAS_STATUS_SUCCESS;
}

} // namespace

const emulated_symbol emulated_cublaslt_symbols[] = {
    {"cublasLtCreate", (void *)create},
    {"cublasLtDestroy", (void *)destroy},
    {"cublasLtGetStatusName", (void *)emulated_status_name},
    {"cublasLtMatmulDescCreate", (void *)desc_create},
    {"cublasLtMatmulDescSetAttribute", (void *)desc_set},
    {"cublasLtMatmulDescDestroy", (void *)desc_destroy},
    {"cublasLtMatrixLayoutCreate", (void *)layout_create},
    {"cublasLtMatrixLayoutDestroy", (void *)layout_destroy},
    {"cublasLtMatmulPreferenceCreate", (void *)preference_create},
    {"cublasLtMatmulPreferenceSetAttribute", (void *)preference_set},
    {"cublasLtMatmulPreferenceDestroy", (void *)preference_destroy},
    {"cublasLtMatmulAlgoGetHeuristic", (void *)heuristic},
    {"cublasLtMatmul", (void *)matmul},
    {nullptr, nullptr},
};
