/* Takes the place of harness/device/cuda/toolkit_library.c: the emulated libraries instead of those of the machine. */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <cuda_runtime_api.h>

#include "tests/cuda_emulation/emulated/emulated_toolkit.h"

extern "C" {
#include "harness/device/cuda/toolkit_library.h"
}

namespace
{

const struct {
    const char *prefix;
    const emulated_symbol *symbols;
} libraries[] = {{"libcublas.so.", emulated_cublas_symbols},
                 {"libcublasLt.so.", emulated_cublaslt_symbols},
                 {"libcudnn_graph.so.", emulated_cudnn_symbols},
                 {"libnvidia-ml.so.", emulated_nvml_symbols},
                 {"libcuda.so.", emulated_driver_symbols}};

const size_t workspace_bytes_enough = 16 << 10;

/* The number behind a word of EMULATED_CUBLAS or EMULATED_CUDNN; -1: it is not there. */
int64_t word_number(const char *word, const char *variable = "EMULATED_CUBLAS")
{
    const char *text = getenv(variable);
    const char *found = text != nullptr ? strstr(text, word) : nullptr;
    return found != nullptr ? strtoll(found + strlen(word), nullptr, 10) : -1;
}

/* One in count, in no order that a test could rely on, and the same in every run. */
bool falls_on(int64_t count)
{
    static uint64_t state = 1;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)(state >> 33) % count == 0;
}

bool less_is_free(int64_t bytes)
{
    size_t free_bytes = 0, total_bytes = 0;
    return cudaMemGetInfo(&free_bytes, &total_bytes) == cudaSuccess && (int64_t)free_bytes < bytes;
}

bool cublaslt_loaded;

int64_t number_of(const char *file_name)
{
    return strtol(strrchr(file_name, '.') + 1, nullptr, 10);
}

/* Whether the cuDNN that is there is of the release that the file is named after. */
bool cudnn_release_is(const char *file_name)
{
    const char *text = getenv("EMULATED_CUDNN");
    return text != nullptr && number_of(file_name) == strtol(text, nullptr, 10);
}

} // namespace

cublasStatus_t emulated_product_refusal(cudaDataType type, int64_t rows, size_t workspace_bytes)
{
    int64_t one_in = word_number("unsupported:"), bytes_wanted = word_number("full:");
    if (bytes_wanted > 0 && less_is_free(bytes_wanted)) {
        return CUBLAS_STATUS_EXECUTION_FAILED;
    }
    if (word_number("workspace") >= 0 && workspace_bytes < workspace_bytes_enough) {
        return CUBLAS_STATUS_ALLOC_FAILED;
    }
    bool rows_fit = word_number("rows") < 0 || type != CUDA_R_8I || rows % 4 == 0;
    return !rows_fit || (one_in > 0 && falls_on(one_in)) ? CUBLAS_STATUS_NOT_SUPPORTED : CUBLAS_STATUS_SUCCESS;
}

size_t emulated_cudnn_version(void)
{
    int major = 0, minor = 0, patch = 0;
    const char *text = getenv("EMULATED_CUDNN");
    if (text == nullptr || sscanf(text, "%d.%d.%d", &major, &minor, &patch) != 3) {
        return 0;
    }
    return (size_t)(major * 10000 + minor * 100 + patch);
}

size_t emulated_cudnn_cuda_version(void)
{
    return (CUBLAS_VER_MAJOR - (emulated_cudnn_refuses("lone") ? 1 : 0)) * 1000;
}

bool emulated_cublaslt_is_loaded(size_t cuda_major)
{
    return cublaslt_loaded && cuda_major == CUBLAS_VER_MAJOR;
}

int64_t emulated_cudnn_number(const char *word)
{
    return word_number(word, "EMULATED_CUDNN");
}

bool emulated_cudnn_refuses(const char *word)
{
    int64_t number = word_number(word, "EMULATED_CUDNN");
    return number >= 0 && (number == 0 || falls_on(number));
}

