/* Timeline: the page of stages, a panel for each case whose stages are not as predicted, or that was asked for. If
 * all is as predicted, a picture of every case would say the same thing many times. */
#include <fnmatch.h>
#include <stdlib.h>

#include "harness/report/plot_data.h"

enum { TIMELINE_PANELS = 9 };

_Static_assert(LEVEL_COUNTED_COUNT == 3, "plots/timeline.gp finds the prediction behind three levels");

static bool stage_differs(const struct stage_view *measured, const struct stage_view *predicted)
{
    for (int level = 0; level < LEVEL_COUNTED_COUNT; level++) {
        int64_t a = measured->peak_bytes[level], b = predicted->peak_bytes[level];
        if (a != BYTES_UNKNOWN && b != BYTES_UNKNOWN && a != b) {
            return true;
        }
    }
    return false;
}

static bool is_asked_for(const struct case_view *view, const char *pattern)
{
    return pattern != NULL && (fnmatch(pattern, view->id, 0) == 0 || fnmatch(pattern, view->label, 0) == 0);
}

static bool timeline_has(const struct case_view *view, const char *timeline)
{
    int known = 0;
    bool wanted = is_asked_for(view, timeline);
    for (int stage = STAGE_LOAD; stage < STAGE_COUNT; stage++) {
        const struct stage_view *measured = view->measured.stages[stage];
        known += measured->peak_bytes[LEVEL_ALLOCATED] > 0 ? 1 : 0;
        wanted = wanted || stage_differs(measured, view->predicted.stages[stage]);
    }
    return wanted && known >= 2 && view->measured.peak_bytes[LEVEL_ALLOCATED] != BYTES_UNKNOWN;
}

/* What no case has if a timeline was asked for and none is drawn; NULL: none was asked for, which is no lack. */
static const char *timeline_needs(const struct report *report, const char *timeline)
{
    for (int at = 0; timeline != NULL && at < report->case_count; at++) {
        if (is_asked_for(&report->cases[at], timeline)) {
            return "that id or label and two stages with figures, which a timeline needs";
        }
    }
    return timeline != NULL ? "that id or label" : NULL;
}

static void panel_write(struct plot_page *page, const struct case_view *view)
{
    text_append(&page->data, page->mark_count > 0 ? "\n\n" : "");
    for (int stage = STAGE_LOAD; stage < STAGE_COUNT; stage++) {
        const struct stage_view *measured = view->measured.stages[stage];
        if (!measured->present) {
            continue;
        }
        label_column(&page->data, view->title);
        text_format(&page->data, "\t%s", report_stage_name(stage));
        for (int level = 0; level < LEVEL_COUNTED_COUNT; level++) {
            bytes_column(&page->data, measured->peak_bytes[level]);
        }
        bytes_column(&page->data, view->predicted.stages[stage]->peak_bytes[LEVEL_ALLOCATED]);
        text_append(&page->data, "\n");
    }
    page->mark_count++;
}

static void *timeline_pages_open(const struct report *report, const char *timeline)
{
    return plot_cases_choose(report, timeline, timeline_has);
}

static void timeline_page_make(const struct plot_pages *pages, int number, struct plot_page *page)
{
    const struct plot_cases *chosen = pages->material;
    text_append(&page->data, "# case\tstage\trequested_bytes_peak\tallocated_bytes_peak\treserved_bytes_peak\t"
                             "predicted_allocated_bytes_peak\n");
    for (int at = number * TIMELINE_PANELS; at < chosen->count && at < (number + 1) * TIMELINE_PANELS; at++) {
        panel_write(page, chosen->cases[at]);
    }
    int columns = page->mark_count < 3 ? page->mark_count : 3;
    page->width = columns == 1 ? 640 : columns == 2 ? 860 : 1200;
    page->height = 90 + 290 * (columns > 0 ? (page->mark_count + columns - 1) / columns : 0);
    if (page->mark_count > 0) {
        plot_caption_add(page, pages->timeline != NULL
                                   ? "Cases that were asked for, and those whose stages are not as predicted."
                                   : "Cases whose stages are not as predicted; those that are have no panel.");
        plot_main_note(pages, page);
    }
}

const struct plot_maker timeline_plot = {
    .name = "timeline",
    .purpose = "Peaks from stage to stage",
    .needs_of = timeline_needs,
    .page_maximum = 20,
    .open = timeline_pages_open,
    .make = timeline_page_make,
    .close = free,
};
