/* A comparison for the terminal: the environment, the cases, the levels over all cases, the outcome. */
#include <stdio.h>
#include <string.h>

#include "harness/report/difference_view.h"
#include "harness/report/escape.h"

enum { WIDTH_NARROW = 72, WIDTH_MARKED = 80, NAME_WIDTH = 19 };

struct page {
    const struct difference *difference;
    const struct difference_style *style;
    struct text *text;
    int width;
    bool narrow; /* the name of a figure stands on a line of its own */
};

/* Words from outside after "lead: ", wrapped; the text is released. */
static void line_append(const struct page *page, const char *lead, int indent, struct text *words)
{
    struct text clean = {0};
    terminal_append(&clean, text_string(words));
    text_append(page->text, lead);
    paragraph_append(page->text, text_string(&clean), page->width, indent, width_measure(lead));
    text_release(&clean);
    text_release(words);
}

/* ---- head ---- */

static void sides_append(const struct page *page)
{
    struct text base = {0}, other = {0};
    side_append(&base, page->difference->base);
    side_append(&other, page->difference->other);
    line_append(page, "old: ", 5, &base);
    line_append(page, "new: ", 5, &other);
}

/* "  driver              570.124.06 -> 580.65.06" */
static void environment_row_append(const struct page *page, const struct environment_row *row)
{
    struct text words = {0};
    text_append(page->text, "  ");
    cell_append(page->text, row->words, NAME_WIDTH, false);
    text_format(&words, "%s -> %s", row->base, row->other);
    outside_paragraph_append(page->text, text_string(&words), page->width, 2 + NAME_WIDTH, 2 + NAME_WIDTH);
    text_release(&words);
}

static void environment_append(const struct page *page)
{
    const struct environment_row *rows = page->difference->environment;
    int count = environment_difference_count(rows);
    struct text equal = {0}, unrecorded = {0};
    if (count > 0) {
        text_format(page->text, "\nenvironment: %d difference%s\n", count, count == 1 ? "" : "s");
    } else {
        text_append(page->text, "\nenvironment: no difference is recorded\n");
    }
    for (int i = 0; i < ENVIRONMENT_COUNT; i++) {
        if (rows[i].differs) {
            environment_row_append(page, &rows[i]);
        }
    }
    environment_equal_append(&equal, rows);
    environment_unrecorded_append(&unrecorded, rows);
    if (equal.length > 0) {
        line_append(page, "  equal: ", 4, &equal);
    }
    if (unrecorded.length > 0) {
        line_append(page, "  not recorded: ", 4, &unrecorded);
    }
}

/* A host against a GPU, or one GPU against another kind: what driver and kernel count cannot be equal. */
static void devices_append(const struct page *page)
{
    const struct environment_row *device = &page->difference->environment[ENVIRONMENT_DEVICE];
    if (device->differs) {
        struct text words = {0};
        text_format(&words, "different devices are compared: %s and %s", device->base, device->other);
        line_append(page, "warning: ", 2, &words);
    }
}

static void tolerances_append(const struct page *page)
{
    if (page->difference->within < 0.0) {
        struct text words = {0};
        rules_append(&words, page->difference);
        line_append(page, "tolerances: ", 2, &words);
    }
}

static void heading_append(const struct page *page)
{
    text_append(page->text, page->narrow ? "\n  level\n" : "\n  level              ");
    text_append(page->text, "         old          new    difference");
    text_append(page->text, page->narrow ? "\n" : "      change\n");
}

/* ---- a case ---- */

static void title_append(const struct page *page, const char *mark, const struct case_view *view)
{
    struct text clean = {0};
    terminal_append(&clean, view->title);
    cell_append(page->text, mark, 9, false);
    paragraph_append(page->text, text_string(&clean), page->width, 9, 9);
    text_release(&clean);
}

/* What stands behind the figures, where there is a tolerance to be beyond. */
static const char *mark_of(const struct page *page, const struct figure *figure)
{
    if (page->difference->within >= 0.0) {
        return "";
    }
    return figure->state == FIGURE_BEYOND ? "beyond" : figure->state == FIGURE_OPEN ? "?" : "";
}

