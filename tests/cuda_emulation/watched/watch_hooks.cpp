/* What gcc and clang call before each access of code that was compiled with -fsanitize=thread. Here they find no
 * ThreadSanitizer but those who look on while the emulated kernels run. */
#include <cstddef>
#include <cstring>

#include "tests/cuda_emulation/emulated/race_watcher.h"
#include "tests/cuda_emulation/watched/race.h"

namespace
{

void access_tell(const void *address, size_t bytes, enum emulated_access access, const void *at)
{
    if (emulated_seen.lane_runs && !emulated_is_own(address)) {
        race_access(address, bytes, access, at);
    }
}

const struct race_watcher watcher = {
    access_tell,        race_launch_begin, race_block_begin, race_block_released,
    race_warp_released, race_fence,        race_launch_end,
};

const bool watches = (race_watcher = &watcher) != nullptr;

} // namespace

#define HOOK(bytes)                                                                                                    \
    void __tsan_read##bytes(void *address)                                                                             \
    {                                                                                                                  \
        access_tell(address, bytes, EMULATED_READ, __builtin_return_address(0));                                       \
    }                                                                                                                  \
    void __tsan_write##bytes(void *address)                                                                            \
    {                                                                                                                  \
        access_tell(address, bytes, EMULATED_WRITE, __builtin_return_address(0));                                      \
    }                                                                                                                  \
    void __tsan_unaligned_read##bytes(void *address)                                                                   \
    {                                                                                                                  \
        access_tell(address, bytes, EMULATED_READ, __builtin_return_address(0));                                       \
    }                                                                                                                  \
    void __tsan_unaligned_write##bytes(void *address)                                                                  \
    {                                                                                                                  \
        access_tell(address, bytes, EMULATED_WRITE, __builtin_return_address(0));                                      \
    }

extern "C" {

HOOK(1)
HOOK(2)
HOOK(4)
HOOK(8)
HOOK(16)

void __tsan_read_range(void *address, size_t bytes)
{
    access_tell(address, bytes, EMULATED_READ, __builtin_return_address(0));
}

void __tsan_write_range(void *address, size_t bytes)
{
    access_tell(address, bytes, EMULATED_WRITE, __builtin_return_address(0));
}

/* By these names clang calls the functions of the library. */
void *__tsan_memcpy(void *to, const void *from, size_t bytes)
{
    access_tell(from, bytes, EMULATED_READ, __builtin_return_address(0));
    access_tell(to, bytes, EMULATED_WRITE, __builtin_return_address(0));
    return memcpy(to, from, bytes);
}

void *__tsan_memset(void *to, int value, size_t bytes)
{
    access_tell(to, bytes, EMULATED_WRITE, __builtin_return_address(0));
    return memset(to, value, bytes);
}

void __tsan_init(void)
{
    (void)watches;
}

void __tsan_func_entry(void *)
{
}

void __tsan_func_exit(void)
{
}

/* Of -fsanitize=alignment: whether an address is on its boundary is for tests/cuda_emulation/checked. */
void __ubsan_handle_type_mismatch_v1(const void *, const void *)
{
}
}
