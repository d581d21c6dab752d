/* Report page: what `assay report` shows of records: every case, one table of them, the league of the estimators, or a
 * rule over the weights.
 *
 * The register of pages: X(page, PAGE or PART, option, FLAG or VALUE, its value's name, help). A page is a file
 * NAME_page.c with a `const struct page_kind NAME_page` (page_format.h), and a row here: the option that asks for it
 * (PAGE). Rows of options that belong to it (PART) may follow. Options, help and errors follow from the register. If
 * no option asks for a page it is that of every case. */
#ifndef ASSAY_REPORT_REPORT_PAGE_H
#define ASSAY_REPORT_REPORT_PAGE_H

#include "harness/report/report.h"

#define REPORT_OPTION_TABLE(X)                                                                                         \
    X(side, PAGE, table, VALUE, "NAME", "one table alone, by its name below (no summary, no junit or metrics)")        \
    X(cases, PART, estimators, VALUE, "NAMES", "show these alone, in this order: accelerate,replay (default: all)")    \
    X(cases, PART, timeline, VALUE, "GLOB", "draw the timelines of these cases too (ids or labels; '*': all)")         \
    X(league, PAGE, league, FLAG, NULL, "the estimators ranked by their errors (no summary, no junit or metrics)")     \
    X(weights_rule, PAGE, rule, VALUE, "FACTOR", "for which inference FACTOR x weights (1.2) is enough (as --league)") \
    X(weights_rule, PART, wasteful, VALUE, "PERCENT", "how far above the peak a prediction is wasteful (default: 10%)")

enum report_option {
#define REPORT_OPTION_ENUM(page, role, option, kind, value, help) REPORT_OPTION_##option,
    REPORT_OPTION_TABLE(REPORT_OPTION_ENUM)
#undef REPORT_OPTION_ENUM
        REPORT_OPTION_COUNT
};

const char *report_option_name(enum report_option option); /* "league" */

struct page_kind;
#define REPORT_PAGE_DECLARE(page, role, option, kind, value, help) extern const struct page_kind page##_page;
REPORT_OPTION_TABLE(REPORT_PAGE_DECLARE)
#undef REPORT_PAGE_DECLARE

/* What is asked for. Borrowed. */
struct report_request {
    const char *const *paths; /* of records */
    int path_count;
    const char *values[REPORT_OPTION_COUNT]; /* NULL: the option was not given */
    enum report_format format;
};

/* One page of some records. */
struct report_page {
    const struct page_kind *kind;
    struct report **reports;
    int report_count;
    void *subject;        /* what its kind makes of them */
    const char *timeline; /* as in struct plot_place; borrowed from the request */
};

/* Reads the records, and makes of them what is asked for. STATUS_INVALID if options do not go together, a page has
 * no such format, or several paths are named for a page of one. The caller releases *page, also on failure. */
enum status_code report_page_open(const struct report_request *request, struct report_page *page, struct status *error);
void report_page_release(struct report_page *page);

enum status_code report_page_render(const struct report_page *page, enum report_format format,
                                    const struct report_style *style, struct text *text, struct status *error);

/* Whether its HTML shows plots. */
bool report_page_has_figures(const struct report_page *page);

/* Draws the plots of the page into place->set. */
enum status_code report_page_draw(const struct report_page *page, struct plot_place *place, struct status *error);

/* What the page comes to, and appends why if it is no pass: of the cases of a run that of the run, of a statistic
 * RUN_INCONCLUSIVE if nothing counts in it. */
enum run_outcome report_page_outcome(const struct report_page *page, struct text *reason);

#endif
