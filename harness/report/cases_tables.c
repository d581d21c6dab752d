/* Cases tables: one row for each case, and one for each estimator and what it predicts. */
#include "harness/report/cases_tables.h"

#include "harness/report/headline.h"
#include "harness/report/wording.h"

enum { ESTIMATORS_SHOWN = 6 /* that have a column in a document */ };

/* What the blocks are made of. */
struct cases {
    struct page *page;
    const struct report *report;
    const struct case_order *order;
};

/* ---- cases ---- */

static int case_columns_make(const struct cases *cases, const bool *shown,
                             struct page_column columns[ESTIMATOR_MAXIMUM + 3])
{
    int count = 0;
    columns[count++] = (struct page_column){.title = "case", .kind = CELL_WORD};
    columns[count++] = (struct page_column){.title = "status", .kind = CELL_WORD};
    if (report_is_measured(cases->report)) {
        columns[count++] = (struct page_column){.title = cases->report->basis, .kind = CELL_BYTES};
    }
    for (int index = 0; index < cases->report->estimator_count; index++) {
        if (shown[index]) {
            columns[count++] = (struct page_column){.title = cases->report->estimators[index], .kind = CELL_ERROR};
        }
    }
    return count;
}

static void case_row_add(const struct cases *cases, const bool *shown, struct page_table *table,
                         const struct case_view *view)
{
    struct cell cells[ESTIMATOR_MAXIMUM + 3];
    int count = 0;
    cells[count++] = cell_word(view->title);
    cells[count] = cell_word(case_word(view));
    cells[count].is_bad = case_has_failed(view);
    cells[count++].after = view->invalid ? ", invalid" : NULL;
    if (report_is_measured(cases->report)) {
        cells[count++] = cell_bytes(view->measured.peak_bytes[LEVEL_ALLOCATED]);
    }
    for (int index = 0; index < cases->report->estimator_count; index++) {
        if (shown[index]) {
            const struct comparison *row = comparison_of_peak(view, cases->report->estimators[index]);
            cells[count] = row != NULL ? cell_error(row->error_known, row->error) : cell_error(false, 0.0);
            cells[count++].is_bad = row != NULL && row->judgement == JUDGEMENT_FAIL;
        }
    }
    page_row_add(cases->page, table, cells);
}

/* The estimators that predict something of these cases and have no column. */
static void hidden_describe(const struct cases *cases, const bool *shown)
{
    struct text words = {0};
    for (int index = 0; index < cases->report->estimator_count; index++) {
        if (!shown[index]) {
            text_format(&words, "%s%s", words.length == 0 ? "Not in the table: " : ", ",
                        cases->report->estimators[index]);
        }
    }
    text_append(&words, words.length > 0 ? "." : "");
    page_words_move(cases->page, BLOCK_TEXT, MEDIUM_DOCUMENT, &words);
}

/* Those that were not skipped. */
static void measured_describe(const struct cases *cases)
{
    struct page_column columns[ESTIMATOR_MAXIMUM + 3];
    bool shown[ESTIMATOR_MAXIMUM];
    const bool is_measured = report_is_measured(cases->report);
    const int count = cases->order->shown_count - cases->order->skipped_count;
    if (count > 0) {
        estimators_choose(cases->report, NULL, ESTIMATORS_SHOWN, true, shown);
        page_words(cases->page, BLOCK_HEADING, MEDIUM_DOCUMENT, "Cases");
        if (is_measured) {
            page_say(cases->page, BLOCK_TEXT, MEDIUM_DOCUMENT, "Errors of the allocated peak, (predicted - %s) / %s.",
                     cases->report->basis, cases->report->basis);
        } else {
            page_words(cases->page, BLOCK_TEXT, MEDIUM_DOCUMENT, "Nothing was measured.");
        }
        const int column_count = case_columns_make(cases, shown, columns);
        struct page_table *table = page_table_add(cases->page, MEDIUM_DOCUMENT, columns, column_count);
        for (int at = 0; at < count; at++) {
            case_row_add(cases, shown, table, cases->order->cases[at]);
        }
        if (is_measured) {
            hidden_describe(cases, shown);
        }
    }
}

void cases_table_describe(struct page *page, const struct report *report, const struct case_order *order)
{
    const struct cases cases = {.page = page, .report = report, .order = order};
    struct text words = {0};
    measured_describe(&cases);
    if (report->case_count > 0) {
        case_order_note(&words, order);
        page_words_move(page, BLOCK_TEXT, MEDIUM_DOCUMENT, &words);
    }
}

/* ---- estimators ---- */

void accuracy_table_describe(struct page *page, const struct report *report, const struct accuracy *rows, int count)
{
    static const struct page_column columns[] = {
        {.title = "estimator", .kind = CELL_WORD},
        {.title = "quantity", .kind = CELL_QUANTITY},
        {.title = "cases", .kind = CELL_COUNT},
        {.title = "median error (signed)", .kind = CELL_ERROR},
        {.title = "worst", .kind = CELL_ERROR, .media = MEDIUM_SCREEN},
        {.title = "worst error", .kind = CELL_ERROR, .media = MEDIUM_DOCUMENT},
        {.title = "worst case", .kind = CELL_WORD},
        {.title = "under", .kind = CELL_COUNT},
        {.title = "failed", .kind = CELL_COUNT},
    };
    const char *basis = report->basis;
    struct text words = {0};
    page_link_heading(page, MEDIA_READ, "accuracy", "Accuracy per estimator");
    page_say(page, BLOCK_TEXT, MEDIA_READ,
             "Error is predicted - %s, over %s. Under: cases for which too little was predicted.", basis, basis);
    struct page_table *table = page_table_add(page, MEDIA_READ, columns, 9);
    for (int index = 0; index < count; index++) {
        const struct accuracy *row = &rows[index];
        const bool known = row->case_count > 0;
        const struct cell worst = cell_error(known, row->worst_error);
        const struct cell cells[] = {cell_word(row->estimator),
                                     cell_word(row->quantity),
                                     cell_count(row->case_count),
                                     cell_error(known, row->median_error),
                                     worst,
                                     worst,
                                     cell_word(known ? row->worst_case : NULL),
                                     cell_count(row->under_count),
                                     cell_count(row->failed_count)};
        page_row_add(page, table, cells);
    }
    places_counted_append(&words, rows, count);
    page_words_move(page, BLOCK_NOTE, MEDIA_READ, &words);
    uncounted_append(&words, report);
    text_append(&words, words.length > 0 ? "." : "");
    page_words_move(page, BLOCK_NOTE, MEDIA_READ, &words);
}
