/* The fault shim: counting and failing. It knows nothing of what the calls do. */
#include "harness/device/fault.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "harness/device/passing_device.h"

struct fault_device {
    struct passing_device passing;
    int64_t failing_call;
    int64_t call_count;
    int64_t segment_count;
    const char *said_call; /* all calls of this name fail; NULL: none do */
    enum status_code said_code;
    const char *said_text;
};

static struct fault_device *fault_of(struct device *device)
{
    return (struct fault_device *)device;
}

/* Counts a call; not STATUS_OK where it is the one that fails. */
static enum status_code fault_count(struct device *device, const char *call, enum status_code code,
                                    struct status *error)
{
    struct fault_device *fault = fault_of(device);
    fault->call_count++;
    if (fault->said_call != NULL && strcmp(call, fault->said_call) == 0) {
        return status_set(error, fault->said_code, "%s", fault->said_text);
    }
    if (fault->call_count != fault->failing_call) {
        return STATUS_OK;
    }
    return status_set(error, code, "%s: call %" PRId64 ", %s, was made to fail", fault->passing.inner->table->kind,
                      fault->call_count, call);
}

static enum status_code fault_properties(struct device *device, struct device_properties *properties,
                                         struct status *error)
{
    struct device *inner = passing_device_inner(device);
    enum status_code code = fault_count(device, "properties", STATUS_DEVICE, error);
    return code == STATUS_OK ? inner->table->properties(inner, properties, error) : code;
}

static enum status_code fault_segment_alloc(struct device *device, int64_t bytes, void **address, struct status *error)
{
    struct fault_device *fault = fault_of(device);
    enum status_code code = fault_count(device, "segment_alloc", STATUS_OUT_OF_MEMORY, error);
    if (code == STATUS_OK) {
        code = fault->passing.inner->table->segment_alloc(fault->passing.inner, bytes, address, error);
    }
    fault->segment_count += code == STATUS_OK;
    return code;
}

static enum status_code fault_segment_free(struct device *device, void *address, int64_t bytes, struct status *error)
{
    struct fault_device *fault = fault_of(device);
    enum status_code code = fault->passing.inner->table->segment_free(fault->passing.inner, address, bytes, error);
    fault->segment_count -= code == STATUS_OK;
    enum status_code made = fault_count(device, "segment_free", STATUS_DEVICE, error);
    return made != STATUS_OK ? made : code;
}

static enum status_code fault_run(struct device *device, const struct operation_call *call, struct status *error)
{
    struct device *inner = passing_device_inner(device);
    enum status_code code = fault_count(device, opcode_name(call->opcode), STATUS_DEVICE, error);
    return code == STATUS_OK ? inner->table->run(inner, call, error) : code;
}

static enum status_code fault_copy_to_host(struct device *device, void *host, const void *address, int64_t bytes,
                                           struct status *error)
{
    struct device *inner = passing_device_inner(device);
    enum status_code code = fault_count(device, "copy_to_host", STATUS_DEVICE, error);
    return code == STATUS_OK ? inner->table->copy_to_host(inner, host, address, bytes, error) : code;
}

static enum status_code fault_copy_from_host(struct device *device, void *address, const void *host, int64_t bytes,
                                             struct status *error)
{
    struct device *inner = passing_device_inner(device);
    enum status_code code = fault_count(device, "copy_from_host", STATUS_DEVICE, error);
    return code == STATUS_OK ? inner->table->copy_from_host(inner, address, host, bytes, error) : code;
}

static enum status_code fault_synchronize(struct device *device, struct status *error)
{
    struct device *inner = passing_device_inner(device);
    enum status_code code = fault_count(device, "synchronize", STATUS_DEVICE, error);
    return code == STATUS_OK ? inner->table->synchronize(inner, error) : code;
}

static enum status_code fault_read_memory(struct device *device, struct device_reading *reading, struct status *error)
{
    struct device *inner = passing_device_inner(device);
    enum status_code code = fault_count(device, "read_memory", STATUS_DEVICE, error);
    return code == STATUS_OK ? inner->table->read_memory(inner, reading, error) : code;
}

static enum status_code fault_reset_peak(struct device *device, struct status *error)
{
    struct device *inner = passing_device_inner(device);
    enum status_code code = fault_count(device, "reset_peak", STATUS_DEVICE, error);
    return code == STATUS_OK && inner->table->reset_peak != NULL ? inner->table->reset_peak(inner, error) : code;
}

static enum status_code fault_staging_alloc(struct device *device, int64_t bytes, void **memory, struct status *error)
{
    struct device *inner = passing_device_inner(device);
    enum status_code code = fault_count(device, "staging_alloc", STATUS_OUT_OF_MEMORY, error);
    return code == STATUS_OK ? inner->table->staging_alloc(inner, bytes, memory, error) : code;
}

/* As segment_free: what fails is given back all the same. */
static enum status_code fault_staging_free(struct device *device, void *memory, int64_t bytes, struct status *error)
{
    struct device *inner = passing_device_inner(device);
    enum status_code code = inner->table->staging_free(inner, memory, bytes, error);
    enum status_code made = fault_count(device, "staging_free", STATUS_DEVICE, error);
    return made != STATUS_OK ? made : code;
}

enum status_code device_fault_wrap(struct device *inner, int64_t failing_call, struct device **wrapped,
                                   struct status *error)
{
    struct fault_device *fault = calloc(1, sizeof *fault);
    if (fault == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "fault: no %zu bytes for the shim", sizeof *fault);
    }
    fault->failing_call = failing_call;
    passing_device_open(&fault->passing, inner, "fault");
    struct device_table *table = &fault->passing.table;
    table->properties = fault_properties;
    table->segment_alloc = fault_segment_alloc;
    table->segment_free = fault_segment_free;
    table->run = fault_run;
    table->copy_to_host = fault_copy_to_host;
    table->copy_from_host = fault_copy_from_host;
    table->synchronize = fault_synchronize;
    table->read_memory = fault_read_memory;
    table->reset_peak = fault_reset_peak;
    if (table->staging_alloc != NULL) {
        table->staging_alloc = fault_staging_alloc;
        table->staging_free = fault_staging_free;
    }
    *wrapped = &fault->passing.base;
    return STATUS_OK;
}

void device_fault_say(struct device *wrapped, const char *call, enum status_code code, const char *text)
{
    fault_of(wrapped)->said_call = call;
    fault_of(wrapped)->said_code = code;
    fault_of(wrapped)->said_text = text;
}

int64_t device_fault_call_count(const struct device *wrapped)
{
    return ((const struct fault_device *)wrapped)->call_count;
}

int64_t device_fault_segment_count(const struct device *wrapped)
{
    return ((const struct fault_device *)wrapped)->segment_count;
}
