/* Wording: figures and causes in words, the same in every report for people. Raw text: callers escape it. */
#ifndef ASSAY_REPORT_WORDING_H
#define ASSAY_REPORT_WORDING_H

#include "harness/report/case_view.h"

enum { WORDING_BYTES = 64 };

/* "413.18 MiB", "512 KiB" (whole numbers without decimals if brief), "-" for BYTES_UNKNOWN. Returns text. */
const char *bytes_word(int64_t bytes, bool brief, char text[WORDING_BYTES]);

/* "+0.12 %", "-33.00 %", "-" if it is not known; from 1000 % without decimals. Returns text. */
const char *error_word(bool known, double error, char text[WORDING_BYTES]);

/* "allocated_bytes_peak" -> "allocated peak". Returns text. */
const char *quantity_word(const char *quantity, char text[WORDING_BYTES]);

/* "peaks over all stages", and of a report that has placed cases ", of a placed case on its main place": what one
 * figure for a case is. */
const char *peaks_words(const struct report *report);

/* Appends "1: " before a figure of one place of a placed case; nothing before any other. */
void place_prefix_append(struct text *text, const struct comparison *row);

/* Appends "Of placed cases each place counts." if a summary of accuracy has such; nothing elsewhere. */
void places_counted_append(struct text *text, const struct accuracy *rows, int count);

/* Difference of two sizes: "+12 MiB", "-3.50 KiB", "0 B"; "-" if one is not known. Returns text. */
const char *difference_word(int64_t old_bytes, int64_t new_bytes, char text[WORDING_BYTES]);

/* "413.18 MiB requested, 413.68 MiB allocated: one unsplit 512 KiB remainder; 418.00 MiB reserved: 4.32 MiB cached".
 * What the causes do not explain is named as such. Nothing is appended if the stage or its causes are unknown. */
void causes_append(struct text *text, const struct stage_view *stage, const struct causes_view *causes);

/* "wanted 2.00 GiB for encoder.layer.3 in forward on place 1 while 13.20 GiB were held and 1.10 GiB free", after "; "
 * if text has something already; "wanted memory" if how much is not known. Nothing if it did not happen. */
void oom_append(struct text *text, const struct case_view *view);

/* "invalid readings: another process (4242) held ..."; nothing if the row is not invalid. */
void validity_append(struct text *text, const struct case_view *view);

/* "declined products: MATMUL 48 times (cuBLAS: CUBLAS_STATUS_NOT_SUPPORTED)", after "; " if text has something already;
 * nothing if none was. */
void declined_append(struct text *text, const struct case_view *view);

/* "1.61 GiB at the end of step: 500.00 MiB context, 1.10 GiB segments, 12.00 MiB remainder" of the last stage that
 * ended; items of 0 bytes and unknown ones are left out. Of the whole device if it was read, else of the process,
 * since the two differ by what others hold; which, is returned: LEVEL_COUNT if the record has no items, and nothing
 * is appended. */
enum level items_append(struct text *text, const struct case_view *view);

/* "40 cases: 36 ok, 2 fail, 1 oom, 1 skip", and what is missing: an interrupted run, damaged lines. */
void statuses_append(struct text *text, const struct report *report);

/* The same, and in how many cases readings are not judged: because the constants hold for something else, or because
 * that was asked for (--note-calibrated). */
void counts_append(struct text *text, const struct report *report);

/* That, and if a run went on: "; a run was cut short, and went on 2 times, last at 2026-11-20T05:00:00Z on node2". */
void course_append(struct text *text, const struct report *report);

/* Whether the counts above say it. */
bool mismatch_is_told(const struct report *report);

/* "Not counted of replay: process, footprint in 12 cases, because the constants were measured under driver 1, not 2":
 * why the table of accuracy has fewer cases there. Nothing if it has not. */
void uncounted_append(struct text *text, const struct report *report);

/* "replayed for sm_90", and "replayed" if the record does not say the target: of a case that was replayed. */
void replayed_append(struct text *text, const struct case_view *view);

/* "cuda (NVIDIA H200)", "meta (replayed for sm_90)"; nothing if the case has no device. */
void case_device_append(struct text *text, const struct case_view *view);

/* Whether both say the same there. */
bool case_devices_equal(const struct case_view *a, const struct case_view *b);

/* The same case that names its device, and whether there are others; nothing if none does. */
void device_append(struct text *text, const struct report *report);

#endif
