/* Assumptions, seen by the files that make them: what the records say, and what is made of it. Not for anybody else. */
#ifndef ASSAY_REPORT_ASSUMPTIONS_VIEW_H
#define ASSAY_REPORT_ASSUMPTIONS_VIEW_H

#include "harness/base/name_table.h"
#include "harness/report/assumptions.h"

/* How far figures lie apart: over all records, and at the most within one run, in which nothing may have changed. */
struct figure_spread {
    int known_count, unknown_count;
    int64_t low, high;         /* of all; valid where known_count > 0 */
    int run_count;             /* of the run that is being read */
    int64_t run_low, run_high; /* of it */
    int64_t widest;            /* of any run */
};

/* Tries that were to run or to be refused, each as it was predicted. */
struct trial_sum {
    int count, right_count;
    int refused_count; /* that were, for want of memory */
    int other_count;   /* ended in neither */
    char first[256];   /* the first that is not right: "ID: what"; "" */
};

/* The attempts at one case in one run. */
struct attempt_spread {
    int run, count;
    struct figure_spread device, process;
};

struct assumption_evidence {
    char device[192], uuid[64]; /* of the last case on a GPU; "" */
    char name[128];             /* its class, without driver and runtime; "" */
    bool class_is_measured;     /* results/reference has records of it */
    int line_count;             /* cases on a GPU that were begun, however they ended */
    int usable_count;           /* measured, and undisturbed */
    int disturbed_count, shared_count, broken_count, failed_count;
    char disturbed[512], broken[512], failed[512], skipped[512]; /* the first of each: "ID: why" */
    struct figure_spread baseline, context;                      /* context: less the baseline */
    struct figure_spread process;                                /* at the ends of stages */
    int under_reserved_count;                                    /* of these, under what is reserved */
    struct figure_spread apart;                                  /* of the device, less baseline and process */
    struct figure_spread remainder, kernel, library;             /* library: of cases that have products */
    struct figure_spread device_error, process_error;            /* predicted with constants, less measured */
    char mismatch[512];                                          /* why constants that were found do not hold; "" */
    struct figure_spread start_ms; /* the first case of a run, from its start to its end */
    struct trial_sum proof, search;
    bool has_other_granule; /* the driver's is not that of the proofs, which were not made */
    int64_t taken_bytes;    /* then: what it took for a segment of one granule; 0: it lies in one of others */
    struct name_table ids;
    struct attempt_spread *attempts; /* by number of the id */
    size_t attempt_room;
    int repeated_count;
    int64_t repeated_widest;
};

/* X(VERDICT, word) */
#define ASSUMPTION_VERDICT_TABLE(X)                                                                                    \
    X(HOLDS, "holds")                                                                                                  \
    X(OTHERWISE, "otherwise") /* the GPU or its libraries are not as assumed */                                        \
    X(NOTED, "noted")         /* so, where it changes no figure, or on a class of GPU that nobody has measured */      \
    X(OPEN, "open")           /* something disturbed it, or a case was not measured */                                 \
    X(UNTOLD, "untold")       /* nothing here could tell */

enum assumption_verdict {
#define ASSUMPTION_VERDICT_ENUM(name, word) ASSUMPTION_##name,
    ASSUMPTION_VERDICT_TABLE(ASSUMPTION_VERDICT_ENUM)
#undef ASSUMPTION_VERDICT_ENUM
};

const char *assumption_verdict_word(enum assumption_verdict verdict);

struct assumption_row {
    const char *name;
    const char *assumed;   /* a sentence */
    const char *otherwise; /* what to do, or where it belongs */
    /* Appends what was seen. */
    enum assumption_verdict (*judge)(const struct assumption_evidence *evidence, struct text *seen);
    bool advises;   /* changes no figure: if it is otherwise, that is told and fails nothing */
    bool is_of_run; /* of the run itself, which leaves the other rows open if this one is */
};

extern const struct assumption_row assumption_rows[]; /* the last has no name */

enum { ASSUMPTION_ROWS_MAXIMUM = 24 };

struct assumptions {
    struct arena arena;
    struct assumption_evidence evidence;
    int row_count;
    enum assumption_verdict verdicts[ASSUMPTION_ROWS_MAXIMUM];
    struct text seen[ASSUMPTION_ROWS_MAXIMUM];
};

/* Judges every row by the evidence, which is complete. */
void assumption_rows_judge(struct assumptions *assumptions);

#endif
