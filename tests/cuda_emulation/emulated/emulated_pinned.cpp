/* Pinned memory of the host, which is any memory here, noted. EMULATED_PINNED names a file that says what was pinned
 * and given back so far, and how many bytes came from pinned memory or went there: "taken 2 given 2 copied 4096". */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>

#include <cuda_runtime_api.h>

#include "tests/cuda_emulation/emulated/emulation.h"

namespace
{

std::map<const void *, size_t> pinned;
size_t taken_count, given_count, copied_bytes;

void counts_tell()
{
    const char *path = getenv("EMULATED_PINNED");
    FILE *file = path != nullptr ? fopen(path, "w") : nullptr;
    if (file != nullptr) {
        fprintf(file, "taken %zu given %zu copied %zu\n", taken_count, given_count, copied_bytes);
        fclose(file);
    }
}

} // namespace

void emulated_copy_note(const void *host, size_t bytes)
{
    auto next = pinned.upper_bound(host);
    if (next != pinned.begin() && (const char *)host < (const char *)std::prev(next)->first + std::prev(next)->second) {
        copied_bytes += bytes;
    }
}

cudaError_t cudaHostAlloc(void **memory, size_t bytes, unsigned flags)
{
    const size_t page = 4096;
    cudaError_t error = emulated_call_begin("cudaHostAlloc");
    if (error != cudaSuccess) {
        return error;
    }
    if (flags != cudaHostAllocPortable || bytes == 0) {
        return emulated_answer(cudaErrorInvalidValue);
    }
    void *taken = aligned_alloc(page, (bytes + page - 1) / page * page);
    if (taken == nullptr) {
        return emulated_answer(cudaErrorMemoryAllocation);
    }
    memset(taken, 0xff, bytes);
    pinned[taken] = bytes;
    taken_count++;
    counts_tell();
    *memory = taken;
    return cudaSuccess;
}

cudaError_t cudaFreeHost(void *memory)
{
    cudaError_t error = emulated_call_begin("cudaFreeHost");
    if (error != cudaSuccess) {
        return error;
    }
    if (pinned.erase(memory) == 0) {
        return emulated_answer(memory == nullptr ? cudaSuccess : cudaErrorInvalidValue);
    }
    free(memory);
    given_count++;
    counts_tell();
    return cudaSuccess;
}
