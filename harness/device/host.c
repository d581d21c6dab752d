/* The host device: opening, closing, and handing operations to those who compute them. Memory is in host_memory.c,
 * products in host_matmul.c and host_convolution.c, everything else in harness/kernels. */
#include "harness/device/host.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "harness/base/size.h"
#include "harness/device/host_device.h"
#include "harness/device/kernel_file.h"
#include "harness/device/process_memory.h"
#include "harness/device/refusal.h"
#include "harness/kernels/kernel_host.h"

static int thread_count_read(void)
{
#ifdef _OPENMP
    return omp_get_max_threads();
#else
    return 1;
#endif
}

int thread_index(void)
{
#ifdef _OPENMP
    return omp_get_thread_num();
#else
    return 0;
#endif
}

static void host_close(struct device *device)
{
    struct host_device *host = (struct host_device *)device;
    if (host->scratch != NULL) {
        munmap(host->scratch, (size_t)host->thread_count * sizeof *host->scratch);
    }
    openblas_close(&host->openblas);
    cgroup_close(&host->cgroup);
    free(host);
}

/* "model name : Intel(R) Xeon(R) Processor" of /proc/cpuinfo; the machine's architecture if there is no such
 * line. */
static void processor_name_read(char *name, size_t capacity, const char *fallback)
{
    char line[256];
    char found[128] = "";
    FILE *file = fopen("/proc/cpuinfo", "re");
    while (file != NULL && found[0] == '\0' && fgets(line, sizeof line, file) != NULL) {
        sscanf(line, "model name : %127[^\n]", found);
    }
    if (file != NULL) {
        fclose(file);
    }
    snprintf(name, capacity, "%s", found[0] != '\0' ? found : fallback);
}

static enum status_code host_properties(struct device *device, struct device_properties *properties,
                                        struct status *error)
{
    const struct host_device *host = (const struct host_device *)device;
    struct device_properties read = {.kind = "host",
                                     .target = "host",
                                     .total_bytes = host->total_bytes,
                                     .computes = true,
                                     .thread_count = host->thread_count};
    struct utsname system = {0};
    (void)error;
    if (uname(&system) == 0) {
        snprintf(read.driver, sizeof read.driver, "%.10s %.20s", system.sysname, system.release);
    }
    processor_name_read(read.name, sizeof read.name, system.machine);
    memcpy(read.runtime, host->openblas.version, sizeof read.runtime);
    *properties = read;
    return STATUS_OK;
}

static enum status_code host_run(struct device *device, const struct operation_call *call, struct status *error)
{
    struct host_device *host = (struct host_device *)device;
    enum product_kind product = opcode_product(call->opcode);
    if (product != PRODUCT_NONE) {
        return product == PRODUCT_MATMUL ? host_matmul(host, call, error) : host_convolution(host, call, error);
    }
    const char *reason = kernel_host_run(call);
    if (reason == NULL) {
        return STATUS_OK;
    }
    char text[CALL_TEXT_BYTES];
    if (reason == host_no_memory) {
        return status_set(error, STATUS_OUT_OF_MEMORY,
                          "host: out of memory: %s: scratch space wanted, and " REFUSAL_WORDS_LIMIT
                          "; choose a smaller case or raise ulimit",
                          call_describe(call, text));
    }
    return status_set(error, STATUS_DEVICE, "host: %s: %s", call_describe(call, text), reason);
}

static enum status_code host_copy_to_host(struct device *device, void *host, const void *address, int64_t bytes,
                                          struct status *error)
{
    (void)device;
    (void)error;
    memcpy(host, address, (size_t)bytes);
    return STATUS_OK;
}

static enum status_code host_copy_from_host(struct device *device, void *address, const void *host, int64_t bytes,
                                            struct status *error)
{
    (void)device;
    (void)error;
    memcpy(address, host, (size_t)bytes);
    return STATUS_OK;
}

static enum status_code host_synchronize(struct device *device, struct status *error)
{
    (void)device;
    (void)error;
    return STATUS_OK;
}

static enum status_code host_panels_take(struct host_device *host, struct status *error)
{
    int64_t bytes = (int64_t)sizeof(struct host_panels) * host->thread_count;
    void *memory = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        char text[SIZE_TEXT_BYTES];
        return status_set(error, STATUS_OUT_OF_MEMORY, "host: no %s of scratch memory for %d threads",
                          size_format(bytes, text), host->thread_count);
    }
    pages_touch(memory, bytes, host->page_bytes, host->thread_count);
    host->scratch = memory;
    return STATUS_OK;
}

/* The warm-up of OpenBLAS also starts the threads, whose stacks are in the growth as far as they have been touched. */
static enum status_code host_libraries_open(struct host_device *host, struct status *error)
{
    int64_t before = 0, after = 0;
    bool known = process_resident_read("", &before);
    enum status_code code = openblas_open(host->thread_count, &host->openblas, error);
    host->library_valid = code == STATUS_OK && known && process_resident_read("", &after) && after >= before;
    host->library_bytes = host->library_valid ? after - before : 0;
    return code;
}

/* A process that may open no more files is in trouble of its own; that is no host that is not here. */
static enum status_code memory_unknown(int cause, struct status *error)
{
    bool is_limit = cause == EMFILE || cause == ENFILE;
    return status_set(error, is_limit ? STATUS_DEVICE : STATUS_UNAVAILABLE,
                      "host: /proc/meminfo cannot be read (%s), so the machine's memory is unknown; %s",
                      strerror(cause), is_limit ? "raise ulimit -n" : "mount /proc");
}

static enum status_code host_prepare(struct host_device *host, int64_t bound_bytes, struct status *error)
{
    host->bound_bytes = bound_bytes;
    host->page_bytes = sysconf(_SC_PAGESIZE);
    host->thread_count = thread_count_read();
    host->peak_valid = true;
    if (!kernel_field_read("/proc/meminfo", "MemTotal", &host->total_bytes)) {
        return memory_unknown(errno, error);
    }
    if (bound_bytes > 0 && bound_bytes < host->total_bytes) {
        host->total_bytes = bound_bytes;
    }
    enum status_code code = host_libraries_open(host, error);
    return code == STATUS_OK ? host_panels_take(host, error) : code;
}

enum status_code host_identify(int64_t bound_bytes, struct device_identity *identity, struct status *error)
{
    struct device_identity told = {.kind = "host"};
    struct host_device host = {.bound_bytes = bound_bytes};
    (void)error;
    cgroup_open("", &host.cgroup);
    told.free_valid = host_free_read(&host, &told.free_bytes);
    cgroup_close(&host.cgroup);
    *identity = told;
    return STATUS_OK;
}

enum status_code host_open(int64_t bound_bytes, struct device **device, struct status *error)
{
    static const struct device_table table = {
        .kind = "host",
        .close = host_close,
        .properties = host_properties,
        .segment_alloc = host_segment_alloc,
        .segment_free = host_segment_free,
        .run = host_run,
        .copy_to_host = host_copy_to_host,
        .copy_from_host = host_copy_from_host,
        .synchronize = host_synchronize,
        .read_memory = host_read_memory,
        .reset_peak = host_reset_peak,
    };
    struct host_device *host = calloc(1, sizeof *host);
    if (host == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "host: no %zu bytes for the device itself", sizeof *host);
    }
    host->base.table = &table;
    cgroup_open("", &host->cgroup);
    enum status_code code = host_prepare(host, bound_bytes, error);
    if (code != STATUS_OK) {
        host_close(&host->base);
        return code;
    }
    *device = &host->base;
    return STATUS_OK;
}
