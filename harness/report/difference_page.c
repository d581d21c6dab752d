/* Difference page: what a comparison says, described once for every format for people. Documents and screens begin with
 * the outcome; a terminal ends with it. The cases are in difference_cases.c, what programs read is in
 * difference_document.c. */
#include "harness/report/difference_page.h"

#include <ctype.h>
#include <string.h>

#include "harness/report/page_format.h"

enum { NAME_COLUMNS = 19, LEVEL_COLUMNS = 16 };

/* ---- head ---- */

static void within_append(struct text *words, const struct difference *difference)
{
    text_format(words, "%d allocated peaks beyond %g %%, %d not measured in the new records",
                difference->beyond_within_count, 100.0 * difference->within, difference->unmeasured_count);
}

/* The sentence begins with the outcome, which stands out. */
static void verdict_describe(const struct contrast *contrast)
{
    const struct difference *difference = contrast->difference;
    const char *name = run_outcome_verdict(difference->outcome);
    struct text words = {0};
    if (difference->within < 0.0) {
        outcome_append(&words, difference);
    } else {
        text_format(&words, "%s: ", name);
        within_append(&words, difference);
    }
    text_append(&words, ".");
    page_verdict(contrast->page, MEDIA_READ, name, difference->outcome == RUN_FAIL,
                 words.failed ? "" : text_string(&words) + strlen(name));
    page_say(contrast->page, BLOCK_TEXT, MEDIA_READ,
             "%d same, %d changed, %d not judged, %d missing from the new records, %d only in them.",
             difference->same_count, difference->changed_count, difference->open_count, difference->missing_count,
             difference->appeared_count);
    contrast->page->failed = contrast->page->failed || words.failed;
    text_release(&words);
}

static void sides_describe(const struct contrast *contrast)
{
    static const struct page_column columns[] = {{.title = "", .kind = CELL_WORD, .width = 4},
                                                 {.title = "", .kind = CELL_WORD, .lead = 1, .width = WIDTH_REST}};
    const struct report *const reports[] = {contrast->difference->base, contrast->difference->other};
    static const char *const labels[] = {"old:", "new:"};
    struct page_table *table = page_table_add(contrast->page, MEDIUM_TERMINAL, columns, 2);
    table->has_no_heading = true;
    for (int at = 0; at < 2; at++) {
        struct text side = {0};
        side_append(&side, reports[at]);
        const char *words = page_word_move(contrast->page, &side);
        page_say(contrast->page, BLOCK_ITEM, MEDIA_READ, "%s %s", labels[at], words);
        page_row_add(contrast->page, table, (const struct cell[]){cell_word(labels[at]), cell_word(words)});
    }
}

/* ---- environment ---- */

static void environment_rows_add(const struct contrast *contrast)
{
    static const struct page_column columns[] = {
        {.title = "", .kind = CELL_WORD, .width = NAME_COLUMNS},
        {.title = "old", .kind = CELL_WORD, .media = MEDIA_READ},
        {.title = "new", .kind = CELL_WORD, .media = MEDIA_READ},
        {.title = "", .kind = CELL_WORD, .media = MEDIUM_TERMINAL, .width = WIDTH_REST},
    };
    struct page_table *table = page_table_add(contrast->page, MEDIUM_ALL, columns, 4);
    table->indent = 2;
    table->has_no_heading = true;
    for (int at = 0; at < ENVIRONMENT_COUNT; at++) {
        const struct environment_row *row = &contrast->difference->environment[at];
        if (row->differs) {
            struct text change = {0};
            text_format(&change, "%s -> %s", row->base, row->other);
            const struct cell cells[] = {cell_word(row->words), cell_word(row->base), cell_word(row->other),
                                         cell_word(page_word_move(contrast->page, &change))};
            page_row_add(contrast->page, table, cells);
        }
    }
}

/* "equal: driver, program" in a terminal, and as a sentence elsewhere. Nothing if there are none. */
static void properties_describe(const struct contrast *contrast, const char *label, enum environment_kind kind)
{
    struct text names = {0};
    environment_append(&names, contrast->difference->environment, kind);
    if (names.length > 0) {
        page_line(contrast->page, 2, "%s: %s", label, text_string(&names));
        page_say(contrast->page, BLOCK_TEXT, MEDIA_READ, "%c%s: %s.", toupper((unsigned char)label[0]), label + 1,
                 text_string(&names));
    }
    contrast->page->failed = contrast->page->failed || names.failed;
    text_release(&names);
}

static void environment_describe(const struct contrast *contrast)
{
    const struct environment_row *rows = contrast->difference->environment, *device = &rows[ENVIRONMENT_DEVICE];
    const int count = environment_difference_count(rows);
    page_link_heading(contrast->page, MEDIA_READ, "environment", "Environment");
    if (count > 0) {
        page_say(contrast->page, BLOCK_HEADING, MEDIUM_TERMINAL, "environment: %d difference%s", count,
                 count == 1 ? "" : "s");
        environment_rows_add(contrast);
    } else {
        page_words(contrast->page, BLOCK_HEADING, MEDIUM_TERMINAL, "environment: no difference is recorded");
        page_words(contrast->page, BLOCK_TEXT, MEDIA_READ, "No difference is recorded.");
    }
    properties_describe(contrast, "equal", ENVIRONMENT_EQUAL);
    properties_describe(contrast, "not recorded", ENVIRONMENT_UNRECORDED);
    if (device->differs) { /* what driver and kernel count of a host and of a GPU cannot be equal */
        page_line(contrast->page, 0, "warning: different devices are compared: %s and %s", device->base, device->other);
        page_say(contrast->page, BLOCK_ALERT, MEDIUM_SCREEN, "Different devices are compared: %s and %s.", device->base,
                 device->other);
    }
}

