/* Overhead law: which cases belong together, and how errors are summed up. The fits are made in overhead_structural.c
 * and overhead_simple.c. */
#include "harness/law/overhead_law.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *overhead_form_key(enum overhead_form form)
{
    static const char *const keys[] = {
#define OVERHEAD_FORM_KEY(name, key, words) key,
        OVERHEAD_FORM_TABLE(OVERHEAD_FORM_KEY)
#undef OVERHEAD_FORM_KEY
    };
    return keys[form];
}

const char *overhead_form_words(enum overhead_form form)
{
    static const char *const texts[] = {
#define OVERHEAD_FORM_WORDS(name, key, words) words,
        OVERHEAD_FORM_TABLE(OVERHEAD_FORM_WORDS)
#undef OVERHEAD_FORM_WORDS
    };
    return texts[form];
}

const char *overhead_level_name(enum overhead_level level)
{
    return level == OVERHEAD_ALLOCATED ? "allocated" : "footprint";
}

/* ---- kinds ---- */

static int kind_order(const struct law_point *a, const struct law_point *b)
{
    int order = strcmp(a->kind, b->kind);
    order = order != 0 ? order : strcmp(a->target, b->target);
    return order != 0 ? order : strcmp(a->program, b->program);
}

/* A point and its place. */
struct placed_point {
    const struct law_point *point;
    int place;
};

static int placed_order(const void *left, const void *right)
{
    const struct placed_point *a = left, *b = right;
    int order = kind_order(a->point, b->point);
    order = order != 0 ? order : strcmp(a->point->model, b->point->model);
    return order != 0 ? order : a->place - b->place;
}

static void range_add(struct overhead_group *kind, const struct law_point *point, bool is_first)
{
#define RANGE_ADD(member, heading)                                                                                     \
    kind->low.member = is_first || point->member < kind->low.member ? point->member : kind->low.member;                \
    kind->high.member = is_first || point->member > kind->high.member ? point->member : kind->high.member;
    LAW_POINT_NUMBERS(RANGE_ADD)
#undef RANGE_ADD
}

static void kind_fill(struct overhead_law *law, struct overhead_group *kind, const struct placed_point *begin,
                      int count)
{
    kind->kind = begin->point->kind;
    kind->target = begin->point->target;
    kind->program = begin->point->program;
    for (int at = 0; at < count; at++) {
        int place = begin[at].place, model = law->model_of_point[place];
        kind->points[at] = place;
        law->kind_of_point[place] = (int)(kind - law->kinds);
        if (kind->model_count == 0 || kind->models[kind->model_count - 1] != model) {
            kind->models[kind->model_count++] = model;
        }
        range_add(kind, begin[at].point, at == 0);
    }
    kind->point_count = count;
    kind->has_terms = law_point_has_terms(begin->point);
    kind->counts = kind->has_terms && kind->model_count >= MODELS_MINIMUM;
    law->counted_kind_count += kind->counts;
    law->counted_point_count += kind->counts ? count : 0;
}

static bool kinds_find(struct overhead_law *law, struct placed_point *placed)
{
    int count = law->points->count;
    qsort(placed, (size_t)count, sizeof *placed, placed_order);
    int *places = arena_alloc(&law->arena, (size_t)count * sizeof *places);
    int *models = arena_alloc(&law->arena, (size_t)count * sizeof *models);
    law->kinds = arena_alloc(&law->arena, (size_t)count * sizeof *law->kinds);
    if (places == NULL || models == NULL || law->kinds == NULL) {
        return false;
    }
    for (int first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && kind_order(placed[first].point, placed[end].point) == 0;) {
            end++;
        }
        struct overhead_group *kind = &law->kinds[law->kind_count++];
        kind->points = places + first;
        kind->models = models + first;
        kind_fill(law, kind, placed + first, end - first);
    }
    return true;
}

/* Models of suites have the same sizes in each kind, and are one cluster then. One whose sizes are not known is one of
 * its own. */
