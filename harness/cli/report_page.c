/* Report page: which page the options ask for, and its readers, writers and plots. What stands on it is decided in
 * harness/report. */
#include "harness/cli/report_page.h"

#include <stdio.h>

#include "harness/cli/report_files.h"
#include "harness/cli/resource_path.h"

enum status_code report_page_open(const struct arguments *arguments, struct report_page *page, struct status *error)
{
    bool wants_league = arguments_value(arguments, "league") != NULL;
    *page = (struct report_page){0};
    if (!wants_league && arguments->operand_count > 1) {
        return status_set(error, STATUS_INVALID,
                          "report: '%s' is one operand too many; only --league takes several folders",
                          arguments->operands[1]);
    }
    enum status_code code = STATUS_OK;
    for (int index = 0; code == STATUS_OK && index < arguments->operand_count; index++) {
        code = report_open(arguments->operands[index], &page->reports[index], error);
        page->report_count += code == STATUS_OK ? 1 : 0;
    }
    if (code == STATUS_OK && wants_league) {
        code = league_make(page->reports, page->report_count, &page->league, error);
    }
    return code;
}

void report_page_release(struct report_page *page)
{
    league_release(page->league);
    for (int index = 0; index < page->report_count; index++) {
        report_release(page->reports[index]);
    }
    *page = (struct report_page){0};
}

enum status_code report_page_render(const struct report_page *page, enum report_format format,
                                    const struct report_style *style, struct text *text, struct status *error)
{
    return page->league != NULL ? league_render(page->league, format, style, text, error)
                                : report_render(page->reports[0], format, style, text, error);
}

enum status_code report_page_draw(const struct report_page *page, const char *folder, struct status *error)
{
    if (page->league == NULL) {
        return report_draw(page->reports[0], folder, error);
    }
    struct arena arena = {0};
    struct text notes = {0};
    const char *scripts = resource_path(&arena, "plots");
    enum status_code code = scripts != NULL
                                ? league_plot(page->league, scripts, folder, &notes, error)
                                : status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for a path");
    if (code == STATUS_OK) {
        fputs(text_string(&notes), stderr);
    }
    text_release(&notes);
    arena_release(&arena);
    return code;
}

bool report_page_is_empty(const struct report_page *page)
{
    return page->league != NULL && league_is_empty(page->league);
}
