/* Side tables on pages: each below a heading of its own. In a document the case stands in the first of its rows alone,
 * so that one sees which rows belong together; a screen has rows of its own (side_table_html.c). */
#include "harness/report/page.h"
#include "harness/report/side_tables.h"

enum { CASES_MAXIMUM = 300 };

struct screen_part {
    const struct side_table *table;
    const struct report *report;
    int maximum; /* of cases; 0: all */
};

static void screen_write(const void *context, struct text *text)
{
    const struct screen_part *part = context;
    side_table_html(part->table, part->report, part->maximum, text);
}

static void rows_add(struct page *page, struct page_table *made, const struct side_table *table,
                     const struct side_cases *cases)
{
    const char *group = NULL;
    struct side_rows rows = {0};
    for (int at = 0; at < cases->count; at++) {
        side_rows_of(table, cases->cases[at], &rows);
        for (int index = 0; index < rows.count; index++) {
            const struct side_row *row = &rows.rows[index];
            if (row->is_idle) {
                continue;
            }
            struct cell cells[1 + SIDE_COLUMNS_MAXIMUM] = {cell_word(row->group != group ? row->group : "")};
            for (int column = 0; column < table->column_count; column++) {
                cells[1 + column] = row->cells[column];
            }
            page_row_add(page, made, cells);
            group = row->group;
        }
    }
    page->failed = page->failed || rows.failed;
    side_rows_release(&rows);
}

static void document_rows_describe(struct page *page, const struct side_table *table, const struct side_cases *cases)
{
    struct page_column columns[1 + SIDE_COLUMNS_MAXIMUM] = {{.title = "case", .kind = CELL_WORD}};
    for (int column = 0; column < table->column_count; column++) {
        columns[1 + column] =
            (struct page_column){.title = table->columns[column].title, .kind = table->columns[column].kind};
    }
    rows_add(page, page_table_add(page, MEDIUM_DOCUMENT, columns, 1 + table->column_count), table, cases);
}

/* What is not shown, and what the table adds: a document has a paragraph for each, a screen one. */
static void notes_describe(struct page *page, unsigned media, const struct side_table *table,
                           const struct report *report, int hidden_count)
{
    struct text note = {0}, hidden = {0};
    if (table->note != NULL) {
        table->note(report, &note);
    }
    if (hidden_count > 0) {
        text_format(&hidden, "%d more cases are not shown; all are in the report as csv or json.", hidden_count);
        page_words(page, BLOCK_NOTE, MEDIUM_DOCUMENT, text_string(&hidden));
    }
    if (note.length > 0 && page_is_for(media, MEDIUM_DOCUMENT)) {
        page_words(page, BLOCK_NOTE, MEDIUM_DOCUMENT, text_string(&note));
    }
    text_format(&note, "%s%s", note.length > 0 && hidden.length > 0 ? " " : "", text_string(&hidden));
    if (note.length > 0 && page_is_for(media, MEDIUM_SCREEN)) {
        page_words(page, BLOCK_NOTE, MEDIUM_SCREEN, text_string(&note));
    }
    page->failed = page->failed || note.failed || hidden.failed;
    text_release(&note);
    text_release(&hidden);
}

static void screen_rows_describe(struct page *page, const struct side_table *table, const struct report *report,
                                 int maximum)
{
    struct screen_part *part = arena_alloc(&page->arena, sizeof *part);
    if (part == NULL) {
        page->failed = true;
        return;
    }
    *part = (struct screen_part){table, report, maximum};
    page_part_add(page, MEDIUM_SCREEN, (struct page_part){screen_write, part});
}

/* maximum 0: all cases. */
static void table_describe(const struct side_table *table, const struct report *report, int maximum, unsigned media,
                           struct page *page)
{
    struct side_cases cases = side_cases_make(table, report, maximum);
    if (cases.count > 0) {
        page_link_heading(page, media, table->name, table->title);
        page_words(page, BLOCK_NOTE, media, table->words);
        document_rows_describe(page, table, &cases);
        if (page_is_for(media, MEDIUM_SCREEN)) {
            screen_rows_describe(page, table, report, maximum);
        }
        notes_describe(page, media, table, report, cases.hidden_count);
    }
    page->failed = page->failed || cases.failed;
    side_cases_release(&cases);
}

void side_table_describe(const struct side_table *table, const struct report *report, struct page *page)
{
    table_describe(table, report, 0, MEDIA_READ, page);
}

void side_tables_describe(const struct report *report, struct page *page)
{
    const struct side_table *table;
    for (int index = 0; (table = side_table_at(index)) != NULL; index++) {
        if (!table->is_detail) {
            table_describe(table, report, CASES_MAXIMUM, MEDIA_READ, page);
        }
    }
}
