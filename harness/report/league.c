/* League: errors of every estimator on every case that counts, and the scopes they are ranked in. Ranking itself is in
 * league_rank.c, what is told of it in league_page.c. */
#include "harness/report/league.h"
#include "harness/record/quantity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/report/league_view.h"
#include "harness/report/placed_view.h"
#include "harness/report/provenance.h"

static enum status_code memory_error(struct status *error)
{
    return status_set(error, STATUS_OUT_OF_MEMORY, "no memory for a league of the estimators");
}

/* What stands for an estimator in a case; NULL: it has no figure. */
static const struct comparison *comparison_choose(const struct case_view *view, const char *estimator)
{
    const struct comparison *chosen = NULL;
    for (int index = 0; index < view->comparison_count; index++) {
        const struct comparison *row = &view->comparisons[index];
        bool total = strcmp(row->quantity, quantity_name(QUANTITY_TOTAL_BYTES)) == 0;
        bool peak = strcmp(row->quantity, quantity_name(QUANTITY_ALLOCATED_BYTES_PEAK)) == 0;
        if (comparison_is_main(view, row) && strcmp(row->estimator, estimator) == 0 && row->error_known &&
            (total || (peak && chosen == NULL))) {
            chosen = row;
        }
    }
    return chosen;
}

/* NULL if memory ran out, or if the name is one that no row is made for. */
static struct league_estimator *estimator_add(struct league *league, const char *name, const struct baseline *baseline)
{
    size_t count = (size_t)league->counted.count;
    struct league_estimator *one = &league->estimators[league->estimator_count];
    one->name = arena_copy(&league->arena, name);
    one->baseline = baseline;
    one->errors = arena_alloc(&league->arena, (count + 1) * sizeof *one->errors);
    if (one->name == NULL || one->errors == NULL) {
        return NULL;
    }
    for (size_t at = 0; at < count; at++) {
        one->errors[at] = NAN;
    }
    league->estimator_count++;
    return one;
}

static bool estimator_known(const struct league *league, const char *name)
{
    bool known = strcmp(name, "expected") == 0;
    for (int index = 0; index < league->estimator_count; index++) {
        known = known || strcmp(league->estimators[index].name, name) == 0;
    }
    return known;
}

static bool estimator_fill(struct league *league, const char *name)
{
    struct league_estimator *one = estimator_add(league, name, NULL);
    for (int at = 0; one != NULL && at < league->counted.count; at++) {
        const struct comparison *row = comparison_choose(league->counted.cases[at].view, name);
        one->errors[at] = row != NULL ? row->error : NAN;
    }
    return one != NULL;
}

static bool baseline_fill(struct league *league, const struct baseline *baseline)
{
    size_t count = (size_t)league->counted.count;
    struct league_estimator *one = estimator_add(league, baseline->name, baseline);
    int64_t *predicted_bytes = calloc(count + 1, sizeof *predicted_bytes);
    bool made = one != NULL && predicted_bytes != NULL && baseline->predict(&league->counted, predicted_bytes);
    for (size_t at = 0; made && at < count; at++) {
        int64_t measured_bytes = league->counted.cases[at].measured_bytes;
        if (predicted_bytes[at] != BYTES_UNKNOWN) {
            one->errors[at] = (double)(predicted_bytes[at] - measured_bytes) / (double)measured_bytes;
        }
    }
    free(predicted_bytes);
    return made;
}

static bool estimators_fill(struct league *league, struct report *const *reports, int report_count)
{
    size_t room = (size_t)baseline_count();
    for (int index = 0; index < report_count; index++) {
        room += (size_t)reports[index]->estimator_count;
    }
    league->estimators = arena_alloc(&league->arena, room * sizeof *league->estimators);
    bool made = league->estimators != NULL;
    for (int index = 0; index < report_count; index++) {
        for (int at = 0; made && at < reports[index]->estimator_count; at++) {
            const char *name = reports[index]->estimators[at];
            made = estimator_known(league, name) || estimator_fill(league, name);
        }
    }
    for (int index = 0; made && index < baseline_count(); index++) {
        made = baseline_fill(league, baseline_at(index));
    }
    return made;
}

