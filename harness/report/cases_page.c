/* Cases page: the report of every case, described once for documents and screens: what failed, the cases, how far the
 * estimators were off, the figures, and what there is to say of single cases. A terminal lists cases in a form of its
 * own (table.c), and on a screen a row of a case unfolds (html_cases.c). */
#include "harness/report/cases_page.h"

#include <stdlib.h>
#include <string.h>

#include "harness/report/case_order.h"
#include "harness/report/cases_tables.h"
#include "harness/report/findings.h"
#include "harness/report/headline.h"
#include "harness/report/html_cases.h"
#include "harness/report/note_groups.h"
#include "harness/report/proof_rates.h"
#include "harness/report/provenance.h"
#include "harness/report/report_page.h"
#include "harness/report/side_tables.h"
#include "harness/report/spread.h"
#include "harness/report/wording.h"

enum { CASES_MAXIMUM = 1000, FAILURES_OPEN_MAXIMUM = 20, NAMES_DOCUMENT = 100, NAMES_SCREEN = 1000 };

/* What the blocks are made of. */
struct cases {
    struct page *page;
    const struct report *report;
    struct case_order *order; /* in the arena of the page, with its list */
};

/* ---- head ---- */

static void title_describe(const struct cases *cases, struct report *const *one)
{
    struct text line = {0};
    provenance_title_append(&line, one, 1);
    if (line.length == 0) {
        page_say(cases->page, BLOCK_TITLE, MEDIUM_DOCUMENT, "Predicted against %s", cases->report->basis);
        page_say(cases->page, BLOCK_TITLE, MEDIUM_SCREEN, "Predicted against %s memory", cases->report->basis);
    }
    page_words_move(cases->page, BLOCK_TITLE, MEDIA_READ, &line);
}

/* What the report comes to if that is no pass, what is missing, and what it shows of the estimators. */
static void headline_describe(const struct cases *cases)
{
    struct text line = {0};
    headline_append(&line, cases->report);
    if (line.length > 0) {
        page_words_move(cases->page, BLOCK_ALERT, MEDIUM_ALL, &line);
        missing_names_append(&line, cases->report, NAMES_DOCUMENT);
        page_words_move(cases->page, BLOCK_TEXT, MEDIUM_DOCUMENT, &line);
        missing_names_append(&line, cases->report, NAMES_SCREEN);
        page_words_move(cases->page, BLOCK_TEXT, MEDIUM_SCREEN, &line);
    }
    cases->page->failed = !findings_append(&line, cases->report) || cases->page->failed;
    page_words_move(cases->page, BLOCK_TEXT, MEDIA_READ, &line);
}

static void head_describe(const struct cases *cases)
{
    const struct report *report = cases->report;
    struct report *const one = (struct report *)(uintptr_t)report;
    struct text line = {0};
    title_describe(cases, &one);
    headline_describe(cases);
    provenance_append(&line, &one, 1);
    text_append(&line, line.length > 0 ? "; " : "");
    course_append(&line, report);
    text_format(&line, ". Binary units; %s; - is not known.", peaks_words(report));
    page_words_move(cases->page, BLOCK_LEAD, MEDIUM_DOCUMENT, &line);
    course_append(&line, report);
    text_append(&line, ".");
    page_words_move(cases->page, BLOCK_LEAD, MEDIUM_SCREEN, &line);
    provenance_append(&line, &one, 1);
    text_format(&line, "%sBinary units; %s; ", line.length > 0 ? ". " : "", peaks_words(report));
    if (report_is_measured(report)) {
        text_format(&line, "errors of the allocated peak, (predicted - %s) / %s; ", report->basis, report->basis);
    }
    text_append(&line, "- is not known.");
    page_words_move(cases->page, BLOCK_NOTE, MEDIUM_SCREEN, &line);
}

/* ---- cases, in a document ---- */

/* Skipped cases have predictions at most: they stand apart, below the reason that those which follow each other
 * share. */
static void document_skipped_describe(const struct cases *cases)
{
    static const struct page_column columns[] = {{.title = "case", .kind = CELL_WORD},
                                                 {.title = "peak that replay predicts", .kind = CELL_BYTES}};
    const char *reason = NULL;
    struct page_table *table = NULL;
    const int column_count = case_order_skipped_are_predicted(cases->order) ? 2 : 1;
    for (int at = cases->order->shown_count - cases->order->skipped_count; at < cases->order->shown_count; at++) {
        const struct case_view *view = cases->order->cases[at];
        if (reason == NULL) {
            page_words(cases->page, BLOCK_HEADING, MEDIUM_DOCUMENT, "Skipped, not measured");
        }
        if (reason == NULL || strcmp(reason, view->reason) != 0) {
            reason = view->reason;
            if (reason[0] != '\0') {
                page_words(cases->page, BLOCK_TEXT, MEDIUM_DOCUMENT, reason);
            }
            table = page_table_add(cases->page, MEDIUM_DOCUMENT, columns, column_count);
        }
        const struct cell cells[] = {cell_word(view->title), cell_bytes(view->predicted.peak_bytes[LEVEL_ALLOCATED])};
        page_row_add(cases->page, table, cells);
    }
}

