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

/* Room for one more of `count` elements of size bytes; the list, or NULL where memory ran out. Lists of an arena grow
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

void page_words(struct page *page, enum block_kind kind, unsigned media, const char *words)
{
    struct page_block *block = block_add(page, kind, media);
    if (block != NULL) {
        block->words = page_word(page, words);
    }
}

void page_heading(struct page *page, unsigned media, int level, const char *words)
{
    struct page_block *block = block_add(page, BLOCK_HEADING, media);
    if (block != NULL) {
        block->level = level;
        block->words = page_word(page, words);
    }
}

void page_anchored_heading(struct page *page, unsigned media, const char *anchor, int number, const char *words)
{
    char name[64];
    page_heading(page, media, 2, words);
    snprintf(name, sizeof name, "%s%d", anchor, number);
    if (!page->failed) {
        page->blocks[page->block_count - 1].anchor = page_word(page, name);
    }
}

void page_linked_heading(struct page *page, const struct page_block *heading)
{
    struct page_block *block = block_add(page, BLOCK_HEADING, heading->media);
    if (block != NULL) {
        *block = *heading;
        block->kind = BLOCK_HEADING;
        block->level = 2;
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

struct page_table *page_table_add(struct page *page, const struct page_table *table)
{
    size_t columns_bytes = (size_t)table->column_count * sizeof *table->columns;
    struct page_block *block = block_add(page, BLOCK_TABLE, table->media);
    struct page_table *made = arena_alloc(&page->arena, sizeof *made);
    struct page_column *columns = arena_alloc(&page->arena, columns_bytes);
    if (block == NULL || made == NULL || columns == NULL) {
        page->block_count -= block != NULL ? 1 : 0;
        page->failed = true;
        return NULL;
    }
    memcpy(columns, table->columns, columns_bytes);
    *made = *table;
    made->columns = columns;
    made->rows = NULL;
    made->row_count = made->row_room = 0;
    block->table = made;
    return made;
}

void page_row_add(struct page *page, struct page_table *table, const struct cell *cells)
{
    if (table == NULL) {
        return;
    }
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
