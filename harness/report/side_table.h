/* Side table: figures that some cases have and most have not (places, transfers, searches), as one table in every
 * format.
 *
 * A table is one file and one row in the register (side_tables.c): its columns, and the rows of one case. Everything
 * else is done here: which cases are shown if there are very many, and how a cell looks in a terminal, on a page and
 * in a file for programs. Nothing is appended if no case has a row. Not for anybody outside this folder. */
#ifndef ASSAY_REPORT_SIDE_TABLE_H
#define ASSAY_REPORT_SIDE_TABLE_H

#include "harness/report/case_view.h"
#include "harness/report/table_cell.h"

struct page;

struct side_column {
    const char *title; /* for people */
    const char *key;   /* for programs: member and column */
    enum cell_kind kind;
    int width;        /* in a terminal */
    bool is_optional; /* left out of a terminal that has no room for it; the last such column first */
};

enum { SIDE_COLUMNS_MAXIMUM = 16 };

struct side_row {
    const struct case_view *view;
    const char *group; /* the line above it, raw; rows of one pointer stand together */
    bool is_idle;      /* says nothing to people: programs alone see it */
    struct cell cells[SIDE_COLUMNS_MAXIMUM];
};

/* The rows of one case. */
struct side_rows {
    struct side_row *rows;
    int count;
    size_t room;
    bool failed; /* memory ran out */
};

struct side_table {
    const char *name;  /* "places": of --table, of the member in JSON, of the anchor in HTML */
    const char *title; /* a heading */
    const char *words; /* what the columns say: a paragraph */
    const struct side_column *columns;
    int column_count;
    bool is_detail; /* of one case: HTML shows it where the case unfolds, a terminal and Markdown on request alone */
    bool (*has)(const struct case_view *view);
    void (*add)(const struct case_view *view, struct side_rows *rows);
    int (*order)(const struct case_view *a, const struct case_view *b); /* NULL: as the cases stand in the report */
    void (*note)(const struct report *report, struct text *text);       /* a sentence below it, raw; NULL: none */
};

/* A new row, all unknown, for the maker of a table; NULL if memory ran out, which is remembered. */
struct side_row *side_row_add(struct side_rows *rows, const struct case_view *view, const char *group);

/* The cases of a table in the order of their urgency, or in its own. */
struct side_cases {
    const struct case_view **cases;
    int count;
    int hidden_count; /* that have rows, too, and are not among them */
    bool failed;      /* memory ran out */
};

/* The most urgent ones, at most so many; 0: all. Released with side_cases_release. */
struct side_cases side_cases_make(const struct side_table *table, const struct report *report, int maximum);
void side_cases_release(struct side_cases *cases);

/* The rows of one case in place of those of the case before. Released with side_rows_release after the last. */
void side_rows_of(const struct side_table *table, const struct case_view *view, struct side_rows *rows);
void side_rows_release(struct side_rows *rows);

bool side_table_is_there(const struct side_table *table, const struct report *report);

/* All tables but the details, one behind the other. */
void side_tables_terminal(const struct report *report, const struct report_style *style, struct text *text);
void side_tables_describe(const struct report *report, struct page *page); /* documents and screens */

/* The rows of one table on a screen, without its heading; of so many cases. */
void side_table_html(const struct side_table *table, const struct report *report, int maximum, struct text *text);

/* The details of one case. */
void side_details_html(const struct case_view *view, struct text *text);

/* One table alone, in full. */
void side_table_terminal(const struct side_table *table, const struct report *report, const struct report_style *style,
                         struct text *text);
void side_table_describe(const struct side_table *table, const struct report *report,
                         struct page *page); /* documents and screens */
void side_table_csv(const struct side_table *table, const struct report *report, struct text *text);

/* An array, depth levels below the document that it stands in; one row at a time is in memory. */
void side_table_json(const struct side_table *table, const struct report *report, int depth, struct text *text);

#endif
