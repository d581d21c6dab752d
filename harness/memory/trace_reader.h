/* Trace reader: what the readers of the three forms share. Not for others.
 *
 * A reader appends events in the order of the file; slots and lifetimes are settled when all are known
 * (trace_settle). */
#ifndef ASSAY_MEMORY_TRACE_READER_H
#define ASSAY_MEMORY_TRACE_READER_H

#include "harness/memory/trace.h"

/* The forms 1 and 2, and the form 3. The trace is empty but for its name; what is in it after an error is released by
 * the caller. */
enum status_code trace_read_events(const struct json *document, struct trace *trace, struct status *error);
enum status_code trace_read_snapshot(const struct json *document, int64_t device, struct trace *trace,
                                     struct status *error);

enum status_code trace_no_memory(const struct trace *trace, struct status *error);

/* Room for the events of a list and one row of counters for each of counters_count; list is its JSON pointer. */
enum status_code trace_prepare(struct trace *trace, const char *list, size_t event_count, size_t counters_count,
                               struct status *error);

/* A row in which nothing is known yet. Its event's slot is its index. stage may be NULL. */
enum status_code trace_add_counters(struct trace *trace, const char *stage, struct trace_counters **row,
                                    struct status *error);

/* Numbers ids and segments and looks at their lifetimes. */
enum status_code trace_settle(struct trace *trace, struct status *error);

/* Lays "FILE: event N" before the text of error, and its line where the file can be read. */
void trace_event_place(const struct trace *trace, size_t number, struct status *error);

/* A whole number of an event. what names it in the message. */
enum status_code trace_integer(const struct json *value, const char *what, int64_t *number, struct status *error);

/* An address, and bytes from there, within 63 bits. */
enum status_code trace_range(int64_t address, int64_t bytes, struct status *error);

#endif
