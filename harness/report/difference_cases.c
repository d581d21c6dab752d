/* The cases of a comparison, described for pages: in a terminal the figures of each below its title, elsewhere a row
 * for each. What stands around them is in difference_page.c. */
#include <string.h>

#include "harness/report/difference_page.h"
#include "harness/report/note_groups.h"

enum { NAME_COLUMNS = 19, STATE_COLUMNS = 8 };

struct cell figure_cell(struct page *page, const struct figure *figure)
{
    struct text name = {0};
    figure_name(figure, &name);
    return cell_word(page_word_move(page, &name));
}

static struct cell change_cell(const struct figure *figure)
{
    const bool known = figure->base_bytes > 0 && figure->other_bytes != BYTES_UNKNOWN;
    const double change_bytes = known ? (double)(figure->other_bytes - figure->base_bytes) : 0.0;
    return cell_error(known, known ? change_bytes / (double)figure->base_bytes : 0.0);
}

static bool pair_is_listed(const struct contrast *contrast, const struct case_pair *pair)
{
    return !contrast->only_changed || pair->state != PAIR_SAME;
}

/* How many are counted and not listed. */
static int hidden_count(const struct contrast *contrast)
{
    return contrast->only_changed ? contrast->difference->same_count : 0;
}

static const char *hidden_word(int count)
{
    return count == 1 ? "case without a change is" : "cases without a change are";
}

/* ---- in a terminal ---- */

static struct page_table *figure_table_add(struct page *page, bool has_heading)
{
    static const struct page_column columns[] = {
        {.title = "level", .kind = CELL_WORD, .width = NAME_COLUMNS, .width_most = NAME_COLUMNS, .is_whole = true},
        {.title = "old", .kind = CELL_BYTES, .width = 12},
        {.title = "new", .kind = CELL_BYTES, .width = 13},
        {.title = "difference", .kind = CELL_DIFFERENCE, .width = 14},
        {.title = "change", .kind = CELL_ERROR, .width = 12, .is_optional = true},
        {.title = "", .kind = CELL_WORD, .width = WIDTH_MARK},
    };
    struct page_table *table = page_table_add(page, MEDIUM_TERMINAL, columns, 6);
    table->indent = 2;
    table->has_no_heading = !has_heading;
    return table;
}

static struct page_table *title_table_add(struct page *page)
{
    static const struct page_column columns[] = {{.title = "", .kind = CELL_WORD, .width = STATE_COLUMNS},
                                                 {.title = "", .kind = CELL_WORD, .lead = 1, .width = WIDTH_REST}};
    page_gap(page);
    struct page_table *table = page_table_add(page, MEDIUM_TERMINAL, columns, 2);
    table->has_no_heading = true;
    return table;
}

static void title_row_add(struct page *page, struct page_table *table, const char *state, const char *words)
{
    page_row_add(page, table, (const struct cell[]){cell_word(state), cell_word(words)});
}

/* That of a figure beyond its tolerance, if there is one to be beyond. */
static const char *mark_of(const struct contrast *contrast, const struct figure *figure)
{
    const bool is_judged = contrast->difference->within < 0.0;
    return is_judged && figure->state == FIGURE_BEYOND ? "beyond"
           : is_judged && figure->state == FIGURE_OPEN ? "?"
                                                       : "";
}

static void figure_rows_add(const struct contrast *contrast, const struct figures *figures)
{
    struct page_table *table = figure_table_add(contrast->page, false);
    for (int at = 0; at < figures->count; at++) {
        const struct figure *figure = &figures->rows[at];
        const struct cell cells[] = {figure_cell(contrast->page, figure),
                                     cell_bytes(figure->base_bytes),
                                     cell_bytes(figure->other_bytes),
                                     cell_difference(figure->other_bytes, figure->base_bytes),
                                     change_cell(figure),
                                     cell_word(mark_of(contrast, figure))};
        if (figure_is_shown(figures, at)) {
            page_row_add(contrast->page, table, cells);
        }
    }
}

/* "status ok -> oom: no memory" */
static void status_describe(struct page *page, const struct case_view *a, const struct case_view *b)
{
    if (strcmp(a->status, b->status) != 0) {
        page_line(page, 2, "status %s%s%s%s -> %s%s%s", a->status, a->reason[0] != '\0' ? " (" : "", a->reason,
                  a->reason[0] != '\0' ? ")" : "", b->status, b->reason[0] != '\0' ? ": " : "", b->reason);
    }
}

static void lonely_append(struct text *words, const char *name, int64_t bytes, int64_t other_bytes)
{
    char word[WORDING_BYTES];
    if (bytes != BYTES_UNKNOWN && other_bytes == BYTES_UNKNOWN) {
        text_format(words, ", %s %s", name, bytes_word(bytes, false, word));
    }
}

