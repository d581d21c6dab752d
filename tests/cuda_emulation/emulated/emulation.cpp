/* A GPU on one core, for the tests of the CUDA plug-in: launches, barriers, warps and memory. Not its speed, not its
 * rounding of library functions, and no two launches at once.
 *
 * What a real GPU leaves open is varied (schedule.h): one launch of a kernel after another runs its blocks, warps and
 * threads forwards, backwards and shuffled, each warp as far ahead as it gets, so that a missing barrier or a sum
 * without a fixed order shows as a different result. Some launches have few blocks, because the plug-in's kernels go
 * through the rest in a loop. What a real GPU forbids is a fault of the launch: a barrier that some threads do not
 * reach, a shuffle without the whole warp, more threads or shared memory than the device has. Shared memory is poisoned
 * before each block; behind its end nothing can be touched. */
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <sys/mman.h>

#include <cuda_runtime.h>

#include "tests/cuda_emulation/emulated/emulation.h"
#include "tests/cuda_emulation/emulated/fiber.h"
#include "tests/cuda_emulation/emulated/race_watcher.h"
#include "tests/cuda_emulation/emulated/schedule.h"

dim3 threadIdx, blockIdx, blockDim, gridDim;
emulated_watch *emulated_watcher;
const struct race_watcher *race_watcher;
struct emulated_seen emulated_seen;

