/* Gate page: what a gate found, for people and for programs. A page stands in one screen: what changed of the
 * environment, the cases with the largest changes, what is missing, and the verdict; how many cases it leaves out is
 * told. */
#ifndef ASSAY_GATE_GATE_PAGE_H
#define ASSAY_GATE_GATE_PAGE_H

#include "harness/gate/gate.h"
#include "harness/report/report.h"

/* X(NAME, word): formats that only a gate has, beside those of every page (report.h).
 *
 *   github  annotations of GitHub's workflow commands, then the table, of which no line is a command
 *   junit   a test for the gate and one for each case, for CI servers */
#define GATE_FORMAT_TABLE(X) X(github, "github") X(junit, "junit")

enum gate_format {
    GATE_FORMAT_PAGE, /* style->page says which */
#define GATE_FORMAT_ENUM(name, word) GATE_FORMAT_##name,
    GATE_FORMAT_TABLE(GATE_FORMAT_ENUM)
#undef GATE_FORMAT_ENUM
        GATE_FORMAT_COUNT
};

#define GATE_FORMAT_HELP_WORD(name, word) "; " word
#define GATE_FORMAT_HELP                  REPORT_PAGE_HELP GATE_FORMAT_TABLE(GATE_FORMAT_HELP_WORD)

struct gate_style {
    enum gate_format format;
    enum report_format page;
    int width;   /* as in struct report_style */
    bool colour; /* the same */
    int rows;    /* cases in each list; GATE_ROWS_USUAL: 8 in a terminal, 50 elsewhere; 0: all */
};

enum { GATE_ROWS_USUAL = -1 };

/* Sets format and page of *style. STATUS_INVALID lists the formats. */
enum status_code gate_format_parse(const char *name, struct gate_style *style, struct status *error);

/* Appends the page. JSON has every case (docs/GATE.md). STATUS_OUT_OF_MEMORY. */
enum status_code gate_render(const struct gate *gate, const struct gate_style *style, struct text *text,
                             struct status *error);

/* Appends the page as a step summary: GitHub's Markdown of less than GATE_SUMMARY_BYTES, with as many cases as find
 * room there. */
enum { GATE_SUMMARY_BYTES = 1000 * 1000 };
enum status_code gate_summary_render(const struct gate *gate, struct text *text, struct status *error);

/* One writer for each row of GATE_FORMAT_TABLE; table: the page of a terminal. Memory that ran out is remembered by
 * text. */
typedef void gate_own_writer(const struct gate *gate, const struct text *table, struct text *text);
#define GATE_WRITER_DECLARE(name, word) gate_own_writer gate_##name##_write;
GATE_FORMAT_TABLE(GATE_WRITER_DECLARE)
#undef GATE_WRITER_DECLARE

/* Appends one annotation for a gate that judged nothing: "::error file=p.yaml,line=3,col=5,title=nothing was
 * judged::unknown key 'levl'". */
void gate_github_refusal_write(const struct status *reason, struct text *text);

/* One JSON document, case by case. */
enum status_code gate_document_write(const struct gate *gate, struct text *text, struct status *error);

#endif
