/* Report: what records say, for people and for machines.
 *
 * A report is a pure function of records (docs/FORMAT.md): the same records give the same text, on any machine, at any
 * time. It measures nothing and decides nothing: verdicts are read, not made. Everything in a record comes from outside
 * and is escaped for the format it is written in. Sizes are integer bytes in machine formats, binary units for people.
 * A size that is not known is null, an empty cell or "-", never 0. */
#ifndef ASSAY_REPORT_REPORT_H
#define ASSAY_REPORT_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/status.h"
#include "harness/base/text.h"
#include "harness/record/outcome.h"
#include "harness/report/plot_set.h"

struct report; /* opaque: the records of one folder or file */

/* Reads path, a file of records or a folder that holds records.jsonl, through a record_stream, whose errors it passes
 * on. Of several attempts at a case those of the last run
 * count, of these the one that ended worst, of several such the last. A line that a killed run left unfinished is
 * counted and left out; every report then says so. A run without a case is not an error. The caller
 * releases *report. */
enum status_code report_open(const char *path, struct report **report, struct status *error);

/* The same for report_compare, which holds no prediction against a measurement and asks no prediction for its stages:
 * less memory for each case. */
enum status_code report_open_side(const char *path, struct report **report, struct status *error);

/* The same of one run of the folder alone, by its run_id: what other runs attempted or selected is not in it.
 * STATUS_INVALID if there is no such run. */
enum status_code report_open_run(const char *path, const char *run_id, struct report **report, struct status *error);

/* The same of each run of the folder, in the order of the file, which is read once, however many runs are in it. visit
 * borrows the report; what it returns ends the reading if it is no STATUS_OK. A run whose parts do not stand one after
 * the other (it went on after another) is visited again, as a whole, for each further part. */
typedef enum status_code report_visitor(const struct report *report, void *context, struct status *error);
enum status_code report_each_run(const char *path, report_visitor *visit, void *context, struct status *error);

void report_release(struct report *report); /* NULL is accepted */

struct report_counts {
    int cases, ok, fail, error, oom, timeout, skip; /* a status that is none of these counts as error */
    int open;        /* measured, and a figure that has a tolerance is not known: not among those that are ok */
    int earlier;     /* whose figures are of an earlier run than the last: nor are these among the others */
    int invalid;     /* of all of them: something disturbed the readings */
    int missing;     /* cases that the last run selected and did not attempt, also those with earlier figures */
    int short_cases; /* with fewer attempts than the last run selected */
    int64_t attempts_missing, attempts_wanted; /* of those */
    int damaged_lines;                         /* lines that could not be read */
    bool ended;                                /* the last run was finished, not interrupted */
};

struct report_counts report_count(const struct report *report);

/* What the cases of the report come to, by the rule of a run (harness/record/outcome.h), and appends why if it is no
 * pass, with the first case of the gravest kind. */
enum run_outcome report_outcome(const struct report *report, struct text *reason);

/* Appends the JUnit page of a run that has no records, because nothing was to be done, or because it could not begin:
 * then is_error is set, and the page has one test case with that error. why: in words. */
void report_nothing_junit(const char *suite, const char *why, bool is_error, struct text *text);

/* The register of formats. X(NAME, before it in a list, word, behind it in help, other word or NULL, renderer of
 * pages): page_RENDERER_write, page_RENDERER.c; none: a format for programs, which each page writes itself, or not at
 * all.
 *
 *   table    terminal
 *   summary  terminal: one line for each case
 *   md       GitHub's dialect of Markdown
 *   csv      RFC 4180: one row per case, stage and level; CRLF; no cell that a spreadsheet would execute
 *   json     one document: runs, cases as they were recorded, summary
 *   html     one page that needs nothing else: no scripts, no fetches
 *   latex    one document of booktabs tables, for papers
 *   openmetrics     gauges, for Prometheus and its textfile collector
 *   benchmark-json  measured peaks as github-action-benchmark reads them (customSmallerIsBetter)
 *   junit    XML; fail is a failure; error, oom and timeout are errors; skip is skipped */