enum dtype emulated_dtype(cudaDataType type)
{
    return type == CUDA_R_32F       ? DTYPE_FLOAT32
           : type == CUDA_R_16F     ? DTYPE_FLOAT16
           : type == CUDA_R_8I      ? DTYPE_INT8
           : type == CUDA_R_32I     ? DTYPE_INT32
           : type == CUDA_R_8F_E4M3 ? DTYPE_FLOAT8_E4M3FN
                                    : DTYPE_BFLOAT16;
}

int emulated_compute_rounds(cublasComputeType_t compute_type)
{
    return compute_type == CUBLAS_COMPUTE_32F ? 0 : compute_type == CUBLAS_COMPUTE_32F_FAST_TF32 ? 1 : -1;
}

/* TF32 keeps 10 of the 23 bits of mantissa; ties to even. */
float emulated_factor(float value, bool rounds)
{
    uint32_t bits = 0;
    memcpy(&bits, &value, sizeof bits);
    if (rounds && (bits & 0x7f800000u) != 0x7f800000u) {
        bits += 0xfffu + (bits >> 13 & 1u);
        bits &= ~0x1fffu;
    }
    memcpy(&value, &bits, sizeof value);
    return value;
}

const char *emulated_status_name(cublasStatus_t status)
{
    switch (status) {
    case CUBLAS_STATUS_NOT_INITIALIZED:
        return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_ALLOC_FAILED:
        return "CUBLAS_STATUS_ALLOC_FAILED";
    case CUBLAS_STATUS_INVALID_VALUE:
        return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_INTERNAL_ERROR:
        return "CUBLAS_STATUS_INTERNAL_ERROR";
    case CUBLAS_STATUS_EXECUTION_FAILED:
        return "CUBLAS_STATUS_EXECUTION_FAILED";
    default:
        return "CUBLAS_STATUS_NOT_SUPPORTED";
    }
}

extern "C" bool toolkit_symbol_find(void *library, const char *name, void *function_pointer)
{
    const emulated_symbol *found = static_cast<const emulated_symbol *>(library);
    while (found->name != nullptr && strcmp(found->name, name) != 0) {
        found++;
    }
    if (found->name == nullptr || (library == emulated_nvml_symbols && !emulated_nvml_has(name))) {
        return false;
    }
    memcpy(function_pointer, &found->function, sizeof found->function);
    return true;
}

extern "C" enum status_code toolkit_library_open(const char *file_name, const struct toolkit_symbol *symbols,
                                                 size_t symbol_count, void **library, struct status *error)
{
    const emulated_symbol *known = nullptr;
    for (const auto &row : libraries) {
        known = strncmp(file_name, row.prefix, strlen(row.prefix)) == 0 ? row.symbols : known;
    }
    bool is_there = known == emulated_nvml_symbols       ? emulated_nvml_is_there()
                    : known == emulated_cudnn_symbols    ? cudnn_release_is(file_name)
                    : known == emulated_cublaslt_symbols ? number_of(file_name) == CUBLAS_VER_MAJOR
                                                         : known != nullptr;
    if (!is_there) {
        return status_set(error, STATUS_UNAVAILABLE, "the emulation has no %s", file_name);
    }
    for (size_t i = 0; i < symbol_count; i++) {
        if (!toolkit_symbol_find(const_cast<emulated_symbol *>(known), symbols[i].name, symbols[i].function_pointer)) {
            return status_set(error, STATUS_UNAVAILABLE, "the emulation has no %s of %s", symbols[i].name, file_name);
        }
    }
    cublaslt_loaded = cublaslt_loaded || known == emulated_cublas_symbols || known == emulated_cublaslt_symbols;
    *library = const_cast<emulated_symbol *>(known);
    return STATUS_OK;
}

extern "C" void *toolkit_library_beside(void *, const char *, const char *)
{
    return nullptr;
}

extern "C" void toolkit_library_close(void *)
{
}
