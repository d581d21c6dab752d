/* Page for a terminal. Every line fits the width; colour if the caller asks for it. If a table is too wide for
 * the terminal it breaks behind its flexible column, loses the columns that can be spared, or is split. */
#include <stdio.h>

#include "harness/report/escape.h"
#include "harness/report/page_format.h"

enum { LABEL_LEAST = 20, MARK_COLUMNS = 2, HANG = 2 };

struct terminal {
    struct text *text;
    int width, name_width; /* of the terminal; of the flexible column */
    bool colour;
};

/* One table, and how it fits. */
struct layout {
    const struct page_table *table;
    int flexible;             /* its index; -1: none */
    bool is_broken, is_short; /* a row takes two lines; without what can be spared */
    bool has_mark_room;       /* behind the row */
};

static void colour_append(const struct terminal *terminal, const char *code)
{
    text_append(terminal->text, terminal->colour ? code : "");
}

static void blanks_append(const struct terminal *terminal, int count)
{
    cell_append(terminal->text, "", count, false);
}

static bool column_is_shown(const struct layout *layout, int index)
{
    const struct page_column *column = &layout->table->columns[index];
    return page_is_for(column->media, MEDIUM_TERMINAL) && !(layout->is_short && column->is_optional);
}

/* The columns from first on, before last. */
static int width_sum(const struct layout *layout, int first, int last)
{
    int width = 0;
    for (int index = first; index < last; index++) {
        const struct page_column *column = &layout->table->columns[index];
        width += column_is_shown(layout, index) && column->width > 0 ? column->lead + column->width : 0;
    }
    return width;
}

static int column_width(const struct terminal *terminal, const struct page_column *column)
{
    return column->width_most > 0 || column->width == WIDTH_NAME ? terminal->name_width : column->width;
}

static void layout_make(struct terminal *terminal, struct layout *layout)
{
    const struct page_table *table = layout->table;
    layout->flexible = table->column_count - 1;
    while (layout->flexible >= 0 && table->columns[layout->flexible].width_most == 0) {
        layout->flexible--;
    }
    if (layout->flexible < 0) {
        return;
    }
    const struct page_column *column = &table->columns[layout->flexible];
    int before = table->indent + width_sum(layout, 0, layout->flexible) + column->lead;
    int after = width_sum(layout, layout->flexible + 1, table->column_count);
    int room = terminal->width - before - after;
    layout->is_broken = room < column->width;
    layout->is_short = layout->is_broken && terminal->width < 1 + after;
    room = layout->is_broken ? terminal->width - before : room;
    terminal->name_width = column->width_most < room ? column->width_most : room;
    layout->has_mark_room = !layout->is_broken && terminal->width >= before + terminal->name_width + after + MARK_ROOM;
}

static void heading_write(const struct terminal *terminal, const struct page_column *column, int width, bool is_corner)
{
    const char *title = column->short_title != NULL ? column->short_title : column->title;
    if (cell_is_word(column->kind)) {
        outside_cell_append(terminal->text, title, width, false);
    } else if (is_corner) {
        blanks_append(terminal, HANG);
        outside_cell_append(terminal->text, title, width - HANG, false);
    } else if (column->kind == CELL_JUDGED) { /* above the marks is nothing */
        outside_cell_append(terminal->text, title, width - MARK_COLUMNS, true);
        blanks_append(terminal, MARK_COLUMNS);
    } else {
        text_append(terminal->text, " ");
        outside_cell_append(terminal->text, title, width - 1, true);
    }
}

static void judged_write(const struct terminal *terminal, const struct cell *cell, int width)
{
    static const char *const colours[] = {
        [TONE_NONE] = "", [TONE_OVER] = "\x1b[31m", [TONE_GOOD] = "\x1b[32m", [TONE_SPARE] = "\x1b[33m"};
    char word[2 * CELL_TEXT_BYTES];
    const char *sign = cell->judgement->sign;
    snprintf(word, sizeof word, cell->real < 99.995 ? "%.2f %s" : "%.0f %s", cell->real, sign[0] != '\0' ? sign : " ");
    colour_append(terminal, colours[cell->judgement->tone]);
    cell_append(terminal->text, word, width, true);
    colour_append(terminal, "\x1b[0m");
}

static void cell_write(const struct terminal *terminal, const struct page_column *column, const struct cell *cell,
                       int width)
{
    char word[CELL_TEXT_BYTES];
    if (column->kind == CELL_JUDGED && cell->known) {
        judged_write(terminal, cell, width);
        return;
    }
    const char *string = cell_text(cell, column->kind, word);
    if (column->kind == CELL_PART && cell->known && width_measure(string) >= column->width) {
        snprintf(word, sizeof word, "%lld", (long long)cell->number); /* the whole stands above the table */
    }
    outside_cell_append(terminal->text, string, width, !cell_is_word(column->kind));
}

