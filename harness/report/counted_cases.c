/* Counted cases: which rows count, once each, with the texts that say what belongs together. No statistics. */
#include "harness/report/counted_cases.h"

#include <stdlib.h>
#include <string.h>

#include "harness/report/case_words.h"

static bool is_measured(const struct case_view *view)
{
    bool ended = strcmp(view->status, "ok") == 0 || strcmp(view->status, "fail") == 0;
    return ended && view->measured.peak_bytes[LEVEL_ALLOCATED] > 0;
}

static bool is_among(const char *key, const char *const *names)
{
    while (*names != NULL && strcmp(*names, key) != 0) {
        names++;
    }
    return *names != NULL;
}

const char *counted_case_key(struct name_table *keys, struct arena *arena, const struct counted_case *one,
                             const char *const *without)
{
    struct text key = {0};
    text_append(&key, one->device);
    text_append(&key, one->view->settings);
    for (enum case_field field = FIELD_MODE; field < FIELD_COUNT; field++) {
        char buffer[CASE_WORD_BYTES];
        const char *value = case_field_said(one->view, field, buffer);
        if (case_field_row(field)->is_length && value != NULL && !is_among(case_field_key(field), without)) {
            text_format(&key, "|%s=%s", case_field_key(field), value);
        }
    }
    const char *kept = key.failed ? NULL : name_table_keep(keys, arena, text_string(&key));
    text_release(&key);
    return kept;
}

static bool case_make(struct name_table *keys, struct arena *arena, const struct case_view *view,
                      struct counted_case *made)
{
    static const char *const batch[] = {"batch", NULL};
    *made = (struct counted_case){.view = view,
                                  .family = view->family != NULL ? view->family : "unknown",
                                  .device = view->machine,
                                  .measured_bytes = view->measured.peak_bytes[LEVEL_ALLOCATED],
                                  .tensor_bytes = view->predicted.peak_bytes[LEVEL_REQUESTED],
                                  .weights_bytes = view->predicted.stages[STAGE_LOAD]->end_bytes[LEVEL_REQUESTED],
                                  .loaded_bytes = view->measured.stages[STAGE_LOAD]->end_bytes[LEVEL_REQUESTED]};
    made->series = counted_case_key(keys, arena, made, batch);
    return made->series != NULL;
}

struct ordered_case {
    const struct counted_case *one;
    int order;
};

static int same_order(const void *left, const void *right)
{
    const struct ordered_case *a = left, *b = right;
    int order = strcmp(a->one->view->id, b->one->view->id);
    order = order != 0 ? order : strcmp(a->one->device, b->one->device);
    return order != 0 ? order : a->order - b->order;
}

/* Of the same case on the same device the last stays, at its own place. */
static bool repeats_drop(struct arena *arena, struct counted_cases *counted)
{
    size_t count = (size_t)counted->count;
    struct ordered_case *sorted = arena_alloc(arena, (count + 1) * sizeof *sorted);
    bool *dropped = arena_alloc(arena, count + 1);
    if (sorted == NULL || dropped == NULL) {
        return false;
    }
    for (size_t at = 0; at < count; at++) {
        sorted[at] = (struct ordered_case){.one = &counted->cases[at], .order = (int)at};
    }
    qsort(sorted, count, sizeof *sorted, same_order);
    for (size_t at = 0; at + 1 < count; at++) {
        dropped[sorted[at].order] = strcmp(sorted[at].one->view->id, sorted[at + 1].one->view->id) == 0 &&
                                    strcmp(sorted[at].one->device, sorted[at + 1].one->device) == 0;
    }
    int kept = 0;
    for (size_t at = 0; at < count; at++) {
        counted->again_count += dropped[at] ? 1 : 0;
        if (!dropped[at]) {
            counted->cases[kept++] = counted->cases[at];
        }
    }
    counted->count = kept;
    return true;
}

/* The counter of the reason for which a row does not count; NULL: it counts. */
static int *reason_of(struct counted_cases *counted, const struct case_view *view, bool with_meta)
{
    return !is_measured(view)                 ? &counted->ended_count
           : view->invalid                    ? &counted->invalid_count
           : !case_is_plain(view)             ? &counted->placed_count
           : case_is_meta(view) && !with_meta ? &counted->meta_count
                                              : NULL;
}

enum status_code counted_cases_find(struct report *const *reports, int report_count, bool with_meta,
                                    struct arena *arena, struct counted_cases *counted, struct status *error)
{
    struct counted_cases made = {0};
    struct name_table keys = {0};
    for (int index = 0; index < report_count; index++) {
        made.read_count += reports[index]->case_count;
    }
    made.cases = arena_alloc(arena, ((size_t)made.read_count + 1) * sizeof *made.cases);
    bool complete = made.cases != NULL;
    for (int index = 0; index < report_count; index++) {
        for (int at = 0; complete && at < reports[index]->case_count; at++) {
            const struct case_view *view = &reports[index]->cases[at];
            int *reason = reason_of(&made, view, with_meta);
            if (reason != NULL) {
                ++*reason;
            } else {
                complete = case_make(&keys, arena, view, &made.cases[made.count++]);
            }
        }
    }
    name_table_release(&keys);
    if (!complete || !repeats_drop(arena, &made)) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "no memory for the statistics of %d rows", made.read_count);
    }
    *counted = made;
    return STATUS_OK;
}

static void reason_append(struct text *text, const char **separator, int count, const char *words)
{
    if (count > 0) {
        text_format(text, "%s%d %s", *separator, count, words);
        *separator = ", ";
    }
}

void counted_cases_append(struct text *text, const struct counted_cases *counted)
{
    const char *separator = "; left out: ";
    text_format(text, "%d of %d row%s count%s", counted->count, counted->read_count,
                counted->read_count == 1 ? "" : "s", counted->count == 1 ? "s" : "");
    reason_append(text, &separator, counted->ended_count, "not measured to the end");
    reason_append(text, &separator, counted->invalid_count, "disturbed");
    reason_append(text, &separator, counted->placed_count, "placed, from a checkpoint or a search");
    reason_append(text, &separator, counted->meta_count, "replayed, not measured (meta)");
    reason_append(text, &separator, counted->again_count, "measured again later");
}
