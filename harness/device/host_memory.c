/* Memory of the host device: segments, bounds and what the kernel counts. No allocator: blocks are cut elsewhere. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness/base/size.h"
#include "harness/device/host_device.h"

/* Kernel files of this form are short; what is looked for stands in the first 8 KiB. */
bool proc_field_read(const char *path, const char *name, int64_t *bytes)
{
    char content[8192];
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return false;
    }
    size_t length = fread(content, 1, sizeof content - 1, file);
    fclose(file);
    content[length] = '\0';
    size_t name_length = strlen(name);
    for (const char *line = content; line != NULL && *line != '\0';) {
        int64_t kibibytes = 0;
        if (strncmp(line, name, name_length) == 0 && line[name_length] == ':' &&
            sscanf(line + name_length + 1, "%" SCNd64 " kB", &kibibytes) == 1) {
            return size_multiply(kibibytes, 1024, bytes);
        }
        line = strchr(line, '\n');
        line = line != NULL ? line + 1 : NULL;
    }
    return false;
}

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
                   : segment_refuse(host, bytes, host->bound_bytes, "allowed by mem=", "raise the bound", error);
    }
    if (proc_field_read("/proc/meminfo", "MemAvailable", &available) && bytes > available) {
        return segment_refuse(host, bytes, available, "available on this machine", "choose a smaller case", error);
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
                          " bytes (%s) held, and the kernel maps no more (%s); choose a smaller case or raise ulimit",
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

/* smaps_rollup walks the page tables and is exact; the counters behind VmRSS lag by some pages for each core. */
enum status_code host_read_memory(struct device *device, struct device_reading *reading, struct status *error)
{
    const struct host_device *host = (const struct host_device *)device;
    struct device_reading taken = {0};
    (void)error;
    taken.process_valid = proc_field_read("/proc/self/smaps_rollup", "Rss", &taken.process_bytes) ||
                          proc_field_read("/proc/self/status", "VmRSS", &taken.process_bytes);
    taken.process_peak_valid =
        host->peak_valid && proc_field_read("/proc/self/status", "VmHWM", &taken.process_peak_bytes);
    if (taken.process_valid && taken.process_peak_valid && taken.process_peak_bytes < taken.process_bytes) {
        taken.process_peak_bytes = taken.process_bytes; /* the lag again: a peak is never below what is there now */
    }
    *reading = taken;
    return STATUS_OK;
}

/* Where the kernel does not allow it, the peak is not valid from then on: it would be that of an earlier stage. */
enum status_code host_reset_peak(struct device *device, struct status *error)
{
    struct host_device *host = (struct host_device *)device;
    int file = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    (void)error;
    host->peak_valid = file >= 0 && write(file, "5", 1) == 1;
    if (file >= 0) {
        close(file);
    }
    return STATUS_OK;
}