/* ---- cases, on a screen ---- */

struct screen_part {
    const struct report *report;
    const struct case_order *order;
    struct html_columns columns;
    int first, count;
    bool is_open;
};

static void screen_cases_write(const void *context, struct text *text)
{
    const struct screen_part *part = context;
    html_cases_append(text, part->report, &part->columns, part->order->cases + part->first, part->count, part->is_open);
}

/* The failures, or all others that were not skipped. */
static void screen_cases_describe(const struct cases *cases, bool failures)
{
    const struct case_order *order = cases->order;
    struct screen_part *part = arena_alloc(&cases->page->arena, sizeof *part);
    const int failed_count = order->failed_count + order->hidden_failed_count;
    if (part == NULL) {
        cases->page->failed = true;
        return;
    }
    *part = (struct screen_part){.report = cases->report, .order = order, .first = failures ? 0 : order->failed_count};
    part->count = failures ? order->failed_count : order->shown_count - order->skipped_count - part->first;
    part->is_open = failures && part->count <= FAILURES_OPEN_MAXIMUM;
    if (part->count == 0) {
        return;
    }
    estimators_choose(cases->report, NULL, HTML_COLUMNS_MAXIMUM, true, part->columns.shown);
    if (failures) {
        const char *label =
            arena_format(&cases->page->arena, "%d case%s did not pass", failed_count, failed_count == 1 ? "" : "s");
        page_linked_heading(cases->page, &(struct page_block){.media = MEDIUM_SCREEN,
                                                              .words = "Did not pass",
                                                              .anchor = "failures",
                                                              .label = label,
                                                              .is_alert = true});
    } else {
        page_link_heading(cases->page, MEDIUM_SCREEN, "cases", order->failed_count > 0 ? "The other cases" : "Cases");
    }
    page_part_add(cases->page, MEDIUM_SCREEN, (struct page_part){screen_cases_write, part});
}

static void screen_rest_describe(const struct cases *cases)
{
    struct text words = {0};
    int count = cases->order->skipped_count;
    screen_cases_describe(cases, false);
    if (count > 0) {
        const char *label =
            arena_format(&cases->page->arena, "%d case%s skipped", count, count == 1 ? " was" : "s were");
        page_linked_heading(cases->page, &(struct page_block){.media = MEDIUM_SCREEN,
                                                              .words = "Skipped, not measured",
                                                              .anchor = "skipped",
                                                              .label = label});
        page_part_add(cases->page, MEDIUM_SCREEN, (struct page_part){html_skipped_write, cases->order});
    }
    case_order_note(&words, cases->order);
    page_words_move(cases->page, BLOCK_NOTE, MEDIUM_SCREEN, &words);
}

/* ---- figures ---- */

static void figures_describe(const struct cases *cases)
{
    const struct plot_set *plots = cases->page->plots;
    const unsigned media = plots != NULL && plots->link != NULL ? MEDIA_READ : MEDIUM_SCREEN; /* a document has links */
    int figure_count = 0;
    for (int index = 0; plots != NULL && index < plots->count; index++) {
        if (plots->plots[index].svg.length > 0) {
            if (figure_count++ == 0) {
                page_link_heading(cases->page, media, "figures", "Figures");
            }
            page_figure(cases->page, media, plots->plots[index].name, plots->plots[index].title, true);
        }
    }
}

/* ---- what there is to say of single cases, in a document ---- */

typedef void case_words(const struct case_view *view, struct text *words);

static void causes_words(const struct case_view *view, struct text *words)
{
    causes_append(words, view->measured.stages[STAGE_LOAD], &view->causes_at_load);
}

static void items_words(const struct case_view *view, struct text *words)
{
    struct text items = {0};
    enum level level = items_append(&items, view);
    if (level != LEVEL_COUNT) {
        text_format(words, "%s %s", level_name(level), text_string(&items));
    }
    words->failed = words->failed || items.failed;
    text_release(&items);
}

static void spread_words(const struct case_view *view, struct text *words)
{
    spread_append(words, &view->spread);
}

/* What was to be expected of a case that gave no figure to hold it against. */
static void prediction_append(struct text *words, const struct case_view *view)
{
    char word[WORDING_BYTES];
    int64_t predicted_bytes = view->predicted.peak_bytes[LEVEL_ALLOCATED];
    if (view->measured.peak_bytes[LEVEL_ALLOCATED] == BYTES_UNKNOWN && predicted_bytes != BYTES_UNKNOWN) {
        text_format(words, "; replay predicted a peak of %s", bytes_word(predicted_bytes, false, word));
    }
}

/* Why a case failed, or why it is invalid, and what of it a library did not compute. */
static void reason_words(const struct case_view *view, struct text *words)
{
    if (view->reason[0] != '\0' || view->oom_stage != NULL || case_has_failed(view)) {
        text_format(words, "%s%s%s", case_word(view), view->reason[0] != '\0' ? ": " : "", view->reason);
        oom_append(words, view);
        prediction_append(words, view);
    }
    text_append(words, view->invalid && words->length > 0 ? "; " : "");
    validity_append(words, view);
    declined_append(words, view);
}

