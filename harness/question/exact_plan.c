/* Exact plan: cuts between devices, and bisection over them. What a piece is, is exact_units.c's; what a map needs,
 * placed_trial.c's. */
#include "harness/question/exact_plan.h"

#include <stdlib.h>
#include <string.h>

#include "harness/question/exact_units.h"

enum { STANDS_IN = 1 << 20 }; /* the number of a GPU without a bound, which holds what is not judged yet */

enum judgement { FITS, REFUSED, CANNOT_RUN };

struct search {
    const struct exact_request *request;
    struct exact_units units;
    struct placement_device *gpus; /* with a budget, by number */
    int gpu_count;
    int *cuts;       /* by GPU: it has the pieces from the cut before to before its own */
    bool *is_barred; /* by cut: a map that is cut there cannot run */
    int trial_count;
    struct exact_plan *plan;
    struct status refusal; /* of the last map that did not fit */
};

/* Where every piece goes. */
struct layout {
    int cut_count;    /* of the search's cuts, those that count */
    int held;         /* pieces from the last cut to before this one are on the GPU that stands in */
    int host_end;     /* from held to before this one: the host; from there on: the disk */
    int judged;       /* the one GPU whose budget counts; -1: none; of all, with the others': ALL */
    bool judges_host; /* the host's budget counts */
};

enum { JUDGES_NONE = -1, JUDGES_ALL = -2 };

static struct placement_device layout_device(const struct search *search, const struct layout *layout, int unit)
{
    for (int i = 0; i < layout->cut_count; i++) {
        if (unit < search->cuts[i]) {
            return search->gpus[i];
        }
    }
    if (unit < layout->held) {
        return (struct placement_device){PLACEMENT_GPU, STANDS_IN};
    }
    return (struct placement_device){.kind = unit < layout->host_end ? PLACEMENT_CPU : PLACEMENT_DISK};
}

static enum status_code map_make(const struct search *search, const struct layout *layout, struct arena *arena,
                                 struct device_map *map, struct status *error)
{
    const struct exact_units *units = &search->units;
    *map = (struct device_map){.entries = arena_alloc(arena, ((size_t)units->path_count + 1) * sizeof *map->entries),
                               .count = units->path_count};
    if (map->entries == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "the host has no memory for a device map");
    }
    for (int i = 0; i < units->path_count; i++) {
        map->entries[i] = (struct device_map_entry){units->paths[i], layout_device(search, layout, units->unit_of[i])};
    }
    return device_map_clean(map, arena, error);
}

/* Only the budgets that the layout judges stay. */
static void bounds_choose(const struct search *search, const struct layout *layout, struct placed_tape *placed)
{
    for (int i = 0; i < placed->place_count && layout->judged != JUDGES_ALL; i++) {
        enum placement_device_kind kind = placed->devices[i].kind;
        bool counts =
            kind == PLACEMENT_GPU
                ? layout->judged >= 0 && placement_device_equal(placed->devices[i], search->gpus[layout->judged])
                : kind == PLACEMENT_CPU && layout->judges_host;
        placed->budget_bytes[i] = counts ? placed->budget_bytes[i] : BUDGET_NONE;
    }
}

static enum status_code layout_judge(struct search *search, const struct layout *layout, enum judgement *judgement,
                                     struct status *error)
{
    struct arena arena = {0};
    struct device_map map;
    struct placed_tape placed;
    struct placed_outcome outcome;
    struct status why = {.spelling = error != NULL ? error->spelling : STATUS_SPELLING_KEYS};
    search->trial_count++;
    enum status_code code = map_make(search, layout, &arena, &map, error);
    if (code == STATUS_OK) {
        code = placed_tape_build(&search->request->question, &map, &placed, &why);
        *judgement = CANNOT_RUN;
        if (code == STATUS_OK) {
            bounds_choose(search, layout, &placed);
            code = placed_tape_predict(&placed, &outcome, error);
            placed_tape_release(&placed);
            *judgement = code == STATUS_OK && outcome.fits ? FITS : REFUSED;
            status_set(&search->refusal, STATUS_INVALID, "%s", code == STATUS_OK ? outcome.reason : "");
        } else if (code == STATUS_INVALID) {
            search->refusal = why;
            code = STATUS_OK;
        } else {
            status_copy(error, code, &why);
        }
    }
    arena_release(&arena);
    return code;
}

/* -- GPUs */

/* The middle of the cuts between two that may be tried, or low: none is left. */
static int middle_find(const struct search *search, int low, int high)
{
    int middle = low + (high - low) / 2;
    for (int below = middle; below > low; below--) {
        if (!search->is_barred[below]) {
            return below;
        }
    }
    for (int above = middle + 1; above < high; above++) {
        if (!search->is_barred[above]) {
            return above;
        }
    }
    return low;
}

/* The longest run of pieces for one GPU. The pieces behind it, up to end, are on the stand-in GPU, and the rest is
 * offloaded. */
static enum status_code cut_find(struct search *search, int gpu, int end, struct status *error)
{
    struct layout layout = {.cut_count = gpu + 1, .held = end, .host_end = search->units.unit_count, .judged = gpu};
    int low = gpu > 0 ? search->cuts[gpu - 1] : 0, high = end + 1, middle = end;
    while (high - low > 1 && middle > low) {
        enum judgement judgement = CANNOT_RUN;
        search->cuts[gpu] = middle;
        enum status_code code = layout_judge(search, &layout, &judgement, error);
        if (code != STATUS_OK) {
            return code;
        }
        search->is_barred[middle] = search->is_barred[middle] || judgement == CANNOT_RUN;
        low = judgement == FITS ? middle : low;
        high = judgement == REFUSED ? middle : high;
        middle = middle_find(search, low, high);
    }
    search->cuts[gpu] = low;
    return STATUS_OK;
}

