/* Plot pages: the register of the kinds of plots, and the pages of one kind. Not what stands on them. */
#include "harness/report/plot_data.h"

static const struct plot_maker *const makers[PLOT_COUNT] = {
#define PLOT_ROW(name, maker) &(maker),
    PLOT_TABLE(PLOT_ROW)
#undef PLOT_ROW
};

const struct plot_maker *plot_maker_of(enum plot_kind kind)
{
    return makers[kind];
}

bool plot_pages_open(const struct report *report, enum plot_kind kind, const char *timeline, struct plot_pages *pages)
{
    *pages = (struct plot_pages){.report = report, .timeline = timeline, .kind = kind};
    if (makers[kind]->open == NULL) {
        return true;
    }
    pages->material = makers[kind]->open(report, timeline);
    return pages->material != NULL;
}

void plot_pages_close(struct plot_pages *pages)
{
    if (pages->material != NULL) {
        makers[pages->kind]->close(pages->material);
    }
    *pages = (struct plot_pages){0};
}

void plot_page_make(const struct plot_pages *pages, int number, struct plot_page *page)
{
    *page = (struct plot_page){.tolerance = -1.0, .basis = pages->report->basis};
    makers[pages->kind]->make(pages, number, page);
}
