/* Counted rows: record files of a few figures each, for tests of statistics over estimators. Nothing here was
 * measured. */
#ifndef ASSAY_TESTS_COUNTED_ROWS_H
#define ASSAY_TESTS_COUNTED_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/report/report.h"

enum { ROW_PREDICTIONS = 6 };

struct row_prediction {
    const char *estimator; /* NULL ends the list */
    int64_t total_bytes;
    int64_t weights_bytes; /* 0: the estimator does not say */
};

/* A prediction without weights. */
#define PREDICTS(name, bytes)                                                                                          \
    {                                                                                                                  \
        .estimator = (name), .total_bytes = (bytes)                                                                    \
    }

/* One case line. What is left out gets a usual value: ok, valid, on the host (of a device "meta" the target is sm_90),
 * float32, infer, of the model "model". */
struct counted_row {
    const char *id; /* needed */
    const char *model, *mode, *precision, *family, *status, *device, *target, *verdicts;
    int64_t batch, seq, new_tokens; /* 0: null */
    int64_t measured_bytes, loaded_bytes;
    int64_t tensor_bytes;       /* requested peak of replay; 0: replay predicts nothing */
    int64_t peak_weights_bytes; /* the category of that name at the measured peak; 0: categories are not known */
    int64_t weights_bytes;      /* what replay predicts to be loaded; 0: what was loaded, of its peak at most */
    struct row_prediction predictions[ROW_PREDICTIONS];
    bool invalid, tf32;
};

/* A report of these rows, which have been written to a file and read again. The caller releases it. */
struct report *counted_rows_report(const struct counted_row *rows, int count);

/* The same into a file of a folder that exists. */
void counted_rows_write(const char *path, const struct counted_row *rows, int count);

/* Fails where two figures differ by more than distance (cmocka's own compares in single precision). */
void figure_near(double figure, double expected, double distance);

#endif
