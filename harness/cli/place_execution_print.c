/* What assay place prints of an execution, for people: layout alone. JSON: place_execution_json.c. */
#include <inttypes.h>
#include <string.h>

#include "harness/base/size.h"
#include "harness/cli/place_execution.h"
#include "harness/cli/place_table.h"
#include "harness/cli/placed_lines.h"
#include "models/config/family.h"

enum { PYTHON_COLUMNS = 96 };

static const struct device_map *map_of(const struct place_execution *execution)
{
    return &execution->plan.map;
}

static void heading_append(const struct place_execution *execution, struct text *text)
{
    const struct workload *workload = &execution->workload;
    text_format(text, "%s (%s) in %s, %s map, ", execution->place->model.config.name,
                execution->place->skeleton.head == HEAD_BARE ? "bare" : "with head",
                execution->place->request.width->name, execution->is_exact ? "our own" : "accelerate's");
    if (workload->mode == MODE_LOAD) {
        text_append(text, "loaded");
    } else {
        if (workload->mode == MODE_GENERATE) {
            text_format(text, "generation of %" PRId64 " tokens, batch %" PRId64, workload->new_tokens,
                        workload->batch);
        } else {
            text_format(text, "forward pass of batch %" PRId64, workload->batch);
        }
        if (!execution->place->model.config.family->is_image) {
            text_format(text, ", seq %" PRId64, workload->seq);
        }
    }
    text_format(text, ", as on %s\n", execution->request.question.target->name);
    text_append(text, !execution->runs                           ? "predicted by a replay; --run carries it out\n"
                      : execution->site.ground == PLACED_ON_HOST ? "carried out: the host stands for the GPUs\n"
                                                                 : "carried out on the GPUs of this machine\n");
}

/* -- devices */

/* A GPU of the budgets that the map leaves empty. */
static void empty_append(const struct place_execution *execution, int columns, struct text *text)
{
    for (int i = 0; i < execution->request.question.budget_count; i++) {
        const struct placement_budget *budget = &execution->request.question.budgets[i];
        char name[DEVICE_TEXT_BYTES], size[SIZE_TEXT_BYTES];
        if (budget->device.kind == PLACEMENT_GPU &&
            placed_tape_place(&execution->plan.main.placed, budget->device) < 0) {
            text_format(text, "%-6s %11s %11s %11s %11s%snothing\n", placement_device_name(budget->device, name),
                        size_format(bits_to_bytes(budget->bits), size), "-", "-", "-",
                        place_modules_separator(columns));
        }
    }
}

static void devices_append(const struct place_execution *execution, int columns, struct text *text)
{
    const struct placed_trial *trial = &execution->plan.main;
    const char *separator = place_modules_separator(columns);
    text_format(text, "\n%-6s %11s %11s %11s %11s%smodules\n", "device", "budget", "placed", "needs", "left",
                separator);
    for (int i = 0; i < trial->placed.place_count; i++) {
        char name[DEVICE_TEXT_BYTES], budget[SIZE_TEXT_BYTES], placed[SIZE_TEXT_BYTES], need[SIZE_TEXT_BYTES],
            left[SIZE_TEXT_BYTES + 1];
        struct placement_device device = trial->placed.devices[i];
        text_format(text, "%-6s %11s %11s %11s %11s%s", placement_device_name(device, name),
                    size_or_dash(trial->placed.budget_bytes[i], budget),
                    size_format(trial->placed.placed_bytes[i], placed), size_or_dash(trial->need_bytes[i], need),
                    placed_left_format(trial->placed.budget_bytes[i], trial->need_bytes[i], left), separator);
        place_modules_append(map_of(execution), device, text);
        text_append(text, "\n");
    }
    empty_append(execution, columns, text);
}

/* -- stages */

/* As wide as the longest name. */
static int stage_columns(const struct place_execution *execution)
{
    return execution->workload.mode == MODE_GENERATE ? 8 : 7;
}

static void stage_append(const struct place_execution *execution, int place, enum stage stage, struct text *text)
{
    const struct placed_trial *trial = &execution->plan.main;
    const struct replay_stage *predicted = placed_stage(&trial->predicted, place, stage);
    const struct replay_stage *measured = execution->runs ? placed_stage(&trial->measured, place, stage) : NULL;
    char name[DEVICE_TEXT_BYTES];
    bool is_same =
        predicted != NULL && measured != NULL ? placed_peaks_equal(predicted, measured) : predicted == measured;
    text_format(text, "%-6s %-*s", placement_device_name(trial->placed.devices[place], name), stage_columns(execution),
                stage_name(stage));
    if (predicted != NULL) {
        placed_peaks_append(predicted, text);
    } else {
        text_format(text, "%36s", "did not end");
    }
    text_append(text, !execution->runs ? "\n" : is_same ? "  the same\n" : "  differs:\n");
    if (execution->runs && !is_same) {
        text_format(text, "%14s", "measured");
        if (measured != NULL) {
            placed_peaks_append(measured, text);
        }
        text_append(text, measured != NULL ? "\n" : "  did not end\n");
    }
}

static void stages_append(const struct place_execution *execution, struct text *text)
{
    static const enum stage stages[] = {STAGE_LOAD, STAGE_FORWARD, STAGE_GENERATE};
    int count = execution->workload.mode == MODE_LOAD ? 1 : execution->workload.mode == MODE_GENERATE ? 3 : 2;
    text_format(text, "\nPeaks, predicted\n%-6s %-*s", "device", stage_columns(execution), "stage");
    placed_peaks_head(execution->runs, text);
    for (int i = 0; i < execution->plan.main.placed.place_count; i++) {
        for (int k = 0; k < count; k++) {
            stage_append(execution, i, stages[k], text);
        }
    }
}

