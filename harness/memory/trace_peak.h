/* Trace peak: which sizes were alive when a recorded history needed the most. A history has no names; held against the
 * names of harness/replay/peak.h by their sizes, it says which tensor one side has and the other has not. */
#ifndef ASSAY_MEMORY_TRACE_PEAK_H
#define ASSAY_MEMORY_TRACE_PEAK_H

#include "harness/memory/trace.h"

struct trace_peak_row {
    int64_t bytes; /* requested, of each */
    int64_t count;
};

struct trace_peak {
    int64_t requested_bytes;     /* of all together */
    struct trace_peak_row *rows; /* in descending order of bytes * count */
    size_t row_count;
};

/* stage: the name of a row of counters; looked at is what lies between it and the last reset of the peaks before it, of
 * the last row of that name. NULL: the whole trace. Released with trace_peak_release. STATUS_INVALID if no row has
 * the name, STATUS_OVERFLOW, STATUS_OUT_OF_MEMORY. Worked: malloc 700, malloc 700, free, malloc 4096 has at its highest
 * 1 x 4096 and 1 x 700, together 4796. */
enum status_code trace_peak_find(const struct trace *trace, const char *stage, struct trace_peak *peak,
                                 struct status *error);

void trace_peak_release(struct trace_peak *peak); /* an empty one is accepted */

/* {"requested_bytes": ..., "sizes": [{"bytes": ..., "count": ...}, ...]}; NULL if memory ran out. */
struct json *trace_peak_to_json(const struct trace_peak *peak);

#endif
