/* Overhead law: kinds and their fits, and the two forms over all kinds. What they are worth is in overhead_tests.c. */
#include "harness/law/overhead_law.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MEBIBYTE 1048576.0
#define RULE     1.2

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

const struct overhead_term_words *overhead_affine_words(int term)
{
    static const struct overhead_term_words rows[AFFINE_COUNT] = {
        {"mib", "m", "MiB", "a constant"},
        {"weights", "w", "weights", "parameters and buffers after loading"},
        {"tokens_hidden", "h", "N H e", "the residual stream of all tokens"},
    };
    return &rows[term];
}

/* What is needed while a law is made. */
struct bench {
    struct overhead_law *law;
    int *models; /* by point: its number */
    int model_count;
    double *room; /* as many as points */
};

static enum status_code no_memory(struct status *error)
{
    return status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for a law");
}

/* The interval over one more fit. */
static void interval_widen(struct interval *interval, bool is_identified, double value, bool is_first)
{
    interval->is_known = is_identified && (is_first || interval->is_known);
    interval->low = is_first ? value : fmin(interval->low, value);
    interval->high = is_first ? value : fmax(interval->high, value);
}

/* ---- kinds ---- */

static void models_number(struct bench *bench)
{
    const struct law_points *points = bench->law->points;
    for (int at = 0; at < points->count; at++) {
        int same = 0;
        while (same < at && points->all[same].model != points->all[at].model) { /* words are kept once */
            same++;
        }
        bench->models[at] = same < at ? bench->models[same] : bench->model_count++;
    }
}

