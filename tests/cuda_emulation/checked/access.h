/* Checked accesses: the parts of the watcher that looks on while kernels run. The kernels are compiled with
 * -fsanitize=thread, whose calls before each access to memory come here instead of to a race detector, so that the
 * address of every lane is seen.
 *
 * access_hooks.cpp takes the calls and says which memory it is, access_call.cpp knows the tensors of the operation that
 * runs, access_count.cpp counts what a GPU would move, kernel_name.cpp says it in words. */
#ifndef ASSAY_TESTS_CHECKED_ACCESS_H
#define ASSAY_TESTS_CHECKED_ACCESS_H

#include <cstddef>
#include <cstdint>
#include <string>

#include "tests/cuda_emulation/emulated/emulation.h"

enum access_memory { ACCESS_DEVICE, ACCESS_SHARED };

struct access {
    const void *place; /* in the plug-in's code; NULL: what the emulation does for a lane */
    const void *address;
    size_t bytes; /* 0: the lane is left out of what its warp does */
    bool writes;
};

/* Whether a call is running that has tensors in this memory; then only their elements may be touched. text: how far off
 * the access is, if none holds it. */
enum call_verdict { CALL_KNOWS_NOTHING, CALL_HOLDS, CALL_FORBIDS };
call_verdict access_call_judge(const access &access, const emulated_span &memory, std::string *text);

/* Counting, where EMULATED_COUNTS names a file: what each launch did is a line behind those before. */
extern const bool access_counts; /* whether it does */
void access_count_launch(const emulated_launch_view &view);
void access_count(const access &access, access_memory memory, int lane);
void access_count_wait(int lane);
void access_count_block_end(void);
void access_count_launch_end(void);

/* "core_forward_kernel<(dtype)1, 64>": without its parameters. */
std::string kernel_name(const void *kernel);

/* "convert.h:33 in body_rows.h:20 in launch_rows.cu:40", or an offset where addr2line is missing. */
std::string code_place(const void *place);

#endif
