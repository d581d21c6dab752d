/* What a GPU would move. The lanes of a warp come to an access together: one request. In device memory it touches
 * sectors of 32 bytes, and needs no fewer than its bytes fill; in shared memory it is served in as many rounds as one
 * of the 32 banks is asked for different words, lanes of 8 bytes by halves of the warp, of 16 by quarters.
 *
 * Which accesses belong together: those that stand at one place of the code and are, for their lanes, the k-th there
 * since the warp last waited. Nothing here knows caches, or which loads of neighbours nvcc
 * makes one. */
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "tests/cuda_emulation/checked/access.h"

namespace
{

enum { WARP = 32, BANKS = 32, WORD = 4, SECTOR = 32 };

struct counted {
    access what;
    access_memory memory;
    int epoch;
};

struct tally {
    long requests, units, least; /* units: sectors or rounds */
};

std::vector<counted> logs[EMULATION_THREADS];
int epochs[EMULATION_THREADS];
emulated_launch_view now;
tally device_tally, shared_tally;

const char *counts_path()
{
    return getenv("EMULATED_COUNTS");
}

long units_of(const std::vector<access> &request, size_t unit)
{
    std::set<uintptr_t> units;
    for (const access &each : request) {
        for (uintptr_t k = 0; k < each.bytes; k++) {
            units.insert(((uintptr_t)each.address + k) / unit);
        }
    }
    return (long)units.size();
}

/* Of lanes that are served together. */
long rounds_of(const std::vector<access> &together)
{
    std::set<uintptr_t> words[BANKS];
    size_t most = 0;
    for (const access &each : together) {
        for (uintptr_t k = 0; k < each.bytes; k++) {
            uintptr_t word = ((uintptr_t)each.address + k) / WORD;
            words[word % BANKS].insert(word);
            most = std::max(most, words[word % BANKS].size());
        }
    }
    return (long)most;
}

/* lane: the number in the warp of each access of the request. */
void request_count(const std::vector<access> &request, const std::vector<int> &lane, access_memory memory)
{
    size_t bytes = 0;
    for (const access &each : request) {
        bytes = std::max(bytes, each.bytes);
    }
    if (bytes == 0) {
        return;
    }
    if (memory == ACCESS_DEVICE) {
        device_tally.requests++;
        device_tally.units += units_of(request, SECTOR);
        device_tally.least += (units_of(request, 1) + SECTOR - 1) / SECTOR;
        return;
    }
    int lanes_together = bytes <= WORD ? WARP : bytes <= 8 ? WARP / 2 : WARP / 4;
    shared_tally.requests++;
    for (int first = 0; first < WARP; first += lanes_together) {
        std::vector<access> together;
        for (size_t k = 0; k < request.size(); k++) {
            if (lane[k] >= first && lane[k] < first + lanes_together) {
                together.push_back(request[k]);
            }
        }
        long rounds = rounds_of(together);
        shared_tally.units += rounds;
        shared_tally.least += rounds > 0;
    }
}

/* A struct that is stored as a whole comes here word by word: what goes on where the lane has just written, up to a
 * boundary of 16 bytes, is one access. */
bool joined(const access &access, access_memory memory, int lane)
{
    if (!access.writes || memory != ACCESS_DEVICE || access.bytes != WORD || logs[lane].empty()) {
        return false;
    }
    counted &last = logs[lane].back();
    uintptr_t start = (uintptr_t)last.what.address;
    bool goes_on = last.what.writes && last.memory == memory && last.epoch == epochs[lane] &&
                   last.what.place != access.place && start + last.what.bytes == (uintptr_t)access.address &&
                   start % WORD == 0 && start % 16 + last.what.bytes + WORD <= 16;
    last.what.bytes += goes_on ? WORD : 0;
    return goes_on;
}

/* Waits since the block began, place, whether it writes, which memory, which time there. */
typedef std::tuple<int, const void *, bool, int, int> occasion;

void warp_count(int first)
{
    std::map<occasion, std::pair<std::vector<access>, std::vector<int>>> requests;
    for (int lane = first; lane < first + WARP; lane++) {
        std::map<occasion, int> times;
        for (const counted &each : logs[lane]) {
            occasion at(each.epoch, each.what.place, each.what.writes, (int)each.memory, 0);
            std::get<4>(at) = times[at]++;
            requests[at].first.push_back(each.what);
            requests[at].second.push_back(lane - first);
        }
        logs[lane].clear();
    }
    for (const auto &entry : requests) {
        request_count(entry.second.first, entry.second.second, (access_memory)std::get<3>(entry.first));
    }
}

} // namespace

const bool access_counts = counts_path() != nullptr;

void access_count_launch(const emulated_launch_view &view)
{
    now = view;
    device_tally = shared_tally = {};
}

void access_count(const access &access, access_memory memory, int lane)
{
    if (!joined(access, memory, lane)) {
        logs[lane].push_back({access, memory, epochs[lane]});
    }
}

void access_count_wait(int lane)
{
    epochs[lane]++;
}

void access_count_block_end(void)
{
    if (!access_counts) {
        return;
    }
    for (int lane = 0; lane < EMULATION_THREADS; lane += WARP) {
        warp_count(lane);
    }
    std::fill(epochs, epochs + EMULATION_THREADS, 0);
}

void access_count_launch_end(void)
{
    FILE *file = counts_path() != nullptr ? fopen(counts_path(), "a") : nullptr;
    if (file != nullptr) {
        fprintf(file, "%s\t%lld\t%d\t%ld\t%ld\t%ld\t%ld\t%ld\t%ld\n", kernel_name(now.kernel).c_str(),
                (long long)now.block_count, now.lane_count, device_tally.requests, device_tally.units,
                device_tally.least, shared_tally.requests, shared_tally.units, shared_tally.least);
        fclose(file);
    }
}