/* How many pieces the GPUs take, if the pieces from end on are offloaded. */
static enum status_code gpus_fill(struct search *search, int end, int *taken, struct status *error)
{
    *taken = 0;
    for (int gpu = 0; gpu < search->gpu_count; gpu++) {
        enum status_code code = cut_find(search, gpu, end, error);
        if (code != STATUS_OK) {
            return code;
        }
        *taken = search->cuts[gpu];
    }
    return STATUS_OK;
}

/* -- host and disk */

/* The first piece that the disk has. The GPUs have those before `first`. */
static enum status_code host_fill(struct search *search, int first, int *end, struct status *error)
{
    const struct placement_device cpu = {.kind = PLACEMENT_CPU};
    struct layout layout = {.cut_count = search->gpu_count, .held = first, .judged = JUDGES_NONE, .judges_host = true};
    int low = first, high = search->units.unit_count + 1, middle = search->units.unit_count;
    bool has_host = placed_budget_bytes(&search->request->question, cpu) != BUDGET_NONE;
    while (has_host && high - low > 1) {
        enum judgement judgement = CANNOT_RUN;
        layout.host_end = middle;
        enum status_code code = layout_judge(search, &layout, &judgement, error);
        if (code != STATUS_OK) {
            return code;
        }
        low = judgement == FITS ? middle : low;
        high = judgement == FITS ? high : middle;
        middle = low + (high - low) / 2;
    }
    *end = low;
    return STATUS_OK;
}

/* -- the whole */

/* Confirms the plan by a replay within all budgets, and keeps it. */
static enum status_code plan_confirm(struct search *search, int gpu_end, int host_end, struct status *error)
{
    struct exact_plan *plan = search->plan;
    struct layout layout = {
        .cut_count = search->gpu_count, .held = gpu_end, .host_end = host_end, .judged = JUDGES_ALL};
    enum judgement judgement = CANNOT_RUN;
    enum status_code code = layout_judge(search, &layout, &judgement, error);
    if (code == STATUS_OK && judgement != FITS) {
        char line[STATUS_LINE_BYTES];
        return status_set(error, STATUS_INVALID, "no device map runs within these budgets: %.1500s; raise a budget",
                          status_line(&search->refusal, line));
    }
    if (code == STATUS_OK) {
        code = map_make(search, &layout, &plan->arena, &plan->map, error);
    }
    plan->unit_count = search->units.unit_count;
    plan->gpu_unit_count = gpu_end;
    plan->host_unit_count = host_end - gpu_end;
    plan->trial_count = search->trial_count;
    return code;
}

static int budget_compare(const void *a, const void *b)
{
    return placement_device_order(*(const struct placement_device *)a, *(const struct placement_device *)b);
}

static enum status_code search_make(struct search *search, struct status *error)
{
    const struct placed_question *question = &search->request->question;
    struct arena *arena = &search->plan->arena;
    enum status_code code =
        exact_units_make(question->skeleton, search->request->planner, arena, &search->units, error);
    if (code != STATUS_OK) {
        return code;
    }
    size_t budgets = (size_t)question->budget_count + 1;
    search->gpus = arena_alloc(arena, budgets * sizeof *search->gpus);
    search->cuts = arena_alloc(arena, budgets * sizeof *search->cuts);
    search->is_barred = arena_alloc(arena, (size_t)search->units.unit_count + 2);
    if (search->gpus == NULL || search->cuts == NULL || search->is_barred == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "the host has no memory for a plan");
    }
    memset(search->is_barred, 0, (size_t)search->units.unit_count + 2);
    for (int i = 0; i < question->budget_count; i++) {
        if (question->budgets[i].device.kind == PLACEMENT_GPU && question->budgets[i].bits > 0) {
            search->gpus[search->gpu_count++] = question->budgets[i].device;
        }
    }
    qsort(search->gpus, (size_t)search->gpu_count, sizeof *search->gpus, budget_compare);
    return STATUS_OK;
}

static enum status_code search_run(struct search *search, struct status *error)
{
    int end = search->units.unit_count, taken = 0, host_end = 0;
    enum status_code code = gpus_fill(search, end, &taken, error);
    while (code == STATUS_OK && taken < end) {
        end = taken;
        code = gpus_fill(search, end, &taken, error);
    }
    if (code == STATUS_OK) {
        code = host_fill(search, end, &host_end, error);
    }
    return code == STATUS_OK ? plan_confirm(search, end, host_end, error) : code;
}

enum status_code exact_plan_make(const struct exact_request *request, struct exact_plan *plan, struct status *error)
{
    struct exact_plan made = {0};
    struct search search = {.request = request, .plan = &made};
    enum status_code code = search_make(&search, error);
    if (code == STATUS_OK) {
        code = search_run(&search, error);
    }
    if (code != STATUS_OK) {
        exact_plan_release(&made);
        return code;
    }
    *plan = made;
    return STATUS_OK;
}

void exact_plan_release(struct exact_plan *plan)
{
    arena_release(&plan->arena);
    *plan = (struct exact_plan){0};
}