/* -- what was kept free, copied, refused */

static void kept_append(const struct place_execution *execution, const struct placed_trial *trial, struct text *text)
{
    for (int i = 0; i < execution->plan.accelerate.share_count && execution->plan.has_accelerate; i++) {
        const struct placement_share *share = &execution->plan.accelerate.shares[i];
        int64_t needed_bytes = placed_kept_needed(trial, share), kept_bytes = bits_to_bytes(share->reserved_bits);
        char name[DEVICE_TEXT_BYTES], kept[SIZE_TEXT_BYTES], needed[SIZE_TEXT_BYTES];
        if (needed_bytes >= 0) {
            text_format(text, "accelerate kept %s free on %s for its largest layer; %s%s were needed\n",
                        size_format(kept_bytes, kept), placement_device_name(share->device, name),
                        size_format(needed_bytes, needed), needed_bytes > kept_bytes ? "" : " of it");
        }
    }
}

static void verdict_append(const struct place_execution *execution, struct text *text)
{
    const struct placed_trial *trial = &execution->plan.main;
    bool agrees = place_trial_agrees(execution);
    if (trial->predicted.fits && (!execution->runs || trial->measured.fits)) {
        text_format(text, "fits: %s within the budgets%s\n", execution->runs ? "it ran" : "it would run",
                    execution->runs && agrees ? ", with the predicted bytes" : "");
        return;
    }
    if (!trial->predicted.fits && !(execution->runs && agrees)) {
        text_append(text, execution->runs ? "predicted: " : "");
        placed_refusal_append(&trial->placed, &trial->predicted, text);
    }
    if (execution->runs && !trial->measured.fits) {
        text_append(text, agrees ? "as predicted, " : "measured: ");
        placed_refusal_append(&trial->placed, &trial->measured, text);
    }
}

static void folder_append(const struct place_execution *execution, struct text *text)
{
    const struct offload_totals *totals = &execution->site.offloaded;
    char written[SIZE_TEXT_BYTES];
    if (totals->written_count + totals->kept_count > 0) {
        text_format(text, "%s: %d tensors written, %s; %d were there already\n", execution->site.lanes.folder,
                    totals->written_count, size_format(totals->written_bytes, written), totals->kept_count);
    }
}

/* -- accelerate's map beside ours */

static int64_t gpu_bytes(const struct placed_trial *trial)
{
    int64_t bytes = 0;
    for (int i = 0; i < trial->placed.place_count; i++) {
        bytes += trial->placed.devices[i].kind == PLACEMENT_GPU ? trial->placed.placed_bytes[i] : 0;
    }
    return bytes;
}

static void other_append(const struct place_execution *execution, struct text *text)
{
    const struct placed_trial *other = &execution->plan.other;
    char ours[SIZE_TEXT_BYTES], theirs[SIZE_TEXT_BYTES];
    text_append(text, "\nBeside it, accelerate's map\n");
    if (!execution->plan.has_accelerate || !other->is_built) {
        text_format(text, "there is none that runs: %s\n",
                    execution->plan.has_accelerate ? other->why : execution->plan.raised);
        return;
    }
    text_format(text, "on GPUs: %s in ours, %s in accelerate's\n", size_format(gpu_bytes(&execution->plan.main), ours),
                size_format(gpu_bytes(other), theirs));
    for (int i = 0; i < other->placed.place_count; i++) {
        char name[DEVICE_TEXT_BYTES], placed[SIZE_TEXT_BYTES], need[SIZE_TEXT_BYTES];
        text_format(text, "%s: %s placed, needs %s: ", placement_device_name(other->placed.devices[i], name),
                    size_format(other->placed.placed_bytes[i], placed), size_or_dash(other->need_bytes[i], need));
        place_modules_append(&execution->plan.accelerate.map, other->placed.devices[i], text);
        text_append(text, "\n");
    }
    kept_append(execution, other, text);
    if (other->predicted.fits) {
        text_append(text, "it would run within the budgets\n");
    } else {
        text_append(text, "it would run ");
        placed_refusal_append(&other->placed, &other->predicted, text);
    }
}

void place_execution_lines(const struct place_execution *execution, int columns, struct text *text)
{
    heading_append(execution, text);
    devices_append(execution, columns, text);
    stages_append(execution, text);
    text_append(text, "\n");
    if (!execution->is_exact) {
        kept_append(execution, &execution->plan.main, text);
    }
    const struct placed_trial *trial = &execution->plan.main;
    placed_copies_append(&trial->placed, execution->runs ? &trial->measured.result : &trial->predicted.result,
                         execution->workload.mode == MODE_LOAD ? "copied between devices:"
                         : execution->workload.mode == MODE_GENERATE
                             ? "copied between devices by the load and a generation:"
                             : "copied between devices by the load and two passes:",
                         text);
    verdict_append(execution, text);
    folder_append(execution, text);
    if (execution->is_exact) {
        other_append(execution, text);
    }
    text_append(text, "\n");
    place_python_append(map_of(execution), columns < PYTHON_COLUMNS ? columns : PYTHON_COLUMNS, text);
}