static bool clusters_find(struct overhead_law *law)
{
    struct name_table names = {0};
    bool fine = (law->cluster_of_model =
                     arena_alloc(&law->arena, ((size_t)law->model_count + 1) * sizeof *law->cluster_of_model)) != NULL;
    for (int at = 0; fine && at < law->points->count; at++) {
        const struct law_point *point = &law->points->all[at];
        struct text name = {0};
        if (point->hidden > 0) {
            text_format(&name, "%" PRId64 " wide, %" PRId64 " heads, %" PRId64 " layers, %" PRId64 " words",
                        point->hidden, point->heads, point->layers, point->vocab);
        } else {
            text_append(&name, point->model);
        }
        int cluster = name.failed ? -1 : name_table_add(&names, &law->arena, text_string(&name));
        law->cluster_of_model[law->model_of_point[at]] = cluster;
        fine = cluster >= 0;
        text_release(&name);
    }
    law->cluster_count = (int)names.count;
    name_table_release(&names);
    return fine;
}

static bool law_open(struct overhead_law *law)
{
    int count = law->points->count;
    size_t room = (size_t)(count > 0 ? count : 1);
    struct name_table names = {0};
    struct placed_point *placed = calloc(room, sizeof *placed);
    law->model_of_point = arena_alloc(&law->arena, room * sizeof *law->model_of_point);
    law->kind_of_point = arena_alloc(&law->arena, room * sizeof *law->kind_of_point);
    bool fine = placed != NULL && law->model_of_point != NULL && law->kind_of_point != NULL;
    for (int at = 0; fine && at < count; at++) {
        law->model_of_point[at] = name_table_add(&names, &law->arena, law->points->all[at].model);
        placed[at] = (struct placed_point){&law->points->all[at], at};
        fine = law->model_of_point[at] >= 0;
    }
    law->model_count = (int)names.count;
    fine = fine && clusters_find(law) && kinds_find(law, placed);
    law->borrowed = fine ? arena_alloc(&law->arena, room * sizeof *law->borrowed) : NULL;
    law->replayed = fine ? arena_alloc(&law->arena, room * sizeof *law->replayed) : NULL;
    fine = fine && law->borrowed != NULL && law->replayed != NULL;
    for (int at = 0; fine && at < count; at++) {
        law->borrowed[at] = law->replayed[at] = NAN;
    }
    for (int level = 0; level < OVERHEAD_LEVEL_COUNT; level++) {
        for (int form = 0; form < FORM_COUNT; form++) {
            law->errors[level][form] = fine ? arena_alloc(&law->arena, room * sizeof(double)) : NULL;
            fine = fine && law->errors[level][form] != NULL;
            for (int at = 0; fine && at < count; at++) {
                law->errors[level][form][at] = NAN;
            }
        }
    }
    name_table_release(&names);
    free(placed);
    return fine;
}

static bool counted_models_count(struct overhead_law *law)
{
    int model_count = law->model_count;
    bool *seen = calloc((size_t)(model_count + law->cluster_count) + 1, sizeof *seen);
    for (int at = 0; seen != NULL && at < law->points->count; at++) {
        int model = law->model_of_point[at], cluster = model_count + law->cluster_of_model[model];
        if (law->kinds[law->kind_of_point[at]].counts) {
            law->counted_model_count += !seen[model];
            law->counted_cluster_count += !seen[cluster];
            seen[model] = seen[cluster] = true;
        }
    }
    free(seen);
    return seen != NULL;
}

/* Forms are compared over the same points: where the structural one has no error, no other has. */
static void forms_even(struct overhead_law *law)
{
    for (int at = 0; at < law->points->count; at++) {
        bool is_untold = isnan(law->errors[OVERHEAD_ALLOCATED][FORM_STRUCTURAL][at]);
        for (int cell = 0; is_untold && cell < OVERHEAD_LEVEL_COUNT * FORM_COUNT; cell++) {
            law->errors[cell / FORM_COUNT][cell % FORM_COUNT][at] = NAN;
        }
    }
}

