/* Difference: two results side by side: what they were measured under, what changed, and whether it may.
 *
 * A case is held against the case of the same id. Requested, allocated and reserved bytes are decided by the tape and
 * the allocator, so that they must be equal; what the driver and the kernel count (device, process) may differ by a
 * tolerance. What both know is judged, and what NEW knows alone changes nothing. */
#ifndef ASSAY_REPORT_DIFFERENCE_H
#define ASSAY_REPORT_DIFFERENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/status.h"
#include "harness/base/text.h"
#include "harness/record/outcome.h"
#include "harness/record/tolerance.h"
#include "harness/report/report.h"

/* The tolerance of device and process if nobody gave one. Five runs of eight cases on an unchanged, busy host
 * differed by 254 KB at the most in any reading, whatever the size of the model: this is 16 times that, and two of the
 * 2 MiB pages in which a GPU driver hands out memory. */
#define DIFFERENCE_READING_BYTES (INT64_C(4) << 20)

/* What a comparison comes to (harness/record/outcome.h):
 *
 *   RUN_PASS          every case of BASE is in NEW, with equal status and no figure beyond its tolerance
 *   RUN_FAIL          a status or a prediction changed, a figure is beyond its tolerance or not measured any more; with
 *                     `within`: an allocated peak is further off than that
 *   RUN_INCOMPLETE    none of that, but NEW has not made a case or an attempt that it selected
 *   RUN_INCONCLUSIVE  none of that, but a case of BASE is not in NEW, a reading that would be beyond is disturbed, of
 *                     another device, or gone, or nothing was measured on both sides; with `within`: an allocated peak
 *                     of BASE is not measured in NEW, or BASE has none */

struct difference_options {
    /* Two programs are compared: how far an allocated peak may be off, as a fraction of BASE's, and nothing else
     * decides. Negative: no. */
    double within;
    struct level_rules rules; /* over those that NEW's suite recorded, which are over the default */
};

struct difference; /* opaque */

/* Compares; both reports must live as long as *difference, which the caller releases. Time is that of sorting the
 * ids. */
enum status_code difference_make(const struct report *base, const struct report *new_report,
                                 const struct difference_options *options, struct difference **difference,
                                 struct status *error);

void difference_release(struct difference *difference); /* NULL is accepted */

enum run_outcome difference_outcome(const struct difference *difference);

struct difference_style {
    enum report_format format;
    int width;         /* as in struct report_style */
    bool only_changed; /* cases without a change are counted, not listed */
};

/* The formats of pages, and json: one document (docs/FORMAT.md, Comparisons). STATUS_INVALID lists them. */
enum status_code difference_format_parse(const char *name, enum report_format *format, struct status *error);

/* Appends what was found to text: the environment, the cases, the levels over all cases, the outcome. STATUS_INVALID:
 * another format. */
enum status_code difference_render(const struct difference *difference, const struct difference_style *style,
                                   struct text *text, struct status *error);

#endif
