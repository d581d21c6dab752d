/* The table of model devices, and how long at least their launches take. It knows no overlap of launches, no clocks
 * that fall, no latency that many lanes hide. */
#include "tests/bench/model_device.h"

#include <string.h>

/* A processor takes at most this from the second-level cache in a clock (the A100 whitepaper has 47: 5,120 bytes for
 * 108 processors), and from shared memory (CUDA C++ Programming Guide: 32 banks of 4 bytes). WAIT_CLOCKS: for one
 * access to device memory, of the order of what Jia et al. (arXiv:1804.06826, 1903.07486) found on Volta and Turing. */
enum { CACHE_BYTES_CLOCK = 64, SHARED_BYTES_CLOCK = 128, WAIT_CLOCKS = 500 };

#define MIB 1048576.0

/* Peaks are those of the datasheets that each row names. What those do not have: the clock of a T4 and its second-level
 * cache as deviceQuery prints them, the clock of an L40S from its float32 peak (two operations for each of 128
 * lanes of a processor), the cache of an L40S as that of an L40 (96 MiB, arXiv:2606.22588). Not looked up: processors,
 * clock and cache of a B200.
 *
 * Shared memory of a block: CUDA C++ Programming Guide, Technical Specifications per Compute Capability. */
const struct model_device model_devices[] = {
    {"sm_75", "Tesla T4", 40, 1.59e9, 320e9, 4 * MIB, 8.1e12, 65e12, 64 * 1024, false,
     "NVIDIA T4 datasheet (DS-09209) and Turing architecture whitepaper (WP-09183)"},
    {"sm_80", "A100 SXM 80 GB", 108, 1.41e9, 2039e9, 40 * MIB, 19.5e12, 312e12, 163 * 1024, true,
     "NVIDIA A100 datasheet (80 GB SXM) and A100 architecture whitepaper"},
    {"sm_89", "L40S", 142, 2.52e9, 864e9, 96 * MIB, 91.6e12, 362e12, 99 * 1024, true,
     "NVIDIA L40S datasheet and Ada architecture whitepaper"},
    {"sm_90", "H100 SXM", 132, 1.98e9, 3350e9, 50 * MIB, 66.9e12, 989.4e12, 227 * 1024, true,
     "NVIDIA H100 datasheet (SXM) and H100 architecture whitepaper"},
    {"sm_100", "B200 (HGX)", 148, 1.965e9, 8000e9, 126 * MIB, 75e12, 2250e12, 227 * 1024, true,
     "NVIDIA Blackwell datasheet (HGX B200, an eighth, dense) and CUDA Blackwell Tuning Guide"},
};

const int model_device_count = sizeof model_devices / sizeof model_devices[0];

const char *const model_bound_names[] = {"memory", "cache", "shared memory", "instructions", "tensor cores", "waiting"};

const struct model_device *model_device_find(const char *architecture)
{
    for (int i = 0; i < model_device_count; i++) {
        if (strcmp(model_devices[i].architecture, architecture) == 0) {
            return &model_devices[i];
        }
    }
    return NULL;
}

static double processors_at_work(const struct model_device *device, const struct launch_traffic *launch)
{
    return launch->blocks < device->processors ? launch->blocks : device->processors;
}

static double launch_seconds(const struct model_device *device, const struct launch_traffic *launch,
                             enum model_bound *bound)
{
    double at_work = processors_at_work(device, launch), part = at_work / device->processors;
    double asked = launch->read_bytes + launch->written_bytes;
    bool again = launch->again_bytes > device->cache_bytes;
    const double seconds[] = {
        (again ? asked : launch->touched_bytes) / device->memory_bytes_second,
        asked / (at_work * CACHE_BYTES_CLOCK * device->clock_hz),
        launch->shared_bytes / (at_work * SHARED_BYTES_CLOCK * device->clock_hz),
        launch->instructions * 2 / (device->float_operations * part),
        launch->core_operations / (device->core_operations * part),
        launch->rounds * WAIT_CLOCKS / device->clock_hz,
    };
    *bound = BOUND_MEMORY;
    for (int k = BOUND_MEMORY; k <= BOUND_WAITING; k++) {
        *bound = seconds[k] > seconds[*bound] ? (enum model_bound)k : *bound;
    }
    return seconds[*bound];
}

/* The launch that takes longest. */
static const struct launch_traffic *launch_slowest(const struct model_device *device, const struct traffic *traffic)
{
    const struct launch_traffic *slowest = &traffic->launches[0];
    enum model_bound bound;
    for (int k = 1; k < traffic->count; k++) {
        if (launch_seconds(device, &traffic->launches[k], &bound) > launch_seconds(device, slowest, &bound)) {
            slowest = &traffic->launches[k];
        }
    }
    return slowest;
}

double model_seconds(const struct model_device *device, const struct traffic *traffic, enum model_bound *bound)
{
    double sum = 0;
    for (int k = 0; k < traffic->count; k++) {
        sum += launch_seconds(device, &traffic->launches[k], bound);
    }
    launch_seconds(device, launch_slowest(device, traffic), bound);
    return sum;
}

double model_least_seconds(const struct model_device *device, const struct traffic *traffic)
{
    double peak = traffic->on_cores ? device->core_operations : device->float_operations;
    double moving = traffic->needed_bytes / device->memory_bytes_second;
    double computing = traffic->needed_operations / peak;
    return moving > computing ? moving : computing;
}

double model_moved_bytes(const struct traffic *traffic)
{
    double bytes = 0;
    for (int k = 0; k < traffic->count; k++) {
        bytes += traffic->launches[k].read_bytes + traffic->launches[k].written_bytes;
    }
    return bytes;
}

double model_processors(const struct model_device *device, const struct traffic *traffic)
{
    return processors_at_work(device, launch_slowest(device, traffic));
}
