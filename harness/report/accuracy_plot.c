/* Accuracy: the page of points, each a case and an estimator. What is not drawn is named in the caption. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/report/estimator_look.h"
#include "harness/report/plot_data.h"

enum { DRAWN_MAXIMUM = 8 /* more symbols cannot be told apart */, POINTS_MAXIMUM = 2000 /* of one estimator */ };

static const struct comparison *figure_find(const struct case_view *view, const char *estimator)
{
    const struct comparison *row = comparison_of_peak(view, estimator);
    return row != NULL && row->predicted_bytes > 0 && row->measured_bytes > 0 ? row : NULL;
}

/* What there is of one estimator, and the cases in which it is furthest off to either side; -1: none. */
struct tally {
    int count, lowest, highest;
    double lowest_error, highest_error;
    bool drawn;
};

static void tallies_make(const struct report *report, struct tally tallies[ESTIMATOR_MAXIMUM], double *tolerance)
{
    for (int index = 0; index < report->estimator_count; index++) {
        const bool replays = strcmp(report->estimators[index], "replay") == 0;
        struct tally *tally = &tallies[index];
        *tally = (struct tally){.lowest = -1, .highest = -1};
        for (int at = 0; at < report->case_count; at++) {
            const struct comparison *row = figure_find(&report->cases[at], report->estimators[index]);
            if (row == NULL) {
                continue;
            }
            tally->count++;
            if (tally->lowest < 0 || row->error < tally->lowest_error) {
                tally->lowest = at;
                tally->lowest_error = row->error;
            }
            if (tally->highest < 0 || row->error > tally->highest_error) {
                tally->highest = at;
                tally->highest_error = row->error;
            }
            *tolerance = replays && row->tolerance > *tolerance ? row->tolerance : *tolerance;
        }
    }
}

static void look_columns(struct text *data, const char *estimator)
{
    const struct estimator_look *look = estimator_look_find(estimator);
    text_format(data, "\t%u\t%d", (unsigned)look->colour, look->symbol);
}

static void point_write(const struct case_view *view, const struct comparison *row, struct plot_page *page)
{
    label_column(&page->data, view->title);
    text_append(&page->data, "\t");
    label_column(&page->data, row->estimator);
    bytes_column(&page->data, row->measured_bytes);
    bytes_column(&page->data, row->predicted_bytes);
    look_columns(&page->data, row->estimator);
    text_append(&page->data, "\n");
    page->mark_count++;
}

static void points_write(const struct report *report, const char *estimator, const struct tally *tally,
                         struct plot_page *page)
{
    int number = 0, stride = plot_stride(tally->count, POINTS_MAXIMUM);
    for (int at = 0; number < tally->count; at++) {
        const struct comparison *row = figure_find(&report->cases[at], estimator);
        if (row == NULL) {
            continue;
        }
        if (plot_mark_is_drawn(number++, stride) || at == tally->lowest || at == tally->highest) {
            point_write(&report->cases[at], row, page);
        }
    }
}

static void legend_write(const struct report *report, const struct tally *tallies, struct text *data)
{
    text_append(data, "\n\n# estimator\tcases\tcolour\tsymbol\n");
    for (int index = 0; index < report->estimator_count; index++) {
        if (tallies[index].drawn) {
            label_column(data, report->estimators[index]);
            text_format(data, "\t%d", tallies[index].count);
            look_columns(data, report->estimators[index]);
            text_append(data, "\n");
        }
    }
}

/* Which estimators are drawn: those with the most points, in the order of the report. Returns how many. */
static int drawn_choose(const struct report *report, struct tally *tallies)
{
    int chosen = 0;
    for (; chosen < DRAWN_MAXIMUM; chosen++) {
        int best = -1;
        for (int index = 0; index < report->estimator_count; index++) {
            if (!tallies[index].drawn && tallies[index].count > (best < 0 ? 0 : tallies[best].count)) {
                best = index;
            }
        }
        if (best < 0) {
            break;
        }
        tallies[best].drawn = true;
    }
    return chosen;
}

static void left_out_name(const struct report *report, const struct tally *tallies, struct plot_page *page)
{
    struct text names = {0};
    for (int index = 0; index < report->estimator_count; index++) {
        if (!tallies[index].drawn && tallies[index].count > 0) {
            text_format(&names, "%s%s", names.length == 0 ? "Not drawn, because they have the fewest points: " : ", ",
                        report->estimators[index]);
        }
    }
    if (names.length > 0) {
        text_append(&names, ".");
        plot_caption_add(page, text_string(&names));
    }
    page->data.failed = page->data.failed || names.failed;
    text_release(&names);
}

/* That of some estimators not every mark is drawn. */
static void thinning_note(const struct report *report, const struct tally *tallies, struct plot_page *page)
{
    int most = 0;
    for (int index = 0; index < report->estimator_count; index++) {
        most = tallies[index].drawn && tallies[index].count > most ? tallies[index].count : most;
    }
    if (most > POINTS_MAXIMUM) {
        char sentence[160];
        snprintf(sentence, sizeof sentence,
                 "Of more than %d marks of an estimator some are drawn, among them those furthest off to either side: "
                 "there are too many for an image.",
                 POINTS_MAXIMUM);
        plot_caption_add(page, sentence);
    }
}

/* The first row of the legend is the last that is drawn, on top of the others. */
static void accuracy_page_make(const struct plot_pages *pages, int number, struct plot_page *page)
{
    const struct report *report = pages->report;
    struct tally tallies[ESTIMATOR_MAXIMUM];
    page->width = 760;
    page->height = 840;
    if (number > 0) {
        return;
    }
    tallies_make(report, tallies, &page->tolerance);
    int drawn_count = drawn_choose(report, tallies);
    text_append(&page->data, "# case\testimator\tmeasured_bytes\tpredicted_bytes\tcolour\tsymbol\n");
    for (int index = report->estimator_count - 1; index >= 0; index--) {
        if (tallies[index].drawn) {
            points_write(report, report->estimators[index], &tallies[index], page);
        }
    }
    legend_write(report, tallies, &page->data);
    page->height += 20 * ((drawn_count + 4) / 3);
    plot_main_note(pages, page);
    thinning_note(report, tallies, page);
    left_out_name(report, tallies, page);
}

const struct plot_maker accuracy_plot = {
    .name = "accuracy",
    .purpose = "Predicted peak against what was found",
    .needs = "a prediction and a measurement",
    .page_maximum = 20,
    .make = accuracy_page_make,
    .close = free,
};
