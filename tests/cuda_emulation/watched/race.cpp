/* Order is decided by three times: of the block's beginning, of its last barrier, and of each warp's last wait. Blocks
 * run one after the other, so that what is earlier than a barrier's release is what happened before it. */
#include "tests/cuda_emulation/watched/race.h"

#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/cuda_emulation/emulated/emulation.h"
#include "tests/cuda_emulation/emulated/schedule.h"
#include "tests/cuda_emulation/watched/code_place.h"
#include "tests/cuda_emulation/watched/shadow.h"

#include <cuda_runtime.h>

namespace
{

enum { WARP = 32, WARPS = EMULATION_THREADS / WARP, RACES_TOLD = 8 };

/* What a block has made visible to others: its accesses from `begin` to before `end`, and those of one lane to before
 * `end_of_lane`. */
struct visible {
    uint64_t begin, end, end_of_lane;
    int lane;
};

uint64_t now = 1, launch_began, block_began, block_barrier, warp_wait[WARPS];
std::map<const void *, std::vector<visible>> released; /* by the place of the atomic, in this launch */
std::vector<visible> acquired;                         /* by this block, before its last barrier */
std::vector<visible> acquired_of_lane;                 /* by one lane since then */
int acquiring_lane;
struct {
    uint64_t time, barrier; /* of this block; 0: none yet */
} fences[EMULATION_THREADS];
std::set<std::pair<uint64_t, uint64_t>> told; /* places, in this process */
std::string text;

void time_pass()
{
    if (++now >> STAMP_TIME_BITS != 0) {
        fprintf(stderr, "races: the clock has run out; run fewer launches in one process\n");
        abort();
    }
}

bool holds(const std::vector<visible> &all, stamp before)
{
    for (const visible &each : all) {
        uint64_t time = stamp_time(before);
        if (time >= each.begin && (time < each.end || (stamp_lane(before) == each.lane && time < each.end_of_lane))) {
            return true;
        }
    }
    return false;
}

struct access {
    const void *address; /* of its first byte */
    enum emulated_access kind;
    int lane;
    stamp own;
};

bool is_shared(const access &access)
{
    return emulated_is_dynamic_shared(access.address) || emulated_is_shared_variable(access.address);
}

bool is_ordered(stamp before, const access &access)
{
    uint64_t time = stamp_time(before);
    if (before == 0 || time < launch_began) {
        return true;
    }
    if (time < block_began) {
        return holds(acquired, before) || (access.lane == acquiring_lane && holds(acquired_of_lane, before)) ||
               is_shared(access);
    }
    if (stamp_kind_of(before) == STAMP_PENDING) {
        return false;
    }
    return stamp_lane(before) == access.lane || time < block_barrier ||
           (stamp_lane(before) / WARP == access.lane / WARP && time < warp_wait[access.lane / WARP]);
}

const char *verb_of(enum emulated_access kind)
{
    return kind == EMULATED_READ ? "reads" : kind == EMULATED_ATOMIC ? "changes atomically" : "writes";
}

void race_tell(stamp before, const char *verb, const access &access)
{
    if (!told.insert({stamp_place(before), stamp_place(access.own)}).second || told.size() > RACES_TOLD) {
        return;
    }
    std::string where = is_shared(access) ? "shared memory" : "device memory";
    std::string who = stamp_time(before) < block_began ? "a thread of another block"
                      : stamp_lane(before) == access.lane
                          ? "its own copy"
                          : "thread " + std::to_string(stamp_lane(before)) + " of the same block";
    text += (text.empty() ? "" : "; ") + std::string("a race: thread ") + std::to_string(access.lane) + " " +
            verb_of(access.kind) + " " + where + " (" + code_place(stamp_place(access.own)) + ") that " + who + " " +
            verb + " (" + code_place(stamp_place(before)) + ")";
}

void held_against_write(const shadow_cell *cell, const access &access)
{
    bool both_atomic = access.kind == EMULATED_ATOMIC && stamp_kind_of(cell->write) == STAMP_ATOMIC;
    if (!both_atomic && !is_ordered(cell->write, access)) {
        race_tell(cell->write, stamp_kind_of(cell->write) == STAMP_PENDING ? "is about to write" : "wrote", access);
    }
}

void held_against_reads(const shadow_cell *cell, const access &access)
{
    for (stamp read : {cell->read, cell->read_of_warp, cell->read_of_block, cell->read_of_grid}) {
        if (!is_ordered(read, access)) {
            race_tell(read, "read", access);
            return;
        }
    }
}

void read_note(shadow_cell *cell, const access &access)
{
    stamp last = cell->read;
    if (stamp_time(last) < block_began) {
        if (stamp_time(last) >= launch_began) {
            cell->read_of_grid = last;
        }
        cell->read_of_warp = cell->read_of_block = 0;
    } else if (stamp_lane(last) / WARP != access.lane / WARP) {
        stamp other = cell->read_of_block;
        bool of_warp = stamp_lane(other) / WARP == access.lane / WARP && stamp_lane(other) != access.lane;
        cell->read_of_warp = of_warp ? other : 0;
        cell->read_of_block = last;
    } else if (stamp_lane(last) != access.lane) {
        cell->read_of_warp = last;
    }
    cell->read = access.own;
}

/* What a lane reads again, or writes again and nobody has read, was held against the same others before: neither a wait
 * nor an access of another lane was between. */
bool is_repeated(const shadow_cell *cell, const access &access)
{
    return access.kind == EMULATED_READ    ? stamp_is_like(cell->read, access.own)
           : access.kind == EMULATED_WRITE ? stamp_is_like(cell->write, access.own) && cell->read == 0
                                           : false;
}

void cell_visit(shadow_cell *cell, const access &access)
{
    if (is_repeated(cell, access)) {
        return;
    }
    if (access.kind == EMULATED_COPY_END) {
        if (stamp_kind_of(cell->write) == STAMP_PENDING && stamp_lane(cell->write) == access.lane) {
            cell->write = access.own;
        }
        return;
    }
    held_against_write(cell, access);
    if (access.kind == EMULATED_READ) {
        read_note(cell, access);
        return;
    }
    held_against_reads(cell, access);
    *cell = {access.own, 0, 0, 0, 0};
}

/* An atomic hands on what a fence before it has made visible, and takes what others have handed on there. */
void atomic_exchange(const void *address, int lane)
{
    std::vector<visible> &there = released[address];
    if (acquiring_lane != lane) {
        acquired_of_lane.clear();
        acquiring_lane = lane;
    }
    acquired_of_lane.insert(acquired_of_lane.end(), there.begin(), there.end());
    if (fences[lane].time != 0) {
        there.insert(there.end(), acquired.begin(), acquired.end());
        there.push_back({block_began, fences[lane].barrier, fences[lane].time, lane});
    }
}

} // namespace

