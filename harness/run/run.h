/* Run: the cases of a suite, each in a child process of its own, their verdicts, and the records of it all.
 *
 * The parent opens no device and loads no BLAS: every measurement starts in a fresh child, and a child that runs out of
 * memory, crashes, hangs or finds no device costs one row. What measures a case is a table (struct case_runner), so
 * that tests can put cases in its place that hang, crash or lie. */
#ifndef ASSAY_RUN_RUN_H
#define ASSAY_RUN_RUN_H

#include <stdbool.h>

#include "harness/base/json.h"
#include "harness/base/status.h"
#include "harness/record/constants.h"
#include "harness/record/outcome.h"
#include "harness/record/record.h"
#include "harness/run/case_choice.h"
#include "harness/run/shard_plan.h"
#include "harness/suite/suite.h"

/* What is proved of the figures that a case was predicted with: does it run with exactly so many bytes (proof.h)? */
enum run_proof {
    RUN_PROOF_NONE,
    RUN_PROOF_REPLAY,    /* of what replay says */
    RUN_PROOF_ESTIMATORS /* of every estimator that has a peak, too */
};

enum case_step {
    CASE_MEASURE,
    CASE_PROOF_PLAN,    /* which bytes are to be tried, and what will happen */
    CASE_PROOF_TRY,     /* with available_bytes */
    CASE_SEARCH_PREDICT /* which batches run, by replay (search_predict.h) */
};

/* What is to be predicted of a search for a batch. */
struct search_question {
    const char *target;              /* class of devices (harness/tape/target.h) */
    int64_t least_bytes, most_bytes; /* that segments may take, >= 1; two if a device told of several */
    bool wants_limit;                /* the largest batch that runs in least_bytes, too */
    const int64_t *batches;          /* do these run? */
    int batch_count;
};

/* What one child is to do. Borrowed from the run. */
struct case_job {
    enum case_step step;
    enum run_proof proof;
    const struct json *line;                /* of CASE_PROOF_PLAN: the case line as it was measured */
    int64_t available_bytes;                /* of CASE_PROOF_TRY, >= 1 */
    const struct search_question *question; /* of CASE_SEARCH_PREDICT */
    const struct suite_case *case_;
    int case_number;                   /* in its suite, also of a case that is a try of another */
    const char *device;                /* spec for device_open */
    const char *catalogue_dir;         /* for model_find */
    const char *model_folder;          /* where paths of models begin; NULL: the working directory */
    const struct constants *constants; /* as in struct run_options */
    const char *reference_dir;
    const char *version;         /* of the program; NULL: unknown */
    const struct gpu_lane *lane; /* of the children; NULL: they see all that there is */
    const char *folder;          /* for files of this attempt, emptied and removed after it; NULL: it has none */
    const struct json *external; /* what external estimators say: name -> estimate; NULL: nothing */
    int attempt;                 /* from 1 */
    bool shared;                 /* other children may use the device: what is used on the whole of it says nothing */
    bool fitting;                /* not measured, but skipped, if what is predicted does not fit (case_fitting.h) */
    bool note_calibrated;        /* as in struct run_options */
};

/* run: called in the child, with file open for writing; sends what it finds with case_send and returns; the child then
 * ends. prove: the same for the steps of a proof (case_prove.h; NULL: none can be asked for). predict: the same for
 * CASE_SEARCH_PREDICT (NULL: nothing is predicted of searches). identify: called in a child too; sends one object with
 * kind, uuid and pci_bus_id of what job->device stands for and, as far as they are known, name, threads, driver,
 * runtime and libraries (an array of texts), with kind null if it is not here, or nothing if that cannot be told
 * (NULL: no case needs a GPU that could be locked). knows_estimator: whether tolerances may name it (called in the
 * parent; NULL: every name is accepted). */
struct case_runner {
    void (*run)(void *context, const struct case_job *job, int file);
    void (*prove)(void *context, const struct case_job *job, int file);
    void (*predict)(void *context, const struct case_job *job, int file);
    void (*identify)(void *context, const struct case_job *job, int file);
    bool (*knows_estimator)(const char *name);
    void *context;
};

/* Sends an object to the parent; its members join the case line there, later ones over earlier ones. What was sent
 * stays in the record whatever becomes of the child. The members are those of a case line (docs/FORMAT.md) but for
 * type, id, identity, attempt, duration_s and verdicts, which are the parent's. STATUS_IO: the parent is gone. */
enum status_code case_send(int file, const struct json *object, struct status *error);

/* The runner that measures: configuration, skeleton, tape, replay on the device. */
extern const struct case_runner case_runner_measure;

/* Told as things happen; each may be NULL. done counts ended attempts of total. tried: of a case that looks for its
 * batch, before each try. told: what the child of an attempt has just sent, with the members of a case line
 * (docs/FORMAT.md), so many seconds after it was started. warned: one line, before the first case. */
