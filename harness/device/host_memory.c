/* Memory of the host device: segments, bounds and what the kernel counts. No allocator: blocks are cut elsewhere. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "harness/base/size.h"
#include "harness/device/host_device.h"
#include "harness/device/kernel_file.h"
#include "harness/device/process_memory.h"
#include "harness/device/refusal.h"

/* A page that was only read is the kernel's shared zero page and counts nowhere, hence the write. */
void pages_touch(void *address, int64_t bytes, int64_t page_bytes, int thread_count)
{
    volatile unsigned char *first = address;
    (void)thread_count;
#pragma omp parallel for num_threads(thread_count) schedule(static) if (bytes > (1 << 20))
    for (int64_t offset = 0; offset < bytes; offset += page_bytes) {
        first[offset] = 0;
    }
}

static enum status_code segment_refuse(const struct host_device *host, int64_t bytes, int64_t allowed_bytes,
                                       const char *limit, const char *remedy, struct status *error)
{
    char wanted[SIZE_TEXT_BYTES];
    char held[SIZE_TEXT_BYTES];
    char allowed[SIZE_TEXT_BYTES];
    return status_set(error, STATUS_OUT_OF_MEMORY,
                      "host: out of memory: %" PRId64 " bytes (%s) wanted, %" PRId64 " bytes (%s) held, %" PRId64
                      " bytes (%s) %s; %s",
                      bytes, size_format(bytes, wanted), host->held_bytes, size_format(host->held_bytes, held),
                      allowed_bytes, size_format(allowed_bytes, allowed), limit, remedy);
}

/* Without a bound the kernel would promise memory it does not have and kill the process when it is touched. */
static enum status_code segment_fits(const struct host_device *host, int64_t bytes, int64_t held_after,
                                     struct status *error)
{
    int64_t available = 0;
    if (host->bound_bytes > 0) {
        return held_after <= host->bound_bytes
                   ? STATUS_OK
                   : segment_refuse(host, bytes, host->bound_bytes, REFUSAL_WORDS_BOUND, "raise the bound", error);
    }
    if (kernel_field_read("/proc/meminfo", "MemAvailable", &available) && bytes > available) {
        return segment_refuse(host, bytes, available, REFUSAL_WORDS_MACHINE, "choose a smaller case", error);
    }
    if (cgroup_room_read(&host->cgroup, &available) && bytes > available) {
        return segment_refuse(host, bytes, available, REFUSAL_WORDS_CGROUP,
                              "choose a smaller case, or raise the limit of the container", error);
    }
    return STATUS_OK;
}

enum status_code host_segment_alloc(struct device *device, int64_t bytes, void **address, struct status *error)
{
    struct host_device *host = (struct host_device *)device;
    int64_t mapped = 0;
    int64_t held_after = 0;
    if (bytes <= 0) {
        return status_set(error, STATUS_INTERNAL, "host: a segment of %" PRId64 " bytes was asked for", bytes);
    }
    if (!size_round_up(bytes, host->page_bytes, &mapped) || !size_add(host->held_bytes, mapped, &held_after)) {
        return status_set(error, STATUS_OVERFLOW, "host: a segment of %" PRId64 " bytes does not fit 63 bits", bytes);
    }
    enum status_code code = segment_fits(host, bytes, held_after, error);
    if (code != STATUS_OK) {
        return code;
    }
    void *memory = mmap(NULL, (size_t)mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        char wanted[SIZE_TEXT_BYTES];
        char held[SIZE_TEXT_BYTES];
        return status_set(error, errno == ENOMEM ? STATUS_OUT_OF_MEMORY : STATUS_DEVICE,
                          "host: out of memory: %" PRId64 " bytes (%s) wanted, %" PRId64
                          " bytes (%s) held, and " REFUSAL_WORDS_LIMIT " (%s); choose a smaller case or raise ulimit",
                          bytes, size_format(bytes, wanted), host->held_bytes, size_format(host->held_bytes, held),
                          strerror(errno));
    }
    pages_touch(memory, mapped, host->page_bytes, host->thread_count);
    host->held_bytes = held_after;
    *address = memory;
    return STATUS_OK;
}

enum status_code host_segment_free(struct device *device, void *address, int64_t bytes, struct status *error)
{
    struct host_device *host = (struct host_device *)device;
    int64_t mapped = 0;
    if (address == NULL || bytes <= 0 || !size_round_up(bytes, host->page_bytes, &mapped) ||
        mapped > host->held_bytes) {
        return status_set(error, STATUS_INTERNAL,
                          "host: a segment of %" PRId64 " bytes that was not taken is given back", bytes);
    }
    if (munmap(address, (size_t)mapped) != 0) {
        return status_set(error, STATUS_DEVICE, "host: a segment of %" PRId64 " bytes cannot be unmapped: %s", bytes,
                          strerror(errno));
    }
    host->held_bytes -= mapped;
    return STATUS_OK;
}

/* What host_segment_alloc would still give, by the questions that it asks. */
bool host_free_read(const struct host_device *host, int64_t *bytes)
{
    int64_t left_bytes = host->bound_bytes - host->held_bytes, room_bytes = INT64_MAX;
    if (host->bound_bytes == 0) {
        if (!kernel_field_read("/proc/meminfo", "MemAvailable", &left_bytes)) {
            return false;
        }
        cgroup_room_read(&host->cgroup, &room_bytes); /* a machine without cgroups has none */
        left_bytes = room_bytes < left_bytes ? room_bytes : left_bytes;
    }
    bool known = process_limits_apply("", &left_bytes);
    if (known) {
        *bytes = left_bytes;
    }
    return known;
}

enum status_code host_read_memory(struct device *device, struct device_reading *reading, struct status *error)
{
    const struct host_device *host = (const struct host_device *)device;
    struct device_reading taken = {.library_valid = host->library_valid, .library_bytes = host->library_bytes};
    (void)error;
    taken.process_valid = process_resident_read("", &taken.process_bytes);
    taken.process_peak_valid = host->peak_valid && process_resident_peak_read("", &taken.process_peak_bytes);
    if (taken.process_valid && taken.process_peak_valid && taken.process_peak_bytes < taken.process_bytes) {
        taken.process_peak_bytes =
            taken.process_bytes; /* VmHWM lags by some pages: a peak is never below the present */
    }
    taken.cgroup_valid = cgroup_usage_read(&host->cgroup, &taken.cgroup_bytes);
    taken.cgroup_peak_valid = cgroup_peak_read(&host->cgroup, &taken.cgroup_peak_bytes);
    if (taken.cgroup_valid && taken.cgroup_peak_valid && taken.cgroup_peak_bytes < taken.cgroup_bytes) {
        taken.cgroup_peak_bytes = taken.cgroup_bytes; /* others in the cgroup took more between the two questions */
    }
    process_swap_read("", host->page_bytes, &taken.disturbance);
    taken.free_valid = host_free_read(host, &taken.free_bytes);
    *reading = taken;
    return STATUS_OK;
}

/* Where the kernel does not allow it, the peak is not valid from then on: it would be that of an earlier stage. */
enum status_code host_reset_peak(struct device *device, struct status *error)
{
    struct host_device *host = (struct host_device *)device;
    (void)error;
    host->peak_valid = process_resident_peak_reset("");
    cgroup_peak_begin(&host->cgroup);
    return STATUS_OK;
}
