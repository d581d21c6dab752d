/* Gate baselines: what --baseline names, read and joined. */
#ifndef ASSAY_CLI_GATE_BASELINES_H
#define ASSAY_CLI_GATE_BASELINES_H

#include "harness/base/text.h"
#include "harness/cli/command.h"
#include "harness/gate/gate.h"
#include "harness/gate/gate_baseline.h"

struct gate_baselines {
    const struct run_figures *run;     /* that is held against them; borrowed */
    const struct gate_options *limits; /* by which earlier nights are judged; borrowed: policy and allowed alone */
    const char *since;                 /* --since: nights that began before it do not count; NULL: all do */
    bool is_since_used;
    struct arena arena;
    struct run_figures runs[GATE_BASELINES_MAXIMUM];
    const char *labels[GATE_BASELINES_MAXIMUM]; /* what each is; NULL: its source says it */
    int count;
    struct run_figures reference; /* of the nights of a history, if it is not one of runs */
    int reference_at;             /* its place in runs; -1: it is not among them */
    const char *reference_words;  /* "run 1f2e3d4c of 2026-11-01, the first that passed"; NULL: there is none */
    struct run_figures merged;    /* of several */
    struct text words;            /* "results/monday", "the median of 3 runs (a, b, c)" */
    const char *aside;            /* what else is to be told of them; NULL: nothing */
    const char *first;            /* why this is the first night, so that there is none; NULL: it is not */
    const char *lacking;          /* why there is none although one was asked for; NULL: nothing is lacking */
};

/* What stands behind the word that begins a value of --baseline, added to *baselines. */
typedef enum status_code baseline_reader(const struct arguments *arguments, const char *word,
                                         struct gate_baselines *baselines, struct status *error);

/* Reads every --baseline for a run, and --since; docs/GATE.md has the words. Several are joined by their median.
 * STATUS_INVALID names what is wrong with a word, and STATUS_IO what cannot be read. *baselines is released by the
 * caller, also after an error. */
enum status_code gate_baselines_read(const struct arguments *arguments, const struct run_figures *run,
                                     const struct gate_options *limits, struct gate_baselines *baselines,
                                     struct status *error);

/* What the run is held against; NULL: nothing. */
const struct run_figures *gate_baselines_figures(const struct gate_baselines *baselines);

/* What stays where it is while the baseline moves; NULL: nothing, or the baseline itself. */
const struct run_figures *gate_baselines_reference(const struct gate_baselines *baselines);

void gate_baselines_release(struct gate_baselines *baselines);

#endif
