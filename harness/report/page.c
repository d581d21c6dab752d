/* Page: its blocks, put together. Not how they look: that is the affair of the renderers (page_terminal.c,
 * page_markdown.c, page_html.c). */
#include "harness/report/page.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void page_release(struct page *page)
{
    arena_release(&page->arena);
    *page = (struct page){0};
}

bool page_is_for(unsigned media, enum page_media medium)
{
    return media == 0 || (media & (unsigned)medium) != 0;
}

/* Room for one more of `count` elements of size bytes; the list, or NULL if memory ran out. Lists of an arena grow
 * into new ones. */
static void *list_grow(struct arena *arena, void *list, int count, int *room, size_t size)
{
    if (count < *room) {
        return list;
    }
    int wanted = *room > 0 ? *room : 16;
    void *made = wanted <= INT_MAX / 2 ? arena_alloc(arena, 2 * (size_t)wanted * size) : NULL;
    if (made != NULL) {
        *room = 2 * wanted;
        if (count > 0) {
            memcpy(made, list, (size_t)count * size);
        }
    }
    return made;
}

static struct page_block *block_add(struct page *page, enum block_kind kind, unsigned media)
{
    struct page_block *blocks =
        list_grow(&page->arena, page->blocks, page->block_count, &page->block_room, sizeof *blocks);
    if (blocks == NULL) {
        page->failed = true;
        return NULL;
    }
    page->blocks = blocks;
    struct page_block *block = &blocks[page->block_count++];
    *block = (struct page_block){.kind = kind, .media = media, .words = ""};
    return block;
}

const char *page_word(struct page *page, const char *word)
{
    const char *copy = arena_copy(&page->arena, word);
    page->failed = page->failed || copy == NULL;
    return copy != NULL ? copy : "";
}

const char *page_word_move(struct page *page, struct text *word)
{
    const char *copy = page_word(page, text_string(word));
    page->failed = page->failed || word->failed;
    text_release(word);
    return copy;
}

void page_words(struct page *page, enum block_kind kind, unsigned media, const char *words)
{
    struct page_block *block = block_add(page, kind, media);
    if (block != NULL) {
        block->words = page_word(page, words);
    }
}

void page_words_move(struct page *page, enum block_kind kind, unsigned media, struct text *words)
{
    if (words->length > 0) {
        page_words(page, kind, media, text_string(words));
    }
    page->failed = page->failed || words->failed;
    text_release(words);
}

/* A block of words that are formatted; NULL if memory ran out. */
static struct page_block *block_say(struct page *page, enum block_kind kind, unsigned media, const char *format,
                                    va_list values)
{
    va_list again;
    va_copy(again, values);
    const int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    char *words = length >= 0 ? arena_alloc(&page->arena, (size_t)length + 1) : NULL;
    struct page_block *block = block_add(page, kind, media);
    page->failed = page->failed || words == NULL;
    if (words != NULL && block != NULL) {
        vsnprintf(words, (size_t)length + 1, format, values);
        block->words = words;
    }
    return block;
}

void page_say(struct page *page, enum block_kind kind, unsigned media, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    (void)block_say(page, kind, media, format, values);
    va_end(values);
}

void page_line(struct page *page, int indent, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    struct page_block *block = block_say(page, BLOCK_LEAD, MEDIUM_TERMINAL, format, values);
    va_end(values);
    if (block != NULL) {
        block->indent = indent;
    }
}

void page_label_append(struct text *label, const char *words)
{
    bool is_parted = false, is_first = true;
    text_append(label, "tab:");
    for (const char *at = words; *at != '\0'; at++) {
        bool is_upper = *at >= 'A' && *at <= 'Z';
        bool is_kept = is_upper || (*at >= 'a' && *at <= 'z') || (*at >= '0' && *at <= '9');
        if (is_kept) {
            text_format(label, "%s%c", is_parted && !is_first ? "-" : "", is_upper ? *at - 'A' + 'a' : *at);
            is_first = false;
        }
        is_parted = !is_kept;
    }
}

void page_fragment(struct page *page, const char *origin, const char *words)
{
    struct text label = {0};
    page_label_append(&label, words);
    page->origin = page_word(page, origin);
    page->label = page_word_move(page, &label);
}

void page_gap(struct page *page)
{
    page_words(page, BLOCK_LEAD, MEDIUM_TERMINAL, "");
}

void page_verdict(struct page *page, unsigned media, const char *strong, bool is_alert, const char *words)
{
    struct page_block *block = block_add(page, BLOCK_TEXT, media);
    if (block != NULL) {
        block->words = page_word(page, words);
        block->strong = page_word(page, strong);
        block->is_alert = is_alert;
    }
}

