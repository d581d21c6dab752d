/* Plot data: rows chosen from the cases and written as columns. Scales, colours and legends are the scripts' affair. */
#include "harness/report/plot_data.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/size.h"
#include "harness/report/escape.h"

enum { LABEL_COLUMNS = 100, ANATOMY_CASES = 12, TIMELINE_PANELS = 9, OVERHEAD_SERIES = 8 };

static const struct {
    const char *name, *purpose, *needs;
} plots[PLOT_COUNT] = {
    [PLOT_ACCURACY] = {"accuracy", "Predicted peak against what was found", "a prediction and a measurement"},
    [PLOT_ANATOMY] = {"anatomy", "What each peak is made of", "a measurement with its categories"},
    [PLOT_OVERHEAD] = {"overhead", "Overhead of inference", "mode infer, a measured peak and weights"},
    [PLOT_TIMELINE] = {"timeline", "Peaks from stage to stage", "two measured stages or more"},
};

const char *plot_name(enum plot_kind kind)
{
    return plots[kind].name;
}

const char *plot_purpose(enum plot_kind kind)
{
    return plots[kind].purpose;
}

const char *plot_needs(enum plot_kind kind)
{
    return plots[kind].needs;
}

void label_column(struct text *data, const char *label)
{
    struct text clean = {0};
    column_append(&clean, label);
    const char *string = text_string(&clean);
    int needed = width_measure(string);
    cell_append(data, string, needed < LABEL_COLUMNS ? needed : LABEL_COLUMNS, false);
    text_release(&clean);
}

static void bytes_column(struct text *data, int64_t bytes)
{
    if (bytes == BYTES_UNKNOWN) {
        text_append(data, "\tNaN");
    } else {
        text_format(data, "\t%" PRId64, bytes);
    }
}

/* The comparison that stands for an estimator in one case: of allocated bytes if there is one, else its first. */
static const struct comparison *comparison_choose(const struct case_view *view, const char *estimator)
{
    const struct comparison *chosen = NULL;
    for (int index = 0; index < view->comparison_count; index++) {
        const struct comparison *row = &view->comparisons[index];
        if (strcmp(row->estimator, estimator) != 0 || row->predicted_bytes <= 0 || row->measured_bytes <= 0) {
            continue;
        }
        if (chosen == NULL || strcmp(row->quantity, "allocated_bytes_peak") == 0) {
            chosen = row;
        }
    }
    return chosen;
}

/* One row per case and estimator; the prediction stands in the column of its estimator. */
static void accuracy_make(const struct report *report, int number, struct plot_page *page)
{
    *page = (struct plot_page){.width = 760, .height = 860, .tolerance = -1.0};
    if (number > 0) {
        return;
    }
    text_append(&page->data, "case\tquantity\tmeasured_bytes");
    for (int index = 0; index < report->estimator_count; index++) {
        text_append(&page->data, "\t");
        label_column(&page->data, report->estimators[index]);
    }
    text_append(&page->data, "\n");
    for (int at = 0; at < report->case_count; at++) {
        const struct case_view *view = &report->cases[at];
        for (int index = 0; index < report->estimator_count; index++) {
            const struct comparison *row = comparison_choose(view, report->estimators[index]);
            if (row == NULL) {
                continue;
            }
            label_column(&page->data, view->title);
            text_append(&page->data, "\t");
            label_column(&page->data, row->quantity);
            bytes_column(&page->data, row->measured_bytes);
            for (int column = 0; column < report->estimator_count; column++) {
                bytes_column(&page->data, column == index ? row->predicted_bytes : BYTES_UNKNOWN);
            }
            text_append(&page->data, "\n");
            page->mark_count++;
            if (index == 0 && row->tolerance > page->tolerance) {
                page->tolerance = row->tolerance;
            }
        }
    }
}

static int64_t slack_of(int64_t upper_bytes, int64_t lower_bytes)
{
    return upper_bytes != BYTES_UNKNOWN && lower_bytes != BYTES_UNKNOWN && upper_bytes > lower_bytes
               ? upper_bytes - lower_bytes
               : 0;
}

static int64_t categories_sum(const struct footprint_view *footprint)
{
    int64_t sum_bytes = 0;
    for (int category = 0; category < CATEGORY_COUNT; category++) {
        if (!size_add(sum_bytes, footprint->category_bytes[category], &sum_bytes)) {
            return BYTES_UNKNOWN;
        }
    }
    return sum_bytes;
}

static bool anatomy_has(const struct case_view *view)
{
    return view->measured.categories_known && categories_sum(&view->measured) > 0;
}