/* "only in old: device used 34.00 GiB", of the figures that one side alone has. */
static void lonely_describe(struct page *page, const char *whose, const struct case_view *view,
                            const struct case_view *other)
{
    struct text words = {0};
    for (int level = 0; level < LEVEL_COUNT; level++) {
        const struct figure figure = {.kind = FIGURE_PEAK, .level = (enum level)level};
        lonely_append(&words, figure_cell(page, &figure).word, view->measured.peak_bytes[level],
                      other->measured.peak_bytes[level]);
    }
    lonely_append(&words, "saved for backward", view->measured.saved_for_backward_bytes,
                  other->measured.saved_for_backward_bytes);
    if ((view->predicted.present && !other->predicted.present) || (view->total_count > 0 && other->total_count == 0)) {
        text_append(&words, ", predictions");
    }
    if (words.length > 0) {
        page_line(page, 2, "only in %s: %s", whose, text_string(&words) + 2);
    }
    page->failed = page->failed || words.failed;
    text_release(&words);
}

/* The figures are shown all the same; those of device and process count in no summary. */
static void obstacles_describe(struct page *page, const struct case_pair *pair)
{
    const struct case_view *const sides[] = {pair->base, pair->other};
    static const char *const names[] = {"old", "new"};
    struct text words = {0};
    for (int at = 0; at < 2; at++) {
        if (sides[at]->invalid) {
            page_line(page, 2, "invalid in %s: %s", names[at], sides[at]->disturbance);
        }
    }
    if (pair->other->missing != NULL || (pair->state == PAIR_OPEN && !pair->base->invalid && !pair->other->invalid)) {
        pair_obstacle_append(&words, pair);
        page_line(page, 2, "%s: %s", pair->state == PAIR_OPEN ? "not judged" : "incomplete",
                  words.length > 0 ? text_string(&words) : "a reading of the old records is not in the new ones");
    }
    page->failed = page->failed || words.failed;
    text_release(&words);
}

static void pair_describe(const void *context, int index, struct page *page)
{
    const struct difference_subject *subject = context;
    const struct contrast contrast = {page, subject->difference, subject->only_changed};
    const struct case_pair *pair = &contrast.difference->pairs[index];
    struct figures figures;
    if (pair_is_listed(&contrast, pair)) {
        figures_list(contrast.difference->rules, pair, &figures);
        title_row_add(page, title_table_add(page), pair_state_name(pair->state), pair->base->title);
        status_describe(page, pair->base, pair->other);
        figure_rows_add(&contrast, &figures);
        obstacles_describe(page, pair);
        lonely_describe(page, "old", pair->base, pair->other);
        lonely_describe(page, "new", pair->other, pair->base);
    }
}

void difference_cases_list(const struct contrast *contrast, const struct difference_subject *subject)
{
    const struct difference *difference = contrast->difference;
    struct page *page = contrast->page;
    if (difference->pair_count > hidden_count(contrast)) {
        page_gap(page);
        (void)figure_table_add(page, true); /* a heading over all of them */
        page_series_add(page, MEDIUM_TERMINAL, (struct page_series){pair_describe, subject, difference->pair_count});
    }
    struct page_table *table = difference->missing_count > 0 ? title_table_add(page) : NULL;
    for (int at = 0; at < difference->missing_count; at++) {
        const struct case_absence *absence = &difference->missing[at];
        title_row_add(page, table, "missing", absence->view->title);
        if (absence->reason != NULL && absence->reason[0] != '\0') {
            title_row_add(page, table, "", absence->reason);
        }
    }
    table = difference->appeared_count > 0 ? title_table_add(page) : NULL;
    for (int at = 0; at < difference->appeared_count; at++) {
        title_row_add(page, table, "new", difference->appeared[at]->title);
    }
    if (hidden_count(contrast) > 0) {
        page_gap(page);
        page_line(page, 0, "%d %s not listed (--only-changed false lists them)", hidden_count(contrast),
                  hidden_word(hidden_count(contrast)));
    }
}

/* ---- in documents and on screens ---- */

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

/* "reserved peak +2.00 MiB (+1.92 %)" */
static void other_append(struct text *words, const struct figure *figure)
{
    char word[WORDING_BYTES];
    const struct cell change = change_cell(figure);
    figure_name(figure, words);
    if (figure->other_bytes == BYTES_UNKNOWN) {
        text_append(words, " is gone");
    } else {
        text_format(words, " %s", difference_word(figure->base_bytes, figure->other_bytes, word));
        if (change.known) {
            text_format(words, " (%s)", error_word(true, change.real, word));
        }
    }
    text_append(words, figure->state == FIGURE_OPEN ? ", not judged" : "");
}

