/* Trace: a recorded sequence of allocations and frees, and what it occupies under an allocator's rules.
 *
 * The file is one JSON document: {"events": [["malloc", id, bytes] | ["free", id], ...]}. An id is any integer; it is
 * live from its malloc to its free and may be used again after that. bytes is at least 0. */
#ifndef ASSAY_MEMORY_TRACE_H
#define ASSAY_MEMORY_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/json.h"
#include "harness/base/status.h"
#include "harness/memory/allocator.h"

enum { TRACE_FILE_BYTES_MAXIMUM = 512 << 20 };

struct trace_event {
    bool is_malloc;
    size_t slot;   /* ids numbered from 0 in rising order */
    int64_t bytes; /* of a malloc */
};

struct trace {
    char *name; /* of the file, for messages */
    struct trace_event *events;
    size_t event_count;
    size_t slot_count;
};

/* What the events occupy; *_bytes at the end, *_peak at the highest. Requested: the sum of live bytes; allocated: the
 * blocks handed out for them; reserved: the segments taken. */
struct trace_result {
    int64_t requested_bytes, requested_bytes_peak;
    int64_t allocated_bytes, allocated_bytes_peak;
    int64_t reserved_bytes;
    int64_t segment_count;
};

/* STATUS_INVALID with "FILE:LINE:COLUMN: event N: cause", N counted from 1: a wrong shape, negative bytes, a malloc of a live id, a
 * free of an id that is not live; and with FILE:LINE:COLUMN where it is not JSON. */
enum status_code trace_read(const char *path, struct trace *trace, struct status *error);

/* The same from a parsed document; name stands for the file. */
enum status_code trace_from_json(const char *name, const struct json *document, struct trace *trace,
                                 struct status *error);

void trace_release(struct trace *trace); /* an empty one is accepted */

/* Plays the events on an allocator without memory. STATUS_OVERFLOW with "FILE:LINE:COLUMN: event N: cause"
 * where sizes leave 63 bits. Worked number: one malloc of 700 bytes is 700 requested, 1024 allocated, 2097152 reserved, 1 segment. */
enum status_code trace_replay(const struct trace *trace, enum allocator_policy policy, struct trace_result *result,
                              struct status *error);

/* The object that `assay replay --json` prints; NULL where memory ran out. */
struct json *trace_result_to_json(const struct trace_result *result);

#endif
