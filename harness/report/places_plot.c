/* Places: the pages of placed cases, a panel each: the peaks of each place in each stage, found and predicted, below
 * its budget. */
#include <stdlib.h>
#include <string.h>

#include "harness/report/placed_view.h"
#include "harness/report/plot_data.h"

enum { PANELS = 6, PANELS_ACROSS = 2, PANEL_WIDTH = 600, PANEL_HEIGHT = 320 };

static bool places_have_figures(const struct case_view *view)
{
    bool any = false;
    for (int at = 0; view->placed != NULL && at < view->placed->place_count && !any; at++) {
        any = view->placed->places[at].measured.present || view->placed->places[at].predicted.present;
    }
    return any;
}

static void *places_pages_open(const struct report *report, const char *timeline)
{
    (void)timeline;
    return plot_cases_list(report, places_have_figures);
}

/* Allocated bytes, and if nobody knows them requested ones. */
static int64_t figure_of(const struct stage_view *stage)
{
    int64_t allocated_bytes = stage->peak_bytes[LEVEL_ALLOCATED];
    return allocated_bytes != BYTES_UNKNOWN ? allocated_bytes : stage->peak_bytes[LEVEL_REQUESTED];
}

struct bar {
    const char *title, *place, *stage, *word;
    int64_t measured_bytes, predicted_bytes, budget_bytes;
};

static void bar_write(struct text *data, double at, const struct bar *bar)
{
    label_column(data, bar->title);
    text_append(data, "\t");
    label_column(data, bar->place);
    text_append(data, "\t");
    label_column(data, bar->stage);
    text_format(data, "\t%.2f", at);
    bytes_column(data, bar->measured_bytes);
    bytes_column(data, bar->predicted_bytes);
    bytes_column(data, bar->budget_bytes);
    text_format(data, "\t%s\n", bar->word);
}

static bool is_oom_in(const struct case_view *view, const struct place_view *place, const char *stage)
{
    return view->placed->oom_place != NULL && strcmp(view->placed->oom_place, place->name) == 0 &&
           view->oom_stage != NULL && strcmp(view->oom_stage, stage) == 0;
}

/* Nothing was there, and nothing was to be. */
static bool is_idle(const struct place_view *place)
{
    return place->placed_bytes == 0 && place->measured.peak_bytes[LEVEL_ALLOCATED] == 0 &&
           place->predicted.peak_bytes[LEVEL_ALLOCATED] == 0;
}

/* The bars of a place from `at` on; returns where the next place begins. */
static double place_write(struct text *data, const struct case_view *view, const struct place_view *place, double at)
{
    double begin = at;
    for (int stage = STAGE_LOAD; stage < STAGE_COUNT; stage++) {
        const struct stage_view *measured = place->measured.stages[stage];
        const struct stage_view *predicted = place->predicted.stages[stage];
        bool is_oom = is_oom_in(view, place, report_stage_name(stage));
        struct bar bar = {.title = view->title,
                          .place = place->name,
                          .stage = report_stage_name(stage),
                          .word = is_oom ? "oom" : "",
                          .measured_bytes = is_oom ? BYTES_UNKNOWN : figure_of(measured),
                          .predicted_bytes = figure_of(predicted),
                          .budget_bytes = place->budget_bytes};
        if (is_oom || bar.measured_bytes != BYTES_UNKNOWN || bar.predicted_bytes != BYTES_UNKNOWN) {
            bar_write(data, at, &bar);
            at += 1.0;
        }
    }
    return at > begin ? at + 0.5 : at;
}

static void places_page_make(const struct plot_pages *pages, int number, struct plot_page *page)
{
    const struct plot_cases *chosen = pages->material;
    text_append(&page->data, "# case\tplace\tstage\tx\tfound_bytes_peak\tpredicted_bytes_peak\tbudget_bytes\tword\n");
    for (int at = number * PANELS; at < chosen->count && at < (number + 1) * PANELS; at++) {
        const struct case_view *view = chosen->cases[at];
        double x = 0.0;
        text_append(&page->data, page->mark_count > 0 ? "\n\n" : "");
        for (int place = 0; place < view->placed->place_count; place++) {
            const struct place_view *one = &view->placed->places[place];
            x = is_idle(one) ? x : place_write(&page->data, view, one, x);
        }
        page->mark_count++;
    }
    int across = page->mark_count < PANELS_ACROSS ? page->mark_count : PANELS_ACROSS;
    page->width = across > 1 ? across * PANEL_WIDTH : 760;
    page->height = 90 + PANEL_HEIGHT * (across > 0 ? (page->mark_count + across - 1) / across : 0);
    if (page->mark_count > 0) {
        plot_caption_add(page, "Allocated bytes. An error stands if replay was off; a budget if it is less than "
                               "twice the highest peak.");
    }
}

const struct plot_maker places_plot = {
    .name = "places",
    .purpose = "Peaks by place and stage",
    .page_maximum = 20,
    .open = places_pages_open,
    .make = places_page_make,
    .close = free,
};
