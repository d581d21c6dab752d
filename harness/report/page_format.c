/* Page formats: the one register of formats, and the choice of a renderer. */
#include "harness/report/page_format.h"

#include <strings.h>

struct format_row {
    const char *name, *alias;
    page_writer *page; /* page_none_write: no page is shown in it */
};

static const struct format_row rows[] = {
#define FORMAT_ROW(format, lead, word, mark, other, renderer)                                                          \
    [REPORT_##format] = {word, other, page_##renderer##_write},
    REPORT_FORMAT_TABLE(FORMAT_ROW)
#undef FORMAT_ROW
};

void page_none_write(const struct page *page, const struct report_style *style, struct text *text)
{
    (void)page;
    (void)style;
    (void)text;
}

enum status_code report_format_parse(const char *name, enum report_format *format, struct status *error)
{
    for (int index = 0; index < REPORT_FORMAT_COUNT; index++) {
        const struct format_row *row = &rows[index];
        if (strcasecmp(name, row->name) == 0 || (row->alias != NULL && strcasecmp(name, row->alias) == 0)) {
            *format = (enum report_format)index;
            return STATUS_OK;
        }
    }
    return status_set(error, STATUS_INVALID, "'%s' is not a format; use %s", name, REPORT_FORMAT_WORDS);
}

struct report_style report_style_settle(const struct report_style *style)
{
    struct report_style settled = style != NULL ? *style : (struct report_style){0};
    settled.width = settled.width == 0 ? 80 : settled.width < 40 ? 40 : settled.width;
    return settled;
}

static bool kind_has(const struct page_kind *kind, int format)
{
    return rows[format].page != page_none_write || kind->own[format] != NULL || format == REPORT_JSON;
}

/* "table, md or json": the formats that a page has. */
static void formats_append(struct text *names, const struct page_kind *kind)
{
    int count = 0, at = 0;
    for (int format = 0; format < REPORT_FORMAT_COUNT; format++) {
        count += kind_has(kind, format) ? 1 : 0;
    }
    for (int format = 0; format < REPORT_FORMAT_COUNT; format++) {
        if (kind_has(kind, format)) {
            at++;
            text_format(names, "%s%s", at == 1 ? "" : at == count ? " or " : ", ", rows[format].name);
        }
    }
}

enum status_code page_format_parse(const struct page_kind *kind, const char *name, enum report_format *format,
                                   struct status *error)
{
    struct text names = {0};
    enum report_format found;
    if (report_format_parse(name, &found, NULL) == STATUS_OK && kind_has(kind, (int)found)) {
        *format = found;
        return STATUS_OK;
    }
    formats_append(&names, kind);
    enum status_code code =
        status_set(error, STATUS_INVALID, "'%s' is not a format of %s; use %s", name, kind->name, text_string(&names));
    text_release(&names);
    return code;
}

enum status_code page_format_check(const struct page_kind *kind, enum report_format format, struct status *error)
{
    struct text names = {0};
    if (kind_has(kind, (int)format)) {
        return STATUS_OK;
    }
    formats_append(&names, kind);
    enum status_code code =
        status_set(error, STATUS_INVALID, "%s has no such format; use %s", kind->name, text_string(&names));
    text_release(&names);
    return code;
}

static enum status_code value_write(const struct page_kind *kind, const void *subject, struct text *text,
                                    struct status *error)
{
    struct json *value = kind->value(subject);
    if (value == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "no memory for the document of %s", kind->name);
    }
    enum status_code code = json_write(value, 2, text, error);
    text_append(text, "\n");
    json_release(value);
    return code;
}

enum status_code page_render(const struct page_kind *kind, const void *subject, enum report_format format,
                             const struct report_style *style, struct text *text, struct status *error)
{
    enum status_code code = page_format_check(kind, format, error);
    if (code != STATUS_OK) {
        return code;
    }
    const struct report_style settled = report_style_settle(style);
    if (kind->own[format] != NULL) {
        kind->own[format](subject, &settled, text);
    } else if (rows[format].page != page_none_write) {
        struct page page = {.plots = settled.plots};
        kind->describe(subject, &page);
        rows[format].page(&page, &settled, text);
        text->failed = text->failed || page.failed;
        page_release(&page);
    } else {
        code = kind->value != NULL ? value_write(kind, subject, text, error) : kind->document(subject, text, error);
    }
    return code == STATUS_OK ? text_status(text, kind->what, error) : code;
}
