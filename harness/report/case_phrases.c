/* Case phrases: figures to sentences. Tables of them are side tables. */
#include "harness/report/case_phrases.h"

#include <inttypes.h>
#include <string.h>

#include "harness/report/placed_view.h"
#include "harness/report/search_view.h"
#include "harness/report/wording.h"

static void found_append(struct text *text, const struct search_view *search)
{
    text_append(text, search->policy);
    if (search->found > 0) {
        text_format(text, " found %" PRId64, search->found);
    } else {
        text_append(text, " found no batch");
    }
    if (search->found <= 0 && search->predicted == 0) {
        text_append(text, ", as predicted,");
    } else if (search->predicted >= 0) {
        text_format(text, search->found > 0 ? " of %" PRId64 " predicted" : ", %" PRId64 " predicted",
                    search->predicted);
    }
    text_format(text, " in %d tr%s", search->try_count, search->try_count == 1 ? "y" : "ies");
    if (search->seconds >= 0.0) {
        text_format(text, " and %.1f s", search->seconds);
    }
}

void search_append(struct text *text, const struct case_view *view)
{
    const struct search_view *search = view->search;
    if (search == NULL) {
        return;
    }
    found_append(text, search);
    double loss = search_loss(search);
    if (search->per_second >= 0.0) {
        text_format(text, search->per_second < 100.0 ? ": %.2f %s/s" : ": %.0f %s/s", search->per_second,
                    search->unit != NULL ? search->unit : "");
    }
    if (loss > 0.0) {
        text_format(text, ", %.1f %% less than the best batch tried", 100.0 * loss);
    }
    if (search->end != NULL && strcmp(search->end, "found") != 0) {
        text_format(text, "; it ended: %s%s%s", search->end, search->error != NULL ? ", " : "",
                    search->error != NULL ? search->error : "");
    }
    text_append(text, search->judgement == JUDGEMENT_FAIL ? "; not every try ended as replay had said" : "");
}

void tries_append(struct text *text, const struct case_view *view)
{
    for (int at = 0; view->search != NULL && at < view->search->try_count; at++) {
        const struct search_try *one = &view->search->tries[at];
        text_format(text, "%s%" PRId64 " %s", at > 0 ? ", " : "", one->batch, one->ended != NULL ? one->ended : "?");
        if (one->stage != NULL) {
            text_format(text, " in %s", one->stage);
        }
        if (one->is_off) {
            text_format(text, " (replay said it %s)", *one->predicted ? "runs" : "does not");
        }
    }
}

void bar_words_append(struct text *text, const struct case_view *view)
{
    const struct search_view *search = view->search;
    double loss = search_loss(search);
    if (search->found > 0) {
        text_format(text, "%" PRId64, search->found);
    } else {
        text_append(text, "none");
    }
    if (search->found <= 0 && search->predicted == 0) {
        text_append(text, ", as predicted");
    } else if (search->predicted >= 0) {
        text_format(text, " of %" PRId64, search->predicted);
    }
    text_format(text, ", %d tr%s", search->try_count, search->try_count == 1 ? "y" : "ies");
    if (search->seconds >= 0.0) {
        text_format(text, ", %.1f s", search->seconds);
    }
    if (loss > 0.0) {
        text_format(text, ", %.1f %% less", 100.0 * loss);
    }
}

void places_append(struct text *text, const struct case_view *view)
{
    char word[WORDING_BYTES];
    for (int at = 0; view->placed != NULL && at < view->placed->place_count; at++) {
        const struct place_view *place = &view->placed->places[at];
        const struct place_figures figures = place_figures_make(view, place);
        bool is_oom = view->placed->oom_place != NULL && strcmp(view->placed->oom_place, place->name) == 0;
        bool known = figures.predicted_bytes != BYTES_UNKNOWN && figures.measured_bytes > 0;
        text_format(text, "%s%s %s", at > 0 ? ", " : "", place->name,
                    is_oom ? "out of memory" : bytes_word(figures.measured_bytes, false, word));
        if (known && !is_oom) {
            double error = (double)(figures.predicted_bytes - figures.measured_bytes) / (double)figures.measured_bytes;
            text_format(text, " (%s)", error_word(true, error, word));
        }
    }
}