/* A column, wrapped, from `at` on, or below if there is no room beside. */
static void rest_write(const struct terminal *terminal, const struct layout *layout, const struct page_column *column,
                       const struct cell *cell, int at)
{
    char word[CELL_TEXT_BYTES];
    int start = at + column->lead;
    if (terminal->width - start < LABEL_LEAST) {
        start = layout->table->indent + HANG;
        line_end_append(terminal->text);
        blanks_append(terminal, start);
    } else {
        blanks_append(terminal, column->lead);
    }
    outside_paragraph_append(terminal->text, cell_text(cell, column->kind, word), terminal->width, start, start);
}

/* The cell of a row that stands in a column of that width; NULL: the row has none, or nothing in it. */
static const struct cell *special_find(const struct layout *layout, const struct cell *cells, int width)
{
    const struct page_table *table = layout->table;
    for (int index = 0; cells != NULL && index < table->column_count; index++) {
        const bool is_it = table->columns[index].width == width && column_is_shown(layout, index);
        if (is_it && cells[index].known && cells[index].word[0] != '\0') {
            return &cells[index];
        }
    }
    return NULL;
}

/* The name of a row that stands alone: one that is too long, or has a mark that has no room behind the row. */
static bool name_write_alone(const struct terminal *terminal, const struct layout *layout, const struct cell *cells)
{
    const struct page_column *column = &layout->table->columns[layout->flexible];
    const struct cell *mark = layout->has_mark_room ? NULL : special_find(layout, cells, WIDTH_MARK);
    if (cells == NULL || !column->is_whole) {
        return false;
    }
    struct text name = {0};
    terminal_append(&name, cells[layout->flexible].word);
    bool is_alone = mark != NULL || layout->is_broken || width_measure(text_string(&name)) >= terminal->name_width;
    if (is_alone) {
        text_format(&name, "%s%s", mark != NULL ? ": " : "", mark != NULL ? mark->word : "");
        outside_paragraph_append(terminal->text, text_string(&name), terminal->width, layout->table->indent + HANG,
                                 layout->table->indent);
        blanks_append(terminal, layout->is_broken ? 0 : layout->table->indent + terminal->name_width);
    }
    terminal->text->failed = terminal->text->failed || name.failed;
    text_release(&name);
    return is_alone;
}

/* Behind the row, and below it. */
static void row_end(const struct terminal *terminal, const struct layout *layout, const struct cell *cells)
{
    const struct cell *mark = layout->has_mark_room ? special_find(layout, cells, WIDTH_MARK) : NULL;
    const struct cell *below = special_find(layout, cells, WIDTH_BELOW);
    if (mark != NULL) {
        blanks_append(terminal, MARK_COLUMNS);
        outside_cell_append(terminal->text, mark->word, MARK_ROOM - MARK_COLUMNS, false);
    }
    line_end_append(terminal->text);
    if (below != NULL) {
        const struct page_column *column = &layout->table->columns[below - cells];
        const int indent = layout->table->indent + HANG, start = indent + width_measure(column->short_title) + 2;
        blanks_append(terminal, indent);
        text_format(terminal->text, "%s: ", column->short_title);
        outside_paragraph_append(terminal->text, below->word, terminal->width, start, start);
    }
}

/* One row; cells NULL: the heading. */
static void row_write(const struct terminal *terminal, const struct layout *layout, const struct cell *cells)
{
    const struct page_table *table = layout->table;
    int at = table->indent, less = 0;
    blanks_append(terminal, table->indent);
    for (int index = 0; index < table->column_count; index++) {
        const struct page_column *column = &table->columns[index];
        int width = column_width(terminal, column) - less;
        if (!column_is_shown(layout, index) || column->width == WIDTH_MARK || column->width == WIDTH_BELOW) {
            continue;
        }
        if (column->width == WIDTH_REST) {
            rest_write(terminal, layout, column, cells != NULL ? &cells[index] : &(struct cell){.word = column->title},
                       at);
            return;
        }
        if (index == layout->flexible && name_write_alone(terminal, layout, cells)) {
            at += column->lead + width;
            continue;
        }
        blanks_append(terminal, column->lead);
        if (cells == NULL) {
            heading_write(terminal, column, width, false);
        } else {
            cell_write(terminal, column, &cells[index], width);
        }
        at += column->lead + width;
        less = 0;
        if (layout->is_broken && index == layout->flexible) {
            line_end_append(terminal->text);
            less = layout->is_short && !column->is_whole ? 1 : 0; /* no name stands before it there */
        }
    }
    row_end(terminal, layout, cells);
}

