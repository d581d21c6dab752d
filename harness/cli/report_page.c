/* Report page: which page the options ask for, and its readers, writers and plots. What stands on it is decided in
 * harness/report. */
#include "harness/cli/report_page.h"

#include <stdlib.h>
#include <string.h>

#include "harness/base/size.h"
#include "harness/cli/report_files.h"
#include "harness/cli/resource_path.h"

enum { FACTOR_MAXIMUM = 1000 };

/* "1.2": decimal, at least 1. */
static enum status_code factor_parse(const char *text, double *factor, struct status *error)
{
    size_t whole = strspn(text, "0123456789");
    size_t fraction = text[whole] == '.' ? strspn(text + whole + 1, "0123456789") : 0;
    size_t length = whole + (fraction > 0 ? 1 + fraction : 0);
    double value = whole > 0 && whole < 5 && text[0] != '0' && text[length] == '\0' ? strtod(text, NULL) : 0.0;
    if (value < 1.0 || value > FACTOR_MAXIMUM) {
        return status_set(error, STATUS_INVALID, "report: --rule: '%s' is not a factor from 1 to %d; write --rule 1.2",
                          text, FACTOR_MAXIMUM);
    }
    *factor = value;
    return STATUS_OK;
}

static enum status_code rule_open(const struct arguments *arguments, struct report_page *page, struct status *error)
{
    const char *wasteful_text = arguments_value(arguments, "wasteful");
    double factor = 0.0, wasteful = 0.1;
    enum status_code code = factor_parse(arguments_value(arguments, "rule"), &factor, error);
    if (code == STATUS_OK && wasteful_text != NULL) {
        code = percentage_parse(wasteful_text, &wasteful, error);
        if (code != STATUS_OK) {
            status_prefix(error, "report: --wasteful");
        }
    }
    return code == STATUS_OK
               ? weights_rule_make(page->reports, page->report_count, factor, wasteful, &page->rule, error)
               : code;
}

static enum status_code options_check(const struct arguments *arguments, struct status *error)
{
    bool league = arguments_value(arguments, "league") != NULL, rule = arguments_value(arguments, "rule") != NULL;
    if (league && rule) {
        return status_set(error, STATUS_INVALID, "report: --league and --rule are two pages; ask for one at a time");
    }
    if (!rule && arguments_value(arguments, "wasteful") != NULL) {
        return status_set(error, STATUS_INVALID,
                          "report: --wasteful belongs to --rule; write --rule 1.2 --wasteful 10%%");
    }
    if ((league || rule) && arguments_value(arguments, "timeline") != NULL) {
        return status_set(error, STATUS_INVALID,
                          "report: --timeline draws cases, which --league and --rule do not; ask for it without them");
    }
    if ((league || rule) && arguments_value(arguments, "table") != NULL) {
        return status_set(error, STATUS_INVALID,
                          "report: --table is a part of the report of one run, which --league and --rule are not; ask "
                          "for one at a time");
    }
    if (!league && !rule && arguments->operand_count > 1) {
        return status_set(error, STATUS_INVALID,
                          "report: '%s' is one operand too many; only --league and --rule take several folders",
                          arguments->operands[1]);
    }
    return STATUS_OK;
}

enum status_code report_page_open(const struct arguments *arguments, struct report_page *page, struct status *error)
{
    *page = (struct report_page){.timeline = arguments_value(arguments, "timeline"),
                                 .table = arguments_value(arguments, "table")};
    enum status_code code = options_check(arguments, error);
    for (int index = 0; code == STATUS_OK && index < arguments->operand_count; index++) {
        code = report_open(arguments->operands[index], &page->reports[index], error);
        page->report_count += code == STATUS_OK ? 1 : 0;
    }
    if (code == STATUS_OK && arguments_value(arguments, "league") != NULL) {
        code = league_make(page->reports, page->report_count, &page->league, error);
    } else if (code == STATUS_OK && arguments_value(arguments, "rule") != NULL) {
        code = rule_open(arguments, page, error);
    }
    return code;
}

void report_page_release(struct report_page *page)
{
    league_release(page->league);
    weights_rule_release(page->rule);
    for (int index = 0; index < page->report_count; index++) {
        report_release(page->reports[index]);
    }
    *page = (struct report_page){0};
}

enum status_code report_page_render(const struct report_page *page, enum report_format format,
                                    const struct report_style *style, struct text *text, struct status *error)
{
    if (page->table != NULL) {
        enum status_code code = report_render_side(page->reports[0], page->table, format, style, text, error);
        if (code == STATUS_INVALID) {
            status_prefix(error, "report: --table");
        }
        return code;
    }
    return page->league != NULL ? league_render(page->league, format, style, text, error)
           : page->rule != NULL ? weights_rule_render(page->rule, format, style, text, error)
                                : report_render(page->reports[0], format, style, text, error);
}

enum status_code report_page_draw(const struct report_page *page, struct plot_place *place, struct status *error)
{
    if (page->league == NULL && page->rule == NULL) {
        return report_draw(page->reports[0], place, error);
    }
    struct arena arena = {0};
    place->script_directory = resource_path(&arena, "plots");
    enum status_code code = place->script_directory == NULL
                                ? status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for a path")
                            : page->league != NULL ? league_plot(page->league, place, error)
                                                   : weights_rule_plot(page->rule, place, error);
    arena_release(&arena);
    return code;
}

bool report_page_is_empty(const struct report_page *page)
{
    return (page->league != NULL && league_is_empty(page->league)) ||
           (page->rule != NULL && weights_rule_is_empty(page->rule));
}
