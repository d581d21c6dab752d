/* Accuracy: the page of points, each a case and an estimator. What is not drawn is named in the caption. */
#include <math.h>
#include <string.h>

#include "harness/report/estimator_look.h"
#include "harness/report/plot_data.h"

enum { DRAWN_MAXIMUM = 8 /* more symbols cannot be told apart */, POINTS_MAXIMUM = 2000 /* of one estimator */ };

static const struct comparison *figure_find(const struct case_view *view, const char *estimator)
{
    const struct comparison *row = comparison_of_peak(view, estimator);
    return row != NULL && row->predicted_bytes > 0 && row->measured_bytes > 0 ? row : NULL;
}

static int points_count(const struct report *report, const char *estimator)
{
    int count = 0;
    for (int at = 0; at < report->case_count; at++) {
        count += figure_find(&report->cases[at], estimator) != NULL ? 1 : 0;
    }
    return count;
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

/* The case in which an estimator is furthest off; -1: it has no figure. */
static int furthest_find(const struct report *report, const char *estimator)
{
    int furthest = -1;
    double distance = -1.0;
    for (int at = 0; at < report->case_count; at++) {
        const struct comparison *row = figure_find(&report->cases[at], estimator);
        if (row != NULL && fabs(row->error) > distance) {
            furthest = at;
            distance = fabs(row->error);
        }
    }
    return furthest;
}

static void points_write(const struct report *report, const char *estimator, int stride, struct plot_page *page)
{
    int number = 0, furthest = stride > 1 ? furthest_find(report, estimator) : -1;
    for (int at = 0; at < report->case_count; at++) {
        const struct comparison *row = figure_find(&report->cases[at], estimator);
        if (row == NULL) {
            continue;
        }
        if (number++ % stride == 0 || at == furthest) {
            point_write(&report->cases[at], row, page);
        }
        if (strcmp(estimator, "replay") == 0 && row->tolerance > page->tolerance) {
            page->tolerance = row->tolerance;
        }
    }
}

static void legend_write(const struct report *report, const bool *drawn, struct text *data)
{
    text_append(data, "\n\n# estimator\tcases\tcolour\tsymbol\n");
    for (int index = 0; index < report->estimator_count; index++) {
        const char *name = report->estimators[index];
        if (!drawn[index]) {
            continue;
        }
        label_column(data, name);
        text_format(data, "\t%d", points_count(report, name));
        look_columns(data, name);
        text_append(data, "\n");
    }
}

/* Which estimators are drawn: those with the most points, in the order of the report. Returns how many. */
static int drawn_choose(const struct report *report, bool drawn[ESTIMATOR_MAXIMUM])
{
    int counts[ESTIMATOR_MAXIMUM], chosen = 0;
    for (int index = 0; index < report->estimator_count; index++) {
        counts[index] = points_count(report, report->estimators[index]);
        drawn[index] = false;
    }
    for (; chosen < DRAWN_MAXIMUM; chosen++) {
        int best = -1;
        for (int index = 0; index < report->estimator_count; index++) {
            if (!drawn[index] && counts[index] > (best < 0 ? 0 : counts[best])) {
                best = index;
            }
        }
        if (best < 0) {
            break;
        }
        drawn[best] = true;
    }
    return chosen;
}

static void left_out_name(const struct report *report, const bool *drawn, struct plot_page *page)
{
    struct text names = {0};
    for (int index = 0; index < report->estimator_count; index++) {
        if (!drawn[index] && points_count(report, report->estimators[index]) > 0) {
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

/* The first row of the legend is the last that is drawn, on top of the others. */
void accuracy_page_make(const struct report *report, const char *timeline, int number, struct plot_page *page)
{
    (void)timeline;
    bool drawn[ESTIMATOR_MAXIMUM];
    page->width = 760;
    page->height = 840;
    if (number > 0) {
        return;
    }
    int drawn_count = drawn_choose(report, drawn), stride = plot_stride(report->case_count, POINTS_MAXIMUM);
    text_append(&page->data, "# case\testimator\tmeasured_bytes\tpredicted_bytes\tcolour\tsymbol\n");
    for (int index = report->estimator_count - 1; index >= 0; index--) {
        if (drawn[index]) {
            points_write(report, report->estimators[index], stride, page);
        }
    }
    legend_write(report, drawn, &page->data);
    page->height += 20 * ((drawn_count + 4) / 3);
    plot_stride_note(page, stride, "of each estimator the one that is furthest off");
    left_out_name(report, drawn, page);
}