/* How many cases each column is over, if the columns say so. */
static void counts_write(const struct terminal *terminal, const struct page_table *table, int first, int last)
{
    if (table->columns[first].case_count == 0) {
        return;
    }
    blanks_append(terminal, table->indent);
    cell_append(terminal->text, "cases", column_width(terminal, &table->columns[0]), false);
    for (int index = first; index < last; index++) {
        char count[CELL_TEXT_BYTES];
        snprintf(count, sizeof count, "%lld", (long long)table->columns[index].case_count);
        cell_append(terminal->text, count, table->columns[index].width, true);
    }
    line_end_append(terminal->text);
}

/* The first column, and those from first on, before last. */
static void part_write(const struct terminal *terminal, const struct page_table *table, int first, int last)
{
    const struct page_column *columns = table->columns;
    colour_append(terminal, "\x1b[2m");
    blanks_append(terminal, table->indent);
    heading_write(terminal, &columns[0], column_width(terminal, &columns[0]), true);
    for (int index = first; index < last; index++) {
        heading_write(terminal, &columns[index], columns[index].width, false);
    }
    line_end_append(terminal->text);
    counts_write(terminal, table, first, last);
    colour_append(terminal, "\x1b[0m");
    for (int at = 0; at < table->row_count; at++) {
        blanks_append(terminal, table->indent);
        cell_write(terminal, &columns[0], &table->rows[at][0], column_width(terminal, &columns[0]));
        for (int index = first; index < last; index++) {
            cell_write(terminal, &columns[index], &table->rows[at][index], columns[index].width);
        }
        line_end_append(terminal->text);
    }
}

static void parts_write(const struct terminal *terminal, const struct page_table *table)
{
    int used = table->indent + column_width(terminal, &table->columns[0]);
    int room = table->column_count > 1 ? (terminal->width - used) / table->columns[1].width : 1;
    room = room < 1 ? 1 : room;
    for (int first = 1; first < table->column_count; first += room) {
        part_write(terminal, table, first, first + room < table->column_count ? first + room : table->column_count);
    }
}

static void table_write(struct terminal *terminal, const struct page_table *table)
{
    struct layout layout = {.table = table};
    if (table->is_split) {
        parts_write(terminal, table);
        return;
    }
    layout_make(terminal, &layout);
    if (!table->has_no_heading) {
        colour_append(terminal, "\x1b[2m");
        row_write(terminal, &layout, NULL);
        colour_append(terminal, "\x1b[0m");
    }
    for (int at = 0; at < table->row_count; at++) {
        row_write(terminal, &layout, table->rows[at]);
    }
}

/* How blocks of words look: what stands before, the colour, and the blanks of the lines behind the first. */
static const struct {
    bool is_words, is_apart;
    const char *colour;
    int hang;
} looks[BLOCK_KIND_COUNT] = {
    [BLOCK_TITLE] = {true, false, "\x1b[1m", HANG},
    [BLOCK_HEADING] = {true, true, "\x1b[1m", HANG},
    [BLOCK_SUBHEADING] = {true, true, "\x1b[1m", HANG},
    [BLOCK_ALERT] = {true, false, "\x1b[1;31m", HANG},
    [BLOCK_LEAD] = {true, false, "", HANG},
    [BLOCK_TEXT] = {true, false, "", 0},
    [BLOCK_NOTE] = {true, true, "", 0},
    [BLOCK_ITEM] = {true, false, "", HANG},
};

static void words_write(const struct terminal *terminal, const struct page_block *block)
{
    struct text words = {0};
    text_format(&words, "%s%s", block->strong != NULL ? block->strong : "", block->words);
    text_append(terminal->text, looks[block->kind].is_apart ? "\n" : "");
    colour_append(terminal, looks[block->kind].colour);
    blanks_append(terminal, block->indent);
    outside_paragraph_append(terminal->text, text_string(&words), terminal->width,
                             block->indent + looks[block->kind].hang, block->indent);
    colour_append(terminal, looks[block->kind].colour[0] != '\0' ? "\x1b[0m" : "");
    terminal->text->failed = terminal->text->failed || words.failed;
    text_release(&words);
}

/* Contents and figures are nothing that a terminal could show. */
static void block_write(const struct page *page, const struct page_block *block, void *state)
{
    struct terminal *terminal = state;
    (void)page;
    if (looks[block->kind].is_words) {
        words_write(terminal, block);
    } else if (block->kind == BLOCK_TABLE) {
        table_write(terminal, block->table);
    } else if (block->kind == BLOCK_PART) {
        block->part.write(block->part.context, terminal->text);
    }
}

void page_terminal_write(const struct page *page, const struct report_style *style, struct text *text)
{
    struct terminal terminal = {.text = text, .width = style->width, .colour = style->colour};
    text->failed = !page_visit(page, MEDIUM_TERMINAL, block_write, &terminal) || text->failed;
}
