/* Weights rule: cases into series, each case judged, and where each series stops to be enough. Writers have files of
 * their own. */
#include "harness/report/weights_rule.h"

#include <stdlib.h>
#include <string.h>

#include "harness/base/size.h"
#include "harness/report/case_words.h"
#include "harness/report/provenance.h"
#include "harness/report/weights_rule_view.h"

static enum status_code memory_error(struct status *error)
{
    return status_set(error, STATUS_OUT_OF_MEMORY, "no memory for the rule over the weights");
}

const struct cell_judgement rule_judgements[RULE_WORD_COUNT] = {
    [RULE_TOO_LITTLE] = {TONE_OVER, "!", "too little"},
    [RULE_CLOSE] = {TONE_GOOD, "", "close"},
    [RULE_WASTEFUL] = {TONE_SPARE, "~", "wasteful"},
};

static bool mode_is(const struct case_view *view, const char *mode)
{
    return view->mode != NULL && strcmp(view->mode, mode) == 0;
}

/* False if the case is none of the rule's. */
static bool cell_make(const struct weights_rule *rule, const struct counted_case *one, struct rule_cell *cell)
{
    const struct case_view *view = one->view;
    int64_t rows = 0, length = 0;
    *cell = (struct rule_cell){.one = one,
                               .batch = view->batch,
                               .seq = view->seq > 0 ? view->seq : 0,
                               .new_tokens = view->new_tokens > 0 ? view->new_tokens : 0};
    if (!(mode_is(view, "infer") || mode_is(view, "generate")) || view->batch <= 0 || one->loaded_bytes <= 0 ||
        !size_multiply(view->batch, view->beams > 1 ? view->beams : 1, &rows) ||
        !size_add(cell->seq, cell->new_tokens, &length) ||
        !size_multiply(rows, length > 0 ? length : 1, &cell->tokens)) {
        return false;
    }
    double weights = (double)one->loaded_bytes, peak = (double)one->measured_bytes;
    cell->ratio = peak / weights;
    cell->word = peak > rule->factor * weights                            ? RULE_TOO_LITTLE
                 : rule->factor * weights > (1.0 + rule->wasteful) * peak ? RULE_WASTEFUL
                                                                          : RULE_CLOSE;
    return true;
}

