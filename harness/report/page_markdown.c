/* Page as GitHub-flavoured Markdown: a blank line before each block, but between the items of a list. */
#include <inttypes.h>
#include <string.h>

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

static void table_write(const struct page_table *table, struct text *text)
{
    for (int row = -2; row < table->row_count; row++) {
        row_write(table, row, text);
    }
}

/* Images are files beside the page, which are there if somebody keeps them. */
static bool figure_is_there(const struct page *page, const struct page_block *block)
{
    const struct text *svg = plot_set_svg(page->plots, block->anchor);
    return svg != NULL && svg->length > 0 && page->plots->link != NULL;
}

static void figure_write(const struct page *page, const struct page_block *block, struct text *text)
{
    text_append(text, "![");
    markdown_append(text, block->words);
    text_append(text, "](");
    link_append(text, page->plots->link);
    text_format(text, "/%s.svg)\n", block->anchor);
}

static const struct page_dialect dialect = {
    .append = markdown_append,
    .strong = {"**", "**"},
    .alert = {"**", "**"},
    .marks = {[BLOCK_TITLE] = {"# ", "\n"},
              [BLOCK_HEADING] = {"## ", "\n"},
              [BLOCK_SUBHEADING] = {"### ", "\n"},
              [BLOCK_ALERT] = {"**", "**\n"},
              [BLOCK_LEAD] = {"", "\n"},
              [BLOCK_TEXT] = {"", "\n"},
              [BLOCK_NOTE] = {"", "\n"},
              [BLOCK_ITEM] = {"", "\n"}}, /* its mark is in block_write */
};

struct markdown {
    struct text *text;
    bool is_first, is_listed; /* the block before was an item */
};

/* Headings are found without a list of contents. */
static void block_write(const struct page *page, const struct page_block *block, void *state)
{
    struct markdown *markdown = state;
    struct text *text = markdown->text;
    const bool is_item = block->kind == BLOCK_ITEM;
    if (block->kind == BLOCK_CONTENTS || (block->kind == BLOCK_FIGURE && !figure_is_there(page, block))) {
        return;
    }
    text_append(text, markdown->is_first || (markdown->is_listed && is_item) ? "" : "\n");
    if (is_item) { /* it must not open another list in the list */
        text_append(text, block->words[0] != '\0' && strchr("-+=", block->words[0]) != NULL ? "- \\" : "- ");
    }
    if (block->kind == BLOCK_TABLE) {
        table_write(block->table, text);
    } else if (block->kind == BLOCK_FIGURE) {
        figure_write(page, block, text);
    } else if (block->kind == BLOCK_PART) {
        block->part.write(block->part.context, text);
    } else {
        (void)page_words_write(&dialect, block, text);
    }
    markdown->is_first = false;
    markdown->is_listed = is_item;
}

void page_markdown_write(const struct page *page, const struct report_style *style, struct text *text)
{
    (void)style;
    struct markdown markdown = {.text = text, .is_first = true};
    text->failed = !page_visit(page, MEDIUM_DOCUMENT, block_write, &markdown) || text->failed;
}
