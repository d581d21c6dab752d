/* HTML page: the parts that every page of a report is made of. A page needs nothing else: no scripts, no fonts, no
 * fetches, and a content policy that forbids them. Not for anybody outside this folder. */
#ifndef ASSAY_REPORT_HTML_PAGE_H
#define ASSAY_REPORT_HTML_PAGE_H

#include <stdbool.h>

#include "harness/base/text.h"

/* Up to and with the heading of the page, which is its title. */
void html_page_begin(struct text *text, const char *title);
void html_page_end(struct text *text);

/* A table that is scrolled by itself if the screen is narrower. */
void html_table_begin(struct text *text);
void html_table_end(struct text *text);

/* A cell of a table; string is escaped. A number is set to the right and not broken. */
void html_cell_append(struct text *text, const char *string);
void html_number_append(struct text *text, const char *string);

/* The SVG element of a document, compacted (svg_compact.h). Nothing, and false, if svg is NULL or holds a script. */
bool html_image_append(struct text *text, const struct text *svg);

#endif