static void anatomy_row(struct text *data, const struct case_view *view, const struct footprint_view *footprint,
                        const char *kind)
{
    label_column(data, view->title);
    text_format(data, "\t%s", kind);
    for (int category = 0; category < CATEGORY_COUNT; category++) {
        bytes_column(data, footprint->category_bytes[category]);
    }
    int64_t allocated_bytes = footprint->peak_bytes[LEVEL_ALLOCATED];
    bytes_column(data, slack_of(allocated_bytes, categories_sum(footprint)));
    bytes_column(data, slack_of(footprint->peak_bytes[LEVEL_RESERVED], allocated_bytes));
    text_append(data, "\n");
}

static int size_order(const void *left, const void *right)
{
    const struct case_view *const *a = left, *const *b = right;
    int64_t x = (*a)->measured.peak_bytes[LEVEL_REQUESTED], y = (*b)->measured.peak_bytes[LEVEL_REQUESTED];
    return x != y ? (x < y) - (x > y) : strcmp((*a)->id, (*b)->id);
}

/* The cases that `has` accepts, largest first, so that neighbours are alike; released by free. NULL: no memory. */
static const struct case_view **cases_choose(const struct report *report, bool (*has)(const struct case_view *),
                                             int *count)
{
    const struct case_view **chosen = calloc((size_t)report->case_count + 1, sizeof *chosen);
    *count = 0;
    for (int at = 0; chosen != NULL && at < report->case_count; at++) {
        if (has(&report->cases[at])) {
            chosen[(*count)++] = &report->cases[at];
        }
    }
    if (chosen != NULL) {
        qsort(chosen, (size_t)*count, sizeof *chosen, size_order);
    }
    return chosen;
}

static void anatomy_make(const struct report *report, int number, struct plot_page *page)
{
    *page = (struct plot_page){.width = 960, .tolerance = -1.0};
    int count;
    const struct case_view **chosen = cases_choose(report, anatomy_has, &count);
    page->data.failed = chosen == NULL;
    text_append(&page->data, "case\tkind");
    for (int category = 0; category < CATEGORY_COUNT; category++) {
        text_format(&page->data, "\t%s", report_category_name(category));
    }
    text_append(&page->data, "\tslack\tcached\n");
    for (int at = number * ANATOMY_CASES; at < count && at < (number + 1) * ANATOMY_CASES; at++) {
        const struct case_view *view = chosen[at];
        if (view->predicted.categories_known) {
            anatomy_row(&page->data, view, &view->predicted, "predicted");
        } else {
            label_column(&page->data, view->title);
            text_append(&page->data, "\tpredicted\t0\t0\t0\t0\t0\t0\t0\t0\t0\t0\t0\t0\n");
        }
        anatomy_row(&page->data, view, &view->measured, view->basis);
        page->mark_count++;
    }
    page->height = 210 + 64 * page->mark_count;
    free(chosen);
}

/* Points of one series: a model, a precision and a form of attention. */
struct overhead_point {
    const struct case_view *view;
    int64_t tokens;
};

static bool overhead_has(const struct case_view *view)
{
    return view->mode != NULL && strcmp(view->mode, "infer") == 0 && view->batch > 0 &&
           view->measured.categories_known && view->measured.category_bytes[CATEGORY_WEIGHTS] > 0 &&
           view->measured.peak_bytes[LEVEL_ALLOCATED] > 0;
}

static int string_order(const char *a, const char *b)
{
    return strcmp(a != NULL ? a : "", b != NULL ? b : "");
}

static int series_order(const struct case_view *a, const struct case_view *b)
{
    int order = string_order(a->model, b->model);
    order = order != 0 ? order : string_order(a->precision, b->precision);
    order = order != 0 ? order : string_order(a->attention, b->attention);
    return order != 0 ? order : string_order(a->logits, b->logits);
}

static int point_order(const void *left, const void *right)
{
    const struct overhead_point *a = left, *b = right;
    int order = series_order(a->view, b->view);
    return order != 0 ? order : (a->tokens > b->tokens) - (a->tokens < b->tokens);
}

static void overhead_title(struct text *data, const struct case_view *view)
{
    struct text title = {0};
    text_format(&title, "%s %s", view->model != NULL ? view->model : view->id,
                view->precision != NULL ? view->precision : "");
    if (view->attention != NULL && strcmp(view->attention, "sdpa") != 0) {
        text_format(&title, " %s", view->attention);
    }
    if (view->logits != NULL && strcmp(view->logits, "last") == 0) {
        text_append(&title, " last logits");
    }
    label_column(data, text_string(&title));
    text_release(&title);
}

