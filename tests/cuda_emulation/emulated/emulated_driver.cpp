/* What the plug-in asks the driver itself (libcuda), without a GPU. */
#include "tests/cuda_emulation/emulated/emulated_devices.h"
#include "tests/cuda_emulation/emulated/emulated_toolkit.h"
#include "tests/cuda_emulation/emulated/emulation.h"

namespace
{

enum { SUCCESS = 0, INVALID_DEVICE = 101 };

int device_get(int *device, int ordinal)
{
    *device = emulated_visible_board(ordinal);
    return *device >= 0 ? SUCCESS : INVALID_DEVICE;
}

int primary_context_state(int device, unsigned *flags, int *active)
{
    *flags = 0;
    *active = emulated_context_is_made_on(device) ? 1 : 0;
    return SUCCESS;
}

} // namespace

const emulated_symbol emulated_driver_symbols[] = {
    {"cuDeviceGet", (void *)device_get},
    {"cuDevicePrimaryCtxGetState", (void *)primary_context_state},
    {nullptr, nullptr},
};
