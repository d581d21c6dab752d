/* Headline: the outcome of the records, named. What it is, is decided in harness/record/outcome.c. */
#include "harness/report/headline.h"

#include <inttypes.h>
#include <string.h>

void headline_append(struct text *text, const struct report *report)
{
    struct outcome outcome;
    report_outcome_make(report, &outcome);
    outcome_words_append(text, &outcome);
    outcome_release(&outcome);
}

bool case_has_figures(const struct case_view *view)
{
    return view->measured.present && view->standing != STANDING_SKIP;
}

bool report_is_measured(const struct report *report)
{
    int index = 0;
    while (index < report->case_count && !case_has_figures(&report->cases[index])) {
        index++;
    }
    return index < report->case_count;
}

void missing_names_append(struct text *text, const struct report *report, int name_maximum)
{
    int count = report->missing_count;
    int named = name_maximum > 0 && count > name_maximum ? name_maximum : count;
    for (int index = 0; index < named; index++) {
        text_format(text, "%s%s", index == 0 ? "missing: " : ", ", report->missing[index].id);
    }
    if (named < count) {
        text_format(text, ", and %d more", count - named);
    }
    if (report->unnamed_missing_count > 0) {
        text_format(text, "%s%d that the records do not name",
                    count > 0 ? ", and " : "missing: ", report->unnamed_missing_count);
    }
}

void missing_note_append(struct text *text, const struct report *report, const struct case_view *view)
{
    if (view->missing == NULL) {
        return;
    }
    text_append(text, text->length > 0 ? "; " : "");
    if (view->missing->made_count == 0) {
        const struct json *run = json_at(report->runs, (size_t)view->run);
        text_format(text, "the last run did not come to it; its figures are of the run of %s",
                    json_string_or(json_get(run, "started"), "an earlier day"));
    } else {
        text_format(text, "the last run made %" PRId64 " of %" PRId64 " attempts", view->missing->made_count,
                    view->missing->wanted_count);
    }
}

void missing_model_append(struct text *text, const char *id)
{
    static const char *const modes[] = {"/load/", "/infer/", "/generate/", "/train/"};
    size_t length = 0;
    for (size_t index = 0; index < sizeof modes / sizeof modes[0]; index++) {
        for (const char *found = strstr(id, modes[index]); found != NULL; found = strstr(found + 1, modes[index])) {
            length = (size_t)(found - id) > length ? (size_t)(found - id) : length;
        }
    }
    if (length > 0) {
        text_append_bytes(text, id, length);
    } else {
        text_append(text, "assay");
    }
}
