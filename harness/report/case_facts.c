/* Case facts: what follows from a case view by itself, and its words. Not the reading, and not the wording of
 * figures. */
#include <string.h>

#include "harness/report/case_view.h"

#define NAME_ENTRY(name, text) text,
static const char *const stage_names[STAGE_COUNT] = {STAGE_TABLE(NAME_ENTRY)};
static const char *const category_names[CATEGORY_COUNT] = {CATEGORY_TABLE(NAME_ENTRY)};
#undef NAME_ENTRY

const char *report_stage_name(int stage)
{
    return stage_names[stage];
}

const char *report_category_name(int category)
{
    return category_names[category];
}

const char *report_word(struct report *report, const char *word)
{
    return name_table_keep(&report->words, &report->arena, word);
}

bool case_is_meta(const struct case_view *view)
{
    return view->device_kind != NULL && strcmp(view->device_kind, "meta") == 0;
}

bool case_is_measured(const struct case_view *view)
{
    return strcmp(view->status, "ok") == 0 || strcmp(view->status, "fail") == 0;
}

bool case_is_plain(const struct case_view *view)
{
    return view->placed == NULL && view->search == NULL;
}

const char *case_word(const struct case_view *view)
{
    return view->missing != NULL && view->missing->made_count == 0 ? "missing"
           : view->standing == STANDING_OPEN                       ? "open"
                                                                   : view->status;
}

int stage_last(const struct footprint_view *footprint)
{
    int last = STAGE_CONTEXT;
    for (int stage = STAGE_LOAD; stage < STAGE_COUNT; stage++) {
        last = footprint->stages[stage]->present ? stage : last;
    }
    return last;
}
