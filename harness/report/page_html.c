/* Page as HTML that needs nothing else, its plots put into it. What all HTML of a report shares is in html_page.h. */
#include <inttypes.h>

#include "harness/report/escape.h"
#include "harness/report/html_page.h"
#include "harness/report/page_format.h"

enum { IMAGES_BYTES_MAXIMUM = 400 << 10 };

static void heading_write(const struct page_column *column, struct text *text)
{
    text_append(text, cell_is_word(column->kind) || column->title[0] == '\0' ? "<th>" : "<th class=\"n\">");
    xml_append(text, column->title);
    if (column->case_count > 0) {
        text_format(text, ": %" PRId64, column->case_count);
    }
    text_append(text, "</th>");
}

static void judged_write(const struct cell *cell, struct text *text)
{
    static const char *const classes[] = {
        [TONE_NONE] = "", [TONE_OVER] = " too", [TONE_GOOD] = " close", [TONE_SPARE] = " wasteful"};
    char word[CELL_TEXT_BYTES];
    text_format(text, "<td class=\"n%s\" title=\"", classes[cell->judgement->tone]);
    xml_append(text, cell->judgement->meaning);
    text_format(text, "\">%s%s", cell_text(cell, CELL_JUDGED, word), cell->judgement->sign[0] != '\0' ? " " : "");
    xml_append(text, cell->judgement->sign);
    text_append(text, "</td>");
}

static void cell_write(const struct page_column *column, const struct cell *cell, struct text *text)
{
    char word[CELL_TEXT_BYTES];
    const char *string = cell_text(cell, column->kind, word);
    if (column->kind == CELL_JUDGED && cell->known) {
        judged_write(cell, text);
    } else if (cell->is_bad) {
        text_append(text, cell_is_word(column->kind) ? "<td class=\"fail\">" : "<td class=\"n fail\">");
        xml_append(text, string);
        xml_append(text, cell->after != NULL ? cell->after : "");
        text_append(text, "</td>");
    } else if (cell_is_word(column->kind)) {
        html_cell_append(text, string);
    } else {
        html_number_append(text, string);
    }
}

/* row -1: the heading. */
static void row_write(const struct page_table *table, int row, struct text *text)
{
    text_append(text, "<tr>");
    for (int index = 0; index < table->column_count; index++) {
        const struct page_column *column = &table->columns[index];
        if (!page_is_for(column->media, MEDIUM_SCREEN)) {
            continue;
        }
        if (row < 0) {
            heading_write(column, text);
        } else {
            cell_write(column, &table->rows[row][index], text);
        }
    }
    text_append(text, "</tr>\n");
}

static void table_write(const struct page_table *table, struct text *text)
{
    html_table_begin(text);
    for (int row = -1; row < table->row_count; row++) {
        row_write(table, row, text);
    }
    html_table_end(text);
}

static void section_write(const struct page_block *block, struct text *text)
{
    text_append(text, "<h2");
    if (block->anchor != NULL) {
        text_format(text, " id=\"%s\"", block->anchor);
    }
    text_append(text, ">");
    xml_append(text, block->words);
    text_append(text, "</h2>\n");
}

static void contents_write(const struct page *page, struct text *text)
{
    int count = 0;
    for (int at = 0; at < page->block_count; at++) {
        const struct page_block *block = &page->blocks[at];
        bool is_linked = block->kind == BLOCK_HEADING && block->anchor != NULL;
        if (is_linked && page_is_for(block->media, MEDIUM_SCREEN)) {
            text_append(text, count++ == 0 ? "<nav><ul>\n" : "");
            text_format(text, "<li><a href=\"#%s\"%s>", block->anchor, block->is_alert ? " class=\"fail\"" : "");
            xml_append(text, block->label != NULL ? block->label : block->words);
            text_append(text, "</a>\n");
        }
    }
    text_append(text, count > 0 ? "</ul></nav>\n" : "");
}

/* In the page; one that may be a link, as long as there is room, else a link, else a name. */
static void figure_write(const struct page *page, const struct page_block *block, size_t *images_bytes,
                         struct text *text)
{
    struct text image = {0};
    if (!html_image_append(&image, plot_set_svg(page->plots, block->anchor))) {
        text_release(&image);
        return;
    }
    text_append(text, "<figure>\n<figcaption>");
    xml_append(text, block->words);
    if (!block->may_be_link || *images_bytes + image.length <= IMAGES_BYTES_MAXIMUM) {
        *images_bytes += image.length;
        text_append(text, "</figcaption>\n");
        text_append(text, text_string(&image));
    } else if (page->plots->link != NULL) {
        text_append(text, ": <a href=\"");
        link_append(text, page->plots->link);
        text_format(text, "/%s.svg\">%s.svg</a></figcaption>\n", block->anchor, block->anchor);
    } else {
        text_format(text, ": %s.svg, drawn by --plots FOLDER</figcaption>\n", block->anchor);
    }
    text->failed = text->failed || image.failed;
    text_append(text, "</figure>\n");
    text_release(&image);
}

static const struct page_dialect dialect = {
    .append = xml_append,
    .strong = {"<strong>", "</strong>"},
    .alert = {"<strong class=\"fail\">", "</strong>"},
    .marks = {[BLOCK_SUBHEADING] = {"<h3>", "</h3>\n"},
              [BLOCK_ALERT] = {"<p class=\"fail\"><strong>", "</strong></p>\n"},
              [BLOCK_LEAD] = {"<p>", "</p>\n"},
              [BLOCK_TEXT] = {"<p>", "</p>\n"},
              [BLOCK_NOTE] = {"<p class=\"note\">", "</p>\n"},
              [BLOCK_ITEM] = {"<p class=\"note\">", "</p>\n"}},
};

struct screen {
    struct text *text;
    size_t images_bytes;
};

static void block_write(const struct page *page, const struct page_block *block, void *state)
{
    struct screen *screen = state;
    if (page_words_write(&dialect, block, screen->text)) {
        return;
    }
    if (block->kind == BLOCK_TITLE) {
        html_page_begin(screen->text, block->words);
    } else if (block->kind == BLOCK_HEADING) {
        section_write(block, screen->text);
    } else if (block->kind == BLOCK_CONTENTS) {
        contents_write(page, screen->text);
    } else if (block->kind == BLOCK_TABLE) {
        table_write(block->table, screen->text);
    } else if (block->kind == BLOCK_FIGURE) {
        figure_write(page, block, &screen->images_bytes, screen->text);
    } else if (block->kind == BLOCK_PART) {
        block->part.write(block->part.context, screen->text);
    }
}

void page_html_write(const struct page *page, const struct report_style *style, struct text *text)
{
    (void)style;
    struct screen screen = {.text = text};
    text->failed = !page_visit(page, MEDIUM_SCREEN, block_write, &screen) || text->failed;
    html_page_end(text);
}