static bool device_fill(struct league *league, struct report *const *reports, int report_count)
{
    struct text words = {0};
    for (int index = 0; index < report_count && words.length == 0; index++) {
        device_append(&words, reports[index]);
    }
    for (int at = 1; at < league->counted.count; at++) {
        const struct counted_case *first = &league->counted.cases[0];
        if (strcmp(league->counted.cases[at].device, first->device) != 0 &&
            strstr(text_string(&words), " and others") == NULL) {
            text_append(&words, " and others");
        }
    }
    league->device = words.failed ? NULL : arena_copy(&league->arena, text_string(&words));
    text_release(&words);
    return league->device != NULL;
}

const char *league_scope_kind_name(enum league_scope_kind kind)
{
    return kind == SCOPE_ALL ? "all" : kind == SCOPE_MODE ? "mode" : "family";
}

/* Modes in the order of their effort, then whatever else there is by name. */
static int mode_place(const char *name)
{
    static const char *const modes[] = {"load", "infer", "generate", "train"};
    int place = 0;
    while (place < 4 && strcmp(modes[place], name) != 0) {
        place++;
    }
    return place;
}

static int scope_order(const void *left, const void *right)
{
    const struct league_scope *a = left, *b = right;
    if (a->kind != b->kind) {
        return (int)a->kind - (int)b->kind;
    }
    int order = a->kind == SCOPE_MODE ? mode_place(a->name) - mode_place(b->name) : 0;
    return order != 0 ? order : strcmp(a->name, b->name);
}

static void scope_need(struct league *league, enum league_scope_kind kind, const char *name)
{
    for (int index = 0; index < league->scope_count; index++) {
        if (league->scopes[index].kind == kind && strcmp(league->scopes[index].name, name) == 0) {
            return;
        }
    }
    league->scopes[league->scope_count++] = (struct league_scope){.kind = kind, .name = name};
}

static bool scopes_fill(struct league *league)
{
    size_t room = 2 * (size_t)league->counted.count + 1;
    league->scopes = arena_alloc(&league->arena, room * sizeof *league->scopes);
    if (league->scopes == NULL) {
        return false;
    }
    scope_need(league, SCOPE_ALL, "all");
    for (int at = 0; at < league->counted.count; at++) {
        league->has_proofs = league->has_proofs || league->counted.cases[at].view->proof != NULL;
        scope_need(league, SCOPE_MODE, league_case_mode(&league->counted.cases[at]));
        scope_need(league, SCOPE_FAMILY, league->counted.cases[at].family);
    }
    qsort(league->scopes, (size_t)league->scope_count, sizeof *league->scopes, scope_order);
    bool made = true;
    for (int index = 0; made && index < league->scope_count; index++) {
        made = league_scope_make(league, &league->scopes[index]);
    }
    return made;
}

enum status_code league_make(struct report *const *reports, int report_count, struct league **league,
                             struct status *error)
{
    struct league *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return memory_error(error);
    }
    enum status_code code = counted_cases_find(reports, report_count, false, &made->arena, &made->counted, error);
    made->provenance = provenance_make(&made->arena, reports, report_count);
    made->title = provenance_title_make(&made->arena, reports, report_count);
    if (code == STATUS_OK &&
        !(made->provenance != NULL && made->title != NULL && estimators_fill(made, reports, report_count) &&
          device_fill(made, reports, report_count) && scopes_fill(made))) {
        code = memory_error(error);
    }
    if (code != STATUS_OK) {
        league_release(made);
        return code;
    }
    *league = made;
    return STATUS_OK;
}

void league_release(void *league)
{
    struct league *made = league;
    if (made != NULL) {
        arena_release(&made->arena);
        free(made);
    }
}

bool league_is_empty(const void *league)
{
    const struct league *made = league;
    return made->scopes[0].row_count == 0;
}