static void overhead_row(struct plot_page *page, const struct overhead_point *point, bool opens)
{
    const struct case_view *view = point->view;
    if (opens) {
        text_append(&page->data, page->mark_count > 0 ? "\n\n" : "");
        overhead_title(&page->data, view);
        text_append(&page->data, "\ttokens\tpeak_bytes\tweight_bytes\n");
        page->mark_count++;
    }
    label_column(&page->data, view->title);
    text_format(&page->data, "\t%" PRId64, point->tokens);
    bytes_column(&page->data, view->measured.peak_bytes[LEVEL_ALLOCATED]);
    bytes_column(&page->data, view->measured.category_bytes[CATEGORY_WEIGHTS]);
    text_append(&page->data, "\n");
}

static void overhead_make(const struct report *report, int number, struct plot_page *page)
{
    *page = (struct plot_page){.width = 860, .height = 510, .tolerance = -1.0};
    struct overhead_point *points = calloc((size_t)report->case_count + 1, sizeof *points);
    int count = 0, series = -1;
    page->data.failed = points == NULL;
    for (int at = 0; points != NULL && at < report->case_count; at++) {
        const struct case_view *view = &report->cases[at];
        int64_t tokens = view->batch;
        if (overhead_has(view) && (view->seq <= 0 || size_multiply(view->batch, view->seq, &tokens))) {
            points[count++] = (struct overhead_point){.view = view, .tokens = tokens};
        }
    }
    if (points != NULL) {
        qsort(points, (size_t)count, sizeof *points, point_order);
    }
    for (int at = 0; at < count; at++) {
        bool opens = at == 0 || series_order(points[at - 1].view, points[at].view) != 0;
        series += opens ? 1 : 0;
        if (series / OVERHEAD_SERIES == number) {
            overhead_row(page, &points[at], opens);
        }
    }
    page->height += 22 * page->mark_count;
    free(points);
}

static bool timeline_has(const struct case_view *view)
{
    int known = 0;
    for (int stage = STAGE_LOAD; stage < STAGE_COUNT; stage++) {
        known += view->measured.stages[stage].peak_bytes[LEVEL_ALLOCATED] > 0 ? 1 : 0;
    }
    return known >= 2 && view->measured.peak_bytes[LEVEL_ALLOCATED] != BYTES_UNKNOWN;
}

static void timeline_block(struct plot_page *page, const struct case_view *view)
{
    text_append(&page->data, page->mark_count > 0 ? "\n\n" : "");
    for (int stage = STAGE_LOAD; stage < STAGE_COUNT; stage++) {
        const struct stage_view *measured = &view->measured.stages[stage];
        if (!measured->present) {
            continue;
        }
        label_column(&page->data, view->title);
        text_format(&page->data, "\t%s", report_stage_name(stage));
        for (int level = 0; level <= LEVEL_RESERVED; level++) {
            bytes_column(&page->data, measured->peak_bytes[level]);
        }
        bytes_column(&page->data, view->predicted.stages[stage].peak_bytes[LEVEL_ALLOCATED]);
        text_append(&page->data, "\n");
    }
    page->mark_count++;
}

static void timeline_make(const struct report *report, int number, struct plot_page *page)
{
    *page = (struct plot_page){.width = 1100, .tolerance = -1.0};
    int count;
    const struct case_view **chosen = cases_choose(report, timeline_has, &count);
    page->data.failed = chosen == NULL;
    text_append(&page->data, "# case\tstage\trequested_bytes_peak\tallocated_bytes_peak\treserved_bytes_peak\t"
                             "predicted_allocated_bytes_peak\n");
    for (int at = number * TIMELINE_PANELS; at < count && at < (number + 1) * TIMELINE_PANELS; at++) {
        timeline_block(page, chosen[at]);
    }
    int columns = page->mark_count < 3 ? page->mark_count : 3;
    page->width = columns == 1 ? 640 : columns == 2 ? 860 : 1200;
    page->height = 90 + 290 * (columns > 0 ? (page->mark_count + columns - 1) / columns : 0);
    free(chosen);
}

void plot_page_make(const struct report *report, enum plot_kind kind, int number, struct plot_page *page)
{
    static void (*const makers[PLOT_COUNT])(const struct report *, int, struct plot_page *) = {
        [PLOT_ACCURACY] = accuracy_make,
        [PLOT_ANATOMY] = anatomy_make,
        [PLOT_OVERHEAD] = overhead_make,
        [PLOT_TIMELINE] = timeline_make,
    };
    makers[kind](report, number, page);
    page->basis = report->basis;
}
