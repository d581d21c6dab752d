/* Run variables: the list. What each does is said by the manuals of CUDA, cuBLAS, OpenBLAS, libgomp and glibc. */
#include "harness/run/run_variables.h"

#include <stdlib.h>

/* Which GPU; what a context, a handle or a process holds; whose code runs; how it is computed; then the host's. */
static const char *const variables[] = {
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "CUDA_DEVICE_MAX_CONNECTIONS",
    "CUDA_MODULE_DATA_LOADING",
    "CUDA_MANAGED_FORCE_DEVICE_ALLOC",
    "CUDA_MPS_PIPE_DIRECTORY",
    "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE",
    "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT",
    "CUDA_ENABLE_COREDUMP_ON_EXCEPTION",
    "CUDA_INJECTION64_PATH",
    "CUBLAS_WORKSPACE_CONFIG",
    "CUDA_FORCE_PTX_JIT",
    "CUDA_DISABLE_PTX_JIT",
    "CUDA_LAUNCH_BLOCKING",
    "NVIDIA_TF32_OVERRIDE",
    "ASSAY_CUDNN",
    "OMP_NUM_THREADS",
    "OMP_STACKSIZE",
    "OPENBLAS_NUM_THREADS",
    "OPENBLAS_CORETYPE",
    "MALLOC_ARENA_MAX",
    "MALLOC_MMAP_THRESHOLD_",
    "MALLOC_TRIM_THRESHOLD_",
    "GLIBC_TUNABLES",
    "LD_PRELOAD",
};

const char *run_variable_at(int index)
{
    return index >= 0 && (size_t)index < sizeof variables / sizeof variables[0] ? variables[index] : NULL;
}

struct json *run_variables_json(void)
{
    struct json *object = json_object_new();
    bool made = object != NULL;
    for (size_t i = 0; i < sizeof variables / sizeof variables[0] && made; i++) {
        const char *value = getenv(variables[i]);
        made = value == NULL || json_set(object, variables[i], json_string_new(value));
    }
    return json_made(object, made);
}
