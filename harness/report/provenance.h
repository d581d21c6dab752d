/* Provenance: on what, by which suite, when and with which versions the figures of a page were made. For captions and
 * titles. Raw text: callers escape it. Not for anybody outside this folder. */
#ifndef ASSAY_REPORT_PROVENANCE_H
#define ASSAY_REPORT_PROVENANCE_H

#include "harness/report/case_view.h"

/* "host (Intel Xeon); suite quick; 2026-11-21; assay 0.1.0, Linux 6.1, OpenBLAS 0.3.21". What the records do not say is
 * left out; of several devices, suites, versions each is named, days as first to last. */
void provenance_append(struct text *text, struct report *const *reports, int report_count);

/* The same as a string of the arena; NULL: no memory. */
const char *provenance_make(struct arena *arena, struct report *const *reports, int report_count);

/* "quick on host (Intel Xeon), 2026-11-21". */
void provenance_title_append(struct text *text, struct report *const *reports, int report_count);
const char *provenance_title_make(struct arena *arena, struct report *const *reports, int report_count); /* as above */

/* "quick host (Intel Xeon)", of several suites "host (Intel Xeon)": what stays from day to day, for a label. */
void provenance_label_append(struct text *text, struct report *const *reports, int report_count);

#endif
