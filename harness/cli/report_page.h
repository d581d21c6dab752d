/* Report page: what `assay report` shows of records: every case, the league of the estimators, or a rule over the
 * weights. */
#ifndef ASSAY_CLI_REPORT_PAGE_H
#define ASSAY_CLI_REPORT_PAGE_H

#include "harness/cli/command.h"
#include "harness/report/league.h"
#include "harness/report/weights_rule.h"

struct report_page {
    struct report *reports[OPERAND_COUNT_MAXIMUM];
    int report_count;
    struct league *league;     /* NULL: not asked for */
    struct weights_rule *rule; /* NULL: not asked for; both NULL: every case of the one report */
    const char *table;         /* the one table of these cases that is asked for; NULL: the whole report; borrowed */
    const char *timeline;      /* the cases whose timelines are asked for; NULL: none; borrowed from the arguments */
};

/* Reads the records at the operands, and makes of them what the options ask for. STATUS_INVALID where options do not go
 * together, or several folders are named for a page of one. The caller releases *page, also on failure. */
enum status_code report_page_open(const struct arguments *arguments, struct report_page *page, struct status *error);
void report_page_release(struct report_page *page);

enum status_code report_page_render(const struct report_page *page, enum report_format format,
                                    const struct report_style *style, struct text *text, struct status *error);

/* Draws the plots of the page into place->set, with the scripts that come with the program. */
enum status_code report_page_draw(const struct report_page *page, struct plot_place *place, struct status *error);

/* Whether there was nothing to show a judgement of. */
bool report_page_is_empty(const struct report_page *page);

#endif