#define REPORT_FORMAT_TABLE(X)                                                                                         \
    X(TABLE, "", "table", " (default)", NULL, terminal)                                                                \
    X(SUMMARY, ", ", "summary", "", NULL, none)                                                                        \
    X(MARKDOWN, ", ", "md", "", "markdown", markdown)                                                                  \
    X(CSV, ", ", "csv", "", NULL, none)                                                                                \
    X(JSON, ", ", "json", "", NULL, none)                                                                              \
    X(HTML, ", ", "html", "", NULL, html)                                                                              \
    X(LATEX, ", ", "latex", "", "tex", latex)                                                                          \
    X(OPENMETRICS, ", ", "openmetrics", "", "prometheus", none)                                                        \
    X(BENCHMARK, ", ", "benchmark-json", "", NULL, none)                                                               \
    X(JUNIT, " or ", "junit", "", NULL, none)

enum report_format {
#define REPORT_FORMAT_ENUM(format, lead, word, mark, other, writer) REPORT_##format,
    REPORT_FORMAT_TABLE(REPORT_FORMAT_ENUM)
#undef REPORT_FORMAT_ENUM
};

enum {
#define REPORT_FORMAT_ONE(format, lead, word, mark, other, writer) +1
    REPORT_FORMAT_COUNT = REPORT_FORMAT_TABLE(REPORT_FORMAT_ONE)
#undef REPORT_FORMAT_ONE
};

/* "table, summary, md, csv, json, html, ... or junit", and the same with " (default)". */
#define REPORT_FORMAT_WORD(format, lead, word, mark, other, writer)      lead word
#define REPORT_FORMAT_HELP_WORD(format, lead, word, mark, other, writer) lead word mark
#define REPORT_FORMAT_WORDS                                              REPORT_FORMAT_TABLE(REPORT_FORMAT_WORD)
#define REPORT_FORMAT_HELP                                               REPORT_FORMAT_TABLE(REPORT_FORMAT_HELP_WORD)

/* "table (default), md, html, latex or json": the formats that every page has. REPORT_PAGE_WORD_none puts "" where the
 * word of another renderer stands. */
#define REPORT_PAGE_WORD_none                  ~, ""
#define REPORT_PAGE_SECOND(first, second, ...) second
#define REPORT_PAGE_PICK(...)                  REPORT_PAGE_SECOND(__VA_ARGS__)
#define REPORT_PAGE_WORD(format, lead, word, mark, other, renderer)                                                    \
    REPORT_PAGE_PICK(REPORT_PAGE_WORD_##renderer, lead word mark, ~)
#define REPORT_PAGE_HELP REPORT_FORMAT_TABLE(REPORT_PAGE_WORD) " or json"

/* The word of a format. STATUS_INVALID lists them. */
enum status_code report_format_parse(const char *name, enum report_format *format, struct status *error);

struct report_style {
    int width;                    /* columns of the terminal; below 40 counts as 40; 0: 80 */
    bool colour;                  /* ANSI colours, only in REPORT_TABLE */
    const struct plot_set *plots; /* REPORT_HTML puts them into the page, REPORT_MARKDOWN links to them; NULL: none */
};

/* With a width that lines can be made for; of NULL the default: 80 columns, no colour, no plots. */
struct report_style report_style_settle(const struct report_style *style);

/* Appends the report to text. style may be NULL: 80 columns, no colour, no plots. */
enum status_code report_render(const struct report *report, enum report_format format, const struct report_style *style,
                               struct text *text, struct status *error);

/* What plots are drawn with and where they are put. */
struct plot_place {
    const char *script_directory;
    bool with_png;        /* beside SVG: for a folder, not for a page */
    const char *timeline; /* a pattern (fnmatch) of ids and labels whose timelines are drawn, too; NULL: none */
    bool is_quiet;        /* that no case has what a plot shows is not told */
    struct plot_set *set; /* receives them */
    struct text
        *notes; /* one line for each plot that was not drawn, and why (no data; gnuplot is missing, and the remedy) */
};

/* Draws the plots into memory, with gnuplot and the scripts of script_directory; plot_set_save makes files of them.
 * That a plot cannot be drawn is a note and no error. */
enum status_code report_plot(const struct report *report, const struct plot_place *place, struct status *error);

#endif
