/* The instructions of tensor cores as the PTX ISA defines them, lane by lane. Not the order in which the hardware adds:
 * that is not documented, and here it is by rising depth. */
#include <cstring>
#include <vector>

#include <cuda_runtime.h>

#include "tests/cuda_emulation/emulated/emulation.h"
#include "tests/cuda_emulation/emulated/race_watcher.h"

namespace
{

enum { DEPTH = 16 };

/* What one lane offers to a product: [register][half]. */
struct factors {
    float left[4][2], right[2][2];
};

struct copy {
    void *shared;
    const void *from;
    int bytes;
    bool inside, made;
};

/* Groups of copies that a thread has not waited for, the oldest first; the last is still open. */
std::vector<std::vector<copy>> pending[EMULATION_THREADS];

float half_of(enum dtype dtype, uint32_t pair, int which)
{
    uint16_t bits = (uint16_t)(pair >> 16 * which);
    return dtype == DTYPE_FLOAT16 ? float_from_float16(bits) : float_from_bfloat16(bits);
}

/* Row `row` of the left factor and column `column` of the right one, from the lanes that hold them. */
void left_row(const emulation_offer *offers, int row, float *line)
{
    for (int k = 0; k < DEPTH; k++) {
        line[k] = ((const factors *)&offers[row % 8 * 4 + k % 8 / 2])->left[row / 8 + 2 * (k / 8)][k % 2];
    }
}

void right_column(const emulation_offer *offers, int column, float *line)
{
    for (int k = 0; k < DEPTH; k++) {
        line[k] = ((const factors *)&offers[column * 4 + k % 8 / 2])->right[k / 8][k % 2];
    }
}

void touch(const void *address, int bytes, bool writes)
{
    if (emulated_watcher != nullptr) {
        emulated_watcher->touch(address, (size_t)bytes, writes);
    }
}

void tell(const void *address, int bytes, emulated_access access, const void *at)
{
    if (race_watcher != nullptr) {
        race_watcher->access(address, (size_t)bytes, access, at);
    }
}

void copy_make(const copy &begun)
{
    if (begun.made) {
        return;
    }
    touch(begun.shared, begun.bytes, true);
    touch(begun.from, begun.inside ? begun.bytes : 0, false);
    if (begun.inside) {
        memcpy(begun.shared, begun.from, (size_t)begun.bytes);
    } else {
        memset(begun.shared, 0, (size_t)begun.bytes);
    }
}

bool aligned(const void *place, int bytes)
{
    return (uintptr_t)place % (uintptr_t)bytes == 0;
}

} // namespace

void emulated_multiply(int line, enum dtype dtype, float *sum, const uint32_t *left, uint32_t right0, uint32_t right1)
{
    const uint32_t right[2] = {right0, right1};
    factors own;
    for (int half = 0; half < 2; half++) {
        for (int k = 0; k < 4; k++) {
            own.left[k][half] = half_of(dtype, left[k], half);
        }
        own.right[0][half] = half_of(dtype, right[0], half);
        own.right[1][half] = half_of(dtype, right[1], half);
    }
    const emulation_offer *offers = emulation_warp_offer(line, &own, sizeof own);
    int lane = emulation_thread() % 32;
    float rows[2][DEPTH], columns[2][DEPTH];
    for (int half = 0; half < 2; half++) {
        left_row(offers, lane / 4 + 8 * half, rows[half]);
        right_column(offers, lane % 4 * 2 + half, columns[half]);
    }
    for (int k = 0; k < DEPTH; k++) {
        for (int at = 0; at < 4; at++) {
            sum[at] += rows[at / 2][k] * columns[at % 2][k];
        }
    }
}

void emulated_matrices_load(int line, uint32_t *pairs, const uint16_t *row, bool transposed)
{
    if (!aligned(row, 16)) {
        emulation_fault("a line of a matrix is not on a boundary of 16 bytes");
        return;
    }
    touch(row, 16, false);
    tell(row, 16, EMULATED_READ, __builtin_return_address(0));
    const emulation_offer *offers = emulation_warp_offer(line, row, 16);
    int lane = emulation_thread() % 32;
    for (int matrix = 0; matrix < 4; matrix++) {
        uint16_t pair[2];
        for (int k = 0; k < 2; k++) {
            int at_row = transposed ? lane % 4 * 2 + k : lane / 4, at_column = transposed ? lane / 4 : lane % 4 * 2 + k;
            pair[k] = ((const uint16_t *)(const void *)offers[8 * matrix + at_row].bytes)[at_column];
        }
        pairs[matrix] = pair[0] | (uint32_t)pair[1] << 16;
    }
}

void emulated_copy_begin(void *shared, const void *from, int bytes, bool inside)
{
    if (!aligned(shared, bytes) || (inside && !aligned(from, bytes))) {
        emulation_fault("a copy is not on the boundary of its size");
        return;
    }
    auto &groups = pending[emulation_thread()];
    if (groups.empty()) {
        groups.emplace_back();
    }
    const void *at = __builtin_return_address(0);
    if (inside) {
        tell(from, bytes, EMULATED_READ, at);
    }
    tell(shared, bytes, EMULATED_COPY_BEGIN, at);
    copy begun = {shared, from, bytes, inside, false};
    if (emulation_copy_is_early()) {
        copy_make(begun);
        begun.made = true;
    }
    groups.back().push_back(begun);
}

void copies_group(void)
{
    auto &groups = pending[emulation_thread()];
    if (groups.empty()) {
        groups.emplace_back();
    }
    groups.emplace_back();
}

void emulated_copies_wait(int left)
{
    auto &groups = pending[emulation_thread()];
    while (groups.size() > (size_t)left + 1) {
        for (const copy &each : groups.front()) {
            copy_make(each);
            tell(each.shared, each.bytes, EMULATED_COPY_END, __builtin_return_address(0));
        }
        groups.erase(groups.begin());
    }
}

void emulated_copies_forget(void)
{
    for (auto &groups : pending) {
        groups.clear();
    }
}