/* own, room: as many as points. */
static void beside_summarize(struct overhead_law *law, double *own, double *room)
{
    for (int form = 0; form < FORM_COUNT; form++) {
        for (int at = 0; at < law->points->count; at++) {
            const struct law_point *point = &law->points->all[at];
            double peak = (double)point->allocated_bytes, beside = peak - (double)point->weights_bytes;
            own[at] = beside > 0.0 ? law->errors[OVERHEAD_ALLOCATED][form][at] * peak / beside : NAN;
        }
        law->beside[form] = error_summary_make(own, law->points->count, room);
    }
}

static enum status_code summaries_make(struct overhead_law *law, struct status *error)
{
    int count = law->points->count;
    double *room = calloc((size_t)count + 1, sizeof *room), *own = calloc((size_t)count + 1, sizeof *own);
    forms_even(law);
    for (int level = 0; room != NULL && own != NULL && level < OVERHEAD_LEVEL_COUNT; level++) {
        for (int form = 0; form < FORM_COUNT; form++) {
            law->summary[level][form] = error_summary_make(law->errors[level][form], count, room);
        }
        for (int at = 0; at < law->kind_count; at++) {
            struct overhead_group *kind = &law->kinds[at];
            for (int i = 0; i < kind->point_count; i++) {
                own[i] = law->errors[level][FORM_STRUCTURAL][kind->points[i]];
            }
            kind->errors[level] = error_summary_make(own, kind->point_count, room);
            for (int i = 0; i < kind->point_count; i++) {
                own[i] = law->replayed[kind->points[i]];
            }
            kind->replayed = error_summary_make(own, kind->point_count, room);
        }
    }
    if (room != NULL && own != NULL) {
        beside_summarize(law, own, room);
    }
    free(room);
    free(own);
    return room != NULL && own != NULL
               ? STATUS_OK
               : status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for a law");
}

static enum status_code law_check(const struct overhead_law *law, struct status *error)
{
    if (law->counted_kind_count > 0) {
        return STATUS_OK;
    }
    struct text text = {0};
    law_points_append(&text, law->points);
    status_set(error, STATUS_INVALID,
               "no kind of model has %d models of its own, one of which can be left out; run suites/overhead-law.yaml "
               "(%s)",
               MODELS_MINIMUM, text_string(&text));
    text_release(&text);
    return STATUS_INVALID;
}

enum status_code overhead_law_make(const struct law_points *points, const struct overhead_law_request *request,
                                   struct overhead_law **law, struct status *error)
{
    struct least_squares_solver solver;
    struct overhead_law *made = calloc(1, sizeof *made);
    enum status_code code = STATUS_OK;
    if (made == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for a law");
    }
    made->points = points;
    made->seed = request->seed;
    made->resample_count = request->resample_count;
    if (!law_open(made) || !counted_models_count(made)) {
        code = status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for a law");
    }
    code = code == STATUS_OK ? law_check(made, error) : code;
    code = code == STATUS_OK ? least_squares_open(&solver, error) : code;
    code = code == STATUS_OK ? overhead_structural_make(made, &solver, error) : code;
    code = code == STATUS_OK ? overhead_borrow(made, &solver, error) : code;
    for (int level = 0; level < OVERHEAD_LEVEL_COUNT && code == STATUS_OK; level++) {
        code = overhead_simple_make(made, &solver, (enum overhead_level)level, error);
    }
    code = code == STATUS_OK ? overhead_contexts_make(made, error) : code;
    code = code == STATUS_OK ? summaries_make(made, error) : code;
    if (code == STATUS_OK) {
        *law = made;
    } else {
        overhead_law_release(made);
    }
    return code;
}

void overhead_law_release(struct overhead_law *law)
{
    if (law != NULL) {
        arena_release(&law->arena);
        free(law);
    }
}
