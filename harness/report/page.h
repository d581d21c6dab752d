/* Page: what a page of a report says, as data: a title, headings, paragraphs, tables of typed cells, figures, in their
 * order.
 *
 * A page is described once, by the file that knows its figures (*_page.c), and written by one renderer for each format
 * (page_format.h). Readers of a terminal, of a document and of a screen do not want the same:
 * a terminal has no room for a column that a screen has, a screen has links. Each block and each column therefore says
 * whom it is for; most are for all. A format is of one medium, so that a new one (another kind of document) needs no
 * change of a page.
 *
 * All texts are raw: renderers escape them. A page borrows the strings of columns and cells, which must outlive it, and
 * copies headings and paragraphs. Memory that ran out is remembered in `failed`, so that a page is described without a
 * look at every call. For this folder, and for
 * the floors above that have pages of their own (gate).
 */
#ifndef ASSAY_REPORT_PAGE_H
#define ASSAY_REPORT_PAGE_H

#include <stddef.h>

#include "harness/base/arena.h"
#include "harness/base/text.h"
#include "harness/report/plot_set.h"
#include "harness/report/table_cell.h"

/* Whom something is for: one of these, or several. */
enum page_media {
    MEDIUM_TERMINAL = 1,
    MEDIUM_DOCUMENT = 2, /* to be read from its beginning to its end: Markdown */
    MEDIUM_SCREEN = 4,   /* with links: HTML */
    MEDIUM_ALL = MEDIUM_TERMINAL | MEDIUM_DOCUMENT | MEDIUM_SCREEN,
    MEDIA_READ = MEDIUM_DOCUMENT | MEDIUM_SCREEN /* all but a terminal */
};

enum block_kind {
    BLOCK_TITLE,
    BLOCK_HEADING,
    BLOCK_SUBHEADING,
    BLOCK_ALERT,    /* a paragraph that nobody may overlook */
    BLOCK_LEAD,     /* a paragraph that opens the page: what was looked at */
    BLOCK_TEXT,     /* a paragraph */
    BLOCK_NOTE,     /* a paragraph that explains what stands elsewhere: apart, and less loud */
    BLOCK_ITEM,     /* one entry of a list */
    BLOCK_CONTENTS, /* links to the headings that have an anchor */
    BLOCK_TABLE,
    BLOCK_FIGURE, /* a plot; nothing if it was not drawn */
    BLOCK_PART,   /* what one medium alone shows in a form of its own: rows that unfold */
    BLOCK_SERIES, /* pages within the page, of which one at a time is in memory */
    BLOCK_KIND_COUNT
};

/* In a terminal. */
enum {
    WIDTH_REST = -1,  /* the rest of the line, wrapped: the last column */
    WIDTH_NAME = -2,  /* as the flexible column of the table before has it */
    WIDTH_MARK = -3,  /* a word behind the row; if there is no room for it, behind the name, which then stands alone */
    WIDTH_BELOW = -4, /* on a line of its own below the row, behind its title; nothing if it is not known */
    MARK_ROOM = 8     /* that a WIDTH_MARK needs, with two blanks before it */
};

struct page_column {
    const char *title;
    const char *short_title; /* in a terminal; NULL: the title */
    enum cell_kind kind;
    unsigned media;     /* 0: all */
    int64_t case_count; /* that it is over, a part of its heading; 0: says nothing */
    int width;          /* in a terminal, or WIDTH_* */
    int width_most;     /* of a flexible column, which takes the room that there is from width to this; 0: it is none */
    int lead;           /* blanks before it */
    bool is_optional;   /* all of them are left out of a terminal that has no room for them */
    bool is_whole;      /* of a flexible first column: a name that is too long stands on a line of its own, uncut */
};

struct page_table {
    int indent;          /* in a terminal */
    bool has_no_heading; /* in a terminal */
    bool
        /* the columns behind the first are of one kind; if a terminal is narrower it shows them in several tables */
        is_split;
    const struct page_column *columns;
    int column_count;
    struct cell **rows; /* [row_count][column_count] */
    int row_count, row_room;
};

struct page;

struct page_part {
    void (*write)(const void *context, struct text *text); /* in the format of its medium */
    const void *context;                                   /* outlives the page */
};

struct page_series {
    void (*describe)(const void *context, int index, struct page *page); /* one of them; index: from 0 to count */
    const void *context;                                                 /* outlives the page */
    int count;
};