struct run_progress {
    void *context;
    void (*warned)(void *context, const char *text);
    void (*started)(void *context, const struct suite_case *case_, int attempt, int done, int total);
    void (*tried)(void *context, const struct suite_case *case_, int64_t batch, int done, int total);
    void (*told)(void *context, const struct suite_case *case_, const struct json *object, double seconds);
    void (*ended)(void *context, const struct json *case_line, int done, int total);
};

struct gpu_lane;
struct gpu_lanes;

struct run_options {
    const struct suite *suite;
    const struct case_runner *runner;
    const char *device; /* over the suite's choice; NULL or "auto": the suite's, else the first GPU, else the host */
    const char *folder; /* where records.jsonl is written */
    const struct case_choice *choice; /* NULL: every case, as often as the suite says */
    const struct shard_plan *shards;  /* whose part `shard` (from 1) the choice is; NULL: it is no part */
    int shard;
    const char *night; /* what the shards of one night have in common; NULL: nobody said it */
    int jobs;          /* children at a time, of all_gpus on each of them; 1 to RUN_JOBS_MAXIMUM */
    bool all_gpus; /* with device "cuda": cases are measured on all GPUs at the same time, which must be of one name */
    const struct gpu_lanes *lanes; /* of the run itself */
    bool need_gpu;                 /* no case is measured on the host because a GPU is gone */
    bool can_share_device; /* whoever asks has an option for it, which is what is advised where a GPU is taken */
    bool share_device; /* GPUs may be used by other runs that share too; then figures of the whole device are unknown */
    bool fitting; /* leave out cases on one device for which it has not enough free; searches try what runs anyway */
    bool note_calibrated;      /* what is beyond calibrated-gpu is noted in its verdict, and judged by nothing */
    int wait_device_seconds;   /* how long a GPU that another run has is waited for */
    const char *lock_folder;   /* of the locks of GPUs; NULL: device_lock_folder() */
    const char *catalogue_dir; /* models/catalogue */
    /* Constants of the device (harness/record/constants.h): those that were asked for, which must be of its kind,
     * name and threads, but on meta; else those found for it under reference_dir. Both NULL: none. If they were
     * measured under something else (constants_mismatch), that is warned of and recorded, and nothing is judged by
     * them. */
    const struct constants *constants;
    const char *reference_dir; /* results/reference */
    const char *version;       /* of the program */
    const char *revision;      /* of its sources; NULL: unknown */
    struct json *hardware;     /* for the run line; borrowed; NULL: unknown */
    enum run_proof proof;
    bool resume;      /* go on with the last run of the folder, if it was interrupted */
    int retries;      /* how often an attempt is begun again whose child crashed, was late or could not measure */
    int max_failures; /* stop after so many cases that failed or could not be measured; 0: never */
    struct run_progress progress;
};

enum {
    RUN_RETRIES_MAXIMUM = 10,
    RUN_JOBS_MAXIMUM = 256,
    RUN_REASON_BYTES = 1024,
    RUN_ID_BYTES = 33,
    RUN_WAIT_SECONDS_MAXIMUM = 604800
};

struct run_result {
    enum run_outcome outcome;
    char reason[RUN_REASON_BYTES]; /* why it is not RUN_PASS, and the first case of the gravest kind; "" for RUN_PASS */
    int counts[CASE_STATUS_COUNT];
    int total;        /* attempts that were to be made */
    bool interrupted; /* by SIGINT, SIGTERM or SIGHUP: children were ended, finished records stay */
    bool stopped;     /* after max_failures, with attempts left to make */
    bool finished;    /* it was to be resumed, and nothing was left to do: all this is of the run that is there */
    char run_id[RUN_ID_BYTES]; /* as in the records; "": none was written */
};

/* STATUS_INVALID with "FILE:LINE:COLUMN: cause; remedy" if a tolerance of the suite names an estimator that the
 * runner does not know. */
enum status_code suite_tolerances_check(const struct suite *suite, const struct case_runner *runner,
                                        struct status *error);

/* Runs the selected cases. Appends a run line, the ids of what was selected, a case line per attempt as they end, an
 * end line. SIGINT, SIGTERM and SIGHUP are taken by the run while it lasts, unless they are ignored. The GPUs that its
 * cases stand on are locked against other runs for as long (docs/decisions/0011). Call it from a process with one
 * thread. STATUS_INVALID (exit 2): no case is chosen, a tolerance names an unknown estimator, jobs out of
 * range, a proof on devices that are shared, constants are of another device, a run that cannot be resumed as it was
 * begun (docs/FORMAT.md). STATUS_BUSY: another run has a GPU. STATUS_INTERRUPTED: a signal came while it waited for
 * one. Nothing has been written then. STATUS_IO (exit 2): the folder cannot be written, or the disk is full: what was
 * written before stays readable. result->run_id is set on an error too, if a run line was written. */
enum status_code run_suite(const struct run_options *options, struct run_result *result, struct status *error);

#endif