/* "  allocated peak    413.68 MiB  414.18 MiB  +512.00 KiB  +0.12 %  beyond"; narrow: the name on a line of its own. */
static void figure_append(const struct page *page, const struct figure *figure)
{
    char base_word[WORDING_BYTES], other_word[WORDING_BYTES], change[WORDING_BYTES], share[WORDING_BYTES];
    struct text name = {0}, clean = {0};
    int64_t base = figure->base_bytes, other = figure->other_bytes;
    bool known = base > 0 && other != BYTES_UNKNOWN;
    double relative = known ? (double)(other - base) / (double)base : 0.0;
    const char *mark = mark_of(page, figure);
    bool has_mark = mark[0] != '\0';
    terminal_append(&clean, figure_name(figure, &name));
    bool alone = page->narrow || width_measure(text_string(&clean)) >= NAME_WIDTH;
    bool beside = !page->narrow && page->width >= WIDTH_MARKED;
    text_append(page->text, "  ");
    if (alone) {
        text_append(page->text, text_string(&clean));
        text_append(page->text, has_mark && !beside ? ": " : "");
        text_append(page->text, has_mark && !beside ? mark : "");
        text_append(page->text, page->narrow ? "\n" : "\n                     ");
    } else {
        cell_append(page->text, text_string(&clean), NAME_WIDTH, false);
    }
    cell_append(page->text, bytes_word(base, false, base_word), 12, true);
    cell_append(page->text, bytes_word(other, false, other_word), 13, true);
    cell_append(page->text, difference_word(base, other, change), 14, true);
    if (!page->narrow) {
        cell_append(page->text, error_word(known, relative, share), 12, true);
    }
    if (has_mark && beside) {
        text_format(page->text, "  %s", mark);
    }
    text_append(page->text, "\n");
    text_release(&name);
    text_release(&clean);
}

static void status_append(const struct page *page, const struct case_pair *pair)
{
    const struct case_view *a = pair->base, *b = pair->other;
    struct text words = {0};
    text_format(&words, "status %s%s%s%s -> %s%s%s", a->status, a->reason[0] != '\0' ? " (" : "", a->reason,
                a->reason[0] != '\0' ? ")" : "", b->status, b->reason[0] != '\0' ? ": " : "", b->reason);
    line_append(page, "  ", 2, &words);
}

/* "only in old: device used 34.00 GiB", for the figures that one side alone has. */
static void lonely_append(const struct page *page, const char *whose, const struct case_view *view,
                          const struct case_view *other)
{
    struct text words = {0};
    char word[WORDING_BYTES];
    for (int level = 0; level < LEVEL_COUNT; level++) {
        struct figure figure = {.kind = FIGURE_PEAK, .level = (enum level)level};
        int64_t bytes = view->measured.peak_bytes[level];
        if (bytes != BYTES_UNKNOWN && other->measured.peak_bytes[level] == BYTES_UNKNOWN) {
            text_append(&words, words.length > 0 ? ", " : "");
            figure_name(&figure, &words);
            text_format(&words, " %s", bytes_word(bytes, false, word));
        }
    }
    if (view->measured.saved_for_backward_bytes != BYTES_UNKNOWN &&
        other->measured.saved_for_backward_bytes == BYTES_UNKNOWN) {
        text_format(&words, "%ssaved for backward %s", words.length > 0 ? ", " : "",
                    bytes_word(view->measured.saved_for_backward_bytes, false, word));
    }
    if ((view->predicted.present && !other->predicted.present) || (view->total_count > 0 && other->total_count == 0)) {
        text_format(&words, "%spredictions", words.length > 0 ? ", " : "");
    }
    if (words.length > 0) {
        text_format(page->text, "  only in %s: ", whose);
        line_append(page, "", 4, &words);
    }
    text_release(&words);
}

/* The figures are shown all the same; those of device and process count in no summary. */
static void obstacles_append(const struct page *page, const struct case_pair *pair)
{
    const struct case_view *const sides[] = {pair->base, pair->other};
    static const char *const leads[] = {"  invalid in old: ", "  invalid in new: "};
    for (int i = 0; i < 2; i++) {
        if (sides[i]->invalid) {
            struct text words = {0};
            text_append(&words, sides[i]->disturbance);
            line_append(page, leads[i], 4, &words);
        }
    }
    bool is_short = pair->other->missing != NULL;
    if (is_short || (pair->state == PAIR_OPEN && !pair->base->invalid && !pair->other->invalid)) {
        struct text words = {0};
        pair_obstacle_append(&words, pair);
        text_append(&words, words.length > 0 ? "" : "a reading of the old records is not in the new ones");
        line_append(page, pair->state == PAIR_OPEN ? "  not judged: " : "  incomplete: ", 4, &words);
    }
}

static void pair_append(const struct page *page, const struct case_pair *pair)
{
    struct figures figures;
    figures_list(page->difference->rules, pair, &figures);
    text_append(page->text, "\n");
    title_append(page, pair_state_name(pair->state), pair->base);
    if (strcmp(pair->base->status, pair->other->status) != 0) {
        status_append(page, pair);
    }
    for (int i = 0; i < figures.count; i++) {
        if (figure_is_shown(&figures, i)) {
            figure_append(page, &figures.rows[i]);
        }
    }
    obstacles_append(page, pair);
    lonely_append(page, "old", pair->base, pair->other);
    lonely_append(page, "new", pair->other, pair->base);
}

