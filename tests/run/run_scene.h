/* Scene: a folder, a suite and a runner whose children do what their batch number says. For the tests of this
 * folder. */
#ifndef ASSAY_TESTS_RUN_RUN_SCENE_H
#define ASSAY_TESTS_RUN_RUN_SCENE_H

#include "harness/run/run.h"

/* What the child of a case does, by its batch number, so that one suite can hold every kind. */
enum {
    DO_MEASURE = 1,
    DO_CRASH,
    DO_HANG,
    DO_SKIP,
    DO_OOM,
    DO_GARBAGE,
    DO_NOTHING,
    DO_EXIT,
    DO_LIE,
    DO_FLOOD,
    DO_KILLED,
    DO_ABORT_AFTER_ESTIMATES,
    DO_UNKNOWN_STATUS,
    DO_HALF_LINE,
    DO_NAME_DEVICE,
    DO_MEASURE_CALIBRATED, /* as DO_MEASURE, and its constants were made from this case */
    DO_MEASURE_JUDGED,     /* with the same constants, but they are from others */
    DO_MEASURE_INVALID,    /* with constants from others, and something disturbed it */
    DO_MEASURE_DEVICE,     /* of the device alone, which held 2000 before the context */
    DO_MEASURE_STALE,      /* as DO_MEASURE_JUDGED, but the constants were measured under another driver */
    DO_MEASURE_CUDNN       /* as DO_MEASURE_JUDGED, but cuDNN computed a convolution */
};

struct scene {
    char folder[64], file[96];
    struct suite suite;
    struct run_result result;
    struct record_file records;
    struct status error;
};

int scene_open(void **state); /* set-up and tear-down of a test */
int scene_close(void **state);

/* A suite with one case of the model m, which is not looked up; rest: its further keys. */
void suite_set(struct scene *scene, const char *rest);

/* A suite of these cases, each a line of YAML that begins with "  - "; models are those of the catalogue. */
void cases_set(struct scene *scene, const char *cases);

struct run_options options_of(const struct scene *scene);

/* Runs, and reads the records back. */
enum run_outcome run_with(struct scene *scene, const struct run_options *options);
enum run_outcome run_of(struct scene *scene, const char *rest);

/* Runs with the runner that measures, on this device, and reads the records back. */
enum run_outcome measure(struct scene *scene, const char *device);

const struct json *case_at(const struct scene *scene, int index); /* of the last run */
const char *text_at(const struct json *object, const char *key);  /* "(null)" where it is no text */
int64_t integer_at(const struct json *object, const char *key);   /* -1 where it is no integer */

/* The verdict on an estimator and a quantity, or NULL. */
const struct json *verdict_at(const struct json *line, const char *estimator, const char *quantity);

#endif
