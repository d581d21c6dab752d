/* Load meter: the difference of two answers of cudaMemGetInfo. When they are asked is decided by those who run. */
#include "harness/device/cuda/load_meter.h"

#include <cuda_runtime_api.h>

bool load_form_is_new(struct load_meter *meter, const struct operation_call *call)
{
    if (call->tensor_count < 1) {
        return false;
    }
    enum dtype first = call->tensors[0].dtype, last = call->tensors[call->tensor_count - 1].dtype;
    uint8_t *seen = &meter->seen[call->opcode][first][last];
    uint8_t form = (uint8_t)(1u << (unsigned)(call->input_count < 7 ? call->input_count : 7));
    bool is_new = (*seen & form) == 0;
    *seen |= form;
    return is_new;
}

static bool free_ask(size_t *free_bytes)
{
    size_t total_bytes = 0;
    bool known = cudaMemGetInfo(free_bytes, &total_bytes) == cudaSuccess;
    if (!known) {
        cudaGetLastError(); /* or a launch would be blamed for it */
    }
    return known;
}

struct load_stretch load_begin(struct load_meter *meter)
{
    struct load_stretch stretch = {.outermost = !meter->measuring};
    if (stretch.outermost) {
        meter->measuring = true;
        stretch.known = free_ask(&stretch.free_bytes);
    }
    return stretch;
}

void load_end(struct load_meter *meter, const struct load_stretch *stretch, enum load_kind kind)
{
    size_t now = 0;
    if (!stretch->outermost) {
        return;
    }
    meter->measuring = false;
    if (!stretch->known || !free_ask(&now) || now > stretch->free_bytes) {
        meter->unknown[kind] = true;
    } else {
        meter->bytes[kind] += (int64_t)(stretch->free_bytes - now);
    }
}

void load_read(const struct load_meter *meter, struct device_reading *reading)
{
    reading->kernel_valid = !meter->unknown[LOAD_KERNEL];
    reading->kernel_bytes = reading->kernel_valid ? meter->bytes[LOAD_KERNEL] : 0;
    reading->library_valid = !meter->unknown[LOAD_LIBRARY];
    reading->library_bytes = reading->library_valid ? meter->bytes[LOAD_LIBRARY] : 0;
}
