/* Overhead context: what lies beside the allocator's segments on a device, and how far "context + replayed segments" is
 * off. The segments are predicted by replay (law_points.h), not measured. The structural form, which has no segments,
 * is judged by how much of a footprint they hold beside tensors. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/law/overhead_law.h"

/* A case, and what of it is beside its segments. */
struct beside {
    const struct law_point *point;
    double bytes;
    int place, model;
    int rank; /* among those of its context, by bytes */
};

static int context_order(const struct law_point *a, const struct law_point *b)
{
    int order = strcmp(a->target, b->target);
    order = order != 0 ? order : strcmp(a->program, b->program);
    return order != 0 ? order : strcmp(a->mode, b->mode);
}

static int bytes_order(const void *left, const void *right)
{
    const struct beside *a = left, *b = right;
    int order = context_order(a->point, b->point);
    if (order != 0 || a->bytes == b->bytes) {
        return order != 0 ? order : a->place - b->place;
    }
    return a->bytes < b->bytes ? -1 : 1;
}

static int model_order(const void *left, const void *right)
{
    const struct beside *a = left, *b = right;
    return a->model != b->model ? (a->model < b->model ? -1 : 1) : a->rank - b->rank;
}

/* The cases of one context: by bytes, and by model. */
struct bench {
    struct overhead_law *law;
    const struct beside *sorted;
    struct beside *by_model;
    int count;
    int *models;     /* numbers of its models */
    double *weights; /* by model */
    double *medians, *errors, *room;
};

/* The value at a place among those that are left without some ranks, which stand in their order. */
static double value_left(const struct bench *bench, int place, const struct beside *removed, int removed_count)
{
    for (int at = 0; at < removed_count && removed[at].rank <= place; at++) {
        place++;
    }
    return bench->sorted[place].bytes;
}

/* The median without some cases; NaN: none is left. */
static double median_left(const struct bench *bench, const struct beside *removed, int removed_count)
{
    int left = bench->count - removed_count;
    return left == 0 ? NAN
                     : (value_left(bench, (left - 1) / 2, removed, removed_count) +
                        value_left(bench, left / 2, removed, removed_count)) /
                           2.0;
}

/* The value at a place if each case stands there as often as its model was drawn. */
static double value_drawn(const struct bench *bench, double place)
{
    double seen = 0.0;
    int at = 0;
    for (; at < bench->count - 1; at++) {
        seen += bench->weights[bench->sorted[at].model];
        if (seen > place) {
            break;
        }
    }
    return bench->sorted[at].bytes;
}

static double median_drawn(const struct bench *bench)
{
    double drawn = 0.0;
    for (int at = 0; at < bench->count; at++) {
        drawn += bench->weights[bench->sorted[at].model];
    }
    return (value_drawn(bench, floor((drawn - 1.0) / 2.0)) + value_drawn(bench, floor(drawn / 2.0))) / 2.0;
}

/* Predicts the cases of each model by those of the others. */
static void models_leave(struct bench *bench, struct overhead_context *context)
{
    int error_count = 0;
    for (int first = 0, end; first < bench->count; first = end) {
        for (end = first + 1; end < bench->count && bench->by_model[end].model == bench->by_model[first].model;) {
            end++;
        }
        double bytes = median_left(bench, bench->by_model + first, end - first);
        bench->models[context->model_count++] = bench->by_model[first].model;
        for (int at = first; at < end && !isnan(bytes); at++) {
            const struct beside *one = &bench->by_model[at];
            double measured = (double)one->point->footprint_bytes;
            double off = (bytes + (double)one->point->replayed_bytes - measured) / measured;
            bench->errors[error_count++] = off;
            bench->law->replayed[one->place] = off;
            if (bench->law->kinds[bench->law->kind_of_point[one->place]].counts) {
                bench->law->errors[OVERHEAD_FOOTPRINT][FORM_REPLAYED][one->place] = off;
            }
        }
    }
    context->errors = error_summary_make(bench->errors, error_count, bench->room);
}

