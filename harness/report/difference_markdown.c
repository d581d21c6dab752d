/* A comparison as GitHub-flavoured tables, for job summaries and comments: the outcome first, then why. */
#include <string.h>

#include "harness/report/difference_view.h"
#include "harness/report/escape.h"
#include "harness/report/note_groups.h"

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
    int level_count = 0;
    for (int level = 0; level < LEVEL_COUNT; level++) {
        level_count += page->difference->levels[level].gap.count > 0 ? 1 : 0;
    }
    if (level_count == 0) {
        return; /* no case was measured in both */
    }
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

static void title_append(const struct page *page, const struct case_view *view, const char *state)
{
    text_append(page->text, "| ");
    markdown_append(page->text, view->title);
    text_format(page->text, " | %s", state);
}

static bool stands_out(const struct figures *figures, int index)
{
    const struct figure *figure = &figures->rows[index];
    bool is_told = figure->state == FIGURE_BEYOND || figure->state == FIGURE_OPEN;
    bool gone = figure->kind == FIGURE_PEAK && figure->other_bytes == BYTES_UNKNOWN;
    return is_told && (gone || figure_is_shown(figures, index));
}

/* The figure that a row shows: the first that is beyond, else the first that is not judged, else the allocated
 * peak. -1: none. */
static int lead_find(const struct figures *figures)
{
    int open = -1, allocated = -1;
    for (int i = 0; i < figures->count; i++) {
        const struct figure *figure = &figures->rows[i];
        if (stands_out(figures, i) && figure->state == FIGURE_BEYOND) {
            return i;
        }
        open = open < 0 && stands_out(figures, i) ? i : open;
        allocated = figure->kind == FIGURE_PEAK && figure->level == LEVEL_ALLOCATED ? i : allocated;
    }
    return open >= 0 ? open : allocated;
}

static double change_of(const struct figure *figure, bool *known)
{
    *known = figure->base_bytes > 0 && figure->other_bytes != BYTES_UNKNOWN;
    return *known ? (double)(figure->other_bytes - figure->base_bytes) / (double)figure->base_bytes : 0.0;
}

static void lead_append(const struct page *page, const struct figure *figure)
{
    struct text name = {0};
    char word[WORDING_BYTES];
    bool known;
    double change = change_of(figure, &known);
    text_append(page->text, " | ");
    markdown_append(page->text, figure_name(figure, &name));
    text_format(page->text, " | %s", bytes_word(figure->base_bytes, false, word));
    text_format(page->text, " | %s", bytes_word(figure->other_bytes, false, word));
    text_format(page->text, " | %s", difference_word(figure->base_bytes, figure->other_bytes, word));
    text_format(page->text, " | %s | ", error_word(known, change, word));
    text_release(&name);
}

/* "reserved peak +2.00 MiB (+1.92 %)" */
static void other_append(const struct page *page, const struct figure *figure)
{
    struct text words = {0};
    char word[WORDING_BYTES];
    bool known;
    double change = change_of(figure, &known);
    figure_name(figure, &words);
    if (figure->other_bytes == BYTES_UNKNOWN) {
        text_append(&words, " is gone");
    } else {
        text_format(&words, " %s", difference_word(figure->base_bytes, figure->other_bytes, word));
        if (known) {
            text_format(&words, " (%s)", error_word(known, change, word));
        }
    }
    text_append(&words, figure->state == FIGURE_OPEN ? ", not judged" : "");
    words_append(page, &words);
}

/* The figures beside the one that the row shows: the first by name, since stages mostly say what peaks said. */
static void others_append(const struct page *page, const struct figures *figures, int lead)
{
    enum { NAMED = 2 };
    int count = 0;
    for (int i = 0; i < figures->count; i++) {
        if (i != lead && stands_out(figures, i) && count++ < NAMED) {
            text_append(page->text, count > 1 ? "; " : "");
            other_append(page, &figures->rows[i]);
        }
    }
    if (count > NAMED) {
        text_format(page->text, "; %d more figure%s", count - NAMED, count - NAMED == 1 ? "" : "s");
    }
}

static void pair_append(const struct page *page, const struct case_pair *pair)
{
    static const char *const states[] = {
        [PAIR_SAME] = "same", [PAIR_CHANGED] = "**changed**", [PAIR_OPEN] = "not judged"};
    struct figures figures;
    figures_list(page->difference->rules, pair, &figures);
    title_append(page, pair->base, states[pair->state]);
    if (strcmp(pair->base->status, pair->other->status) != 0) {
        text_append(page->text, ": ");
        markdown_append(page->text, pair->base->status);
        text_append(page->text, " → ");
        markdown_append(page->text, pair->other->status);
    }
    int lead = lead_find(&figures);
    if (lead >= 0) {
        lead_append(page, &figures.rows[lead]);
        others_append(page, &figures, lead);
        text_append(page->text, " |\n");
    } else {
        text_append(page->text, " | | | | | | |\n");
    }
}

static void missing_append(const struct page *page)
{
    for (int at = 0; at < page->difference->missing_count; at++) {
        const struct case_absence *absence = &page->difference->missing[at];
        title_append(page, absence->view, "missing | | | | | | ");
        markdown_append(page->text, absence->reason != NULL ? absence->reason : "");
        text_append(page->text, " |\n");
    }
}

static void appeared_append(const struct page *page)
{
    for (int at = 0; at < page->difference->appeared_count; at++) {
        title_append(page, page->difference->appeared[at], "new | | | | | | |\n");
    }
}

static void cases_append(const struct page *page)
{
    const struct difference *difference = page->difference;
    int hidden = page->only_changed ? difference->same_count : 0;
    text_append(page->text, "\n## Cases\n");
    if (difference->pair_count - hidden + difference->missing_count + difference->appeared_count > 0) {
        text_append(page->text, "\n| case | | figure | old | new | difference | change | besides |\n"
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

/* Why a case, or its readings, are not judged. */
static void obstacles_append(const struct page *page)
{
    struct note_groups notes = {0};
    for (int at = 0; at < page->difference->pair_count; at++) {
        const struct case_pair *pair = &page->difference->pairs[at];
        struct text words = {0};
        if (pair->state != PAIR_SAME || !page->only_changed) {
            pair_obstacle_append(&words, pair);
            note_groups_add(&notes, pair->base->label, text_string(&words));
        }
        text_release(&words);
    }
    note_groups_markdown(page->text, &notes, "What is not judged");
    note_groups_release(&notes);
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
