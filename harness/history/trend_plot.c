/* Trend plot: a panel for each series and level that has a step. Scales and colours are the script's affair. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "harness/history/trend_page.h"
#include "harness/report/plots.h"

enum { PANELS = 6, PAGES_OF_GROUP = 10 };

struct panel {
    const struct trend_series *series;
    enum level level;
};

/* Seconds since 1970 of "2026-11-20T02:00:00Z"; of anything else its place, a day apart. */
static double night_seconds(const struct history_run *night, int place)
{
    struct tm time = {0};
    const int read = sscanf(night->started, "%4d-%2d-%2dT%2d:%2d:%2d", &time.tm_year, &time.tm_mon, &time.tm_mday,
                            &time.tm_hour, &time.tm_min, &time.tm_sec);
    if (read < 3) {
        return 86400.0 * place;
    }
    time.tm_year -= 1900;
    time.tm_mon -= 1;
    return (double)timegm(&time);
}

/* The jumps and drifts of a panel, in the order of the nights; how far its points have come. */
struct panel_steps {
    const struct step **steps;
    int count, passed; /* passed: of these that end at the night of the point, or before it */
};

static int step_order(const void *left, const void *right)
{
    const struct step *a = *(const struct step *const *)left, *b = *(const struct step *const *)right;
    return a->to != b->to ? a->to - b->to : a->from - b->from;
}

static bool panel_steps_make(const struct trend_group *group, const struct panel *panel, struct arena *arena,
                             struct panel_steps *found)
{
    *found = (struct panel_steps){.steps = arena_alloc(arena, (size_t)group->step_count * sizeof *found->steps)};
    for (int at = 0; found->steps != NULL && at < group->step_count; at++) {
        const struct trend_step *one = &group->steps[at];
        if (one->series == panel->series && one->level == panel->level && one->step.kind != STEP_EXCURSION) {
            found->steps[found->count++] = &one->step;
        }
    }
    if (found->count > 1) {
        qsort(found->steps, (size_t)found->count, sizeof *found->steps, step_order);
    }
    return found->steps != NULL;
}

/* The last step that has ended; NULL: none has yet. The next one; NULL: there is none. */
static const struct step *step_before(const struct panel_steps *steps)
{
    return steps->passed > 0 ? steps->steps[steps->passed - 1] : NULL;
}

static const struct step *step_after(const struct panel_steps *steps)
{
    return steps->passed < steps->count ? steps->steps[steps->passed] : NULL;
}

/* The level that the steps say for a night: on the line of a drift, after the last step before it, before the first one
 * after it; negative: there is no step. */
static double fitted_bytes(const struct panel_steps *steps, int night)
{
    const struct step *before = step_before(steps), *after = step_after(steps);
    if (after != NULL && after->kind == STEP_DRIFT && night >= after->from) {
        const double part = (double)(night - after->from) / (after->to - after->from);
        return (double)after->before_bytes + part * (double)(after->after_bytes - after->before_bytes);
    }
    return before != NULL ? (double)before->after_bytes : after != NULL ? (double)after->before_bytes : -1.0;
}

/* Where between two nights a step came; negative: at this night none did. */
static double step_seconds(const struct trend_group *group, const struct panel_steps *steps, int night)
{
    const struct step *one = step_before(steps);
    return one != NULL && one->kind == STEP_JUMP && one->to == night
               ? 0.5 *
                     (night_seconds(&group->nights[one->from], one->from) + night_seconds(&group->nights[night], night))
               : -1.0;
}

static void number_column(struct text *data, double number)
{
    if (number >= 0.0) {
        text_format(data, "\t%.0f", number);
    } else {
        text_append(data, "\tNaN");
    }
}

static void panel_write(struct plot_page *page, const struct trend_group *group, const struct panel *panel)
{
    const struct trend_series *series = panel->series;
    struct arena arena = {0};
    struct panel_steps steps;
    page->data.failed = !panel_steps_make(group, panel, &arena, &steps) || page->data.failed;
    text_append(&page->data, page->mark_count > 0 ? "\n\n" : "");
    for (int at = 0; at < series->count && !page->data.failed; at++) {
        const int night = series->points[at].night;
        while (steps.passed < steps.count && steps.steps[steps.passed]->to <= night) {
            steps.passed++;
        }
        label_column(&page->data, series->label);
        text_format(&page->data, "\t%s", level_peak_name(panel->level));
        number_column(&page->data, night_seconds(&group->nights[night], night));
        bytes_column(&page->data, series->points[at].bytes[panel->level]);
        number_column(&page->data, fitted_bytes(&steps, night));
        number_column(&page->data, step_seconds(group, &steps, night));
        text_append(&page->data, "\n");
    }
    arena_release(&arena);
    page->mark_count++;
}

