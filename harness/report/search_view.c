/* Search view: read with fallbacks, as all of a case, and compared within its series. */
#include "harness/report/search_view.h"

#include <inttypes.h>
#include <string.h>

#include "harness/report/case_words.h"

static int64_t number_read(const struct json *object, const char *key)
{
    return json_integer_or(json_get(object, key), -1);
}

static void try_read(struct filling *filling, const struct json *object, struct search_try *one)
{
    *one = (struct search_try){
        .batch = number_read(object, "batch"),
        .wanted_bytes = bytes_read(object, "wanted_bytes"),
        .next = number_read(object, "next"),
        .ended = word_read(filling, json_get(object, "ended"), NULL),
        .cause = word_read(filling, json_get(object, "cause"), NULL),
        .stage = word_read(filling, json_get(object, "stage"), NULL),
        .label = word_read(filling, json_get(object, "label"), NULL),
        .recognised = flag_read(json_get(object, "recognised")),
        .predicted = flag_read(json_get(object, "predicted_runs")),
        .seconds = seconds_read(object, "seconds"),
    };
    bool ran = one->ended != NULL && strcmp(one->ended, "ran") == 0;
    one->is_off = one->predicted != NULL && one->ended != NULL && ran != *one->predicted;
}

void search_view_read(struct filling *filling, const struct json *line, const char *settings,
                      struct search_view **search)
{
    const struct json *list = json_get(line, "tries"), *pass = json_get(line, "pass");
    int count = json_kind(list) == JSON_KIND_ARRAY ? (int)json_count(list) : 0;
    struct search_view *view = arena_alloc(&filling->report->arena, sizeof *view);
    struct search_try *tries = arena_alloc(&filling->report->arena, (size_t)count * sizeof *tries);
    if (view == NULL || tries == NULL) {
        filling->failed = true;
        return;
    }
    for (int at = 0; at < count; at++) {
        try_read(filling, json_at(list, (size_t)at), &tries[at]);
    }
    *view = (struct search_view){
        .policy = word_read(filling, json_get(line, "policy"), "?"),
        .end = word_read(filling, json_get(line, "end"), NULL),
        .error = word_read(filling, json_get(line, "error"), NULL),
        .unit = word_read(filling, json_get(line, "unit"), NULL),
        .settings = settings,
        .start = number_read(line, "start"),
        .found = number_read(line, "found"),
        .predicted = number_read(line, "predicted"),
        .seconds = seconds_read(line, "duration_s"),
        .per_second = seconds_read(line, "per_second"),
        .best_per_second = seconds_read(line, "best_per_second"),
        .judgement = json_kind(pass) != JSON_KIND_BOOLEAN ? JUDGEMENT_NONE
                     : json_boolean_or(pass, false)       ? JUDGEMENT_PASS
                                                          : JUDGEMENT_FAIL,
        .tries = tries,
        .try_count = count,
    };
    filling->failed = filling->failed || view->policy == NULL;
    *search = view;
}

/* What the searches of one series have in common. */
struct series {
    const char *title;
    double best_per_second;
};

/* The label without its policy. NULL: no memory. */
static const char *title_make(struct report *report, const struct case_view *view)
{
    struct text title = {0};
    case_label_append(&title, view, FIELD_FIND_BATCH);
    const char *made = title.failed ? NULL : report_word(report, view->model != NULL ? text_string(&title) : view->id);
    text_release(&title);
    return made;
}

/* The number of the series of a case; -1: no memory. */
static int series_find(struct name_table *keys, struct arena *arena, const struct case_view *view)
{
    struct text key = {0};

    text_format(&key, "%s%s|%" PRId64 "|%" PRId64 "|%" PRId64 "|%s", view->machine, view->search->settings, view->batch,
                view->seq, view->new_tokens, view->search->unit != NULL ? view->search->unit : "");
    int number = key.failed ? -1 : name_table_add(keys, arena, text_string(&key));
    text_release(&key);
    return number;
}

bool search_series_settle(struct report *report)
{
    struct name_table keys = {0};
    struct arena arena = {0};
    int search_count = 0;
    for (int index = 0; index < report->case_count; index++) {
        search_count += report->cases[index].search != NULL ? 1 : 0;
    }
    struct series *series = arena_alloc(&arena, (size_t)search_count * sizeof *series);
    bool made = series != NULL;
    for (int index = 0; made && search_count > 0 && index < report->case_count; index++) {
        struct search_view *search = report->cases[index].search;
        int number = search != NULL ? series_find(&keys, &arena, &report->cases[index]) : 0;
        made = number >= 0;
        if (made && search != NULL) {
            struct series *one = &series[number];
            one->title = one->title != NULL ? one->title : title_make(report, &report->cases[index]);
            double best = search->per_second > search->best_per_second ? search->per_second : search->best_per_second;
            one->best_per_second = best > one->best_per_second ? best : one->best_per_second;
            search->series = number;
            made = one->title != NULL;
        }
    }
    for (int index = 0; made && search_count > 0 && index < report->case_count; index++) {
        struct search_view *search = report->cases[index].search;
        if (search != NULL) {
            search->title = series[search->series].title;
            search->best_per_second = series[search->series].best_per_second;
        }
    }
    name_table_release(&keys);
    arena_release(&arena);
    return made;
}

double search_loss(const struct search_view *search)
{
    return search->per_second >= 0.0 && search->best_per_second > 0.0
               ? (search->best_per_second - search->per_second) / search->best_per_second
               : -1.0;
}