/* A list below a heading, of the cases from first on, before end; nothing if there is nothing to say. */
static void notes_describe(const struct cases *cases, const char *heading, case_words *words_of, int first, int end)
{
    struct note_groups notes = {0};
    for (int at = first; at < end; at++) {
        struct text words = {0};
        words_of(cases->order->cases[at], &words);
        note_groups_add(&notes, cases->order->cases[at]->title, text_string(&words));
        cases->page->failed = cases->page->failed || words.failed;
        text_release(&words);
    }
    note_groups_describe(&notes, heading, MEDIUM_DOCUMENT, cases->page);
    note_groups_release(&notes);
}

/* ---- all of it ---- */

/* The order in the arena of the page, so that it lives as long as its parts. */
static struct case_order *order_keep(struct page *page, const struct report *report)
{
    struct case_order order, *kept = arena_alloc(&page->arena, sizeof *kept);
    if (kept == NULL || !case_order_make(report, CASES_MAXIMUM, &order)) {
        return NULL;
    }
    *kept = order;
    kept->cases = arena_alloc(&page->arena, ((size_t)order.shown_count + 1) * sizeof *kept->cases);
    if (kept->cases != NULL && order.shown_count > 0) {
        memcpy(kept->cases, order.cases, (size_t)order.shown_count * sizeof *kept->cases);
    }
    case_order_release(&order);
    return kept->cases != NULL ? kept : NULL;
}

static void cases_describe(const void *subject, struct page *page)
{
    const struct cases_subject *all = subject;
    const struct cases cases = {.page = page, .report = all->report, .order = order_keep(page, all->report)};
    if (cases.order == NULL) {
        page->failed = true;
        return;
    }
    const int failed_count = cases.order->failed_count, shown_count = cases.order->shown_count;
    head_describe(&cases);
    page_contents(page, MEDIUM_SCREEN);
    notes_describe(&cases, "Did not pass", reason_words, 0, failed_count);
    cases_table_describe(page, all->report, cases.order);
    document_skipped_describe(&cases);
    screen_cases_describe(&cases, true);
    if (all->known_count > 0) {
        accuracy_table_describe(page, all->report, all->known, all->known_count);
    }
    proof_rates_describe(all->report, page);
    side_tables_describe(all->report, page);
    figures_describe(&cases);
    notes_describe(&cases, "From requested to reserved, after loading", causes_words, 0, shown_count);
    notes_describe(&cases, "What driver or kernel counted, by cause", items_words, 0, shown_count);
    notes_describe(&cases, "Spread over attempts, each in a process of its own: highest less lowest", spread_words, 0,
                   shown_count);
    notes_describe(&cases, "Reasons", reason_words, failed_count, shown_count - cases.order->skipped_count);
    screen_rest_describe(&cases);
}

/* ---- as a page ---- */

static void cases_release(void *subject)
{
    struct cases_subject *all = subject;
    if (all != NULL) {
        arena_release(&all->arena);
        free(all);
    }
}

static enum status_code cases_make(const struct page_material *material, void **subject, struct status *error)
{
    const struct report *report = material->reports[0];
    struct cases_subject *all = calloc(1, sizeof *all);
    enum status_code code =
        all != NULL ? report_accuracy(report, &all->arena, &all->rows, &all->row_count, error) : STATUS_OUT_OF_MEMORY;
    if (code == STATUS_OK) {
        all->report = report;
        all->known = arena_alloc(&all->arena, (size_t)all->row_count * sizeof *all->known);
        code = all->known != NULL ? STATUS_OK : STATUS_OUT_OF_MEMORY;
    }
    for (int index = 0; code == STATUS_OK && index < all->row_count; index++) {
        if (all->rows[index].case_count > 0) {
            all->known[all->known_count++] = all->rows[index];
        }
    }
    *subject = all;
    return code == STATUS_OUT_OF_MEMORY ? status_set(error, code, "no memory for a report") : code;
}

static enum status_code cases_plot(const void *subject, const struct plot_place *place, struct status *error)
{
    const struct cases_subject *all = subject;
    return report_plot(all->report, place, error);
}

const struct page_kind cases_page = {
    .name = "a report",
    .what = "a report",
    .describe = cases_describe,
    .own = {[REPORT_TABLE] = table_write,
            [REPORT_SUMMARY] = summary_write,
            [REPORT_CSV] = csv_write,
            [REPORT_OPENMETRICS] = openmetrics_write,
            [REPORT_BENCHMARK] = benchmark_json_write,
            [REPORT_JUNIT] = junit_write},
    .document = document_write,
    .has_figures = true,
    .make = cases_make,
    .release = cases_release,
    .draw = cases_plot,
};

enum status_code report_render(const struct report *report, enum report_format format, const struct report_style *style,
                               struct text *text, struct status *error)
{
    void *subject = NULL;
    struct report *const one = (struct report *)(uintptr_t)report;
    enum status_code code = cases_make(&(struct page_material){&one, 1, NULL, format}, &subject, error);
    if (code == STATUS_OK) {
        code = page_render(&cases_page, subject, format, style, text, error);
    }
    cases_release(subject);
    return code;
}
