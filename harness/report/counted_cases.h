/* Counted cases: the rows of records that statistics over estimators may use, out of one report or several, and how
 * many were left out for which reason. Not for anybody outside this folder.
 *
 * A row counts if the case was measured to its end (status ok or fail: fail is an estimator that was off, and to
 * leave it out would hide what is asked for), nothing disturbed its readings, and its highest allocated peak is known
 * and not 0. Rows of the meta device are predictions: they count only if the caller asks for them. The same case on
 * the same device counts once: its last row in the reports in the order in which they are given. Placed cases, loads of
 * checkpoints and searches do not count (case_is_plain). */
#ifndef ASSAY_REPORT_COUNTED_CASES_H
#define ASSAY_REPORT_COUNTED_CASES_H

#include "harness/report/case_view.h"

struct counted_case {
    const struct case_view *view;
    const char *family;     /* "unknown" in records before 1.3 */
    const char *device;     /* kind, name, class and threads: equal texts are figures of one kind of machine */
    const char *series;     /* the identity without its batch, and the device: equal texts differ in batch alone */
    int64_t measured_bytes; /* the highest allocated peak: what total_bytes is held against */
    int64_t tensor_bytes;   /* requested peak that replay predicted: the sum of live tensors; BYTES_UNKNOWN: none */
    int64_t
        weights_bytes;    /* parameters and buffers as they are stored, as replay predicted them; BYTES_UNKNOWN: none */
    int64_t loaded_bytes; /* the same, measured: requested at the end of load; BYTES_UNKNOWN */
};

struct counted_cases {
    struct counted_case *cases; /* in the order of the reports */
    int count;
    int read_count;    /* rows of all reports */
    int ended_count;   /* left out: error, oom, timeout, skip, or no peak */
    int invalid_count; /* left out: disturbed */
    int meta_count;    /* left out: predicted only */
    int placed_count;  /* left out: on several devices, or a search */
    int again_count;   /* left out: the same case on the same device stands in a later report */
};

/* The identity of a case without the lengths that `without` names (of batch, seq and new_tokens; ended by NULL), and
 * its device: cases of equal texts differ in those alone. The texts are in arena, one for equal keys; NULL: no
 * memory. */
const char *counted_case_key(struct name_table *keys, struct arena *arena, const struct counted_case *one,
                             const char *const *without);

/* The reports must outlive *counted; everything else is in arena. STATUS_OUT_OF_MEMORY. */
enum status_code counted_cases_find(struct report *const *reports, int report_count, bool with_meta,
                                    struct arena *arena, struct counted_cases *counted, struct status *error);

/* "45 of 61 rows count; left out: 3 not measured to the end, 1 disturbed, 12 replayed, not measured (meta)". */
void counted_cases_append(struct text *text, const struct counted_cases *counted);

#endif
