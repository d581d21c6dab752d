/* The __shared__ variables of a kernel, which the Makefile has made references to one place: there they can be poisoned
 * before each block, those of templates too, which a compiler puts into no section. Each kernel begins anew; between
 * two variables is a gap that none has. */
#include <cstring>
#include <map>
#include <vector>

#include <cuda_runtime.h>

#include "tests/cuda_emulation/emulated/emulation.h"

namespace
{

/* A kernel's own variables have 48 KiB on every GPU. */
enum { PLACE_BYTES = 48 * 1024, GAP = 16, POISON = 0xff };

struct variable {
    const void *key;
    emulated_span span;
};

struct variables {
    std::vector<variable> known;
    size_t used;
};

alignas(128) char place[2 * PLACE_BYTES];
std::map<const void *, variables> kernels;
variables *present;

variable *variable_place(const void *key, size_t bytes)
{
    size_t room = (bytes + GAP - 1) / GAP * GAP;
    if (present->used + room > PLACE_BYTES) {
        emulation_fault("the shared variables of a kernel have more than 48 KiB");
        return nullptr;
    }
    present->known.push_back({key, {place + present->used, bytes}});
    memset(place + present->used, POISON, room + GAP);
    present->used += room + GAP;
    return &present->known.back();
}

} // namespace

void *emulation_shared_variable(const void *key, size_t bytes)
{
    variable *found = nullptr;
    for (variable &each : present->known) {
        found = each.key == key ? &each : found;
    }
    found = found != nullptr ? found : variable_place(key, bytes);
    if (found == nullptr) {
        return place + PLACE_BYTES; /* of a launch that has failed */
    }
    if (emulated_watcher != nullptr) {
        emulated_watcher->shared_variable(found->span);
    }
    return const_cast<void *>(found->span.start);
}

void emulated_shared_variables_of(const void *kernel)
{
    present = &kernels[kernel];
}

void emulated_shared_variables_poison(void)
{
    memset(place, POISON, present->used);
}

bool emulated_is_shared_variable(const void *address)
{
    return (uintptr_t)address - (uintptr_t)place < sizeof place;
}
