/* NVML without a GPU: what EMULATED_NVML says, in words with blanks between them.
 *
 *   process=PID:BYTES@N   another process computes, from the N-th list on (the list before the context is the first);
 *                         on all GPUs, and as PID:BYTES:K on the K-th alone, counted from 0
 *   graphics=PID:BYTES@N  another process draws, likewise
 *   untold=PID@N          another process whose bytes are not told
 *   ecc=0@N mig=0@N       modes; without the word the GPU has no such mode
 *   own=PID               this process is listed under that number, as a container may have it
 *   ownless               and holds 0 bytes, as some drivers say there
 *   layout=BYTES          of an entry of the lists, 16, 24 or 32, as drivers differ in it
 *   hidden                no process is listed
 *   failing@N             the lists fail
 *   offset=BYTES          what is free is told so much higher than by the runtime, or lower
 *   memoryless            nvmlDeviceGetMemoryInfo is not there
 *   older                 the lists are those that end in _v2
 *   busless               the GPU is not found by its bus id
 *   uuidless              nor by its UUID
 *   instances=N           of the board in MIG mode, with gaps between their numbers
 *
 * "@N-M" ends with the M-th list. Without "@N" a word holds from the beginning; of several the last that holds counts.
 * Where the variable is not set there is no NVML. In MIG mode this process sees one instance, which is found by its
 * UUID alone. */
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <unistd.h>

#include "tests/cuda_emulation/emulated/emulated_devices.h"
#include "tests/cuda_emulation/emulated/emulated_toolkit.h"
#include "tests/cuda_emulation/emulated/emulation.h"

namespace
{

enum { SUCCESS = 0, NOT_SUPPORTED = 3, NOT_FOUND = 6, INSUFFICIENT_SIZE = 7, UNKNOWN = 999 };

struct process {
    unsigned pid;
    unsigned long long bytes;
    unsigned gpu_instance, compute_instance;
};

struct memory {
    unsigned long long total, free, used;
};

char boards[EMULATED_BOARDS_MAXIMUM], the_instance; /* what handles point to */

/* CUDA_VISIBLE_DEVICES hides none of them here. Instances are of the first. */
int board_of(const void *device)
{
    return device == &the_instance ? 0 : (int)(static_cast<const char *>(device) - boards);
}

int list_count;

/* One word after the other: what follows name, where name begins the word and the word holds now. */
template <typename visit_type> void words_visit(const char *name, visit_type visit)
{
    const char *word = getenv("EMULATED_NVML");
    while (word != nullptr && *word != '\0') {
        size_t length = strcspn(word, " ");
        const char *from = static_cast<const char *>(memchr(word, '@', length));
        int first = 0, last = 1 << 30;
        if (from != nullptr) {
            sscanf(from, "@%d-%d", &first, &last);
        }
        if (strncmp(word, name, strlen(name)) == 0 && list_count >= first && list_count <= last) {
            visit(word + strlen(name));
        }
        word += length;
        word += strspn(word, " ");
    }
}

bool word_holds(const char *name)
{
    bool holds = false;
    words_visit(name, [&](const char *) { holds = true; });
    return holds;
}

int mode_of(const char *name)
{
    int mode = -1;
    words_visit(name, [&](const char *rest) { mode = atoi(rest); });
    return mode;
}

void others_add(const char *name, int board, std::vector<process> *all)
{
    words_visit(name, [&](const char *rest) {
        process other = {0, ~0ULL, ~0U, ~0U};
        int where = board;
        sscanf(rest, "%u:%llu:%d", &other.pid, &other.bytes, &where);
        if (where == board) {
            all->push_back(other);
        }
    });
}

int list_give(const std::vector<process> &all, unsigned *count, void *entries)
{
    int layout = mode_of("layout=");
    size_t entry_bytes = layout > 0 ? (size_t)layout : sizeof(process);
    if (word_holds("failing")) {
        return UNKNOWN;
    }
    bool fits = all.size() <= *count;
    *count = (unsigned)all.size();
    for (size_t i = 0; fits && i < all.size(); i++) {
        const unsigned char entry[32] = {0};
        memcpy(static_cast<char *>(entries) + i * entry_bytes, entry, entry_bytes);
        memcpy(static_cast<char *>(entries) + i * entry_bytes, &all[i], std::min(entry_bytes, sizeof all[i]));
    }
    return fits ? SUCCESS : INSUFFICIENT_SIZE;
}

int compute_processes(void *device, unsigned *count, void *entries)
{
    std::vector<process> all;
    list_count++;
    if (!word_holds("hidden")) {
        others_add("process=", board_of(device), &all);
        others_add("untold=", board_of(device), &all);
        if (emulated_context_is_made_on(board_of(device))) {
            int number = mode_of("own=");
            all.push_back({number >= 0 ? (unsigned)number : (unsigned)getpid(),
                           word_holds("ownless") ? 0 : emulated_used_bytes_on(board_of(device)), ~0U, ~0U});
        }
    }
    return list_give(all, count, entries);
}

int graphics_processes(void *device, unsigned *count, void *entries)
{
    std::vector<process> all;
    if (!word_holds("hidden")) {
        others_add("graphics=", board_of(device), &all);
    }
    return list_give(all, count, entries);
}

int nothing_do(void)
{
    return SUCCESS;
}

int driver_version(char *version, unsigned bytes)
{
    snprintf(version, bytes, "999.0");
    return SUCCESS;
}

int device_by_bus(const char *bus_id, void **device)
{
    unsigned bus = EMULATED_BOARDS_MAXIMUM;
    sscanf(bus_id, "%*x:%x:", &bus);
    bool found = (int)bus < emulated_board_count() && !word_holds("busless");
    *device = found ? &boards[bus] : nullptr;
    return found ? SUCCESS : NOT_FOUND;
}

int board_by_digits(const char *uuid)
{
    for (int board = 0; board < emulated_board_count(); board++) {
        char known[EMULATED_UUID_TEXT];
        emulated_uuid_format(board, known);
        if (strlen(uuid) > 4 && strcmp(uuid + 4, known + 4) == 0) {
            return board;
        }
    }
    return -1;
}

int device_by_uuid(const char *uuid, void **device)
{
    int board = board_by_digits(uuid);
    bool instance = strncmp(uuid, "MIG-", 4) == 0;
    bool found = board >= 0 && !word_holds("uuidless") && (!instance || emulated_board_is_divided(board));
    *device = !found ? nullptr : instance ? &the_instance : &boards[board];
    return found ? SUCCESS : NOT_FOUND;
}

int instance_count(void *, unsigned *count)
{
    *count = 7;
    return SUCCESS;
}

int instance_by_index(void *, unsigned index, void **instance)
{
    *instance = &the_instance;
    return index % 2 == 1 && (int)(index / 2) < mode_of("instances=") ? SUCCESS : NOT_FOUND;
}

/* What the driver keeps for itself is not in the total that cudaMemGetInfo tells. */
int memory_info(void *device, memory *told)
{
    const unsigned long long kept = 600 << 20;
    size_t used = emulated_used_bytes_on(board_of(device)) + emulated_foreign_bytes_on(board_of(device));
    if (device != &the_instance && mode_of("mig=") == 1) {
        return UNKNOWN;
    }
    long long free = (long long)(emulated_memory_bytes() - used), offset = 0;
    words_visit("offset=", [&](const char *rest) { offset = strtoll(rest, nullptr, 10); });
    *told = {emulated_memory_bytes() + kept, (unsigned long long)(free + offset), used + kept};
    return SUCCESS;
}

int mode_tell(const char *name, const void *device, unsigned *current, unsigned *pending)
{
    int mode = mode_of(name);
    *current = *pending = (unsigned)mode;
    return mode < 0 || device == &the_instance ? NOT_SUPPORTED : SUCCESS;
}

int ecc_mode(void *device, unsigned *current, unsigned *pending)
{
    return mode_tell("ecc=", device, current, pending);
}

int mig_mode(void *device, unsigned *current, unsigned *pending)
{
    return mode_tell("mig=", device, current, pending);
}

} // namespace

