/* What every access of a kernel is held against: where a GPU of this launch may touch memory, the natural boundary of
 * what is touched, and in shared memory whether anything was written there. The first fault is the error of the
 * launch, which ends there. */
#include <cstdio>
#include <cstring>
#include <link.h>
#include <string>
#include <vector>

#include <cuda_runtime.h>

#include "tests/cuda_emulation/checked/access.h"

namespace
{

emulated_launch_view now;
bool running;
std::string fault_text; /* empty: none yet */
emulated_span code;     /* of this plug-in, with its constants */
emulated_span stack;    /* of the lane that touched something last */
emulated_span memory;   /* of the device, that was touched last */

/* A part of shared memory, and whether each of its bytes was written in this block. */
struct shared_part {
    emulated_span span;
    std::vector<uint8_t> written;
};

shared_part dynamic;
std::vector<shared_part> variables;

bool span_holds(const emulated_span &span, const void *address, size_t bytes)
{
    size_t at = (uintptr_t)address - (uintptr_t)span.start;
    return at < span.bytes && at + bytes <= span.bytes;
}

/* The launch ends there. */
void fault(const access &access, const std::string &what)
{
    fault_text = kernel_name(now.kernel) + (access.writes ? " writes " : " reads ") + std::to_string(access.bytes) +
                 " bytes " + what + " (thread " + std::to_string(emulation_thread()) + ", " + code_place(access.place) +
                 ")";
    emulation_lane_abandon();
}

/* An instruction that moves 2, 4, 8 or 16 bytes traps off its boundary. */
void boundary_check(const access &access)
{
    size_t bytes = access.bytes;
    if ((bytes & (bytes - 1)) == 0 && bytes <= 16 && bytes > 0 && ((uintptr_t)access.address & (bytes - 1)) != 0) {
        fault(access, "off their boundary");
    }
}

/* Whether each of some bytes was written; most accesses have as many as one number. */
bool all_are_written(const uint8_t *written, size_t bytes)
{
    uint64_t each = 0;
    if (bytes == 4) {
        memcpy(&each, written, 4);
        return each == 0x01010101u;
    }
    bool all = true;
    for (size_t k = 0; k < bytes; k++) {
        all = all && written[k] != 0;
    }
    return all;
}

/* False where it is not in this part. */
bool shared_check(const access &access, shared_part &part)
{
    size_t at = (uintptr_t)access.address - (uintptr_t)part.span.start;
    if (at >= part.span.bytes) {
        return false;
    }
    if (at + access.bytes > part.span.bytes) {
        fault(access, "that reach beyond shared memory");
        return true;
    }
    if (access.writes) {
        memset(&part.written[at], 1, access.bytes);
    } else if (!all_are_written(&part.written[at], access.bytes)) {
        fault(access, "of shared memory that no thread of the block has written");
    }
    return true;
}

bool is_shared(const access &access)
{
    bool found = shared_check(access, dynamic);
    for (size_t k = 0; k < variables.size() && !found; k++) {
        found = shared_check(access, variables[k]);
    }
    return found;
}

/* A variable of the lane's own. */
bool is_local(const access &access)
{
    uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
    if (frame - (uintptr_t)stack.start >= stack.bytes) {
        stack = emulated_stack_of(emulation_thread());
    }
    return span_holds(stack, access.address, access.bytes);
}

/* What a GPU has in registers and constant memory: the numbers of the thread and its block, parameters, constants. */
bool is_constant(const access &access)
{
    for (const dim3 *index : {&threadIdx, &blockIdx, &blockDim, &gridDim}) {
        if (!access.writes && span_holds({index, sizeof *index}, access.address, access.bytes)) {
            return true;
        }
    }
    for (const emulated_span &span : {now.parameters, now.thread, code}) {
        if (!access.writes && span_holds(span, access.address, access.bytes)) {
            return true;
        }
    }
    return false;
}

/* False where no memory of the device lies there. */
bool is_device(const access &access)
{
    std::string text;
    if (!span_holds(memory, access.address, 1) && !emulated_memory_find(access.address, &memory.start, &memory.bytes)) {
        memory.bytes = 0;
        return false;
    }
    if (!span_holds(memory, access.address, access.bytes)) {
        fault(access, "that reach beyond what was allocated");
        return true;
    }
    if (access_call_judge(access, memory, &text) == CALL_FORBIDS) {
        fault(access, text);
    }
    return true;
}

void access_note(const access &access, access_memory memory)
{
    if (access_counts) {
        access_count(access, memory, emulation_thread());
    }
}

void take(const access &access)
{
    if (!running || is_local(access)) {
        return;
    }
    if (access.bytes == 0) {
        access_note(access, ACCESS_DEVICE);
    } else if (is_shared(access)) {
        boundary_check(access);
        access_note(access, ACCESS_SHARED);
    } else if (is_device(access)) {
        boundary_check(access);
        access_note(access, ACCESS_DEVICE);
    } else if (!is_constant(access)) {
        fault(access, emulated_is_elsewhere(access.address) ? "of another device" : "where the launch has no memory");
    }
}

/* Where this plug-in's code and constants lie. */
int code_find(struct dl_phdr_info *object, size_t, void *)
{
    uintptr_t low = UINTPTR_MAX, high = 0, here = (uintptr_t)&code_find;
    for (int k = 0; k < object->dlpi_phnum; k++) {
        const auto &part = object->dlpi_phdr[k];
        if (part.p_type == PT_LOAD && (part.p_flags & PF_W) == 0) {
            uintptr_t start = object->dlpi_addr + part.p_vaddr;
            low = start < low ? start : low;
            high = start + part.p_memsz > high ? start + part.p_memsz : high;
        }
    }
    if (here < low || here >= high) {
        return 0;
    }
    code = {(const void *)low, high - low};
    return 1;
}

class watch : public emulated_watch
{
  public:
    void launch_begin(const emulated_launch_view &view) override
    {
        now = view;
        fault_text.clear();
        memory = stack = {};
        dynamic = {view.shared, std::vector<uint8_t>(view.shared.bytes)};
        variables.clear();
        access_count_launch(view);
        running = true;
    }

