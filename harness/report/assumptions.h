/* Assumptions: what the figures of a GPU rest on, judged by records of cases that were measured on one. docs/GPU.md has
 * the table for people; the rows, and what each tolerates, are in assumptions_rows.c. Nothing is measured here. */
#ifndef ASSAY_REPORT_ASSUMPTIONS_H
#define ASSAY_REPORT_ASSUMPTIONS_H

#include <stdbool.h>

#include "harness/record/outcome.h"
#include "harness/report/report.h"

struct assumptions; /* opaque */

/* Reads the records of path, a folder or a file. last_run: only those of the last run in it. reference_dir:
 * results/reference; on a GPU of a class that it has no records of, bytes beyond what was seen on others are noted and
 * fail nothing (NULL: it has none of any). STATUS_IO, STATUS_INVALID and STATUS_OUT_OF_MEMORY as of record_stream_next.
 * The caller releases *assumptions. */
enum status_code assumptions_read(const char *path, bool last_run, const char *reference_dir,
                                  struct assumptions **assumptions, struct status *error);
void assumptions_release(struct assumptions *assumptions); /* NULL is accepted */

/* RUN_FAIL: a row is otherwise than assumed. RUN_INCONCLUSIVE: none is, but one is open: something disturbed the GPU,
 * or a case was not measured. RUN_SKIPPED: no case was measured on a GPU. Appends why it is no pass. */
enum run_outcome assumptions_outcome(const struct assumptions *assumptions, struct text *reason);

/* The formats of pages, and json: one document (docs/FORMAT.md, Assumptions). STATUS_INVALID lists them. */
enum status_code assumptions_format_parse(const char *name, enum report_format *format, struct status *error);
enum status_code assumptions_render(const struct assumptions *assumptions, enum report_format format,
                                    const struct report_style *style, struct text *text, struct status *error);

#endif
