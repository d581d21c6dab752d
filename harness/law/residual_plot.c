/* Residual plot: data for plots/law.gp. Scales and colours are the script's affair. */
#include "harness/law/residual_plot.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/report/percentile.h"
#include "harness/report/plots.h"

enum { MARKS_MAXIMUM = 6000, CURVE_STEPS = 200 };

/* The cases of a kind lie side by side across its place, in the order of the models, so that none hides another. */
static void residuals_write(struct plot_page *page, const struct overhead_law *law, int stride)
{
    int place = 0, number = 0;
    text_append(&page->data, "# place\terror in %\tmodel\n");
    for (int at = 0; at < law->kind_count; at++) {
        const struct overhead_group *kind = &law->kinds[at];
        if (!kind->counts) {
            continue;
        }
        place++;
        for (int i = 0; i < kind->point_count; i++, number++) {
            double error = law->errors[OVERHEAD_ALLOCATED][FORM_STRUCTURAL][kind->points[i]];
            bool is_far = fabs(error) > 0.05;
            if (!isnan(error) && (is_far || plot_mark_is_drawn(number, stride))) {
                text_format(&page->data, "%.4f\t%.6f\t", place + 0.7 * ((i + 0.5) / kind->point_count - 0.5),
                            100.0 * error);
                label_column(&page->data, law->points->all[kind->points[i]].model);
                text_append(&page->data, "\n");
                page->mark_count++;
            }
        }
    }
}

static bool has_several_targets(const struct overhead_law *law)
{
    for (int at = 1; at < law->kind_count; at++) {
        if (strcmp(law->kinds[at].target, law->kinds[0].target) != 0) {
            return true;
        }
    }
    return false;
}

static void kinds_write(struct plot_page *page, const struct overhead_law *law)
{
    int place = 0;
    bool with_target = has_several_targets(law);
    text_append(&page->data, "\n\n# place\tkind\n");
    for (int at = 0; at < law->kind_count; at++) {
        if (law->kinds[at].counts) {
            struct text name = {0};
            text_format(&name, "%s%s%s", law->kinds[at].kind, with_target ? ", " : "",
                        with_target ? law->kinds[at].target : "");
            text_format(&page->data, "%d\t", ++place);
            label_column(&page->data, text_string(&name));
            text_append(&page->data, "\n");
            text_release(&name);
        }
    }
}

/* The share of cases that are off by at most so much: errors in their order; without the context, but of the form that
 * is of the footprint alone. */
static bool curve_write(struct plot_page *page, const struct overhead_law *law, enum overhead_form form)
{
    int count = 0;
    const double *errors = law->errors[form == FORM_REPLAYED ? OVERHEAD_FOOTPRINT : OVERHEAD_ALLOCATED][form];
    double *values = calloc((size_t)law->points->count + 1, sizeof *values);
    for (int at = 0; values != NULL && at < law->points->count; at++) {
        if (!isnan(errors[at])) {
            values[count++] = fabs(errors[at]);
        }
    }
    text_format(&page->data, "\n\n# share in %%\t|error| in %% of %s\n", overhead_form_key(form));
    if (count > 0) {
        values_sort(values, count);
        for (int step = 0; step <= CURVE_STEPS; step++) {
            double share = (double)step / CURVE_STEPS;
            text_format(&page->data, "%.2f\t%.6f\n", 100.0 * share, 100.0 * values_percentile(values, count, share));
        }
    }
    free(values);
    return values != NULL;
}

enum status_code overhead_law_plot(const struct overhead_law *law, const struct plot_place *place, struct status *error)
{
    int stride = plot_stride(law->counted_point_count, MARKS_MAXIMUM);
    struct plot_page page = {.width = 1100, .height = 860, .tolerance = -1.0};
    bool fine = true;
    residuals_write(&page, law, stride);
    kinds_write(&page, law);
    for (int form = 0; form < FORM_COUNT; form++) {
        fine = curve_write(&page, law, (enum overhead_form)form) && fine;
    }
    text_append(&page.title, "Laws of the overhead of inference");
    plot_stride_note(&page, stride, "what is off by more than 5 %");
    struct text from = {0};
    text_format(&from, "%d cases of %d models; each is predicted by a law that its model was left out of",
                law->counted_point_count, law->counted_model_count);
    plot_caption_close(&page, text_string(&from));
    text_release(&from);
    enum status_code code = fine ? plot_page_draw(place, OVERHEAD_LAW_PLOT, "cases of inference", 0, &page, error)
                                 : status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for a plot");
    plot_page_release(&page);
    return code;
}
