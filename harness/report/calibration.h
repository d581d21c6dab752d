/* Calibration: records in, the constants of their device out (harness/record/constants.h). From records alone.
 *
 * A reading is one attempt at one case. Its context is that of the process, or of the device less what was used before
 * the context was made. Its growth is the highest reading of its stages less the context less the segments reserved in
 * that stage: what libraries and kernels came to hold. If a stage has a peak of the process, it stands against the
 * peak of the reserved bytes.
 *
 * Worked number: a context of 17,555,456 bytes and a peak of 710,967,296 in a stage that reserved 692,224,000 leave
 * 1,187,840 bytes of growth. */
#ifndef ASSAY_REPORT_CALIBRATION_H
#define ASSAY_REPORT_CALIBRATION_H

#include "harness/base/status.h"
#include "harness/record/constants.h"

enum { CALIBRATION_FILES_MAXIMUM = 10 };

/* Reads count files of records, or folders that hold records.jsonl; every attempt in them is one reading, in whatever
 * order. filter: a shell pattern that a case's id must match as a whole, or one of its tags; the others are as if they
 * were not there. NULL: all. The hash and the path of *constants stay empty.
 * STATUS_INVALID, with the file and the case: more than CONSTANTS_CASES_MAXIMUM cases, one that was not measured, a row
 * whose validity is denied, none that matches the filter, cases of another program than assay, of several versions of
 * it, devices, numbers of threads, drivers or targets, a run that is there twice, no reading at all; and everything
 * that record_stream_next refuses. The files are read line by line: 200 bytes of memory for each attempt. */
enum status_code calibration_make(const char *const *paths, int count, const char *filter, struct constants *constants,
                                  struct status *error);

#endif