void race_launch_begin(void)
{
    time_pass();
    launch_began = now;
    released.clear();
    text.clear();
}

void race_block_begin(void)
{
    time_pass();
    block_began = block_barrier = now;
    for (uint64_t &time : warp_wait) {
        time = now;
    }
    for (auto &fence : fences) {
        fence = {0, 0};
    }
    acquired.clear();
    acquired_of_lane.clear();
    acquiring_lane = -1;
}

void race_block_released(void)
{
    time_pass();
    block_barrier = now;
    acquired.insert(acquired.end(), acquired_of_lane.begin(), acquired_of_lane.end());
    acquired_of_lane.clear();
}

void race_warp_released(int warp)
{
    time_pass();
    warp_wait[warp] = now;
}

void race_fence(void)
{
    time_pass();
    fences[emulated_seen.lane] = {now, block_barrier};
}

void race_access(const void *address, size_t bytes, enum emulated_access kind, const void *at)
{
    enum stamp_kind stamped = kind == EMULATED_ATOMIC       ? STAMP_ATOMIC
                              : kind == EMULATED_COPY_BEGIN ? STAMP_PENDING
                                                            : STAMP_PLAIN;
    const int lane = emulated_seen.lane;
    const access access = {address, kind, lane, stamp_of(now, lane, stamped, code_place_number(at))};
    if (kind == EMULATED_ATOMIC) {
        atomic_exchange(address, lane);
    }
    shadow_visit(address, bytes, [&access](shadow_cell *cell) { cell_visit(cell, access); });
}

const char *race_launch_end(void)
{
    return text.c_str();
}