void page_anchored_heading(struct page *page, unsigned media, const char *anchor, int number, const char *words)
{
    struct page_block *block = block_add(page, BLOCK_HEADING, media);
    if (block != NULL) {
        block->words = page_word(page, words);
        block->anchor = arena_format(&page->arena, "%s%d", anchor, number);
        page->failed = page->failed || block->anchor == NULL;
    }
}

void page_link_heading(struct page *page, unsigned media, const char *anchor, const char *words)
{
    page_linked_heading(page, &(struct page_block){.media = media, .anchor = anchor, .words = words});
}

void page_linked_heading(struct page *page, const struct page_block *heading)
{
    struct page_block *block = block_add(page, BLOCK_HEADING, heading->media);
    if (block != NULL) {
        *block = *heading;
        block->kind = BLOCK_HEADING;
        block->words = page_word(page, heading->words);
        block->anchor = heading->anchor != NULL ? page_word(page, heading->anchor) : NULL;
        block->label = heading->label != NULL ? page_word(page, heading->label) : NULL;
    }
}

void page_part_add(struct page *page, unsigned media, struct page_part part)
{
    struct page_block *block = block_add(page, BLOCK_PART, media);
    if (block != NULL) {
        block->part = part;
    }
}

void page_series_add(struct page *page, unsigned media, struct page_series series)
{
    struct page_block *block = block_add(page, BLOCK_SERIES, media);
    if (block != NULL) {
        block->series = series;
    }
}

void page_contents(struct page *page, unsigned media)
{
    (void)block_add(page, BLOCK_CONTENTS, media);
}

void page_figure(struct page *page, unsigned media, const char *plot, const char *caption, bool may_be_link)
{
    struct page_block *block = block_add(page, BLOCK_FIGURE, media);
    if (block != NULL) {
        block->anchor = page_word(page, plot);
        block->words = page_word(page, caption);
        block->may_be_link = may_be_link;
    }
}

struct page_table *page_table_add(struct page *page, unsigned media, const struct page_column *columns, int count)
{
    const size_t bytes = (size_t)count * sizeof *columns;
    struct page_table *table = arena_alloc(&page->arena, sizeof *table);
    struct page_column *copy = arena_alloc(&page->arena, bytes);
    struct page_block *block = table != NULL && copy != NULL ? block_add(page, BLOCK_TABLE, media) : NULL;
    if (block == NULL) {
        page->failed = true;
        return &page->lost;
    }
    memcpy(copy, columns, bytes);
    *table = (struct page_table){.columns = copy, .column_count = count};
    block->table = table;
    return table;
}

void page_row_add(struct page *page, struct page_table *table, const struct cell *cells)
{
    size_t bytes = (size_t)table->column_count * sizeof *cells;
    struct cell **rows = list_grow(&page->arena, table->rows, table->row_count, &table->row_room, sizeof *rows);
    struct cell *row = arena_alloc(&page->arena, bytes);
    if (rows == NULL || row == NULL) {
        page->failed = true;
        return;
    }
    memcpy(row, cells, bytes);
    table->rows = rows;
    rows[table->row_count++] = row;
}

static bool series_visit(const struct page *page, const struct page_series *series, enum page_media medium,
                         page_visitor *visit, void *state)
{
    bool whole = true;
    for (int index = 0; index < series->count && whole; index++) {
        struct page part = {.plots = page->plots};
        series->describe(series->context, index, &part);
        whole = page_visit(&part, medium, visit, state);
        page_release(&part);
    }
    return whole;
}

bool page_visit(const struct page *page, enum page_media medium, page_visitor *visit, void *state)
{
    bool whole = !page->failed;
    for (int at = 0; at < page->block_count && whole; at++) {
        const struct page_block *block = &page->blocks[at];
        if (!page_is_for(block->media, medium)) {
            continue;
        }
        if (block->kind == BLOCK_SERIES) {
            whole = series_visit(page, &block->series, medium, visit, state);
        } else {
            visit(page, block, state);
        }
    }
    return whole;
}

static void marked_write(const struct page_dialect *dialect, const struct page_mark *mark, const char *words,
                         struct text *text)
{
    text_append(text, mark->before);
    dialect->append(text, words);
    text_append(text, mark->end);
}

bool page_words_write(const struct page_dialect *dialect, const struct page_block *block, struct text *text)
{
    const struct page_mark *mark = &dialect->marks[block->kind];
    if (mark->before == NULL) {
        return false;
    }
    if (block->strong != NULL) {
        text_append(text, mark->before);
        marked_write(dialect, block->is_alert ? &dialect->alert : &dialect->strong, block->strong, text);
        marked_write(dialect, &(struct page_mark){"", mark->end}, block->words, text);
    } else {
        marked_write(dialect, mark, block->words, text);
    }
    return true;
}