static void absence_append(const struct page *page, const struct case_absence *absence)
{
    title_append(page, "missing", absence->view);
    if (absence->reason != NULL && absence->reason[0] != '\0') {
        struct text words = {0};
        text_append(&words, absence->reason);
        line_append(page, "         ", 9, &words);
    }
}

static void cases_append(const struct page *page)
{
    const struct difference *difference = page->difference;
    int listed = page->style->only_changed ? difference->pair_count - difference->same_count : difference->pair_count;
    if (listed > 0) {
        heading_append(page);
    }
    for (int at = 0; at < difference->pair_count; at++) {
        if (!page->style->only_changed || difference->pairs[at].state != PAIR_SAME) {
            pair_append(page, &difference->pairs[at]);
        }
    }
    for (int at = 0; at < difference->missing_count; at++) {
        text_append(page->text, at == 0 ? "\n" : "");
        absence_append(page, &difference->missing[at]);
    }
    for (int at = 0; at < difference->appeared_count; at++) {
        text_append(page->text, at == 0 ? "\n" : "");
        title_append(page, "new", difference->appeared[at]);
    }
    if (page->style->only_changed && difference->same_count > 0) {
        struct text words = {0};
        text_format(&words, "%d case%s without a change %s not listed (--only-changed false lists them)",
                    difference->same_count, difference->same_count == 1 ? "" : "s",
                    difference->same_count == 1 ? "is" : "are");
        text_append(page->text, "\n");
        line_append(page, "", 2, &words);
    }
}

/* ---- over all cases ---- */

static void summary_heading_append(const struct page *page)
{
    text_append(page->text, page->narrow ? "\n  over all cases\n" : "\n  over all cases  ");
    cell_append(page->text, "both know", 11, true);
    cell_append(page->text, "equal", 7, true);
    cell_append(page->text, "median", 9, true);
    cell_append(page->text, "worst", 11, true);
    text_append(page->text, "\n");
}

static void summary_row_append(const struct page *page, enum level level)
{
    const struct gap_summary *summary = &page->difference->levels[level].gap;
    const struct figure figure = {.kind = FIGURE_PEAK, .level = level};
    struct text name = {0};
    char word[WORDING_BYTES];
    figure_name(&figure, &name);
    text_append(page->text, "  ");
    cell_append(page->text, text_string(&name), page->narrow ? width_measure(text_string(&name)) : 16, false);
    text_append(page->text, page->narrow ? "\n" : "");
    snprintf(word, sizeof word, "%d", summary->count);
    cell_append(page->text, word, 11, true);
    snprintf(word, sizeof word, "%d", summary->equal_count);
    cell_append(page->text, word, 7, true);
    cell_append(page->text, error_word(true, summary->median, word) + 1, 9, true); /* a magnitude has no sign */
    cell_append(page->text, error_word(true, summary->worst, word), 11, true);
    text_append(page->text, "\n");
    if (summary->worst_name != NULL) {
        struct text words = {0};
        text_append(&words, summary->worst_name);
        line_append(page, "    worst: ", 11, &words);
    }
    text_release(&name);
}

static void summary_append(const struct page *page)
{
    bool has_heading = false;
    for (int level = 0; level < LEVEL_COUNT; level++) {
        if (page->difference->levels[level].gap.count > 0) {
            if (!has_heading) {
                summary_heading_append(page);
            }
            has_heading = true;
            summary_row_append(page, (enum level)level);
        }
    }
}

static void totals_append(const struct page *page)
{
    const struct difference *difference = page->difference;
    struct text words = {0};
    text_format(&words, "%d same, %d changed, %d missing from the new records, %d only in them", difference->same_count,
                difference->changed_count, difference->missing_count, difference->appeared_count);
    if (difference->open_count > 0) {
        text_format(&words, ", %d not judged", difference->open_count);
    }
    if (difference->within >= 0.0) {
        text_format(&words, "; %d allocated peaks beyond %g %%, %d not measured in the new records",
                    difference->beyond_within_count, 100.0 * difference->within, difference->unmeasured_count);
    }
    text_append(page->text, "\n");
    line_append(page, "", 2, &words);
    if (difference->within < 0.0) {
        struct text outcome = {0};
        outcome_append(&outcome, difference);
        line_append(page, "", 2, &outcome);
    }
}

void difference_table_write(const struct difference *difference, const struct difference_style *style,
                            struct text *text)
{
    const struct page page = {.difference = difference,
                              .style = style,
                              .text = text,
                              .width = style->width,
                              .narrow = style->width < WIDTH_NARROW};
    sides_append(&page);
    environment_append(&page);
    devices_append(&page);
    tolerances_append(&page);
    cases_append(&page);
    summary_append(&page);
    totals_append(&page);
}
