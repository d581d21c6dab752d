/* League as one HTML page that needs nothing else, its plot put into it. */
#include "harness/report/escape.h"
#include "harness/report/html_page.h"
#include "harness/report/league_view.h"

static void name_cell(struct text *text, const struct league *league, int estimator)
{
    text_append(text, "<td>");
    xml_append(text, league->estimators[estimator].name);
    text_append(text, league->estimators[estimator].baseline != NULL ? " *</td>" : "</td>");
}

static void row_append(struct text *text, const struct league *league, const struct league_scope *scope,
                       const struct league_row *row)
{
    char word[WORDING_BYTES];
    const struct league_figures *all = &row->all;
    text_append(text, "<tr>");
    html_number_append(text, rank_word(row, word));
    name_cell(text, league, row->estimator);
    html_number_append(text, coverage_word(scope, row, word));
    html_number_append(text, signed_word(true, all->bias, word));
    html_number_append(text, magnitude_word(true, all->median, word));
    html_number_append(text, magnitude_word(true, all->p90, word));
    html_number_append(text, share_word(all->under_count, all->case_count, word));
    html_number_append(text, share_word(all->within_count, all->case_count, word));
    html_number_append(text, magnitude_word(row->common.case_count > 0, row->common.median, word));
    if (league->has_proofs) {
        html_number_append(text, share_word(all->safe_count, all->proved_count, word));
    }
    html_number_append(text, signed_word(true, all->worst, word));
    html_cell_append(text, all->worst_case != NULL ? all->worst_case : "-");
    text_append(text, "</tr>\n");
}

static void scope_append(struct text *text, const struct league *league, const struct league_scope *scope)
{
    text_format(text, "<h2 id=\"scope%d\">", (int)(scope - league->scopes));
    text_append(text, scope->kind == SCOPE_ALL ? "All cases" : scope->kind == SCOPE_MODE ? "Mode " : "Family ");
    xml_append(text, scope->kind == SCOPE_ALL ? "" : scope->name);
    text_format(text, "</h2>\n<p>%d case%s; all ranked estimators answer %d of them.</p>\n", scope->case_count,
                scope->case_count == 1 ? "" : "s", scope->common_count);
    html_table_begin(text);
    text_format(text,
                "<tr><th></th><th>estimator</th><th class=\"n\">cases</th><th class=\"n\">bias</th>"
                "<th class=\"n\">median |error|</th><th class=\"n\">p90</th><th class=\"n\">under</th>"
                "<th class=\"n\">±5 %%</th><th class=\"n\">common</th>%s<th class=\"n\">worst</th>"
                "<th>worst case</th></tr>\n",
                league->has_proofs ? "<th class=\"n\">safe</th>" : "");
    for (int index = 0; index < scope->row_count; index++) {
        row_append(text, league, scope, &scope->rows[index]);
    }
    html_table_end(text);
}

static void paragraph_write(struct text *text, const char *words)
{
    text_append(text, "<p class=\"note\">");
    xml_append(text, words);
    text_append(text, "</p>\n");
}

static void plot_append(struct text *text, const struct plot_set *plots)
{
    struct text figure = {0};
    text_append(&figure, "<figure>\n<figcaption>Errors of each estimator</figcaption>\n");
    if (html_image_append(&figure, plot_set_svg(plots, LEAGUE_PLOT))) {
        text_append(text, text_string(&figure));
        text_append(text, "</figure>\n");
    }
    text_release(&figure);
}

static void contents_append(struct text *text, const struct league *league)
{
    text_append(text, "<nav><ul>\n");
    for (int index = 0; index < league->scope_count; index++) {
        const struct league_scope *scope = &league->scopes[index];
        text_format(text, "<li><a href=\"#scope%d\">%s", index,
                    scope->kind == SCOPE_ALL    ? "All cases"
                    : scope->kind == SCOPE_MODE ? "Mode "
                                                : "Family ");
        xml_append(text, scope->kind == SCOPE_ALL ? "" : scope->name);
        text_append(text, "</a>\n");
    }
    text_append(text, "</ul></nav>\n");
}

void league_html_write(const struct league *league, const struct report_style *style, struct text *text)
{
    struct text line = {0};
    text_format(&line, "League of estimators%s%s", league->title[0] != '\0' ? ": " : "", league->title);
    html_page_begin(text, text_string(&line));
    text_release(&line);
    text_format(&line, "%s%s", league->device, league->device[0] != '\0' ? "; " : "");
    counted_cases_append(&line, &league->counted);
    text_append(text, "<p>");
    xml_append(text, text_string(&line));
    text_append(text, ".</p>\n");
    text_release(&line);
    if (league_is_empty(league)) {
        text_append(text, "<p>Nothing to judge: no row that counts has a prediction.</p>\n");
        html_page_end(text);
        return;
    }
    paragraph_write(text, league->provenance);
    contents_append(text, league);
    paragraph_write(text, league_rule_words);
    paragraph_write(text, league_rank_words);
    paragraph_write(text, league_replay_words);
    if (league->has_proofs) {
        paragraph_write(text, league_safe_words);
    }
    for (int index = 0; index < league->scope_count; index++) {
        scope_append(text, league, &league->scopes[index]);
        if (index == 0 && style->plots != NULL) {
            plot_append(text, style->plots);
        }
    }
    for (int index = 0; index < baseline_count(); index++) {
        text_format(&line, "* %s: %s", baseline_at(index)->name, baseline_at(index)->rule);
        paragraph_write(text, text_string(&line));
        text_release(&line);
    }
    html_page_end(text);
}
