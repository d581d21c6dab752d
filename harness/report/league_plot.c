/* League plot: the signed errors of every case, a line for each estimator. Scales and colours are the script's
 * affair. */
#include <math.h>
#include <stdlib.h>

#include "harness/report/estimator_look.h"
#include "harness/report/league_view.h"
#include "harness/report/percentile.h"
#include "harness/report/plots.h"

enum { POINTS_MAXIMUM = 2000 /* of one estimator */ };

struct error_point {
    double error;
    const char *label;
};

static int point_order(const void *left, const void *right)
{
    const struct error_point *a = left, *b = right;
    return (a->error > b->error) - (a->error < b->error);
}

static void point_append(struct plot_page *page, const char *name, const struct error_point *point, int place)
{
    const struct estimator_look *look = estimator_look_find(name);
    text_format(&page->data, "%d\t", place);
    label_column(&page->data, name);
    text_format(&page->data, "\t%.6f\t%u\t%d\t", point->error, (unsigned)look->colour, look->symbol);
    label_column(&page->data, point->label);
    text_append(&page->data, "\n");
}

/* One line for each error: its place among the estimators from the top, the estimator, the error, the case. Of too many
 * those at equal steps from the lowest to the highest, so that they lie as all of them do. */
static void points_append(struct plot_page *page, const struct league *league, const struct league_row *row, int place)
{
    const struct league_estimator *one = &league->estimators[row->estimator];
    struct error_point *points = calloc((size_t)league->counted.count + 1, sizeof *points);
    int count = 0;
    for (int at = 0; points != NULL && at < league->counted.count; at++) {
        if (!isnan(one->errors[at])) {
            points[count++] =
                (struct error_point){.error = one->errors[at], .label = league->counted.cases[at].view->label};
        }
    }
    int stride = plot_stride(count, POINTS_MAXIMUM);
    if (stride > 1) {
        qsort(points, (size_t)count, sizeof *points, point_order);
    }
    for (int at = 0; at < count; at++) {
        if (at % stride == 0 || at == count - 1) {
            point_append(page, one->name, &points[at], place);
        }
    }
    page->data.failed = page->data.failed || points == NULL;
    free(points);
}

/* The estimator's quartiles, and what is written beside it. */
static bool quartiles_append(struct plot_page *page, const struct league *league, const struct league_row *row,
                             int place)
{
    const struct league_estimator *one = &league->estimators[row->estimator];
    double *errors = calloc((size_t)league->counted.count + 1, sizeof *errors);
    int count = 0;
    for (int at = 0; errors != NULL && at < league->counted.count; at++) {
        if (!isnan(one->errors[at])) {
            errors[count++] = one->errors[at];
        }
    }
    if (count > 0) {
        struct text name = {0};
        values_sort(errors, count);
        text_format(&name, "%s%s", one->name, one->baseline != NULL ? " *" : "");
        text_format(&page->data, "%d\t", place);
        label_column(&page->data, text_string(&name));
        text_format(&page->data, "\t%.6f\t%.6f\t%.6f\t%.6f\t%d\t%d\t%d\n", values_percentile(errors, count, 0.25),
                    values_percentile(errors, count, 0.5), values_percentile(errors, count, 0.75), row->all.median,
                    count, row->all.under_count, row->rank);
        text_release(&name);
    }
    free(errors);
    return count > 0;
}

enum status_code league_plot(const void *subject, const struct plot_place *place, struct status *error)
{
    const struct league *league = subject;
    const struct league_scope *all = &league->scopes[0];
    struct plot_page page = {.width = 1070, .tolerance = -1.0};
    text_append(&page.data, "# place\testimator\terror\tcolour\tsymbol\tcase\n");
    for (int index = 0; index < all->row_count; index++) {
        points_append(&page, league, &all->rows[index], index + 1);
    }
    text_append(&page.data,
                "\n\n# place\testimator\tquartile_1\tmedian\tquartile_3\tmedian_magnitude\tcases\tunder\trank\n");
    for (int index = 0; index < all->row_count; index++) {
        page.mark_count += quartiles_append(&page, league, &all->rows[index], index + 1) ? 1 : 0;
    }
    page.height = 208 + 30 * page.mark_count;
    text_append(&page.title, "Errors of each estimator");
    plot_stride_note(&page, plot_stride(league->counted.count, POINTS_MAXIMUM), "of each estimator both ends");
    plot_caption_close(&page, league->provenance);
    enum status_code code = plot_page_draw(place, LEAGUE_PLOT, "a prediction and a measurement", 0, &page, error);
    plot_page_release(&page);
    return code;
}