    void block_begin() override
    {
        dynamic.written.assign(dynamic.written.size(), 0);
        for (shared_part &part : variables) {
            part.written.assign(part.written.size(), 0);
        }
    }

    void shared_variable(const emulated_span &span) override
    {
        for (const shared_part &part : variables) {
            if (part.span.start == span.start) {
                return;
            }
        }
        variables.push_back({span, std::vector<uint8_t>(span.bytes)});
    }

    void lane_waits() override
    {
        access_count_wait(emulation_thread());
    }

    void block_end() override
    {
        access_count_block_end();
    }

    void launch_end() override
    {
        running = false;
        access_count_launch_end();
        if (!fault_text.empty()) {
            emulation_fault(fault_text.c_str());
        }
    }

    void touch(const void *address, size_t bytes, bool writes) override
    {
        take({nullptr, address, bytes, writes});
    }
};

watch the_watch;

} // namespace

/* What compilers call before an access, and once for each object that was compiled so. */
#define HOOK(name, bytes, writes)                                                                                      \
    extern "C" void __tsan_##name(void *address)                                                                       \
    {                                                                                                                  \
        take({__builtin_return_address(0), address, bytes, writes});                                                   \
    }
#define HOOKS(bytes)                                                                                                   \
    HOOK(read##bytes, bytes, false)                                                                                    \
    HOOK(write##bytes, bytes, true)                                                                                    \
    HOOK(unaligned_read##bytes, bytes, false)                                                                          \
    HOOK(unaligned_write##bytes, bytes, true)

HOOKS(1)
HOOKS(2)
HOOKS(4)
HOOKS(8)
HOOKS(16)

/* A struct that is moved as a whole, by instructions of its members' sizes. */
extern "C" void __tsan_read_range(void *address, unsigned long bytes)
{
    take({__builtin_return_address(0), address, bytes, false});
}

extern "C" void __tsan_write_range(void *address, unsigned long bytes)
{
    take({__builtin_return_address(0), address, bytes, true});
}

/* -fsanitize=alignment calls this where an address is off the boundary of its type, or is NULL: what is stored as a
 * whole comes to the functions above in pieces. */
struct mismatch {
    const char *file;
    uint32_t line, column;
    const void *type;
    uint8_t boundary; /* 2 to the power of it */
    uint8_t kind;
};

extern "C" void __ubsan_handle_type_mismatch_v1(const mismatch *found, const void *address)
{
    if (running) {
        access at = {__builtin_return_address(0), address, (size_t)1 << found->boundary, found->kind == 1};
        fault(at, "off their boundary");
    }
}

/* By these names clang calls the functions of the library. */
extern "C" void *__tsan_memcpy(void *to, const void *from, size_t bytes)
{
    take({__builtin_return_address(0), from, bytes, false});
    take({__builtin_return_address(0), to, bytes, true});
    return memcpy(to, from, bytes);
}

extern "C" void *__tsan_memset(void *to, int value, size_t bytes)
{
    take({__builtin_return_address(0), to, bytes, true});
    return memset(to, value, bytes);
}

extern "C" void __tsan_vptr_update(void **, void *)
{
}

extern "C" void __tsan_func_entry(void *)
{
}

extern "C" void __tsan_func_exit(void)
{
}

extern "C" void __tsan_init(void)
{
    dl_iterate_phdr(code_find, nullptr);
    emulated_watcher = &the_watch;
}
