/* The CUDA table of operations and the way into it. The launches are in the launch_*.cu files beside this one. */
#include "harness/kernels/launch.h"

#include "harness/kernels/call_check.h"
#include "harness/kernels/launch_grid.h"

static launch_function *const launches[OPCODE_COUNT] = {
#define KERNEL_LAUNCH(name, pattern, check, host, launch) launch,
#define PRODUCT_LAUNCH(name, pattern, kind)               NULL,
    OPERATION_TABLE(KERNEL_LAUNCH, PRODUCT_LAUNCH)
#undef KERNEL_LAUNCH
#undef PRODUCT_LAUNCH
};

bool kernel_cuda_has(enum opcode opcode)
{
    return (unsigned)opcode < OPCODE_COUNT && launches[opcode] != NULL;
}

/* Whether no output has an element, so that nothing is launched. */
static bool outputs_are_empty(const struct operation_call *call)
{
    for (int t = call->input_count; t < call->tensor_count; t++) {
        if (tensor_element_count(&call->tensors[t]) > 0) {
            return false;
        }
    }
    return true;
}

const char *kernel_cuda_run(const struct operation_call *call, void *stream)
{
    if (!kernel_cuda_has(call->opcode)) {
        return kernel_unknown;
    }
    const char *wrong = call_check(call);
    if (wrong != NULL || outputs_are_empty(call)) {
        return wrong;
    }
    return launches[call->opcode](call, (cudaStream_t)stream);
}
