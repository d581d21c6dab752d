/* Report rendering: the report of every case in each format. Not the writers. */
#include "harness/report/cases_page.h"
#include "harness/report/page_format.h"

static void table_own(const void *subject, const struct report_style *style, struct text *text)
{
    const struct cases_subject *all = subject;
    table_write(all->report, style, all->rows, all->row_count, text);
}

static void summary_own(const void *subject, const struct report_style *style, struct text *text)
{
    const struct cases_subject *all = subject;
    summary_write(all->report, style, text);
}

static void csv_own(const void *subject, const struct report_style *style, struct text *text)
{
    const struct cases_subject *all = subject;
    (void)style;
    csv_write(all->report, text);
}

static void junit_own(const void *subject, const struct report_style *style, struct text *text)
{
    const struct cases_subject *all = subject;
    (void)style;
    junit_write(all->report, text);
}

static enum status_code document_own(const void *subject, struct text *text, struct status *error)
{
    const struct cases_subject *all = subject;
    return document_write(all->report, all->rows, all->row_count, text, error);
}

static const struct page_kind cases_kind = {
    .name = "a report",
    .what = "a report",
    .describe = cases_page_describe,
    .own = {[REPORT_TABLE] = table_own,
            [REPORT_SUMMARY] = summary_own,
            [REPORT_CSV] = csv_own,
            [REPORT_JUNIT] = junit_own},
    .document = document_own,
};

/* A page has no rows of zeros: those of which an error is known, in their order. */
static int accuracy_keep_known(struct accuracy *rows, int count)
{
    int kept = 0;
    for (int index = 0; index < count; index++) {
        if (rows[index].case_count > 0) {
            rows[kept++] = rows[index];
        }
    }
    return kept;
}

enum status_code report_render(const struct report *report, enum report_format format, const struct report_style *style,
                               struct text *text, struct status *error)
{
    struct arena arena = {0};
    struct accuracy *rows = NULL;
    int count = 0;
    enum status_code code = report_accuracy(report, &arena, &rows, &count, error);
    if (code == STATUS_OK) {
        count = format == REPORT_JSON ? count : accuracy_keep_known(rows, count);
        const struct cases_subject all = {.report = report, .rows = rows, .row_count = count};
        code = page_render(&cases_kind, &all, format, style, text, error);
    }
    arena_release(&arena);
    return code;
}
