/* Provenance: collected from the run lines and the devices of the cases, each word once. */
#include "harness/report/provenance.h"

#include <string.h>

#include "harness/report/wording.h"

enum { WORDS_MAXIMUM = 6, DAY_BYTES = 10 };

/* Different strings in the order in which they were met; borrowed. */
struct words {
    const char *items[WORDS_MAXIMUM];
    int count;
    bool more; /* than there is room for */
};

struct device {
    const struct case_view *cases[WORDS_MAXIMUM]; /* of one device each */
    int count;
    bool more;
};

struct provenance {
    struct device devices;
    struct words suites, versions, revisions, drivers, runtimes;
    const char *first_day, *last_day; /* of ISO 8601; the days are the first ten bytes */
};

static void word_add(struct words *words, const char *word)
{
    if (word == NULL || word[0] == '\0') {
        return;
    }
    for (int at = 0; at < words->count; at++) {
        if (strcmp(words->items[at], word) == 0) {
            return;
        }
    }
    if (words->count == WORDS_MAXIMUM) {
        words->more = true;
        return;
    }
    words->items[words->count++] = word;
}

static void device_add(struct device *devices, const struct case_view *view)
{
    if (view->device_kind == NULL) {
        return;
    }
    for (int at = 0; at < devices->count; at++) {
        if (case_devices_equal(devices->cases[at], view)) {
            return;
        }
    }
    if (devices->count == WORDS_MAXIMUM) {
        devices->more = true;
        return;
    }
    devices->cases[devices->count++] = view;
}

static void day_add(struct provenance *all, const char *started)
{
    if (started == NULL || strlen(started) < DAY_BYTES) {
        return;
    }
    if (all->first_day == NULL || strncmp(started, all->first_day, DAY_BYTES) < 0) {
        all->first_day = started;
    }
    if (all->last_day == NULL || strncmp(started, all->last_day, DAY_BYTES) > 0) {
        all->last_day = started;
    }
}

static void provenance_collect(struct provenance *all, struct report *const *reports, int report_count)
{
    *all = (struct provenance){0};
    for (int index = 0; index < report_count; index++) {
        const struct report *report = reports[index];
        for (size_t at = 0; at < json_count(report->runs); at++) {
            const struct json *run = json_at(report->runs, at);
            word_add(&all->suites, json_string_or(json_get(json_get(run, "suite"), "name"), NULL));
            word_add(&all->versions, json_string_or(json_get(json_get(run, "tool"), "version"), NULL));
            word_add(&all->revisions, json_string_or(json_get(json_get(run, "tool"), "revision"), NULL));
            day_add(all, json_string_or(json_get(run, "started"), NULL));
        }
        for (int at = 0; at < report->case_count; at++) {
            device_add(&all->devices, &report->cases[at]);
            word_add(&all->drivers, report->cases[at].device_driver);
            word_add(&all->runtimes, report->cases[at].device_runtime);
        }
    }
}

static void words_append(struct text *text, const char *before, const char *prefix, const struct words *words)
{
    for (int at = 0; at < words->count; at++) {
        text_format(text, "%s%s%s", at == 0 ? before : ", ", at == 0 ? prefix : "", words->items[at]);
    }
    text_append(text, words->more ? " and others" : "");
}

static void devices_append(struct text *text, const struct device *devices)
{
    for (int at = 0; at < devices->count; at++) {
        text_append(text, at == 0 ? "" : ", ");
        case_device_append(text, devices->cases[at]);
    }
    text_append(text, devices->more ? " and others" : "");
}

static void days_append(struct text *text, const char *before, const struct provenance *all)
{
    if (all->first_day != NULL) {
        text_format(text, "%s%.*s", before, DAY_BYTES, all->first_day);
    }
    if (all->first_day != NULL && strncmp(all->first_day, all->last_day, DAY_BYTES) != 0) {
        text_format(text, " to %.*s", DAY_BYTES, all->last_day);
    }
}

void provenance_append(struct text *text, struct report *const *reports, int report_count)
{
    struct provenance all;
    struct text line = {0};
    provenance_collect(&all, reports, report_count);
    devices_append(&line, &all.devices);
    words_append(&line, line.length > 0 ? "; " : "", all.suites.count > 1 ? "suites " : "suite ", &all.suites);
    days_append(&line, line.length > 0 ? "; " : "", &all);
    words_append(&line, line.length > 0 ? "; " : "", "assay ", &all.versions);
    words_append(&line, " (", "", &all.revisions);
    text_append(&line, all.revisions.count > 0 ? ")" : "");
    words_append(&line, line.length > 0 ? ", " : "", "", &all.drivers);
    words_append(&line, line.length > 0 ? ", " : "", "", &all.runtimes);
    text_append(text, text_string(&line));
    text->failed = text->failed || line.failed;
    text_release(&line);
}

void provenance_title_append(struct text *text, struct report *const *reports, int report_count)
{
    struct provenance all;
    provenance_collect(&all, reports, report_count);
    words_append(text, "", "", &all.suites);
    text_append(text, all.suites.count > 0 && all.devices.count > 0 ? " on " : "");
    devices_append(text, &all.devices);
    days_append(text, all.suites.count + all.devices.count > 0 ? ", " : "", &all);
}

void provenance_label_append(struct text *text, struct report *const *reports, int report_count)
{
    struct provenance all;
    provenance_collect(&all, reports, report_count);
    if (all.suites.count == 1) {
        words_append(text, "", "", &all.suites);
        text_append(text, " ");
    }
    devices_append(text, &all.devices);
}

static const char *string_keep(struct arena *arena, struct text *text)
{
    const char *made = text->failed ? NULL : arena_copy(arena, text_string(text));
    text_release(text);
    return made;
}

const char *provenance_make(struct arena *arena, struct report *const *reports, int report_count)
{
    struct text text = {0};
    provenance_append(&text, reports, report_count);
    return string_keep(arena, &text);
}

const char *provenance_title_make(struct arena *arena, struct report *const *reports, int report_count)
{
    struct text text = {0};
    provenance_title_append(&text, reports, report_count);
    return string_keep(arena, &text);
}