/* ---- which panels ---- */

static bool panel_is_new(const struct panel *panels, int count, const struct panel *panel)
{
    for (int at = 0; at < count; at++) {
        if (panels[at].series == panel->series && panels[at].level == panel->level) {
            return false;
        }
    }
    return true;
}

static int64_t last_bytes(const struct trend_series *series, enum level level)
{
    return series->count > 0 ? series->points[series->count - 1].bytes[level] : -1;
}

/* Of a group in which nothing happened: its largest cases, at the highest level that was asked for. */
static int largest_choose(const struct trend *trend, const struct trend_group *group, struct panel panels[PANELS])
{
    int level = LEVEL_COUNT - 1, count = 0;
    while (level > 0 && !trend->request.levels[level]) {
        level--;
    }
    for (int at = 0; at < group->series_count; at++) {
        const struct panel panel = {&group->series[at], (enum level)level};
        const int64_t bytes = last_bytes(panel.series, panel.level);
        int place = bytes >= 0 ? count : PANELS;
        while (place > 0 && place <= count && bytes > last_bytes(panels[place - 1].series, panel.level)) {
            place--;
        }
        if (place < PANELS) {
            count += count < PANELS ? 1 : 0;
            memmove(&panels[place + 1], &panels[place], (size_t)(count - place - 1) * sizeof *panels);
            panels[place] = panel;
        }
    }
    return count;
}

static int panels_choose(const struct trend *trend, const struct trend_group *group, struct panel *panels, int most)
{
    int count = 0;
    for (int at = 0; at < group->step_count && count < most; at++) {
        const struct panel panel = {group->steps[at].series, group->steps[at].level};
        if (panel_is_new(panels, count, &panel)) {
            panels[count++] = panel;
        }
    }
    return count > 0 ? count : largest_choose(trend, group, panels);
}

/* ---- pages ---- */

static enum status_code page_draw(const struct plot_place *place, const struct trend_group *group,
                                  const struct panel *panels, int count, int number, struct status *error)
{
    struct plot_page page = {.tolerance = -1.0};
    struct text words = {0};
    text_append(&page.data, "# case\tlevel\tseconds\tbytes\tfitted_bytes\tstep_seconds\n");
    for (int at = 0; at < count; at++) {
        panel_write(&page, group, &panels[at]);
    }
    page.width = count == 1 ? 640 : 1070;
    page.height = 90 + 220 * ((count + 1) / 2);
    text_format(&page.title, "%s on %s", group->suite, group->device);
    const char *first = group->nights[0].started, *last = group->nights[group->night_count - 1].started;
    text_format(&words, "%s on %s; %d night%s, %.10s", group->suite, group->device, group->night_count,
                group->night_count == 1 ? "" : "s", first);
    if (strncmp(first, last, 10) != 0) {
        text_format(&words, " to %.10s", last);
    }
    text_append(&words, ".");
    if (group->step_count == 0) {
        text_append(&words, " No step was found; these are the largest cases.");
    }
    plot_caption_close(&page, text_string(&words));
    page.data.failed = page.data.failed || words.failed;
    text_release(&words);
    enum status_code code = plot_page_draw(place, TREND_PLOT, NULL, number, &page, error);
    plot_page_release(&page);
    return code;
}

enum status_code trend_draw(const struct trend *trend, const struct plot_place *place, struct status *error)
{
    struct panel panels[PANELS * PAGES_OF_GROUP];
    enum status_code code = STATUS_OK;
    int number = 0;
    for (int group = 0; group < trend->group_count && code == STATUS_OK; group++) {
        const int count = panels_choose(trend, &trend->groups[group], panels, PANELS * PAGES_OF_GROUP);
        for (int at = 0; at < count && code == STATUS_OK && number < PLOT_PAGES_MAXIMUM; at += PANELS) {
            const int shown = count - at < PANELS ? count - at : PANELS;
            code = page_draw(place, &trend->groups[group], panels + at, shown, number++, error);
        }
    }
    return code;
}
