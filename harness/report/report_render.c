/* Report rendering: the choice of a writer for the report of every case. Not the writers. */
#include "harness/report/case_view.h"
#include "harness/report/page_format.h"

static enum status_code writer_call(const struct report *report, enum report_format format,
                                    const struct report_style *style, const struct accuracy *rows, int count,
                                    struct text *text, struct status *error)
{
    switch (format) {
    case REPORT_TABLE:
        table_write(report, style, rows, count, text);
        return STATUS_OK;
    case REPORT_MARKDOWN:
        markdown_write(report, style, rows, count, text);
        return STATUS_OK;
    case REPORT_CSV:
        csv_write(report, text);
        return STATUS_OK;
    case REPORT_JSON:
        return document_write(report, rows, count, text, error);
    case REPORT_HTML:
        html_write(report, style, rows, count, text);
        return STATUS_OK;
    case REPORT_JUNIT:
        junit_write(report, text);
        return STATUS_OK;
    case REPORT_SUMMARY:
        summary_write(report, style, text);
        return STATUS_OK;
    }
    return status_set(error, STATUS_INTERNAL, "report format %d does not exist", (int)format);
}

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
    const struct report_style chosen = report_style_settle(style);
    struct arena arena = {0};
    struct accuracy *rows = NULL;
    int count = 0;
    enum status_code code = report_accuracy(report, &arena, &rows, &count, error);
    if (code == STATUS_OK) {
        count = format == REPORT_JSON ? count : accuracy_keep_known(rows, count);
        code = writer_call(report, format, &chosen, rows, count, text, error);
    }
    if (code == STATUS_OK) {
        code = text_status(text, "a report", error);
    }
    arena_release(&arena);
    return code;
}