static bool context_fill(struct bench *bench, struct overhead_context *context)
{
    uint64_t state = bench->law->seed;
    int count = bench->law->resample_count;
    struct cluster_draw draw;
    memcpy(bench->by_model, bench->sorted, (size_t)bench->count * sizeof *bench->by_model);
    for (int at = 0; at < bench->count; at++) {
        bench->by_model[at].rank = at;
    }
    qsort(bench->by_model, (size_t)bench->count, sizeof *bench->by_model, model_order);
    *context = (struct overhead_context){.target = bench->sorted->point->target,
                                         .program = bench->sorted->point->program,
                                         .mode = bench->sorted->point->mode,
                                         .case_count = bench->count,
                                         .bytes = median_left(bench, NULL, 0)};
    models_leave(bench, context);
    bool fine = cluster_draw_open(bench->law, bench->models, context->model_count, &draw);
    for (int at = 0; at < count && fine; at++) {
        cluster_draw_next(&draw, &state, bench->weights);
        bench->medians[at] = median_drawn(bench);
    }
    context->spread = interval_of(bench->medians, fine ? count : 0, count, draw.count);
    cluster_draw_close(&draw);
    return fine;
}

static int beside_collect(struct overhead_law *law, struct beside *all)
{
    int count = 0;
    for (int place = 0; place < law->points->count; place++) {
        const struct law_point *point = &law->points->all[place];
        if (point->footprint_bytes > 0 && point->replayed_bytes > 0) {
            all[count++] = (struct beside){.point = point,
                                           .bytes = (double)(point->footprint_bytes - point->replayed_bytes),
                                           .place = place,
                                           .model = law->model_of_point[place]};
        }
        law->unreplayed_count += point->footprint_bytes > 0 && point->replayed_bytes <= 0;
    }
    qsort(all, (size_t)count, sizeof *all, bytes_order);
    return count;
}

enum status_code overhead_contexts_make(struct overhead_law *law, struct status *error)
{
    size_t room = (size_t)law->points->count + 1;
    struct bench bench = {.law = law};
    struct beside *all = calloc(2 * room, sizeof *all);
    bench.models = calloc(room, sizeof *bench.models);
    bench.weights = calloc((size_t)law->model_count + 1, sizeof *bench.weights);
    bench.medians = calloc((size_t)law->resample_count + 1, sizeof *bench.medians);
    bench.errors = calloc(2 * room, sizeof *bench.errors);
    law->contexts = arena_alloc(&law->arena, room * sizeof *law->contexts);
    bool fine = all != NULL && bench.models != NULL && bench.weights != NULL && bench.medians != NULL &&
                bench.errors != NULL && law->contexts != NULL;
    int count = fine ? beside_collect(law, all) : 0;
    for (int first = 0, end; first < count && fine; first = end) {
        for (end = first + 1; end < count && context_order(all[first].point, all[end].point) == 0;) {
            end++;
        }
        bench.sorted = all + first;
        bench.by_model = all + room;
        bench.count = end - first;
        bench.room = bench.errors + room;
        fine = context_fill(&bench, &law->contexts[law->context_count++]);
    }
    free(all);
    free(bench.models);
    free(bench.weights);
    free(bench.medians);
    free(bench.errors);
    return fine ? STATUS_OK : status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for a law");
}

/* ---- what segments hold beside tensors ---- */

enum status_code overhead_held_make(const struct overhead_law *law, struct overhead_held held[HELD_COUNT],
                                    struct status *error)
{
    static const double ends[] = {-INFINITY, 0.02, 0.05, 0.10, 0.20, INFINITY};
    size_t room = (size_t)law->points->count + 1;
    double *errors = calloc(2 * room, sizeof *errors);
    for (int row = 0; row < HELD_COUNT && errors != NULL; row++) {
        int count = 0;
        for (int place = 0; place < law->points->count; place++) {
            const struct law_point *point = &law->points->all[place];
            double off = law->errors[OVERHEAD_FOOTPRINT][FORM_STRUCTURAL][place];
            double share = point->footprint_bytes > 0 ? (double)(point->replayed_bytes - point->allocated_bytes) /
                                                            (double)point->footprint_bytes
                                                      : NAN;
            if (!isnan(off) && point->replayed_bytes > 0 && share >= ends[row] && share < ends[row + 1]) {
                errors[count++] = off;
            }
        }
        held[row] = (struct overhead_held){ends[row], ends[row + 1], error_summary_make(errors, count, errors + room)};
    }
    free(errors);
    return errors != NULL ? STATUS_OK
                          : status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for a law");
}

bool overhead_goal_is_met(const struct error_summary *summary)
{
    double high = isnan(summary->p99) ? summary->worst : summary->p99;
    return summary->count > 0 && summary->median <= OVERHEAD_GOAL_MEDIAN && high <= OVERHEAD_GOAL_P99;
}
