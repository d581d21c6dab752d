/* Lines of peers/placement/dispatch-*.jsonl: what a model that the real accelerate dispatched held on each device; and
 * our tape of the same map in the same figures. */
#ifndef ASSAY_TESTS_MODELS_DISPATCH_LINES_H
#define ASSAY_TESTS_MODELS_DISPATCH_LINES_H

#include "harness/base/json.h"
#include "models/skeleton/placement.h"
#include "models/workload/workload_tape.h"

enum { GPU0, GPU1, CPU, DISK, PLACES };

struct place_figures {
    int64_t end[PLACES], peak[PLACES];
};

/* Live bytes without workspaces, which no dispatcher sees, by place, at the end of a stage and at most in it; of one
 * that occurs several times the last counts. */
struct place_figures place_figures_take(const struct tape_view *view, enum stage stage);

/* A line's model in its places. All zero before; the caller releases it, also on failure. */
struct dispatch_model {
    struct config config;
    struct skeleton skeleton;
    struct placement placement;
    struct tape *tape;
};

/* The map of a line, or its offload, on sm_90; on the host where no GPU is used. */
enum status_code dispatch_model_place(const struct json *line, const struct workload *workload,
                                      struct dispatch_model *model, struct status *error);
void dispatch_model_release(struct dispatch_model *model);

/* dispatch_model({"": "disk"}): extract_submodules_state_dict looks for names that begin with "" and a dot, and finds
 * none, so that the index names no weight, and the first one that a pass wants is a KeyError. Nothing else may raise
 * one. Our tape has the weights, and wants the same one first. */
bool dispatch_fault_is_theirs(const struct json *line, const char *fault, const struct dispatch_model *model);

/* The workload of a line: its mode, attention, batch, seq and new_tokens. */
struct workload dispatch_workload(const struct json *line);

/* A figure of a line for one of GPU0, GPU1 and CPU: figures is {"cuda:0": ..., ...}. */
int64_t dispatch_bytes(const struct json *figures, int place);
const char *dispatch_device(int place); /* "cuda:0" */

#endif