/* The figures beside the one that the row shows: the first by name, since stages mostly say what peaks said. */
static void others_append(struct text *words, const struct figures *figures, int lead)
{
    enum { NAMED = 2 };
    int count = 0;
    for (int i = 0; i < figures->count; i++) {
        if (i != lead && stands_out(figures, i) && count++ < NAMED) {
            text_append(words, count > 1 ? "; " : "");
            other_append(words, &figures->rows[i]);
        }
    }
    if (count > NAMED) {
        text_format(words, "; %d more figure%s", count - NAMED, count - NAMED == 1 ? "" : "s");
    }
}

enum { CASE, STATE, FIGURE, OLD, NEW, DIFFERENCE, CHANGE, BESIDES, COLUMNS };

/* figure NULL: the row shows none. */
static void row_add(struct page *page, struct page_table *table, const struct case_view *view, struct cell state,
                    const struct figure *figure, const char *besides)
{
    const struct cell none = {.word = ""};
    struct cell cells[COLUMNS] = {cell_word(view->title), state, none, none, none, none, none, cell_word(besides)};
    if (figure != NULL) {
        cells[FIGURE] = figure_cell(page, figure);
        cells[OLD] = cell_bytes(figure->base_bytes);
        cells[NEW] = cell_bytes(figure->other_bytes);
        cells[DIFFERENCE] = cell_difference(figure->other_bytes, figure->base_bytes);
        cells[CHANGE] = change_cell(figure);
    }
    page_row_add(page, table, cells);
}

static void pair_row_add(const struct contrast *contrast, struct page_table *table, const struct case_pair *pair)
{
    static const char *const states[] = {[PAIR_SAME] = "same", [PAIR_CHANGED] = "changed", [PAIR_OPEN] = "not judged"};
    struct figures figures;
    struct text status = {0}, besides = {0};
    struct cell state = cell_word(states[pair->state]);
    state.is_bad = pair->state == PAIR_CHANGED;
    if (strcmp(pair->base->status, pair->other->status) != 0) {
        text_format(&status, ": %s \xE2\x86\x92 %s", pair->base->status, pair->other->status);
        state.after = page_word_move(contrast->page, &status);
    }
    figures_list(contrast->difference->rules, pair, &figures);
    const int lead = lead_find(&figures);
    others_append(&besides, &figures, lead);
    row_add(contrast->page, table, pair->base, state, lead >= 0 ? &figures.rows[lead] : NULL,
            page_word_move(contrast->page, &besides));
}

static void case_rows_add(const struct contrast *contrast)
{
    static const struct page_column columns[COLUMNS] = {
        [CASE] = {.title = "case", .kind = CELL_WORD},
        [STATE] = {.title = "", .kind = CELL_WORD},
        [FIGURE] = {.title = "figure", .kind = CELL_WORD},
        [OLD] = {.title = "old", .kind = CELL_BYTES},
        [NEW] = {.title = "new", .kind = CELL_BYTES},
        [DIFFERENCE] = {.title = "difference", .kind = CELL_DIFFERENCE},
        [CHANGE] = {.title = "change", .kind = CELL_ERROR},
        [BESIDES] = {.title = "besides", .kind = CELL_WORD},
    };
    const struct difference *difference = contrast->difference;
    struct page_table *table = page_table_add(contrast->page, MEDIA_READ, columns, COLUMNS);
    for (int at = 0; at < difference->pair_count; at++) {
        if (pair_is_listed(contrast, &difference->pairs[at])) {
            pair_row_add(contrast, table, &difference->pairs[at]);
        }
    }
    for (int at = 0; at < difference->missing_count; at++) {
        const struct case_absence *absence = &difference->missing[at];
        row_add(contrast->page, table, absence->view, cell_word("missing"), NULL,
                absence->reason != NULL ? absence->reason : "");
    }
    for (int at = 0; at < difference->appeared_count; at++) {
        row_add(contrast->page, table, difference->appeared[at], cell_word("new"), NULL, "");
    }
}

/* Why a case, or its readings, are not judged. */
static void unjudged_describe(const struct contrast *contrast)
{
    struct note_groups notes = {0};
    for (int at = 0; at < contrast->difference->pair_count; at++) {
        const struct case_pair *pair = &contrast->difference->pairs[at];
        struct text words = {0};
        if (pair_is_listed(contrast, pair)) {
            pair_obstacle_append(&words, pair);
            note_groups_add(&notes, pair->base->label, text_string(&words));
        }
        text_release(&words);
    }
    note_groups_describe(&notes, "What is not judged", MEDIA_READ, contrast->page);
    note_groups_release(&notes);
}

void difference_cases_tabulate(const struct contrast *contrast)
{
    const struct difference *difference = contrast->difference;
    if (difference->pair_count - hidden_count(contrast) + difference->missing_count + difference->appeared_count > 0) {
        case_rows_add(contrast);
    }
    if (hidden_count(contrast) > 0) {
        page_say(contrast->page, BLOCK_TEXT, MEDIA_READ, "%d %s not listed.", hidden_count(contrast),
                 hidden_word(hidden_count(contrast)));
    }
    unjudged_describe(contrast);
}
