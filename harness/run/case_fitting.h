/* Case fitting: whether what is predicted of a case fits what its device has free. Internal to harness/run. */
#ifndef ASSAY_RUN_CASE_FITTING_H
#define ASSAY_RUN_CASE_FITTING_H

#include "harness/run/measuring.h"

/* Beside segments a process takes memory of a GPU for handles and code once it computes: no case of results/reference
 * took more than 90,177,536 bytes of an H100 or an H200. */
enum { FITTING_BESIDE_BYTES = 128 << 20 };

/* estimates: as prediction_json makes them, for the device that is open, on which nothing was placed yet.
 * STATUS_UNAVAILABLE if the segments that replay predicts, and on a GPU FITTING_BESIDE_BYTES, are more than is free, or
 * if replay says of a host with a bound that it does not fit; the sentence says how much that is. STATUS_OK also if one
 * of the two is not known, and of meta, which has no memory. */
enum status_code case_fitting_check(const struct measuring *measuring, const struct json *estimates,
                                    struct status *error);

#endif
