/* Difference rendering: the formats of a comparison, and the choice of a writer. Not the writers. */
#include <strings.h>

#include "harness/report/difference_view.h"

enum status_code difference_format_parse(const char *name, enum difference_format *format, struct status *error)
{
    static const char *const names[] = {"table", "md", "json"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcasecmp(names[i], strcasecmp(name, "markdown") == 0 ? "md" : name) == 0) {
            *format = (enum difference_format)i;
            return STATUS_OK;
        }
    }
    return status_set(error, STATUS_INVALID, "'%s' is not a format of a comparison; use table, md or json", name);
}

enum status_code difference_render(const struct difference *difference, const struct difference_style *style,
                                   struct text *text, struct status *error)
{
    struct difference_style chosen = *style;
    enum status_code code = STATUS_OK;
    chosen.width = chosen.width == 0 ? 80 : chosen.width < 40 ? 40 : chosen.width;
    switch (chosen.format) {
    case DIFFERENCE_TABLE:
        difference_table_write(difference, &chosen, text);
        break;
    case DIFFERENCE_MARKDOWN:
        difference_markdown_write(difference, &chosen, text);
        break;
    case DIFFERENCE_JSON:
        code = difference_document_write(difference, &chosen, text, error);
        break;
    }
    return code == STATUS_OK ? text_status(text, "the comparison", error) : code;
}
