/* The host's table of operations and the way into it. The loops are in the host_*.c files beside this one. */
#include "harness/kernels/kernel_host.h"

#include <stddef.h>

#include "harness/kernels/call_check.h"
#include "harness/kernels/host_operations.h"

const char host_no_memory[] = "the host has no memory for its scratch space";

static host_function *const functions[OPCODE_COUNT] = {
#define KERNEL_FUNCTION(name, pattern, check, host, launch) (host),
#define PRODUCT_FUNCTION(name, pattern, kind)               NULL,
    OPERATION_TABLE(KERNEL_FUNCTION, PRODUCT_FUNCTION)
#undef KERNEL_FUNCTION
#undef PRODUCT_FUNCTION
};

bool kernel_host_has(enum opcode opcode)
{
    return (unsigned)opcode < OPCODE_COUNT && functions[opcode] != NULL;
}

const char *kernel_host_run(const struct operation_call *call)
{
    if (!kernel_host_has(call->opcode)) {
        return kernel_unknown;
    }
    const char *wrong = call_check(call);
    return wrong != NULL ? wrong : functions[call->opcode](call);
}
