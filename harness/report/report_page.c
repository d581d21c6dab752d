/* Report page: the register of pages, which of them the options ask for, and its readers. What stands on a page is in
 * the file of its kind. */
#include "harness/report/report_page.h"

#include <stdlib.h>

#include "harness/report/estimator_choice.h"
#include "harness/report/page_format.h"

struct page_option {
    const struct page_kind *page;
    enum { PART, PAGE } role;
    const char *name;
    const char *value;
};

static const struct page_option options[] = {
#define REPORT_OPTION_ROW(page, role, option, kind, value, help) {&page##_page, role, #option, value},
    REPORT_OPTION_TABLE(REPORT_OPTION_ROW)
#undef REPORT_OPTION_ROW
};

const char *report_option_name(enum report_option option)
{
    return options[option].name;
}

/* The option that asks for a page. */
static const struct page_option *asking_find(const struct page_kind *page)
{
    int at = 0;
    while (options[at].role != PAGE || options[at].page != page) {
        at++;
    }
    return &options[at];
}

static enum status_code page_choose(const struct report_request *request, const struct page_kind **page,
                                    struct status *error)
{
    *page = &cases_page;
    for (int at = 0; at < REPORT_OPTION_COUNT; at++) {
        if (options[at].role == PAGE && request->values[at] != NULL) {
            if (*page != &cases_page) {
                return status_set(error, STATUS_INVALID, "--%s and --%s are two pages; ask for one at a time",
                                  asking_find(*page)->name, options[at].name);
            }
            *page = options[at].page;
        }
    }
    return STATUS_OK;
}

/* A part of another page. What belongs to the report of every case is taken by every page of one run. */
static enum status_code part_check(const struct page_option *part, const struct page_kind *page, struct status *error)
{
    if (part->page == page || (part->page == &cases_page && !page->takes_several)) {
        return STATUS_OK;
    }
    if (part->page == &cases_page) {
        const char *asking = asking_find(page)->name;
        return status_set(error, STATUS_INVALID,
                          "--%s belongs to the report of one run, which --%s is not; ask for it without --%s",
                          part->name, asking, asking);
    }
    const struct page_option *asking = asking_find(part->page);
    return status_set(error, STATUS_INVALID, "--%s belongs to --%s; write --%s %s --%s %s", part->name, asking->name,
                      asking->name, asking->value, part->name, part->value);
}

static enum status_code paths_check(const struct report_request *request, const struct page_kind *page,
                                    struct status *error)
{
    struct text names = {0};
    if (page->takes_several || request->path_count == 1) {
        return STATUS_OK;
    }
    for (int at = 0; at < REPORT_OPTION_COUNT; at++) {
        if (options[at].role == PAGE && options[at].page->takes_several) {
            text_format(&names, "%s--%s", names.length > 0 ? " and " : "", options[at].name);
        }
    }
    enum status_code code =
        status_set(error, STATUS_INVALID, "'%s' is one operand too many; only %s take several folders",
                   request->paths[1], text_string(&names));
    text_release(&names);
    return code;
}

static enum status_code request_check(const struct report_request *request, const struct page_kind **page,
                                      struct status *error)
{
    enum status_code code = page_choose(request, page, error);
    for (int at = 0; code == STATUS_OK && at < REPORT_OPTION_COUNT; at++) {
        if (options[at].role == PART && request->values[at] != NULL) {
            code = part_check(&options[at], *page, error);
        }
    }
    if (code == STATUS_OK) {
        code = paths_check(request, *page, error);
    }
    if (code != STATUS_OK) {
        status_prefix(error, "report");
    }
    return code == STATUS_OK ? page_format_check(*page, request->format, error) : code;
}

enum status_code report_page_open(const struct report_request *request, struct report_page *page, struct status *error)
{
    *page = (struct report_page){.timeline = request->values[REPORT_OPTION_timeline]};
    enum status_code code = request_check(request, &page->kind, error);
    if (code != STATUS_OK) {
        return code;
    }
    page->reports = calloc((size_t)request->path_count, sizeof *page->reports);
    if (page->reports == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "no memory for %d reports", request->path_count);
    }
    for (int at = 0; code == STATUS_OK && at < request->path_count; at++) {
        code = report_open(request->paths[at], &page->reports[at], error);
        page->report_count += code == STATUS_OK ? 1 : 0;
        if (code == STATUS_OK && request->values[REPORT_OPTION_estimators] != NULL) {
            code = report_estimators_keep(page->reports[at], request->values[REPORT_OPTION_estimators], error);
        }
    }
    const struct page_material material = {page->reports, page->report_count, request->values, request->format};
    return code == STATUS_OK ? page->kind->make(&material, &page->subject, error) : code;
}

void report_page_release(struct report_page *page)
{
    if (page->subject != NULL) {
        page->kind->release(page->subject);
    }
    for (int at = 0; at < page->report_count; at++) {
        report_release(page->reports[at]);
    }
    free(page->reports);
    *page = (struct report_page){0};
}

enum status_code report_page_render(const struct report_page *page, enum report_format format,
                                    const struct report_style *style, struct text *text, struct status *error)
{
    return page_render(page->kind, page->subject, format, style, text, error);
}

bool report_page_has_figures(const struct report_page *page)
{
    return page->kind->has_figures;
}

enum status_code report_page_draw(const struct report_page *page, struct plot_place *place, struct status *error)
{
    place->timeline = page->timeline;
    return page->kind->draw(page->subject, place, error);
}

enum run_outcome report_page_outcome(const struct report_page *page, struct text *reason)
{
    if (page->kind->is_empty == NULL) {
        return report_outcome(page->reports[0], reason);
    }
    if (page->kind->is_empty(page->subject)) {
        text_append(reason, "no case of these records counts in it; the page says why");
        return RUN_INCONCLUSIVE;
    }
    return RUN_PASS;
}