static int word_order(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Replay's, each once. */
static bool is_fitted(const struct law_point *point)
{
    return !law_point_is_test(point) && !point->is_repeat;
}

/* The kinds of replay's points, by name, each once. Returns how many. */
static int kind_words(const struct law_points *points, const char **words)
{
    int count = 0, kept = 0;
    for (int at = 0; at < points->count; at++) {
        if (is_fitted(&points->all[at])) {
            words[count++] = points->all[at].kind;
        }
    }
    qsort(words, (size_t)count, sizeof *words, word_order);
    for (int at = 0; at < count; at++) {
        if (kept == 0 || strcmp(words[kept - 1], words[at]) != 0) {
            words[kept++] = words[at];
        }
    }
    return kept;
}

static void range_widen(struct law_kind *kind, const struct law_point *point)
{
    bool is_first = kind->case_count == 0;
    int64_t tokens = law_point_tokens(point);
#define RANGE_WIDEN(member, heading)                                                                                   \
    kind->low.member = is_first || point->member < kind->low.member ? point->member : kind->low.member;                \
    kind->high.member = is_first || point->member > kind->high.member ? point->member : kind->high.member;
    LAW_POINT_SIZES(RANGE_WIDEN)
#undef RANGE_WIDEN
    kind->tokens_low = is_first || tokens < kind->tokens_low ? tokens : kind->tokens_low;
    kind->tokens_high = is_first || tokens > kind->tokens_high ? tokens : kind->tokens_high;
}

static bool has_model(const struct bench *bench, const struct law_kind *kind, int model)
{
    int at = 0;
    while (at < kind->case_count && bench->models[kind->points[at]] != model) {
        at++;
    }
    return at < kind->case_count;
}

/* False: no memory. */
static bool kind_fill(const struct bench *bench, struct law_kind *kind)
{
    struct overhead_law *law = bench->law;
    kind->points = arena_alloc(&law->arena, ((size_t)law->points->count + 1) * sizeof *kind->points);
    for (int at = 0; at < law->points->count && kind->points != NULL; at++) {
        const struct law_point *point = &law->points->all[at];
        if (is_fitted(point) && strcmp(point->kind, kind->kind) == 0) {
            kind->model_count += !has_model(bench, kind, bench->models[at]);
            range_widen(kind, point);
            kind->points[kind->case_count++] = at;
        }
    }
    return kind->points != NULL;
}

static enum status_code kinds_find(const struct bench *bench, struct status *error)
{
    struct overhead_law *law = bench->law;
    const char **words = calloc((size_t)law->points->count + 1, sizeof *words);
    int count = words == NULL ? -1 : kind_words(law->points, words);
    law->kinds = count < 0 ? NULL : arena_alloc(&law->arena, ((size_t)count + 1) * sizeof *law->kinds);
    enum status_code code = law->kinds != NULL ? STATUS_OK : no_memory(error);
    for (int at = 0; at < count && code == STATUS_OK; at++) {
        struct law_kind kind = {.kind = words[at]};
        code = kind_fill(bench, &kind) ? STATUS_OK : no_memory(error);
        if (kind.model_count >= MODELS_MINIMUM) {
            law->kinds[law->kind_count++] = kind;
            law->model_count += kind.model_count;
            law->case_count += kind.case_count;
        } else {
            law->unfit_count += kind.case_count;
        }
    }
    free(words);
    if (code == STATUS_OK && law->kind_count == 0) {
        code =
            status_set(error, STATUS_INVALID,
                       "no kind of model has %d models of a host among %d cases, and a law is fitted to these alone; "
                       "add results/laws/host-points.tsv",
                       MODELS_MINIMUM, law->points->count);
    }
    return code;
}

/* ---- the structural form ---- */

static double error_of(const struct law_point *point, double predicted)
{
    return (predicted - (double)point->allocated_bytes) / (double)point->allocated_bytes;
}

static enum status_code kind_leave_out(const struct bench *bench, struct law_kind *kind,
                                       const struct structural_fit *whole, int model, bool is_first,
                                       struct status *error)
{
    struct overhead_law *law = bench->law;
    struct structural_fit fit;
    enum status_code code = structural_fit_make(law->points, kind, bench->models, model, &fit, error);
    for (int term = 0; term < TERM_COUNT && code == STATUS_OK; term++) {
        interval_widen(&kind->terms[term].interval, fit.solution.is_identified[term], fit.coefficients[term], is_first);
    }
    for (int at = 0; at < kind->case_count && code == STATUS_OK; at++) {
        const struct law_point *point = &law->points->all[kind->points[at]];
        if (bench->models[kind->points[at]] == model) {
            law->errors[FORM_STRUCTURAL][kind->points[at]] = error_of(point, structural_predict(point, &fit, whole));
        }
    }
    return code;
}

/* How the kind does on GPUs, by the fit to all of replay. */
static void kind_test(const struct bench *bench, struct law_kind *kind, const struct structural_fit *fit)
{
    struct overhead_law *law = bench->law;
    double *found = bench->room + law->points->count;
    int count = 0;
    for (int at = 0; at < law->points->count; at++) {
        const struct law_point *point = &law->points->all[at];
        if (law_point_is_test(point) && strcmp(point->kind, kind->kind) == 0) {
            law->errors[FORM_STRUCTURAL][at] = error_of(point, structural_predict(point, fit, fit));
            found[count] = law->errors[FORM_STRUCTURAL][at];
            count += !point->is_repeat;
        }
    }
    kind->tested = error_summary_make(found, count, bench->room);
}

static enum status_code kind_make(const struct bench *bench, struct law_kind *kind, struct status *error)
{
    struct overhead_law *law = bench->law;
    struct structural_fit fit;
    double *found = bench->room + law->points->count;
    int left_out = 0;
    enum status_code code = structural_fit_make(law->points, kind, bench->models, -1, &fit, error);
    for (int model = 0; model < bench->model_count && code == STATUS_OK; model++) {
        if (has_model(bench, kind, model)) {
            code = kind_leave_out(bench, kind, &fit, model, left_out++ == 0, error);
        }
    }
    if (code != STATUS_OK) {
        return code;
    }
    kind->condition = fit.solution.condition;
    kind->rounding_bytes = fit.rounding_bytes;
    for (int term = 0; term < TERM_COUNT; term++) {
        struct overhead_coefficient *one = &kind->terms[term];
        one->value = fit.coefficients[term];
        one->is_seen = fit.solution.is_seen[term];
        one->is_identified = fit.solution.is_identified[term];
        one->interval.is_known = one->interval.is_known && one->is_identified;
    }
    for (int at = 0; at < kind->case_count; at++) {
        found[at] = law->errors[FORM_STRUCTURAL][kind->points[at]];
        law->untold_count += isnan(found[at]) ? 1 : 0;
    }
    kind->left_out = error_summary_make(found, kind->case_count, bench->room);
    kind_test(bench, kind, &fit);
    return STATUS_OK;
}

/* ---- the forms over all kinds ---- */

/* What the coefficients are multiplied with. */
static int simple_row(const struct law_point *point, enum overhead_form form, double row[AFFINE_COUNT])
{
    double weights = (double)point->weights_bytes;
    if (form == FORM_CONSTANT) {
        row[0] = weights;
        return 1;
    }
    row[0] = MEBIBYTE;
    row[1] = weights;
    row[2] = (double)law_point_tokens(point) * (double)point->hidden * law_element_bytes(point->precision);
    return AFFINE_COUNT;
}

static double simple_predict(const struct law_point *point, enum overhead_form form, const double *values)
{
    double row[AFFINE_COUNT], sum = overhead_workspace_bytes(point->target);
    int count = simple_row(point, form, row);
    for (int at = 0; at < count; at++) {
        sum += values[at] * row[at];
    }
    return sum;
}

/* The rows of each model, by its number. */
static void simple_sums(const struct bench *bench, enum overhead_form form, struct least_squares *sums)
{
    const struct overhead_law *law = bench->law;
    double row[AFFINE_COUNT];
    for (int model = 0; model < bench->model_count; model++) {
        sums[model] = (struct least_squares){.columns = form == FORM_CONSTANT ? 1 : AFFINE_COUNT};
    }
    for (int each = 0; each < law->kind_count; each++) {
        for (int at = 0; at < law->kinds[each].case_count; at++) {
            int place = law->kinds[each].points[at];
            const struct law_point *point = &law->points->all[place];
            int count = simple_row(point, form, row);
            for (int column = 0; column < count; column++) {
                row[column] /= (double)point->allocated_bytes;
            }
            least_squares_row_add(&sums[bench->models[place]], row, 1.0);
        }
    }
}

static void simple_solve(const struct bench *bench, const struct least_squares *sums, int without,
                         struct least_squares_solution *solution)
{
    struct least_squares all = {.columns = sums[0].columns};
    for (int model = 0; model < bench->model_count; model++) {
        if (model != without) {
            least_squares_add(&all, &sums[model]);
        }
    }
    least_squares_solve(&all, solution);
}

static void simple_make(const struct bench *bench, enum overhead_form form, struct least_squares *sums)
{
    struct overhead_law *law = bench->law;
    struct overhead_simple *simple = &law->simple[form - FORM_CONSTANT];
    struct least_squares_solution all, solution;
    bool is_first = true;
    simple_sums(bench, form, sums);
    simple_solve(bench, sums, -1, &all);
    for (int model = 0; model < bench->model_count; model++) {
        if (sums[model].products[0][0] == 0.0) {
            continue; /* of a GPU alone, or of a kind with too few models */
        }
        simple_solve(bench, sums, model, &solution);
        for (int at = 0; at < sums[0].columns; at++) {
            interval_widen(&simple->terms[at].interval, solution.is_identified[at], solution.values[at], is_first);
        }
        is_first = false;
        for (int at = 0; at < law->points->count; at++) {
            if (bench->models[at] == model && !law_point_is_test(&law->points->all[at])) {
                law->errors[form][at] =
                    error_of(&law->points->all[at], simple_predict(&law->points->all[at], form, solution.values));
            }
        }
    }
    for (int at = 0; at < sums[0].columns; at++) {
        simple->terms[at].value = all.values[at];
        simple->terms[at].is_seen = all.is_seen[at];
        simple->terms[at].is_identified = all.is_identified[at];
    }
    simple->condition = all.condition;
    for (int at = 0; at < law->points->count; at++) {
        if (law_point_is_test(&law->points->all[at])) {
            law->errors[form][at] =
                error_of(&law->points->all[at], simple_predict(&law->points->all[at], form, all.values));
        }
    }
}

/* ---- all of it ---- */

static bool errors_make(struct overhead_law *law)
{
    bool made = true;
    for (int form = 0; form < FORM_COUNT && made; form++) {
        law->errors[form] = arena_alloc(&law->arena, ((size_t)law->points->count + 1) * sizeof(double));
        made = law->errors[form] != NULL;
        for (int at = 0; at < law->points->count && made; at++) {
            const struct law_point *point = &law->points->all[at];
            law->errors[form][at] = form == FORM_RULE ? error_of(point, RULE * (double)point->weights_bytes) : NAN;
        }
    }
    return made;
}

static enum status_code law_fill(struct bench *bench, struct status *error)
{
    struct overhead_law *law = bench->law;
    enum status_code code = errors_make(law) ? STATUS_OK : no_memory(error);
    models_number(bench);
    code = code == STATUS_OK ? kinds_find(bench, error) : code;
    for (int at = 0; at < law->kind_count && code == STATUS_OK; at++) {
        code = kind_make(bench, &law->kinds[at], error);
    }
    struct least_squares *sums = calloc((size_t)bench->model_count + 1, sizeof *sums);
    code = code == STATUS_OK && sums == NULL ? no_memory(error) : code;
    if (code == STATUS_OK) {
        simple_make(bench, FORM_CONSTANT, sums);
        simple_make(bench, FORM_AFFINE, sums);
        code = overhead_tests_make(law, bench->room, error);
    }
    free(sums);
    return code;
}

enum status_code overhead_law_make(const struct law_points *points, struct overhead_law **law, struct status *error)
{
    struct bench bench = {.law = calloc(1, sizeof **law),
                          .models = calloc((size_t)points->count + 1, sizeof *bench.models),
                          .room = calloc(2 * (size_t)points->count + 2, sizeof *bench.room)};
    enum status_code code = STATUS_OK;
    if (bench.law == NULL || bench.models == NULL || bench.room == NULL) {
        code = no_memory(error);
    } else {
        bench.law->points = points;
        code = law_fill(&bench, error);
    }
    free(bench.models);
    free(bench.room);
    if (code != STATUS_OK) {
        overhead_law_release(bench.law);
        return code;
    }
    *law = bench.law;
    return STATUS_OK;
}

void overhead_law_release(struct overhead_law *law)
{
    if (law != NULL) {
        arena_release(&law->arena);
        free(law);
    }
}
