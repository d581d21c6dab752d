/* Trace: a recorded sequence of allocations and frees, what it occupies under an allocator's rules, and how far that is
 * from what PyTorch recorded.
 *
 * Three forms of file, one trace (docs/FORMAT.md has them in full):
 *   1. {"events": [["malloc", id, bytes] | ["free", id], ...]}. An id is any integer; it is live from its malloc to its
 *      free and may be used again after that. bytes is at least 0.
 *   2. The same with what PyTorch did: ["segment", address, bytes], ["segment_free", address], ["reset_peaks"] and
 *      ["counters", {...}]. Where there is a segment, the id of a malloc is the address of its block.
 *   3. What torch.cuda.memory._snapshot() returns, written as JSON or, by _dump_snapshot, as a pickle: known by its
 *      "device_traces". */
#ifndef ASSAY_MEMORY_TRACE_H
#define ASSAY_MEMORY_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/json.h"
#include "harness/base/status.h"
#include "harness/memory/allocator.h"
#include "harness/record/level.h"

enum { TRACE_FILE_BYTES_MAXIMUM = 512 << 20, TRACE_DEVICE_ONLY = -1, TRACE_UNKNOWN = -1 };

enum trace_verb {
    TRACE_MALLOC,
    TRACE_FREE,
    TRACE_SEGMENT,      /* PyTorch took a segment; the malloc that needed it follows */
    TRACE_SEGMENT_FREE, /* PyTorch gave a segment back; a run of them is one emptying of its cache */
    TRACE_RESET_PEAKS,
    TRACE_COUNTERS, /* PyTorch's counters at this moment */
};

struct trace_event {
    enum trace_verb verb;
    size_t number; /* in the file, from 1 */
    /* malloc, free: the ids numbered from 0 in rising order; segment, segment_free: the segments from 0 in the order of
     * the file; counters: the index of the row */
    size_t slot;
    int64_t address; /* the id of a malloc or free; of a segment its address */
    int64_t bytes;   /* of a malloc, a segment or the segment that is given back; of a free may be TRACE_UNKNOWN */
};

/* In the order in which they are printed: the values, then the peaks in the same order. */
enum trace_figure {
#define TRACE_NOW(name, ...)  TRACE_##name,
#define TRACE_PEAK(name, ...) TRACE_##name##_PEAK,
    LEVEL_COUNTED_TABLE(TRACE_NOW) LEVEL_COUNTED_TABLE(TRACE_PEAK) TRACE_FIGURE_COUNT
#undef TRACE_PEAK
#undef TRACE_NOW
};

/* "requested_bytes", ..., "reserved_bytes_peak". */
const char *trace_figure_name(enum trace_figure figure);

/* What PyTorch counted at one moment. */
struct trace_counters {
    char *stage; /* NULL: not told */
    size_t event_number;
    int64_t bytes[TRACE_FIGURE_COUNT]; /* TRACE_UNKNOWN: not told */
};

struct trace {
    char *name; /* of the file, for messages */
    char *list; /* the JSON pointer of the list that the events come from */
    struct trace_event *events;
    size_t event_count;
    size_t slot_count;
    size_t segment_count;
    struct trace_counters *counters;
    size_t counters_count;
    bool has_addresses; /* there are segments: ids are addresses of blocks */
};

/* What the events occupy; *_bytes at the end, *_peak at the highest since the beginning or the last reset. Requested:
 * the sum of live bytes; allocated: the blocks handed out for them; reserved: the segments taken. */
struct trace_result {
    LEVEL_FIGURES(levels); /* requested_bytes, requested_bytes_peak, allocated_bytes, ... */
    int64_t segment_count;
};

/* Reads a file of any of the three forms. device: whose history of a snapshot; TRACE_DEVICE_ONLY takes the one that has
 * events. STATUS_INVALID with "FILE:LINE:COLUMN: event N: cause; remedy", N counted from 1: a wrong shape, negative
 * bytes, a malloc of a live id, a free of an id that is not live, a history that is not whole or not of our rules
 * (several streams, expandable segments, private pools); and with FILE:LINE:COLUMN where it is not JSON. A pickle has
 * no lines: FILE alone, or "FILE: byte N" where it is damaged. */
enum status_code trace_read(const char *path, int64_t device, struct trace *trace, struct status *error);

/* The same from a parsed document; name stands for the file. */
enum status_code trace_from_json(const char *name, const struct json *document, int64_t device, struct trace *trace,
                                 struct status *error);

void trace_release(struct trace *trace); /* an empty one is accepted */

/* Whether the trace tells what PyTorch did: segments, or at least one figure. Else there is nothing to compare with. */
bool trace_has_record(const struct trace *trace);

/* Plays the events on an allocator without memory. STATUS_OVERFLOW with "FILE:LINE:COLUMN: event N: cause"
 * if sizes leave 63 bits. Worked number: one malloc of 700 bytes is 700 requested, 1024 allocated, 2097152 reserved,
 * 1 segment. */
enum status_code trace_replay(const struct trace *trace, enum allocator_policy policy, struct trace_result *result,
                              struct status *error);

/* Whether the peak of a level is told. Segments are kept: of them what is reserved at the end says enough. */
bool trace_result_has_peak(enum level level);

/* The object that `assay replay --json` prints; NULL if memory ran out. */
struct json *trace_result_to_json(const struct trace_result *result);

/* How many were compared, and how many of them are not equal. */
struct trace_tally {
    int64_t count, unequal_count;
};

enum { TRACE_SIDE_BYTES = 160 };

/* Our replay beside PyTorch's record. */
struct trace_comparison {
    const struct trace *trace;            /* not owned */
    int64_t (*bytes)[TRACE_FIGURE_COUNT]; /* ours, a row for each row of the trace's counters */
    struct trace_tally figures;           /* counters that are told */
    struct trace_tally placements;        /* the address of each block that is not of 0 bytes */
    struct trace_tally segments;          /* taken or given back by PyTorch, or by ours alone: when, and how large */
    size_t first_event;                   /* the number of the first event that contradicts; 0: none */
    char first_pytorch[TRACE_SIDE_BYTES]; /* what PyTorch did there */
    char first_assay[TRACE_SIDE_BYTES];   /* and what our allocator does */
};

/* Plays the events with the caching rules and compares at every event. Segments lie where PyTorch's lay; one that
 * PyTorch did not take lies above all of them, one that ours does not need is kept for a later need. So after a
 * contradiction the replay goes on with blocks that are still comparable. Errors are those of trace_replay. The
 * comparison refers to the trace and is released by the caller; without a record it is one of nothing. */
enum status_code trace_compare(const struct trace *trace, struct trace_result *result,
                               struct trace_comparison *comparison, struct status *error);

bool trace_comparison_is_equal(const struct trace_comparison *comparison);

/* The object that `assay replay --json` prints under "pytorch"; NULL if memory ran out. */
struct json *trace_comparison_to_json(const struct trace_comparison *comparison);

void trace_comparison_release(struct trace_comparison *comparison); /* an empty one is accepted */

#endif
