/* The trace shim: writing down calls. It changes none of them. */
#include "harness/device/device_trace.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/base/array.h"
#include "harness/device/passing_device.h"
#include "harness/kernels/operation.h"

enum { TRACE_LINE_BYTES = CALL_TEXT_BYTES + 128, PLACE_TEXT_BYTES = 64 };

struct traced_segment {
    uintptr_t address;
    int64_t bytes;
    bool held;
};

struct trace_device {
    struct passing_device passing;
    device_trace_line line;
    void *context;
    struct traced_segment *segments; /* in the order in which they were taken */
    size_t segment_count, segment_capacity;
};

static struct trace_device *trace_of(struct device *device)
{
    return (struct trace_device *)device;
}

__attribute__((format(printf, 3, 4))) static enum status_code trace_write(struct device *device, enum status_code code,
                                                                          const char *format, ...)
{
    char line[TRACE_LINE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (length >= 0 && length < TRACE_LINE_BYTES) {
        snprintf(line + length, sizeof line - (size_t)length, " -> %s", status_code_name(code));
    }
    trace_of(device)->line(trace_of(device)->context, line);
    return code;
}

/* "segment 3", "segment 3 + 512", or "elsewhere" for an address outside all segments. The youngest owner counts. */
static struct traced_segment *segment_find(struct trace_device *trace, const void *address, char text[PLACE_TEXT_BYTES])
{
    uintptr_t place = (uintptr_t)address;
    for (size_t i = trace->segment_count; i-- > 0;) {
        struct traced_segment *segment = &trace->segments[i];
        if (segment->held && place >= segment->address && place - segment->address < (uintptr_t)segment->bytes) {
            uintptr_t offset = place - segment->address;
            if (offset == 0) {
                snprintf(text, PLACE_TEXT_BYTES, "segment %zu", i);
            } else {
                snprintf(text, PLACE_TEXT_BYTES, "segment %zu + %" PRIuPTR, i, offset);
            }
            return segment;
        }
    }
    snprintf(text, PLACE_TEXT_BYTES, "elsewhere");
    return NULL;
}

static enum status_code segments_reserve(struct trace_device *trace, struct status *error)
{
    struct traced_segment *segments =
        array_extend(trace->segments, trace->segment_count, &trace->segment_capacity, sizeof *segments);
    if (segments == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "trace: no memory to note segment %zu", trace->segment_count);
    }
    trace->segments = segments;
    return STATUS_OK;
}

static void trace_close(struct device *device)
{
    struct trace_device *trace = trace_of(device);
    device_close(trace->passing.inner);
    trace->line(trace->context, "close");
    free(trace->segments);
    free(trace);
}

static enum status_code trace_properties(struct device *device, struct device_properties *properties,
                                         struct status *error)
{
    struct device *inner = passing_device_inner(device);
    return trace_write(device, inner->table->properties(inner, properties, error), "properties");
}

static enum status_code trace_segment_alloc(struct device *device, int64_t bytes, void **address, struct status *error)
{
    struct trace_device *trace = trace_of(device);
    char line[TRACE_LINE_BYTES];
    enum status_code code = segments_reserve(trace, error);
    if (code != STATUS_OK) {
        return code;
    }
    code = trace->passing.inner->table->segment_alloc(trace->passing.inner, bytes, address, error);
    if (code != STATUS_OK) {
        return trace_write(device, code, "segment_alloc %" PRId64, bytes);
    }
    snprintf(line, sizeof line, "segment_alloc %" PRId64 " -> ok, segment %zu", bytes, trace->segment_count);
    trace->line(trace->context, line);
    trace->segments[trace->segment_count++] =
        (struct traced_segment){.address = (uintptr_t)*address, .bytes = bytes, .held = true};
    return STATUS_OK;
}