namespace
{

enum { WARP = 32, THREADS_MAXIMUM = EMULATION_THREADS, STACK_BYTES = EMULATED_STACK_BYTES };
enum { PAGE_BYTES = EMULATED_PAGE, SHARED_BYTES = EMULATED_SHARED_ROOM };
enum { POISON = 0xff };
/* Stacks that began at the same place of a page would all want the same few lines of the processor's cache. */
enum { STACK_PLACES = 128, STACK_PLACE_BYTES = 192 };

enum lane_state { LANE_READY, LANE_IN_BLOCK_WAIT, LANE_IN_WARP_WAIT, LANE_DONE };

/* One thread of the block. Its stack is kept from block to block; it begins a new block where the last one ended. */
struct lane {
    lane_state state;
    int line; /* of the source, where it waits */
    int predicate;
    int turn;    /* of `offered` */
    bool orders; /* memory, where it waits for its warp: what only exchanges registers does not */
};

/* What is looked at again and again lies close together. */
lane lanes[THREADS_MAXIMUM];
bool made[THREADS_MAXIMUM]; /* its fiber */
fiber fibers[THREADS_MAXIMUM];
dim3 places[THREADS_MAXIMUM]; /* in a block like places_block */
dim3 places_block(0, 0, 0);
unsigned char lane_order[WARP]; /* in a whole warp of the present launch */

/* What the others may still read of one exchange while a lane offers for the next: two take turns. */
emulation_offer offered[2][THREADS_MAXIMUM];

int lane_count, block_predicate;
bool abandoned; /* a lane has done what ends the launch */
char *stacks;   /* of all lanes, one behind the other */
struct schedule present;
std::map<const void *, int64_t> launch_counts;
const std::function<void()> *thread_body;
fiber scheduler;
char *shared_pages;
size_t shared_bytes_now;

/* Inline, as what calls it: a processor does not foresee where the returns of another stack lead. */
inline __attribute__((always_inline)) void lane_leave(lane_state state, int line)
{
    lane *self = &lanes[emulated_seen.lane];
    self->state = state;
    self->line = line;
    if (emulated_watcher != nullptr) {
        emulated_watcher->lane_waits();
    }
    emulated_seen.lane_runs = false;
    fiber_change(&fibers[emulated_seen.lane], &scheduler);
}

void lane_main()
{
    for (;;) {
        (*thread_body)();
        lane_leave(LANE_DONE, 0);
    }
}

void lane_make(int index)
{
    if (stacks == nullptr) {
        stacks = (char *)mmap(nullptr, (size_t)THREADS_MAXIMUM * STACK_BYTES, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        emulated_seen.stacks = (uintptr_t)stacks;
    }
    fiber_make(&fibers[index], stacks + (size_t)index * STACK_BYTES,
               STACK_BYTES - (size_t)(index % STACK_PLACES) * STACK_PLACE_BYTES, lane_main);
    made[index] = true;
}

void lane_resume(int index)
{
    emulated_seen.lane = index;
    threadIdx = places[index];
    if (!made[index]) {
        lane_make(index);
    }
    emulated_seen.lane_runs = true;
    fiber_change(&scheduler, &fibers[index]);
}

/* Before any lane of a launch runs. */
void lanes_place(dim3 block)
{
    lane_count = (int)(block.x * block.y * block.z);
    if (block.x != places_block.x || block.y != places_block.y || block.z != places_block.z) {
        places_block = block;
        for (unsigned k = 0; k < (unsigned)lane_count; k++) {
            places[k] = dim3(k % block.x, k / block.x % block.y, k / (block.x * block.y));
        }
    }
    blockDim = block;
    for (int k = 0; k < WARP; k++) {
        lane_order[k] = (unsigned char)order_place(present.lanes, k, WARP);
    }
}

bool lanes_alike(int first, int count, lane_state state)
{
    bool alike = true;
    for (int k = first; k < first + count; k++) {
        alike = alike && lanes[k].state == state && lanes[k].line == lanes[first].line;
    }
    return alike;
}

/* Whether the whole warp had arrived and goes on. */
bool warp_release(int first)
{
    if (first + WARP > lane_count || !lanes_alike(first, WARP, LANE_IN_WARP_WAIT)) {
        return false;
    }
    for (int k = first; k < first + WARP; k++) {
        lanes[k].state = LANE_READY;
    }
    if (lanes[first].orders && race_watcher != nullptr) {
        race_watcher->warp_released(first / WARP);
    }
    return true;
}

/* Runs a warp until it waits for the block or ends, ahead of the others as far as it gets; or, where warps alternate,
 * only until its lanes have waited for each other. Whether it can go on. */
bool warp_run(int first)
{
    int count = lane_count - first < WARP ? lane_count - first : WARP;
    bool released;
    do {
        for (int k = 0; k < count; k++) {
            int index = first + (count == WARP ? lane_order[k] : (int)order_place(present.lanes, k, count));
            if (lanes[index].state == LANE_READY && !abandoned) {
                lane_resume(index);
            }
        }
        released = !abandoned && warp_release(first);
    } while (released && !present.warps_alternate);
    return released;
}

void warps_run()
{
    int warps = (lane_count + WARP - 1) / WARP;
    bool any_goes_on;
    do {
        any_goes_on = false;
        for (int w = 0; w < warps; w++) {
            any_goes_on = warp_run((int)order_place(present.warps, w, warps) * WARP) || any_goes_on;
        }
    } while (any_goes_on);
}

void fault(const std::string &text)
{
    emulation_error_set(cudaErrorLaunchFailure, (text + schedule_words()).c_str());
    memset(made, 0, sizeof made); /* what they stood in is given up */
}

bool block_release()
{
    if (!lanes_alike(0, lane_count, LANE_IN_BLOCK_WAIT)) {
        std::string text = "threads wait for others that do not come:";
        for (int k = 0; k < lane_count; k += WARP / 2) {
            text += " " + std::to_string(k) + (lanes[k].state == LANE_DONE ? " ended" : " line ") +
                    (lanes[k].state == LANE_DONE ? "" : std::to_string(lanes[k].line));
        }
        fault(text);
        return false;
    }
    block_predicate = 0;
    for (int k = 0; k < lane_count; k++) {
        block_predicate |= lanes[k].predicate;
        lanes[k].state = LANE_READY;
    }
    if (race_watcher != nullptr) {
        race_watcher->block_released();
    }
    return true;
}

/* False after a fault. */
bool block_run()
{
    emulated_shared_variables_poison();
    memset(shared_pages + SHARED_BYTES - (shared_bytes_now + 15) / 16 * 16, POISON, (shared_bytes_now + 15) / 16 * 16);
    emulated_copies_forget();
    if (emulated_watcher != nullptr) {
        emulated_watcher->block_begin();
    }
    if (race_watcher != nullptr) {
        race_watcher->block_begin();
    }
    for (int k = 0; k < lane_count; k++) {
        lanes[k].turn = 0;
        lanes[k].state = LANE_READY;
    }
    for (;;) {
        warps_run();
        if (abandoned) {
            return false;
        }
        if (lanes_alike(0, lane_count, LANE_DONE)) {
            if (emulated_watcher != nullptr) {
                emulated_watcher->block_end();
            }
            return true;
        }
        if (!block_release()) {
            return false;
        }
    }
}

/* What was seen in a launch that came to its end is its error. */
void watched_end()
{
    const char *wrong = race_watcher != nullptr ? race_watcher->launch_end() : "";
    if (*wrong != '\0') {
        fault(wrong);
    }
}

} // namespace

bool emulation_without(const char *file, int line)
{
    static const char *const text = getenv("EMULATED_WITHOUT");
    const char *colon = text != nullptr ? strrchr(text, ':') : nullptr;
    if (colon == nullptr || atoi(colon + 1) != line) {
        return false;
    }
    const char *slash = strrchr(file, '/');
    return strncmp(slash != nullptr ? slash + 1 : file, text, (size_t)(colon - text)) == 0;
}

void emulation_block_wait(int line)
{
    lanes[emulated_seen.lane].predicate = 0;
    lane_leave(LANE_IN_BLOCK_WAIT, line);
}

int emulation_block_or(int line, int predicate)
{
    lanes[emulated_seen.lane].predicate = predicate != 0;
    lane_leave(LANE_IN_BLOCK_WAIT, line);
    return block_predicate;
}

void emulation_fault(const char *text)
{
    fault(text);
}

void emulation_lane_abandon(void)
{
    abandoned = true;
    emulated_seen.lane_runs = false;
    fiber_change(&fibers[emulated_seen.lane], &scheduler);
    abort(); /* nobody changes back: its fiber is made anew */
}

bool emulation_copy_is_early(void)
{
    return schedule_copy_is_early(&present);
}

void emulation_fence(void)
{
    if (race_watcher != nullptr) {
        race_watcher->fence();
    }
}

void emulation_atomic(const void *address, size_t bytes)
{
    if (race_watcher != nullptr) {
        race_watcher->access(address, bytes, EMULATED_ATOMIC, __builtin_return_address(0));
    }
    if (emulated_watcher != nullptr) {
        emulated_watcher->touch(address, bytes, false);
        emulated_watcher->touch(address, bytes, true);
    }
}

int emulation_thread(void)
{
    return emulated_seen.lane;
}

static inline __attribute__((always_inline)) const emulation_offer *offer(int line, const void *bytes, size_t count)
{
    lane *self = &lanes[emulated_seen.lane];
    self->turn = 1 - self->turn;
    memcpy(offered[self->turn][emulated_seen.lane].bytes, bytes, count);
    self->orders = count == 0;
    lane_leave(LANE_IN_WARP_WAIT, line);
    return &offered[self->turn][emulated_seen.lane / WARP * WARP];
}

const emulation_offer *emulation_warp_offer(int line, const void *bytes, size_t count)
{
    return offer(line, bytes, count);
}

void emulation_warp_swap(int line, unsigned mask, void *value, size_t bytes, int lane_mask)
{
    if (mask != 0xffffffffu) {
        fault("a shuffle of part of a warp is not emulated");
        return;
    }
    const emulation_offer *offers =
        bytes == sizeof(uint32_t) ? offer(line, value, sizeof(uint32_t)) : offer(line, value, sizeof(uint64_t));
    const unsigned char *theirs = offers[(emulated_seen.lane % WARP) ^ lane_mask].bytes;
    bytes == sizeof(uint32_t) ? memcpy(value, theirs, sizeof(uint32_t)) : memcpy(value, theirs, sizeof(uint64_t));
}

unsigned emulation_warp_ballot(int line, unsigned mask, bool predicate)
{
    if (mask != 0xffffffffu) {
        fault("a ballot of part of a warp is not emulated");
        return 0;
    }
    const emulation_offer *offers = offer(line, &predicate, sizeof predicate);
    unsigned lanes = 0;
    for (int lane = 0; lane < WARP; lane++) {
        lanes |= (offers[lane].bytes[0] != 0 ? 1u : 0u) << lane;
    }
    return lanes;
}

void *emulation_shared_memory(void)
{
    return shared_pages + SHARED_BYTES - (shared_bytes_now + 15) / 16 * 16;
}

emulated_span emulated_stack_of(int lane)
{
    return {stacks + (size_t)lane * STACK_BYTES, STACK_BYTES};
}

bool emulation_launch::begins(const void *kernel) const
{
    int64_t threads = (int64_t)block_.x * block_.y * block_.z;
    if (threads < 1 || threads > THREADS_MAXIMUM || block_.z > 64 || grid_.x < 1 || grid_.x > 0x7fffffffu ||
        grid_.y < 1 || grid_.y > 65535 || grid_.z < 1 || grid_.z > 65535 ||
        shared_bytes_ > emulation_shared_limit(kernel)) {
        emulation_error_set(cudaErrorInvalidConfiguration, "");
        return false;
    }
    return emulated_launch_begin(kernel);
}

void emulation_launch::blocks_run(const void *kernel, const std::function<void()> &thread, const void *parameters,
                                  size_t parameter_bytes) const
{
    if (shared_pages == nullptr) {
        shared_pages = (char *)mmap(nullptr, SHARED_BYTES + PAGE_BYTES, PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        mprotect(shared_pages + SHARED_BYTES, PAGE_BYTES, PROT_NONE);
        emulated_seen.shared = (uintptr_t)shared_pages;
    }
    present = schedule_of(++launch_counts[kernel]);
    abandoned = false;
    thread_body = &thread;
    emulated_shared_variables_of(kernel);
    lanes_place(block_);
    shared_bytes_now = shared_bytes_;
    gridDim = grid_;
    if (present.grid_maximum > 0 && grid_.x > present.grid_maximum) {
        gridDim.x = present.grid_maximum;
    }
    int64_t blocks = (int64_t)gridDim.x * gridDim.y * gridDim.z;
    bool goes_on = true;
    if (emulated_watcher != nullptr) {
        emulated_watcher->launch_begin({kernel,
                                        {parameters, parameter_bytes},
                                        {&thread, sizeof thread},
                                        {emulation_shared_memory(), shared_bytes_},
                                        lane_count,
                                        blocks});
    }
    if (race_watcher != nullptr) {
        race_watcher->launch_begin();
    }
    for (int64_t k = 0; k < blocks && goes_on; k++) {
        int64_t block = order_place(present.blocks, k, blocks);
        blockIdx = dim3((unsigned)(block % gridDim.x), (unsigned)(block / gridDim.x % gridDim.y),
                        (unsigned)(block / ((int64_t)gridDim.x * gridDim.y)));
        goes_on = block_run();
    }
    if (emulated_watcher != nullptr) {
        emulated_watcher->launch_end();
    }
    watched_end();
}
