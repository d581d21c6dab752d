/* Escape: text from outside, made harmless for one format each. Appending only.
 *
 * Control characters, and code points that reorder or hide text (bidirectional overrides, zero-width marks), never get
 * through: a model name must not move the cursor, forge a row or start a formula. */
#ifndef ASSAY_REPORT_ESCAPE_H
#define ASSAY_REPORT_ESCAPE_H

#include <stdbool.h>

#include "harness/base/text.h"

/* Hidden characters become '?', white space one blank; no command of a runner is left (command_break_append). */
void terminal_append(struct text *text, const char *string);

/* Text for people, of any number of lines. GitHub's runner takes for a command what begins a line with "::" behind
 * blanks of any script, and "##[" anywhere: a blank goes between. Because lines are folded at blanks, that is done
 * behind every one. */
void command_break_append(struct text *text, const char *string);

/* Inside a table cell or a paragraph: | \ ` * _ [ ] ~ # escaped, < > & @ $ as entities, hidden ones left out. */
void markdown_append(struct text *text, const char *string);

/* One cell of RFC 4180: quoted if it must be, white space one blank; ' before a leading = + - @, which a spreadsheet
 * would execute. */
void csv_append(struct text *text, const char *string);

/* Text or an attribute value, of XML or HTML: & < > " ' as entities, hidden ones left out, white space one blank. */
void xml_append(struct text *text, const char *string);

/* A path as the address of a link, in HTML and in Markdown: what is not a letter, a digit or one of /-_.~ as %XX. */
void link_append(struct text *text, const char *path);

/* One column of a data file for gnuplot, which then writes it into an SVG: tabs, quotes, <, > and & become harmless
 * look-alikes that are not those of another, letters other than Latin, Greek and Cyrillic their numbers in angle
 * quotation marks: U+4E2D. */
void column_append(struct text *text, const char *string);

/* How many terminal columns a string takes; wide (East Asian) code points count two. */
int width_measure(const char *string);

/* A cell of exactly width columns: padded, or cut with an ellipsis. The string must be clean (terminal_append). */
void cell_append(struct text *text, const char *string, int width, bool to_the_right);

/* Words of string, wrapped at width columns; the lines after the first begin with indent blanks. column: where the
 * first line already stands. A word that is longer than a line is broken behind a comma, else cut. Ends with a
 * newline. */
void paragraph_append(struct text *text, const char *string, int width, int indent, int column);

/* Both of a string from outside. */
void outside_cell_append(struct text *text, const char *string, int width, bool to_the_right);
void outside_paragraph_append(struct text *text, const char *string, int width, int indent, int column);

/* Ends a line of cells. Trailing blanks are cut, so that narrow terminals do not wrap and golden texts stay
 * readable. */
void line_end_append(struct text *text);

#endif