struct page_block {
    enum block_kind kind;
    unsigned media;
    int indent;         /* BLOCK_LEAD: in a terminal */
    const char *words;  /* of a figure its caption */
    const char *strong; /* BLOCK_TEXT: what its words begin with, louder than they are; NULL: nothing */
    const char *anchor; /* BLOCK_HEADING: of links to it, NULL: none; BLOCK_FIGURE: name of the plot */
    const char *label;  /* BLOCK_HEADING: of links to it; NULL: its words */
    bool is_alert;      /* BLOCK_HEADING: links to it stand out; BLOCK_TEXT: its strong words do */
    bool may_be_link;   /* BLOCK_FIGURE: a page that would get too heavy has a link to it */
    struct page_part part;
    struct page_series series;
    struct page_table *table;
};

/* All zero is an empty page. */
struct page {
    const struct plot_set *plots; /* that were drawn; NULL: none; borrowed */
    /* Of a page that is one table, for a document that somebody else writes: LaTeX has it without a preamble, with this
     * origin (on what, when, by what version) in its caption, and this label. NULL: a page of its own. In the arena. */
    const char *origin, *label;
    struct arena arena;
    struct page_block *blocks;
    int block_count, block_room;
    struct page_table lost; /* of tables for which there was no memory */
    bool failed;            /* memory ran out */
};

void page_release(struct page *page);

/* Appends a label: "tab:" and the letters and digits of words, joined by hyphens: "tab:cases-quick-host-intel-xeon". */
void page_label_append(struct text *label, const char *words);

/* Makes it a page that is one table, with the label that words make. */
void page_fragment(struct page *page, const char *origin, const char *words);

/* A title, a heading, a lead, a paragraph, a note or an item. */
void page_words(struct page *page, enum block_kind kind, unsigned media, const char *words);

/* The same of a text, which is released; nothing if it is empty. */
void page_words_move(struct page *page, enum block_kind kind, unsigned media, struct text *words);

/* The same of words that are formatted. */
__attribute__((format(printf, 4, 5))) void page_say(struct page *page, enum block_kind kind, unsigned media,
                                                    const char *format, ...);

/* A lead in a terminal alone, behind so many blanks. */
__attribute__((format(printf, 3, 4))) void page_line(struct page *page, int indent, const char *format, ...);

/* An empty line in a terminal. */
void page_gap(struct page *page);

/* A paragraph that begins with strong words. */
void page_verdict(struct page *page, unsigned media, const char *strong, bool is_alert, const char *words);

/* A heading with a name that links lead to, an anchor and a number: "scope4". */
void page_anchored_heading(struct page *page, unsigned media, const char *anchor, int number, const char *words);

/* The same without a number. */
void page_link_heading(struct page *page, unsigned media, const char *anchor, const char *words);

/* The same with all that a heading may have; its strings are copied. */
void page_linked_heading(struct page *page, const struct page_block *heading);

void page_contents(struct page *page, unsigned media);
void page_figure(struct page *page, unsigned media, const char *plot, const char *caption, bool may_be_link);
void page_part_add(struct page *page, unsigned media, struct page_part part);
void page_series_add(struct page *page, unsigned media, struct page_series series);

/* A table without rows, whose other members the caller may set; its columns are copied. Never NULL: if memory ran
 * out, which is remembered, it is a table that stands on no page. */
struct page_table *page_table_add(struct page *page, unsigned media, const struct page_column *columns, int count);

/* Copies as many cells as the table has columns. */
void page_row_add(struct page *page, struct page_table *table, const struct cell *cells);

/* A copy of a word that lives as long as the page; "" if memory ran out, which is remembered. */
const char *page_word(struct page *page, const char *word);
const char *page_word_move(struct page *page, struct text *word); /* of a text, which is released */

/* Calls visit for each block that is for readers of medium, in their order, those of a series among them. False if
 * memory ran out. */
typedef void page_visitor(const struct page *page, const struct page_block *block, void *state);
bool page_visit(const struct page *page, enum page_media medium, page_visitor *visit, void *state);

/* Whether what is for `media` is for a reader of medium; 0 is for all. */
bool page_is_for(unsigned media, enum page_media medium);

/* What a format puts around words: around those of each kind of block, and around strong words within them. */
struct page_mark {
    const char *before, *end;
};

struct page_dialect {
    void (*append)(struct text *text, const char *words); /* escaped */
    struct page_mark strong, alert;                       /* alert: strong words of a block that is an alert */
    struct page_mark marks[BLOCK_KIND_COUNT];             /* before NULL: a block that is not words */
};

/* Appends a block of words. False if the block is none: nothing is appended. */
bool page_words_write(const struct page_dialect *dialect, const struct page_block *block, struct text *text);

#endif
