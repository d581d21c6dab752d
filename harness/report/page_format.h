/* Page formats: the renderers of pages, one for each format that shows them. For this folder, and for
 * the floors above that have pages of their own (gate). */
#ifndef ASSAY_REPORT_PAGE_FORMAT_H
#define ASSAY_REPORT_PAGE_FORMAT_H

#include "harness/base/json.h"
#include "harness/report/page.h"
#include "harness/report/report.h"

/* Appends a page as one format shows it. Memory that ran out is remembered by text. */
typedef void page_writer(const struct page *page, const struct report_style *style, struct text *text);

#define PAGE_WRITER_DECLARE(format, lead, word, mark, other, renderer) page_writer page_##renderer##_write;
REPORT_FORMAT_TABLE(PAGE_WRITER_DECLARE)
#undef PAGE_WRITER_DECLARE

/* Appends a subject in one format that is its own affair. */
typedef void page_own_writer(const void *subject, const struct report_style *style, struct text *text);

/* What the subject of a page is made of. Borrowed. */
struct page_material {
    struct report *const *reports;
    int report_count;
    const char *const *values; /* of the options, by enum report_option (report_page.h) */
    enum report_format format;
};

/* What a page is, for the formats that show it, and its figures for the formats of programs. The members from `make` on
 * are those of the pages of `assay report` (report_page.h). */
struct page_kind {
    const char *name; /* "a league" */
    const char *what; /* in the error of memory that ran out: "a league of the estimators" */
    void (*describe)(const void *subject, struct page *page);
    page_own_writer
        *own[REPORT_FORMAT_COUNT]; /* of formats that are no pages, as csv, or that this one shows in its own form */
    struct json *(*value)(const void *subject); /* JSON; NULL: no memory */
    /* The same if it is more than memory holds; one of the two. */
    enum status_code (*document)(const void *subject, struct text *text, struct status *error);
    bool takes_several; /* folders of records */
    bool has_figures;   /* on a screen */
    enum status_code (*make)(const struct page_material *material, void **subject, struct status *error);
    void (*release)(void *subject);
    bool (*is_empty)(const void *subject); /* nothing counts in it; NULL: it comes to what the run comes to */
    enum status_code (*draw)(const void *subject, const struct plot_place *place, struct status *error);
};

/* The word of a format that a page has. STATUS_INVALID lists them. */
enum status_code page_format_parse(const struct page_kind *kind, const char *name, enum report_format *format,
                                   struct status *error);

/* STATUS_INVALID: the page has no such format; the text lists those that it has. */
enum status_code page_format_check(const struct page_kind *kind, enum report_format format, struct status *error);

/* Appends subject in a format. style may be NULL: 80 columns, no colour, no plots. STATUS_INVALID: a page has no such
 * format; the text lists those that it has. STATUS_OUT_OF_MEMORY. */
enum status_code page_render(const struct page_kind *kind, const void *subject, enum report_format format,
                             const struct report_style *style, struct text *text, struct status *error);

#endif