size_t emulated_foreign_bytes_on(int board)
{
    std::vector<process> all;
    size_t sum = 0;
    others_add("process=", board, &all);
    others_add("graphics=", board, &all);
    for (const process &other : all) {
        sum += other.bytes;
    }
    return sum;
}

bool emulated_board_is_divided(int board)
{
    return board == 0 && mode_of("mig=") == 1;
}

bool emulated_nvml_is_there(void)
{
    return getenv("EMULATED_NVML") != nullptr;
}

bool emulated_nvml_has(const char *name)
{
    const char *end = strstr(name, "RunningProcesses_v");
    if (end != nullptr) {
        return (strcmp(end, "RunningProcesses_v2") == 0) == word_holds("older");
    }
    return strcmp(name, "nvmlDeviceGetMemoryInfo") != 0 || !word_holds("memoryless");
}

const emulated_symbol emulated_nvml_symbols[] = {
    {"nvmlInit_v2", (void *)nothing_do},
    {"nvmlShutdown", (void *)nothing_do},
    {"nvmlSystemGetDriverVersion", (void *)driver_version},
    {"nvmlDeviceGetHandleByPciBusId_v2", (void *)device_by_bus},
    {"nvmlDeviceGetHandleByUUID", (void *)device_by_uuid},
    {"nvmlDeviceGetMemoryInfo", (void *)memory_info},
    {"nvmlDeviceGetEccMode", (void *)ecc_mode},
    {"nvmlDeviceGetMigMode", (void *)mig_mode},
    {"nvmlDeviceGetMaxMigDeviceCount", (void *)instance_count},
    {"nvmlDeviceGetMigDeviceHandleByIndex", (void *)instance_by_index},
    {"nvmlDeviceGetComputeRunningProcesses_v3", (void *)compute_processes},
    {"nvmlDeviceGetComputeRunningProcesses_v2", (void *)compute_processes},
    {"nvmlDeviceGetGraphicsRunningProcesses_v3", (void *)graphics_processes},
    {"nvmlDeviceGetGraphicsRunningProcesses_v2", (void *)graphics_processes},
    {nullptr, nullptr},
};
