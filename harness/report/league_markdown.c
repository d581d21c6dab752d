/* League in Markdown: GitHub's tables, for documentation. */
#include "harness/report/escape.h"
#include "harness/report/league_view.h"

static void name_append(struct text *text, const struct league *league, int estimator)
{
    markdown_append(text, league->estimators[estimator].name);
    text_append(text, league->estimators[estimator].baseline != NULL ? " \\*" : "");
}

static void row_append(struct text *text, const struct league *league, const struct league_scope *scope,
                       const struct league_row *row)
{
    char word[WORDING_BYTES];
    const struct league_figures *all = &row->all;
    text_format(text, "| %s | ", rank_word(row, word));
    name_append(text, league, row->estimator);
    text_format(text, " | %s", coverage_word(scope, row, word));
    text_format(text, " | %s", signed_word(true, all->bias, word));
    text_format(text, " | %s", magnitude_word(true, all->median, word));
    text_format(text, " | %s", magnitude_word(true, all->p90, word));
    text_format(text, " | %s", share_word(all->under_count, all->case_count, word));
    text_format(text, " | %s", share_word(all->within_count, all->case_count, word));
    text_format(text, " | %s", magnitude_word(row->common.case_count > 0, row->common.median, word));
    if (league->has_proofs) {
        text_format(text, " | %s", share_word(all->safe_count, all->proved_count, word));
    }
    text_format(text, " | %s | ", signed_word(true, all->worst, word));
    markdown_append(text, all->worst_case != NULL ? all->worst_case : "-");
    text_append(text, " |\n");
}

static void scope_append(struct text *text, const struct league *league, const struct league_scope *scope)
{
    text_append(text, scope->kind == SCOPE_ALL ? "\n## All cases\n\n" : "\n## Mode ");
    if (scope->kind != SCOPE_ALL) {
        markdown_append(text, scope->name);
        text_append(text, "\n\n");
    }
    text_format(text, "%d case%s; all ranked estimators answer %d of them.\n\n", scope->case_count,
                scope->case_count == 1 ? "" : "s", scope->common_count);
    text_format(
        text,
        "| | estimator | cases | bias | median \\|error\\| | p90 | under | ±5 %% | common |%s worst | worst case "
        "|\n|--:|---|---|--:|--:|--:|--:|--:|--:|%s--:|---|\n",
        league->has_proofs ? " safe |" : "", league->has_proofs ? "--:|" : "");
    for (int index = 0; index < scope->row_count; index++) {
        row_append(text, league, scope, &scope->rows[index]);
    }
}

static void family_append(struct text *text, const struct league_scope *scope, int estimator)
{
    char word[WORDING_BYTES] = "-";
    for (int index = 0; index < scope->row_count; index++) {
        if (scope->rows[index].estimator == estimator) {
            magnitude_word(true, scope->rows[index].all.median, word);
        }
    }
    text_format(text, " %s |", word);
}

static void families_append(struct text *text, const struct league *league, int first)
{
    const struct league_scope *all = &league->scopes[0];
    text_append(text, "\n## Families\n\nMedian of the magnitudes of errors, by family and its number of cases.\n\n"
                      "| estimator |");
    for (int index = first; index < league->scope_count; index++) {
        text_append(text, " ");
        markdown_append(text, league->scopes[index].name);
        text_format(text, ": %d |", league->scopes[index].case_count);
    }
    text_append(text, "\n|---|");
    for (int index = first; index < league->scope_count; index++) {
        text_append(text, "--:|");
    }
    for (int at = 0; at < all->row_count; at++) {
        text_append(text, "\n| ");
        name_append(text, league, all->rows[at].estimator);
        text_append(text, " |");
        for (int index = first; index < league->scope_count; index++) {
            family_append(text, &league->scopes[index], all->rows[at].estimator);
        }
    }
    text_append(text, "\n");
}

static void notes_append(struct text *text, const struct league *league)
{
    text_append(text, "\n## How to read it\n\n");
    markdown_append(text, league_rule_words);
    text_append(text, "\n\n");
    markdown_append(text, league_rank_words);
    text_append(text, "\n\n");
    markdown_append(text, league_replay_words);
    text_append(text, "\n\n");
    if (league->has_proofs) {
        markdown_append(text, league_safe_words);
        text_append(text, "\n\n");
    }
    for (int index = 0; index < baseline_count(); index++) {
        text_append(text, "- ");
        markdown_append(text, baseline_at(index)->name);
        text_append(text, ": ");
        markdown_append(text, baseline_at(index)->rule);
        text_append(text, "\n");
    }
}

void league_markdown_write(const struct league *league, struct text *text)
{
    struct text line = {0};
    text_append(text, "# League of estimators\n\n");
    text_format(&line, "%s%s", league->provenance, league->provenance[0] != '\0' ? "; " : "");
    counted_cases_append(&line, &league->counted);
    markdown_append(text, text_string(&line));
    text_append(text, ".\n");
    text_release(&line);
    if (league_is_empty(league)) {
        text_append(text, "\nNothing to judge: no row that counts has a prediction.\n");
        return;
    }
    int index = 0;
    while (index < league->scope_count && league->scopes[index].kind != SCOPE_FAMILY) {
        scope_append(text, league, &league->scopes[index++]);
    }
    families_append(text, league, index);
    notes_append(text, league);
}
