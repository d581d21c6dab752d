/* Benchmark JSON: the measured peaks of every case as github-action-benchmark reads them with its tool
 * "customSmallerIsBetter": an array of name, unit, value, and what else there is to say. What is not known is left out,
 * and so are readings that something disturbed: the action would take them for a change. */
#include <inttypes.h>
#include <stdio.h>

#include "harness/report/cases_page.h"
#include "harness/report/spread.h"
#include "harness/report/wording.h"

/* "range": half of what its attempts differ by, on each side. */
static bool range_set(struct json *object, const struct case_view *view, int level)
{
    char words[WORDING_BYTES];
    const bool repeated = view->spread.attempt_count > 1 && view->spread.stage_bytes != NULL;
    const int64_t bytes = repeated ? spread_widest(&view->spread, (enum level)level) : BYTES_UNKNOWN;
    if (bytes == BYTES_UNKNOWN) {
        return true;
    }
    snprintf(words, sizeof words, "± %" PRId64, (bytes + 1) / 2);
    return json_set(object, "range", json_string_new(words));
}

static struct json *entry_json(const struct case_view *view, int level)
{
    struct text name = {0}, extra = {0};
    struct json *object = json_object_new();
    text_format(&name, "%s %s", view->id, level_name((enum level)level));
    case_device_append(&extra, view);
    if (view->device_driver != NULL) {
        text_format(&extra, ", driver %s", view->device_driver);
    }
    bool made = json_set(object, "name", json_string_new(text_string(&name))) &&
                json_set(object, "unit", json_string_new("bytes")) &&
                json_set(object, "value", json_integer_new(view->measured.peak_bytes[level])) &&
                range_set(object, view, level) && json_set(object, "extra", json_string_new(text_string(&extra)));
    made = made && !name.failed && !extra.failed;
    text_release(&name);
    text_release(&extra);
    return json_made(object, made);
}

void benchmark_json_write(const void *subject, const struct report_style *style, struct text *text)
{
    const struct report *report = ((const struct cases_subject *)subject)->report;
    const char *before = "\n  ";
    (void)style;
    text_append(text, "[");
    for (int i = 0; i < report->case_count; i++) {
        const struct case_view *view = &report->cases[i];
        const bool is_told = view->missing == NULL || view->missing->made_count > 0;
        for (int level = 0; level < LEVEL_COUNT && is_told; level++) {
            const bool is_disturbed = view->invalid && level_is_reading((enum level)level);
            if (view->measured.peak_bytes[level] != BYTES_UNKNOWN && !is_disturbed) {
                struct json *entry = entry_json(view, level);
                text_append(text, before);
                text->failed = entry == NULL || json_write(entry, 0, text, NULL) != STATUS_OK || text->failed;
                before = ",\n  ";
                json_release(entry);
            }
        }
    }
    text_append(text, "\n]\n");
}
