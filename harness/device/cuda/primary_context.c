/* Primary context: one question to the driver itself. The types are plain, because the driver's header does not come
 * with every runtime; its ABI is fixed. */
#include "harness/device/cuda/primary_context.h"

#include <stddef.h>

#include "harness/device/cuda/toolkit_library.h"

enum { CUDA_SUCCESS_OF_DRIVER = 0 };

bool primary_context_is_made(int index)
{
    int (*device_get)(int *device, int ordinal) = NULL;
    int (*state_get)(int device, unsigned *flags, int *active) = NULL;
    const struct toolkit_symbol symbols[] = {{"cuDeviceGet", &device_get}, {"cuDevicePrimaryCtxGetState", &state_get}};
    void *library = NULL;
    unsigned flags = 0;
    int device = 0, active = 0;
    if (toolkit_library_open("libcuda.so.1", symbols, sizeof symbols / sizeof symbols[0], &library, NULL) !=
        STATUS_OK) {
        return false;
    }
    bool told = device_get(&device, index) == CUDA_SUCCESS_OF_DRIVER &&
                state_get(device, &flags, &active) == CUDA_SUCCESS_OF_DRIVER;
    toolkit_library_close(library);
    return told && active != 0;
}
