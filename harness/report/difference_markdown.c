/* A comparison as GitHub-flavoured tables, for job summaries and comments: the outcome first, then why. */
#include <string.h>

#include "harness/report/difference_view.h"
#include "harness/report/escape.h"

struct page {
    const struct difference *difference;
    struct text *text;
    bool only_changed;
};

/* Words from outside; they are released. */
static void words_append(const struct page *page, struct text *words)
{
    markdown_append(page->text, text_string(words));
    text_release(words);
}

static void outcome_line_append(const struct page *page)
{
    const struct difference *difference = page->difference;
    struct text words = {0};
    text_append(page->text, "# Comparison of two results\n\n**");
    text_append(page->text, difference_outcome_name(difference->outcome));
    text_append(page->text, "**");
    outcome_append(&words, difference);
    if (difference->within < 0.0) { /* the sentence begins with the outcome */
        markdown_append(page->text, text_string(&words) + strlen(difference_outcome_name(difference->outcome)));
    } else {
        text_format(page->text, ": %d allocated peaks beyond %g %%, %d not measured in the new records",
                    difference->beyond_within_count, 100.0 * difference->within, difference->unmeasured_count);
    }
    text_format(page->text,
                ".\n\n%d same, %d changed, %d not judged, %d missing from the new records, %d only in them.",
                difference->same_count, difference->changed_count, difference->open_count, difference->missing_count,
                difference->appeared_count);
    text_release(&words);
}

static void sides_append(const struct page *page)
{
    struct text base = {0}, other = {0};
    side_append(&base, page->difference->base);
    side_append(&other, page->difference->other);
    text_append(page->text, "\n\n- old: ");
    words_append(page, &base);
    text_append(page->text, "\n- new: ");
    words_append(page, &other);
    text_append(page->text, "\n");
}

static void environment_append(const struct page *page)
{
    const struct environment_row *rows = page->difference->environment;
    struct text equal = {0}, unrecorded = {0};
    text_append(page->text, "\n## Environment\n\n");
    if (environment_difference_count(rows) > 0) {
        text_append(page->text, "| | old | new |\n|---|---|---|\n");
    } else {
        text_append(page->text, "No difference is recorded.\n");
    }
    for (int i = 0; i < ENVIRONMENT_COUNT; i++) {
        if (rows[i].differs) {
            text_format(page->text, "| %s | ", rows[i].words);
            markdown_append(page->text, rows[i].base);
            text_append(page->text, " | ");
            markdown_append(page->text, rows[i].other);
            text_append(page->text, " |\n");
        }
    }
    environment_equal_append(&equal, rows);
    environment_unrecorded_append(&unrecorded, rows);
    text_format(page->text, equal.length > 0 ? "\nEqual: %s.\n" : "%s", text_string(&equal));
    text_format(page->text, unrecorded.length > 0 ? "\nNot recorded: %s.\n" : "%s", text_string(&unrecorded));
    text_release(&equal);
    text_release(&unrecorded);
}

static void level_append(const struct page *page, enum level level)
{
    const struct level_summary *summary = &page->difference->levels[level];
    const struct figure figure = {.kind = FIGURE_PEAK, .level = level};
    struct text name = {0};
    char word[WORDING_BYTES];
    text_format(page->text, "| %s | %d | %d", figure_name(&figure, &name), summary->gap.count,
                summary->gap.equal_count);
    text_format(page->text, " | %s", error_word(true, summary->gap.median, word) + 1); /* a magnitude has no sign */
    text_format(page->text, " | %s | ", error_word(true, summary->gap.worst, word));
    markdown_append(page->text, summary->gap.worst_name != NULL ? summary->gap.worst_name : "-");
    text_format(page->text, " | %d | %d |\n", summary->beyond_count, summary->open_count);
    text_release(&name);
}

static void levels_append(const struct page *page)
{
    text_append(page->text, "\n## Levels over all cases\n\n");
    if (page->difference->within < 0.0) {
        struct text rules = {0};
        rules_append(&rules, page->difference);
        text_append(page->text, "Tolerances: ");
        words_append(page, &rules);
        text_append(page->text, ".\n\n");
    }
    text_append(page->text, "| level | both know | equal | median | worst | worst case | beyond | not judged |\n"
                            "|---|--:|--:|--:|--:|---|--:|--:|\n");
    for (int level = 0; level < LEVEL_COUNT; level++) {
        if (page->difference->levels[level].gap.count > 0) {
            level_append(page, (enum level)level);
        }
    }
}

/* The first two cells: the case and what became of it, in its first row alone. */
static void case_cells_append(const struct page *page, const struct case_pair *pair, bool *first)
{
    text_append(page->text, "| ");
    markdown_append(page->text, *first ? pair->base->title : "");
    text_format(page->text, " | %s | ", *first ? pair_state_name(pair->state) : "");
    *first = false;
}

