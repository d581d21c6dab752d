/* Lines of peers/pytorch/shadow-*.jsonl, and a tape in the same figures: what real PyTorch held, case by case. */
#ifndef ASSAY_TESTS_MODELS_SHADOW_LINES_H
#define ASSAY_TESTS_MODELS_SHADOW_LINES_H

#include "harness/base/json.h"
#include "harness/case/workload.h"
#include "harness/tape/tape.h"

/* Live requested bytes without workspaces, scratch and tensors made of numbers, which the shadow cannot see; of a stage
 * that occurs several times the last counts. */
struct stage_figures {
    int64_t end[STAGE_COUNT], peak[STAGE_COUNT];
    bool present[STAGE_COUNT];
    int64_t workspace_bytes;
};

void stage_figures_take(const struct tape_view *view, struct stage_figures *figures);

/* "" where the line has no such text. */
const char *shadow_text(const struct json *line, const char *key);

/* The model of a line by the name that assay finds it by; the line's own name if both call it the same. */
const char *shadow_model(const struct json *line);

/* The workload that a line says; fields that it leaves out, or that are null, have the default of its mode. seq is 0
 * for images. STATUS_INVALID where a field has no such value. */
enum status_code shadow_workload_read(const struct json *line, struct workload *workload, struct status *error);

/* The same; fails the test where it is invalid. */
struct workload shadow_workload(const struct json *line);

/* Calls check for each line of a file, and gives how often it answered that the line was checked. A file that cannot be
 * read fails the test. */
int shadow_lines_each(const char *path, bool (*check)(const struct json *line));

#endif