static int number_order(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int cell_order(const void *left, const void *right)
{
    const struct rule_cell *a = left, *b = right;
    int order = strcmp(a->series, b->series);
    order = order != 0 ? order : number_order(a->tokens, b->tokens);
    return order != 0 ? order : number_order(a->batch, b->batch);
}

static bool cells_fill(struct weights_rule *rule)
{
    static const char *const lengths[] = {"batch", "seq", "new_tokens", NULL};
    rule->cells = arena_alloc(&rule->arena, ((size_t)rule->counted.count + 1) * sizeof *rule->cells);
    struct name_table keys = {0};
    bool made = rule->cells != NULL;
    for (int at = 0; made && at < rule->counted.count; at++) {
        struct rule_cell *cell = &rule->cells[rule->cell_count];
        if (cell_make(rule, &rule->counted.cases[at], cell)) {
            cell->series = counted_case_key(&keys, &rule->arena, cell->one, lengths);
            made = cell->series != NULL;
            rule->cell_count += made ? 1 : 0;
        }
    }
    name_table_release(&keys);
    if (made) {
        qsort(rule->cells, (size_t)rule->cell_count, sizeof *rule->cells, cell_order);
    }
    return made;
}

/* What the figures are of, if that is not the one device of all measured cases: one model on two devices, or
 * replayed for two targets, is two series. */
static void place_append(struct text *title, const struct case_view *view, bool is_one_device)
{
    if (case_is_meta(view)) {
        text_append(title, " (");
        replayed_append(title, view);
        text_append(title, ")");
    } else if (!is_one_device && view->device_kind != NULL) {
        text_format(title, " on %s", view->device_name != NULL ? view->device_name : view->device_kind);
    }
}

/* Whether all measured cases are of one device. */
static bool device_is_one(const struct weights_rule *rule)
{
    const struct case_view *first = NULL;
    for (int at = 0; at < rule->cell_count; at++) {
        const struct case_view *view = rule->cells[at].one->view;
        if (!case_is_meta(view) && first != NULL && !case_devices_equal(first, view)) {
            return false;
        }
        first = first == NULL && !case_is_meta(view) ? view : first;
    }
    return true;
}

/* The label of a case without its batch and lengths; its mode, if it is not inference, stands in their place. */
static const char *title_make(struct weights_rule *rule, const struct case_view *view, bool is_one_device)
{
    struct text title = {0};
    text_append(&title, view->model != NULL ? view->model : view->id);
    for (enum case_field field = FIELD_PRECISION; field < FIELD_COUNT; field++) {
        if (field == FIELD_BATCH && mode_is(view, "generate")) {
            case_field_append(&title, view, FIELD_MODE);
        }
        if (field == FIELD_LOGITS && case_field_is_told(view, field)) {
            text_format(&title, " %s logits", view->logits);
        } else if (!case_field_row(field)->is_length) {
            case_field_append(&title, view, field);
        }
    }
    place_append(&title, view, is_one_device);
    const char *made = title.failed ? NULL : arena_copy(&rule->arena, text_string(&title));
    text_release(&title);
    return made;
}

/* The line between the last case that is enough and the first that is not. */
static int64_t crossing_find(const struct weights_rule *rule, const struct rule_cell *enough,
                             const struct rule_cell *too_little)
{
    double share = (rule->factor - enough->ratio) / (too_little->ratio - enough->ratio);
    double distance = (double)too_little->tokens - (double)enough->tokens;
    return enough->tokens + (int64_t)(share * distance + 0.5);
}

static void boundary_find(const struct weights_rule *rule, struct rule_series *series)
{
    const struct rule_cell *enough = NULL, *too_little = NULL;
    for (int at = 0; at < series->cell_count; at++) {
        const struct rule_cell *cell = &series->cells[at];
        if (cell->word == RULE_TOO_LITTLE) {
            too_little = too_little == NULL ? cell : too_little;
        } else if (too_little == NULL) {
            enough = cell;
        } else if (cell->tokens > too_little->tokens) {
            series->is_mixed = true;
        }
    }
    /* Of two cases with as many tokens one is enough and one is not: then these tokens are not enough. */
    while (enough != NULL && too_little != NULL && enough->tokens == too_little->tokens) {
        enough = enough > series->cells ? enough - 1 : NULL;
    }
    series->enough_tokens = enough != NULL ? enough->tokens : TOKENS_NONE;
    series->too_little_tokens = too_little != NULL ? too_little->tokens : TOKENS_NONE;
    series->crossing_tokens =
        enough != NULL && too_little != NULL ? crossing_find(rule, enough, too_little) : TOKENS_NONE;
}

static void totals_add(struct weights_rule *rule, const struct rule_series *series)
{
    struct rule_totals *totals = series->meta ? &rule->predicted : &rule->measured;
    for (int at = 0; at < series->cell_count; at++) {
        totals->case_count++;
        totals->word_count[series->cells[at].word]++;
    }
}

static int series_order(const void *left, const void *right)
{
    const struct rule_series *a = left, *b = right;
    int order = (int)a->meta - (int)b->meta;
    order = order != 0 ? order : strcmp(a->title, b->title);
    return order != 0 ? order : strcmp(a->cells[0].series, b->cells[0].series);
}

static bool series_fill(struct weights_rule *rule)
{
    rule->series = arena_alloc(&rule->arena, ((size_t)rule->cell_count + 1) * sizeof *rule->series);
    bool made = rule->series != NULL, is_one_device = device_is_one(rule);
    for (int at = 0; made && at < rule->cell_count;) {
        struct rule_series *series = &rule->series[rule->series_count++];
        const struct rule_cell *first = &rule->cells[at];
        *series = (struct rule_series){.title = title_make(rule, first->one->view, is_one_device),
                                       .meta = case_is_meta(first->one->view),
                                       .is_image = first->seq == 0,
                                       .cells = first};
        while (at < rule->cell_count && strcmp(rule->cells[at].series, first->series) == 0) {
            series->cell_count++;
            at++;
        }
        boundary_find(rule, series);
        totals_add(rule, series);
        made = series->title != NULL;
    }
    if (made) {
        qsort(rule->series, (size_t)rule->series_count, sizeof *rule->series, series_order);
    }
    return made;
}

enum status_code weights_rule_make(struct report *const *reports, int report_count, double factor, double wasteful,
                                   struct weights_rule **rule, struct status *error)
{
    struct weights_rule *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return memory_error(error);
    }
    made->factor = factor;
    made->wasteful = wasteful;
    enum status_code code = counted_cases_find(reports, report_count, true, &made->arena, &made->counted, error);
    made->provenance = provenance_make(&made->arena, reports, report_count);
    made->title = provenance_title_make(&made->arena, reports, report_count);
    if (code == STATUS_OK &&
        !(made->provenance != NULL && made->title != NULL && cells_fill(made) && series_fill(made))) {
        code = memory_error(error);
    }
    if (code != STATUS_OK) {
        weights_rule_release(made);
        return code;
    }
    *rule = made;
    return STATUS_OK;
}

void weights_rule_release(void *rule)
{
    struct weights_rule *made = rule;
    if (made != NULL) {
        arena_release(&made->arena);
        free(made);
    }
}

bool weights_rule_is_empty(const void *rule)
{
    const struct weights_rule *made = rule;
    return made->cell_count == 0;
}