static void figure_append(const struct page *page, const struct case_pair *pair, const struct figure *figure,
                          bool *first)
{
    int64_t base = figure->base_bytes, other = figure->other_bytes;
    bool known = base > 0 && other != BYTES_UNKNOWN;
    struct text name = {0};
    char word[WORDING_BYTES];
    case_cells_append(page, pair, first);
    markdown_append(page->text, figure_name(figure, &name));
    text_format(page->text, " | %s", bytes_word(base, false, word));
    text_format(page->text, " | %s", bytes_word(other, false, word));
    text_format(page->text, " | %s", difference_word(base, other, word));
    text_format(page->text, " | %s", error_word(known, known ? (double)(other - base) / (double)base : 0.0, word));
    text_format(page->text, " | %s |\n",
                figure->state == FIGURE_BEYOND ? "**beyond**"
                : figure->state == FIGURE_OPEN ? "not judged"
                                               : "");
    text_release(&name);
}

static void pair_append(const struct page *page, const struct case_pair *pair)
{
    struct figures figures;
    bool first = true;
    figures_list(page->difference->rules, pair, &figures);
    if (strcmp(pair->base->status, pair->other->status) != 0) {
        case_cells_append(page, pair, &first);
        text_append(page->text, "status | ");
        markdown_append(page->text, pair->base->status);
        text_append(page->text, " | ");
        markdown_append(page->text, pair->other->status);
        text_append(page->text, " | | | |\n");
    }
    for (int i = 0; i < figures.count; i++) {
        const struct figure *figure = &figures.rows[i];
        bool stands_out = figure->state == FIGURE_BEYOND || figure->state == FIGURE_OPEN;
        bool gone = stands_out && figure->kind == FIGURE_PEAK && figure->other_bytes == BYTES_UNKNOWN;
        if (gone || (figure_is_shown(&figures, i) && (stands_out || !page->only_changed))) {
            figure_append(page, pair, figure, &first);
        }
    }
    if (first) {
        case_cells_append(page, pair, &first);
        text_append(page->text, "| | | | | |\n");
    }
}

static void missing_append(const struct page *page)
{
    for (int at = 0; at < page->difference->missing_count; at++) {
        const struct case_absence *absence = &page->difference->missing[at];
        text_append(page->text, "| ");
        markdown_append(page->text, absence->view->title);
        text_append(page->text, " | missing | ");
        markdown_append(page->text, absence->reason != NULL ? absence->reason : "");
        text_append(page->text, absence->reason != NULL && absence->reason[0] != '\0' ? " |" : "|");
        text_append(page->text, " | | | | |\n");
    }
}

static void appeared_append(const struct page *page)
{
    for (int at = 0; at < page->difference->appeared_count; at++) {
        text_append(page->text, "| ");
        markdown_append(page->text, page->difference->appeared[at]->title);
        text_append(page->text, " | new | | | | | | |\n");
    }
}

static void cases_append(const struct page *page)
{
    const struct difference *difference = page->difference;
    int hidden = page->only_changed ? difference->same_count : 0;
    text_append(page->text, "\n## Cases\n\n");
    if (difference->pair_count - hidden + difference->missing_count + difference->appeared_count > 0) {
        text_append(page->text, "| case | | figure | old | new | difference | change | |\n"
                                "|---|---|---|--:|--:|--:|--:|---|\n");
    }
    for (int at = 0; at < difference->pair_count; at++) {
        if (!page->only_changed || difference->pairs[at].state != PAIR_SAME) {
            pair_append(page, &difference->pairs[at]);
        }
    }
    missing_append(page);
    appeared_append(page);
    if (hidden > 0) {
        text_format(page->text, "\n%d case%s without a change %s not listed.\n", hidden, hidden == 1 ? "" : "s",
                    hidden == 1 ? "is" : "are");
    }
}

/* Why a case, or its readings, are not judged, one line for each. */
static void obstacles_append(const struct page *page)
{
    bool any = false;
    for (int at = 0; at < page->difference->pair_count; at++) {
        const struct case_pair *pair = &page->difference->pairs[at];
        struct text words = {0};
        pair_obstacle_append(&words, pair);
        if (words.length > 0 && (pair->state != PAIR_SAME || !page->only_changed)) {
            text_append(page->text, any ? "- " : "\n## What is not judged\n\n- ");
            any = true;
            markdown_append(page->text, pair->base->label);
            text_append(page->text, ": ");
            markdown_append(page->text, text_string(&words));
            text_append(page->text, "\n");
        }
        text_release(&words);
    }
}

void difference_markdown_write(const struct difference *difference, const struct difference_style *style,
                               struct text *text)
{
    const struct page page = {.difference = difference, .text = text, .only_changed = style->only_changed};
    outcome_line_append(&page);
    sides_append(&page);
    environment_append(&page);
    levels_append(&page);
    cases_append(&page);
    obstacles_append(&page);
}
