/* Baselines: predictions that are made from measurements of other cases, and not from the model. They show what an
 * estimator must do better than somebody who measures twice and draws a line. One file each (baseline_*.c), one row of
 * the table in baseline.c. Not for anybody outside this folder.
 *
 * A baseline predicts the highest allocated peak, as total_bytes does. Never from the case it predicts, nor from rows
 * of another kind of device, and it has no figure if its rule has too few others. */
#ifndef ASSAY_REPORT_BASELINE_H
#define ASSAY_REPORT_BASELINE_H

#include "harness/report/counted_cases.h"

struct baseline {
    const char *name;
    const char *rule; /* one line for people */
    /* Fills predicted_bytes, one for each counted case; BYTES_UNKNOWN if the rule has no figure. False: no
     * memory. */
    bool (*predict)(const struct counted_cases *counted, int64_t *predicted_bytes);
};

int baseline_count(void);
const struct baseline *baseline_at(int index);

/* NULL if no baseline has the name. */
const struct baseline *baseline_find(const char *name);

/* The line through the two largest smaller batches of the same series: of batches 8 and 16 with 300 and 500 bytes,
 * batch 32 is 500 + (500 - 300) * (32 - 16) / (16 - 8) = 900. No figure for the two smallest batches of a series.
 * Published: errors of 1.27 % (median) and 5.6 % (90th percentile) from batches 32 and 64 to 128, over 680 models of
 * timm, against nvidia-smi. */
bool baseline_two_point(const struct counted_cases *counted, int64_t *predicted_bytes);

/* measured = a + b * x, fitted to other counted cases so that the sum of squares of relative errors is the least; what
 * is predicted is never among those. Needs three others with two different x. Others at x 100, 200 and 300 with 210,
 * 410 and 610 bytes give a = 10 and b = 2, and 400 is 810.
 * _tensors: x is the sum of tensors that replay predicted to be alive at the peak (requested_bytes_peak); the others
 * are all of the same kind of device. _weights: x is what replay predicted to lie in memory after loading, parameters
 * and buffers; the others are those of the same kind of device and mode. */
bool baseline_affine_tensors(const struct counted_cases *counted, int64_t *predicted_bytes);
bool baseline_affine_weights(const struct counted_cases *counted, int64_t *predicted_bytes);

#endif
