/* Memory of the emulated boards: how it is taken, counted and closed. What is free is asked of emulated_runtime.cpp. */
#include "tests/cuda_emulation/emulated/emulated_memory.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>

#include <sys/mman.h>

#include "tests/cuda_emulation/emulated/emulated_devices.h"
#include "tests/cuda_emulation/emulated/emulation.h"

namespace
{

const size_t page = 4096, alignment_least = 256, granule = (size_t)2 << 20;
const size_t arena_bytes = (size_t)4 << 40; /* of addresses, which are taken once only */

struct allocation {
    size_t bytes;
    int board;
    char *mapping; /* what it lies in */
    size_t mapping_bytes;
    int slab; /* the granule that it shares; -1: none */
};

struct slab {
    int board;
    size_t used; /* from its beginning: what is given back in between is not taken again */
    int count;   /* of allocations */
};

struct arena {
    char *start;
    size_t used;
};

std::map<const void *, allocation> allocations;
std::map<int, slab> slabs;
int slab_next;
arena arenas[EMULATED_BOARDS_MAXIMUM];
size_t counted_bytes[EMULATED_BOARDS_MAXIMUM];

bool word(const char *name)
{
    return getenv(name) != nullptr;
}

bool memory_is_apart()
{
    static const bool apart = word("EMULATED_APART");
    return apart || emulated_memory_is_closed();
}

/* 0: bytes are counted as they are. */
size_t granule_bytes()
{
    static const size_t bytes =
        word("EMULATED_GRANULES") ? strtoul(getenv("EMULATED_GRANULES"), nullptr, 10) * granule : 0;
    return bytes;
}

size_t rounded(size_t bytes, size_t step)
{
    return (bytes + step - 1) / step * step;
}

/* 0: as it comes. */
size_t alignment_asked()
{
    static const size_t alignment = word("EMULATED_ALIGNMENT") ? strtoul(getenv("EMULATED_ALIGNMENT"), nullptr, 10) : 0;
    return alignment;
}

/* The last address up to `latest` that is a multiple of the alignment; of the one that was asked for an odd one. */
char *aligned_down(char *latest)
{
    const size_t asked = alignment_asked();
    uintptr_t at = (uintptr_t)latest;
    return asked == 0 ? latest - at % alignment_least : latest - (at - asked) % (2 * asked);
}

/* Addresses of a board that were never given out; closed. */
char *arena_take(int board, size_t bytes)
{
    arena *own = &arenas[board];
    if (own->start == nullptr) {
        void *reserved =
            mmap(nullptr, arena_bytes + granule, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        own->start = reserved != MAP_FAILED ? (char *)rounded((size_t)reserved, granule) : nullptr;
        own->used = 0;
        madvise(reserved, arena_bytes, MADV_HUGEPAGE); /* where there are none it is refused */
    }
    if (own->start == nullptr || bytes + granule > arena_bytes - own->used) {
        return nullptr;
    }
    /* Much of it begins where a large page of the host may: opening and closing it at each launch is then cheap. */
    size_t start = bytes >= granule ? rounded(own->used, granule) : own->used;
    own->used = start + bytes;
    return own->start + start;
}

/* Each page of memory is written as it is taken, and what the kernel does for a page of 4 KiB takes longer than that.
 * Where there are no larger ones, or none fits into these bytes, nothing changes. */
void large_pages_ask(char *taken, size_t bytes)
{
    size_t first = rounded((size_t)taken, granule), end = ((size_t)taken + bytes) / granule * granule;
    if (first < end) {
        madvise((void *)first, end - first, MADV_HUGEPAGE);
    }
}

char *mapping_take(int board, size_t bytes)
{
    if (emulated_memory_is_closed()) {
        char *taken = arena_take(board, bytes + page);
        return taken != nullptr && mprotect(taken, bytes, PROT_READ | PROT_WRITE) == 0 ? taken : nullptr;
    }
    if (memory_is_apart()) {
        void *taken = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        return taken != MAP_FAILED ? (char *)taken : nullptr;
    }
    char *taken = (char *)aligned_alloc(alignment_least, bytes);
    if (taken != nullptr) {
        large_pages_ask(taken, bytes);
    }
    return taken;
}

void mapping_give_back(const allocation &holds)
{
    if (emulated_memory_is_closed()) {
        mmap(holds.mapping, holds.mapping_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
             0);
    } else if (memory_is_apart()) {
        munmap(holds.mapping, holds.mapping_bytes);
    } else {
        free(holds.mapping);
    }
}

/* The granule in which so much has room; -1: none has. */
int slab_find(int board, size_t bytes)
{
    for (const auto &entry : slabs) {
        if (entry.second.board == board && entry.second.used + rounded(bytes, alignment_least) <= granule_bytes()) {
            return entry.first;
        }
    }
    return -1;
}

int slab_enter(int board, size_t bytes)
{
    int found = slab_find(board, bytes);
    if (found < 0) {
        found = slab_next++;
        slabs[found] = {board, 0, 0};
    }
    slabs[found].used += rounded(bytes, alignment_least);
    slabs[found].count++;
    return found;
}

bool is_shared(size_t bytes)
{
    return bytes > 0 && bytes <= granule_bytes() / 2;
}

void counted_remove(const allocation &holds)
{
    if (holds.slab < 0) {
        counted_bytes[holds.board] -= granule_bytes() > 0 ? rounded(holds.bytes, granule_bytes()) : holds.bytes;
    } else if (--slabs[holds.slab].count == 0) {
        slabs.erase(holds.slab);
        counted_bytes[holds.board] -= granule_bytes();
    }
}

void protect(const allocation &holds, int protection)
{
    mprotect(holds.mapping, holds.mapping_bytes, protection);
}

/* What holds this address; NULL: nothing does. */
const std::pair<const void *const, allocation> *holder_of(const void *address)
{
    auto next = allocations.upper_bound(address);
    if (next == allocations.begin()) {
        return nullptr;
    }
    auto holds = std::prev(next);
    return (const char *)address < (const char *)holds->first + holds->second.bytes ? &*holds : nullptr;
}

/* Closes or opens what lies on that board, or on all others. */
void protect_all(int board, bool the_others, int protection)
{
    for (const auto &entry : allocations) {
        if ((entry.second.board == board) != the_others) {
            protect(entry.second, protection);
        }
    }
}

} // namespace

bool emulated_memory_is_closed(void)
{
    static const bool closed = word("EMULATED_ARENA");
    return closed;
}

void *emulated_memory_take(int board, size_t bytes)
{
    size_t room = bytes + (alignment_asked() > 0 ? 2 * alignment_asked() : 0);
    size_t mapping_bytes = rounded(room, memory_is_apart() ? page : alignment_least);
    char *mapping = mapping_take(board, mapping_bytes);
    if (mapping == nullptr) {
        return nullptr;
    }
    char *latest = mapping + mapping_bytes - rounded(bytes, alignment_least);
    char *taken = aligned_down(latest);
    memset(taken, 0xff, bytes);
    size_t growth = emulated_memory_growth(board, bytes);
    int shared = is_shared(bytes) ? slab_enter(board, bytes) : -1;
    allocations[taken] = {bytes, board, mapping, mapping_bytes, shared};
    counted_bytes[board] += growth;
    if (emulated_memory_is_closed()) {
        protect(allocations[taken], PROT_NONE);
    }
    return taken;
}

size_t emulated_memory_growth(int board, size_t bytes)
{
    if (is_shared(bytes)) {
        return slab_find(board, bytes) >= 0 ? 0 : granule_bytes();
    }
    return granule_bytes() > 0 ? rounded(bytes, granule_bytes()) : bytes;
}

size_t emulated_memory_taken_on(int board)
{
    return counted_bytes[board];
}

int emulated_memory_board(const void *address, size_t bytes)
{
    auto holds = holder_of(address);
    size_t left =
        holds != nullptr ? (size_t)((const char *)holds->first + holds->second.bytes - (const char *)address) : 0;
    return holds != nullptr && bytes <= left ? holds->second.board : -1;
}

bool emulated_memory_give_back(void *memory)
{
    auto found = allocations.find(memory);
    if (found == allocations.end()) {
        return false;
    }
    counted_remove(found->second);
    mapping_give_back(found->second);
    allocations.erase(found);
    return true;
}

bool emulated_is_elsewhere(const void *address)
{
    auto holds = holder_of(address);
    return holds != nullptr && holds->second.board != emulated_device();
}

bool emulated_memory_find(const void *address, const void **start, size_t *bytes)
{
    auto holds = holder_of(address);
    if (holds == nullptr || holds->second.board != emulated_device()) {
        return false;
    }
    *start = holds->first;
    *bytes = holds->second.bytes;
    return true;
}

void emulated_memory_enter(int board)
{
    if (emulated_memory_is_closed()) {
        protect_all(board, false, PROT_READ | PROT_WRITE);
    } else if (memory_is_apart()) {
        protect_all(board, true, PROT_NONE);
    }
}

void emulated_memory_leave(int board)
{
    if (emulated_memory_is_closed()) {
        protect_all(board, false, PROT_NONE);
    } else if (memory_is_apart()) {
        protect_all(board, true, PROT_READ | PROT_WRITE);
    }
}
