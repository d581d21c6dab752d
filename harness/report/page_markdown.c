/* Page as GitHub-flavoured Markdown: a blank line before each block, but between the items of a list. */
#include <inttypes.h>

#include "harness/report/escape.h"
#include "harness/report/page_format.h"

static void heading_write(const struct page_column *column, struct text *text)
{
    text_append(text, column->title[0] != '\0' ? " " : "");
    markdown_append(text, column->title);
    if (column->case_count > 0) {
        text_format(text, ": %" PRId64, column->case_count);
    }
    text_append(text, " |");
}

static void cell_write(const struct page_column *column, const struct cell *cell, struct text *text)
{
    char word[CELL_TEXT_BYTES];
    bool is_judged = column->kind == CELL_JUDGED && cell->known;
    const char *strong = cell->is_bad || (is_judged && cell->judgement->tone == TONE_OVER) ? "**" : "";
    text_format(text, " %s", strong);
    markdown_append(text, cell_text(cell, column->kind, word));
    text_append(text, strong);
    markdown_append(text, cell->after != NULL ? cell->after : "");
    if (is_judged && cell->judgement->sign[0] != '\0') {
        text_append(text, " ");
        markdown_append(text, cell->judgement->sign);
    }
    text_append(text, " |");
}

/* row: -2 the heading, -1 the line below it. */
static void row_write(const struct page_table *table, int row, struct text *text)
{
    text_append(text, "|");
    for (int index = 0; index < table->column_count; index++) {
        const struct page_column *column = &table->columns[index];
        if (!page_is_for(column->media, MEDIUM_DOCUMENT)) {
            continue;
        }
        if (row == -2) {
            heading_write(column, text);
        } else if (row == -1) {
            text_append(text, cell_is_word(column->kind) ? "---|" : "--:|");
        } else {
            cell_write(column, &table->rows[row][index], text);
        }
    }
    text_append(text, "\n");
}

static void paragraph_write(const char *before, const char *words, const char *end, struct text *text)
{
    text_append(text, before);
    markdown_append(text, words);
    text_append(text, end);
}

/* An item must not open another list in the list. */
static void item_write(const char *words, struct text *text)
{
    const bool is_mark = words[0] == '-' || words[0] == '+' || words[0] == '=';
    paragraph_write(is_mark ? "- \\" : "- ", words, "\n", text);
}

/* Images are files beside the page, which are there where somebody keeps them. */
static bool figure_is_there(const struct page *page, const struct page_block *block)
{
    const struct text *svg = plot_set_svg(page->plots, block->anchor);
    return svg != NULL && svg->length > 0 && page->plots->link != NULL;
}

static void figure_write(const struct page *page, const struct page_block *block, struct text *text)
{
    paragraph_write("![", block->words, "](", text);
    link_append(text, page->plots->link);
    text_format(text, "/%s.svg)\n", block->anchor);
}

static void block_write(const struct page *page, const struct page_block *block, struct text *text)
{
    switch (block->kind) {
    case BLOCK_TITLE:
        paragraph_write("# ", block->words, "\n", text);
        break;
    case BLOCK_HEADING:
        paragraph_write(block->level == 2 ? "## " : "### ", block->words, "\n", text);
        break;
    case BLOCK_ALERT:
        paragraph_write("**", block->words, "**\n", text);
        break;
    case BLOCK_LEAD:
    case BLOCK_TEXT:
    case BLOCK_NOTE:
        paragraph_write("", block->words, "\n", text);
        break;
    case BLOCK_ITEM:
        item_write(block->words, text);
        break;
    case BLOCK_TABLE:
        for (int row = -2; row < block->table->row_count; row++) {
            row_write(block->table, row, text);
        }
        break;
    case BLOCK_FIGURE:
        figure_write(page, block, text);
        break;
    case BLOCK_PART:
        block->part.write(block->part.context, text);
        break;
    case BLOCK_CONTENTS:
        break; /* headings are found without links */
    }
}

void page_markdown_write(const struct page *page, const struct report_style *style, struct text *text)
{
    (void)style;
    const struct page_block *before = NULL;
    for (int at = 0; at < page->block_count; at++) {
        const struct page_block *block = &page->blocks[at];
        bool is_shown = page_is_for(block->media, MEDIUM_DOCUMENT) && block->kind != BLOCK_CONTENTS &&
                        (block->kind != BLOCK_FIGURE || figure_is_there(page, block));
        if (is_shown) {
            bool is_next_item = before != NULL && before->kind == BLOCK_ITEM && block->kind == BLOCK_ITEM;
            text_append(text, before == NULL || is_next_item ? "" : "\n");
            block_write(page, block, text);
            before = block;
        }
    }
}