static enum status_code trace_segment_free(struct device *device, void *address, int64_t bytes, struct status *error)
{
    struct trace_device *trace = trace_of(device);
    char place[PLACE_TEXT_BYTES];
    struct traced_segment *segment = segment_find(trace, address, place);
    enum status_code code = trace->passing.inner->table->segment_free(trace->passing.inner, address, bytes, error);
    if (segment != NULL && code == STATUS_OK) {
        segment->held = false;
    }
    return trace_write(device, code, "segment_free %s, %" PRId64, place, bytes);
}

static enum status_code trace_run(struct device *device, const struct operation_call *call, struct status *error)
{
    struct device *inner = passing_device_inner(device);
    char text[CALL_TEXT_BYTES];
    return trace_write(device, inner->table->run(inner, call, error), "run %s", call_describe(call, text));
}

static enum status_code trace_copy_to_host(struct device *device, void *host, const void *address, int64_t bytes,
                                           struct status *error)
{
    struct device *inner = passing_device_inner(device);
    char place[PLACE_TEXT_BYTES];
    segment_find(trace_of(device), address, place);
    return trace_write(device, inner->table->copy_to_host(inner, host, address, bytes, error),
                       "copy_to_host %s, %" PRId64, place, bytes);
}

static enum status_code trace_copy_from_host(struct device *device, void *address, const void *host, int64_t bytes,
                                             struct status *error)
{
    struct device *inner = passing_device_inner(device);
    char place[PLACE_TEXT_BYTES];
    segment_find(trace_of(device), address, place);
    return trace_write(device, inner->table->copy_from_host(inner, address, host, bytes, error),
                       "copy_from_host %s, %" PRId64, place, bytes);
}

static enum status_code trace_synchronize(struct device *device, struct status *error)
{
    struct device *inner = passing_device_inner(device);
    return trace_write(device, inner->table->synchronize(inner, error), "synchronize");
}

static enum status_code trace_read_memory(struct device *device, struct device_reading *reading, struct status *error)
{
    struct device *inner = passing_device_inner(device);
    return trace_write(device, inner->table->read_memory(inner, reading, error), "read_memory");
}

static enum status_code trace_reset_peak(struct device *device, struct status *error)
{
    struct device *inner = passing_device_inner(device);
    enum status_code code = inner->table->reset_peak != NULL ? inner->table->reset_peak(inner, error) : STATUS_OK;
    return trace_write(device, code, "reset_peak");
}

static enum status_code trace_staging_alloc(struct device *device, int64_t bytes, void **memory, struct status *error)
{
    struct device *inner = passing_device_inner(device);
    return trace_write(device, inner->table->staging_alloc(inner, bytes, memory, error), "staging_alloc %" PRId64,
                       bytes);
}

static enum status_code trace_staging_free(struct device *device, void *memory, int64_t bytes, struct status *error)
{
    struct device *inner = passing_device_inner(device);
    return trace_write(device, inner->table->staging_free(inner, memory, bytes, error), "staging_free %" PRId64, bytes);
}

enum status_code device_trace_wrap(struct device *inner, device_trace_line line, void *context, struct device **wrapped,
                                   struct status *error)
{
    struct trace_device *trace = calloc(1, sizeof *trace);
    if (trace == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "trace: no %zu bytes for the shim", sizeof *trace);
    }
    trace->line = line;
    trace->context = context;
    passing_device_open(&trace->passing, inner, "trace");
    struct device_table *table = &trace->passing.table;
    table->close = trace_close;
    table->properties = trace_properties;
    table->segment_alloc = trace_segment_alloc;
    table->segment_free = trace_segment_free;
    table->run = trace_run;
    table->copy_to_host = trace_copy_to_host;
    table->copy_from_host = trace_copy_from_host;
    table->synchronize = trace_synchronize;
    table->read_memory = trace_read_memory;
    table->reset_peak = trace_reset_peak;
    if (table->staging_alloc != NULL) {
        table->staging_alloc = trace_staging_alloc;
        table->staging_free = trace_staging_free;
    }
    *wrapped = &trace->passing.base;
    return STATUS_OK;
}

void device_trace_to_text(void *text, const char *line)
{
    text_append(text, line);
    text_append(text, "\n");
}