/* ---- over all cases ---- */

/* No level is known if no case was measured in both. */
static bool levels_are_known(const struct difference *difference)
{
    int level = 0;
    while (level < LEVEL_COUNT && difference->levels[level].gap.count == 0) {
        level++;
    }
    return level < LEVEL_COUNT;
}

static void rules_describe(const struct contrast *contrast)
{
    const bool are_known = levels_are_known(contrast->difference);
    struct text rules = {0};
    if (are_known) {
        page_link_heading(contrast->page, MEDIA_READ, "levels", "Levels over all cases");
    }
    if (contrast->difference->within < 0.0) {
        rules_append(&rules, contrast->difference);
        page_line(contrast->page, 0, "tolerances: %s", text_string(&rules));
    }
    if (are_known && rules.length > 0) {
        page_say(contrast->page, BLOCK_TEXT, MEDIA_READ, "Tolerances: %s.", text_string(&rules));
    }
    contrast->page->failed = contrast->page->failed || rules.failed;
    text_release(&rules);
}

static void level_row_add(const struct contrast *contrast, struct page_table *table, enum level level)
{
    const struct level_summary *summary = &contrast->difference->levels[level];
    const struct figure figure = {.kind = FIGURE_PEAK, .level = level};
    char median[WORDING_BYTES];
    error_word(true, summary->gap.median, median);
    const struct cell cells[] = {figure_cell(contrast->page, &figure),
                                 cell_count(summary->gap.count),
                                 cell_count(summary->gap.equal_count),
                                 cell_word(page_word(contrast->page, median + 1)), /* a magnitude has no sign */
                                 cell_error(true, summary->gap.worst),
                                 cell_word(summary->gap.worst_name),
                                 cell_count(summary->beyond_count),
                                 cell_count(summary->open_count)};
    page_row_add(contrast->page, table, cells);
}

static void levels_describe(const struct contrast *contrast)
{
    static const struct page_column columns[] = {
        {.title = "level",
         .short_title = "over all cases",
         .kind = CELL_WORD,
         .width = LEVEL_COLUMNS,
         .width_most = LEVEL_COLUMNS},
        {.title = "both know", .kind = CELL_COUNT, .width = 11},
        {.title = "equal", .kind = CELL_COUNT, .width = 7},
        {.title = "median", .kind = CELL_MARK, .width = 9},
        {.title = "worst", .kind = CELL_ERROR, .width = 11},
        {.title = "worst case", .short_title = "worst", .kind = CELL_WORD, .width = WIDTH_BELOW},
        {.title = "beyond", .kind = CELL_COUNT, .media = MEDIA_READ},
        {.title = "not judged", .kind = CELL_COUNT, .media = MEDIA_READ},
    };
    struct page_table *table = NULL;
    for (int level = 0; level < LEVEL_COUNT; level++) {
        if (contrast->difference->levels[level].gap.count > 0) {
            if (table == NULL) {
                page_gap(contrast->page);
                table = page_table_add(contrast->page, MEDIUM_ALL, columns, 8);
                table->indent = 2;
            }
            level_row_add(contrast, table, (enum level)level);
        }
    }
}

/* At the end of a terminal. */
static void totals_describe(const struct contrast *contrast)
{
    const struct difference *difference = contrast->difference;
    struct text words = {0};
    text_format(&words, "%d same, %d changed, %d missing from the new records, %d only in them", difference->same_count,
                difference->changed_count, difference->missing_count, difference->appeared_count);
    if (difference->open_count > 0) {
        text_format(&words, ", %d not judged", difference->open_count);
    }
    if (difference->within >= 0.0) {
        text_append(&words, "; ");
        within_append(&words, difference);
    }
    page_gap(contrast->page);
    page_words_move(contrast->page, BLOCK_LEAD, MEDIUM_TERMINAL, &words);
    if (difference->within < 0.0) {
        outcome_append(&words, difference);
        page_words_move(contrast->page, BLOCK_LEAD, MEDIUM_TERMINAL, &words);
    }
}

/* ---- all of it ---- */

static void difference_describe(const void *subject, struct page *page)
{
    const struct difference_subject *all = subject;
    const struct contrast contrast = {page, all->difference, all->only_changed};
    page_words(page, BLOCK_TITLE, MEDIA_READ, "Comparison of two results");
    verdict_describe(&contrast);
    sides_describe(&contrast);
    environment_describe(&contrast);
    rules_describe(&contrast);
    difference_cases_list(&contrast, all);
    levels_describe(&contrast);
    page_link_heading(page, MEDIA_READ, "cases", "Cases");
    difference_cases_tabulate(&contrast);
    totals_describe(&contrast);
}

static enum status_code difference_document(const void *subject, struct text *text, struct status *error)
{
    const struct difference_subject *all = subject;
    return difference_document_write(all->difference, all->only_changed, text, error);
}

static const struct page_kind difference_kind = {
    .name = "a comparison",
    .what = "the comparison",
    .describe = difference_describe,
    .document = difference_document,
};

enum status_code difference_format_parse(const char *name, enum report_format *format, struct status *error)
{
    return page_format_parse(&difference_kind, name, format, error);
}

enum status_code difference_render(const struct difference *difference, const struct difference_style *style,
                                   struct text *text, struct status *error)
{
    const struct difference_subject all = {difference, style->only_changed};
    const struct report_style page_style = {.width = style->width};
    return page_render(&difference_kind, &all, style->format, &page_style, text, error);
}
