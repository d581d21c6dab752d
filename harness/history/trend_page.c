/* Trend page: described once for every format for people. A terminal shows the largest steps of each night and how
 * many more there are; JSON has all of them (trend_document.c). */
#include "harness/history/trend_page.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/report/page_format.h"
#include "harness/report/wording.h"

enum { TERMINAL_ROWS = 5, DOCUMENT_ROWS = 40, FIGURES_MAXIMUM = 60 };

const char *night_word(const struct history_run *night, const struct history_run *other, char text[NIGHT_BYTES])
{
    const bool same_day = other != NULL && strncmp(night->started, other->started, 10) == 0;
    snprintf(text, NIGHT_BYTES, "%.10s%s%.5s", night->started, same_day && strlen(night->started) > 15 ? " " : "",
             same_day && strlen(night->started) > 15 ? night->started + 11 : "");
    return text;
}

static const char *plural(int count)
{
    return count == 1 ? "" : "s";
}

/* ---- what a night brought ---- */

/* "revision a35b9e5 -> b46c0f6" in its words, nothing if it is the same or not known. */
static void change_add(struct page *page, const struct history_run *before, const struct history_run *after,
                       enum environment property)
{
    if (nights_differ(before, after, property)) {
        page_line(page, 2, "%s: %s -> %s", environment_words(property), before->environment[property],
                  after->environment[property]);
        page_say(page, BLOCK_ITEM, MEDIA_READ, "%s: %s -> %s", environment_words(property),
                 before->environment[property], after->environment[property]);
    }
}

static void changes_describe(struct page *page, const struct history_run *before, const struct history_run *after)
{
    int count = 0;
    change_add(page, before, after, ENVIRONMENT_REVISION);
    for (int property = 0; property < ENVIRONMENT_COUNT; property++) {
        if (property != ENVIRONMENT_REVISION && property != ENVIRONMENT_DEVICE && property != ENVIRONMENT_SUITE) {
            change_add(page, before, after, (enum environment)property);
        }
        count += nights_differ(before, after, (enum environment)property) ? 1 : 0;
    }
    if (count == 0) {
        page_line(page, 2, "nothing that is recorded changed between these nights");
        page_say(page, BLOCK_TEXT, MEDIA_READ, "Nothing that is recorded changed between these nights.");
    }
}

/* ---- the steps ---- */

enum { COLUMNS = 9 };

static const struct page_column columns[COLUMNS] = {
    {.title = "change", .kind = CELL_DIFFERENCE, .width = 12},
    {.title = "", .kind = CELL_SIGNED, .width = 9},
    {.title = "level", .kind = CELL_WORD, .lead = 2, .width = 9},
    {.title = "before", .kind = CELL_BYTES, .width = 12},
    {.title = "after", .kind = CELL_BYTES, .width = 12},
    {.title = "nights", .kind = CELL_WORD, .media = MEDIA_READ},
    {.title = "per night", .kind = CELL_WORD, .media = MEDIA_READ},
    {.title = "case", .kind = CELL_WORD, .media = MEDIA_READ},
    {.title = "case", .kind = CELL_WORD, .media = MEDIUM_TERMINAL, .lead = 2, .width = WIDTH_REST},
};

/* "2026-10-20 to 2026-11-18". */
static const char *range_word(struct page *page, const struct trend_group *group, int from, int to)
{
    const struct history_run *first = &group->nights[from], *last = &group->nights[to];
    char left[NIGHT_BYTES], right[NIGHT_BYTES];
    struct text words = {0};
    text_format(&words, "%s to %s", night_word(first, last, left), night_word(last, first, right));
    return page_word_move(page, &words);
}

static const char *pace_word(struct page *page, const struct step *step)
{
    struct text words = {0};
    if (step->kind == STEP_DRIFT && step->before_bytes > 0) {
        char bytes[WORDING_BYTES];
        difference_word(0, llround(step->bytes_per_night), bytes);
        text_format(&words, "%s (%+.3g %%)", bytes, 100.0 * step->bytes_per_night / (double)step->before_bytes);
    }
    return page_word_move(page, &words);
}

/* The case, and of a drift what a terminal has no columns for. */
static const char *case_word_of(struct page *page, const struct trend_group *group, const struct trend_step *one)
{
    struct text words = {0};
    text_append(&words, one->series->label);
    if (one->step.kind == STEP_DRIFT) {
        text_format(&words, ": %s a night, %s", pace_word(page, &one->step),
                    range_word(page, group, one->step.from, one->step.to));
    }
    return page_word_move(page, &words);
}

static void step_row_add(struct page *page, struct page_table *table, const struct trend_group *group,
                         const struct trend_step *one)
{
    const struct step *step = &one->step;
    const struct cell cells[COLUMNS] = {
        cell_difference(step->after_bytes, step->before_bytes),
        cell_error(step->before_bytes > 0, one->share),
        cell_word(level_name(one->level)),
        cell_bytes(step->before_bytes),
        cell_bytes(step->after_bytes),
        cell_word(range_word(page, group, step->from, step->to)),
        cell_word(pace_word(page, step)),
        cell_word(one->series->label),
        cell_word(case_word_of(page, group, one)),
    };
    page_row_add(page, table, cells);
}

/* The largest of an event for some readers, and how many more there are. */
static void rows_describe(struct page *page, const struct trend_group *group, const struct trend_event *event,
                          unsigned media, int most)
{
    struct page_table *table = page_table_add(page, media, columns, COLUMNS);
    table->indent = 2;
    for (int at = 0; at < event->count && at < most; at++) {
        step_row_add(page, table, group, &event->steps[at]);
    }
    if (event->count > most && media == MEDIUM_TERMINAL) {
        page_line(page, 4, "and %d more: --format json has all", event->count - most);
    } else if (event->count > most) {
        page_say(page, BLOCK_TEXT, media, "And %d more: `assay history trend --format json` has all.",
                 event->count - most);
    }
}

static void event_title(struct text *words, const struct trend_group *group, const struct trend_event *event)
{
    const struct history_run *from = &group->nights[event->from], *to = &group->nights[event->to];
    char left[NIGHT_BYTES], right[NIGHT_BYTES];
    night_word(from, to, left);
    night_word(to, from, right);
    if (event->kind == STEP_DRIFT) {
        text_format(words, "%d drift%s, %s to %s", event->count, plural(event->count), left, right);
    } else if (event->kind == STEP_EXCURSION) {
        text_format(words, "%s: %d figure%s went elsewhere and back again", right, event->count, plural(event->count));
    } else {
        text_format(words, "%s: %d jump%s since %s", right, event->count, plural(event->count), left);
    }
}

static void event_describe(struct page *page, const struct trend_group *group, const struct trend_event *event)
{
    struct text title = {0};
    event_title(&title, group, event);
    page_words(page, BLOCK_HEADING, MEDIUM_TERMINAL, text_string(&title));
    page_words_move(page, BLOCK_SUBHEADING, MEDIA_READ, &title);
    changes_describe(page, &group->nights[event->from], &group->nights[event->to]);
    rows_describe(page, group, event, MEDIUM_TERMINAL, TERMINAL_ROWS);
    rows_describe(page, group, event, MEDIA_READ, DOCUMENT_ROWS);
}

/* ---- groups ---- */

/* "nightly on cuda (NVIDIA H200): 34 nights, 2026-10-19 to 2026-11-21, 500 cases"; "1 night, 2026-11-21, 500 cases". */
static void group_words(struct text *words, const struct trend_group *group)
{
    const struct history_run *first = &group->nights[0], *last = &group->nights[group->night_count - 1];
    char left[NIGHT_BYTES], right[NIGHT_BYTES];
    text_format(words, "%s on %s: ", group->suite[0] != '\0' ? group->suite : "(no suite)", group->device);
    text_format(words, "%d night%s, %s", group->night_count, plural(group->night_count),
                night_word(first, first != last ? last : NULL, left));
    if (first != last) {
        text_format(words, " to %s", night_word(last, first, right));
    }
    text_format(words, ", %d case%s", group->series_count, plural(group->series_count));
}

static void counts_words(struct text *words, const struct trend_group *group)
{
    int counts[STEP_DRIFT + 1] = {0}, cases = 0;
    for (int at = 0; at < group->step_count; at++) {
        counts[group->steps[at].step.kind]++;
    }
    for (int at = 0; at < group->series_count; at++) {
        cases += group->series[at].has_step ? 1 : 0;
    }
    if (group->step_count == 0) {
        text_append(words, "no step in any case");
    } else {
        text_format(words, "%d drift%s, %d jump%s, %d excursion%s in %d case%s", counts[STEP_DRIFT],
                    plural(counts[STEP_DRIFT]), counts[STEP_JUMP], plural(counts[STEP_JUMP]), counts[STEP_EXCURSION],
                    plural(counts[STEP_EXCURSION]), cases, plural(cases));
    }
    if (group->unsteady_count > 0) {
        text_format(words,
                    "; %d counted figure%s changed in more than a quarter of the nights, and %s told as readings",
                    group->unsteady_count, plural(group->unsteady_count), group->unsteady_count == 1 ? "is" : "are");
    }
    if (group->night_count < 2 * JUMP_SIDE_NIGHTS) {
        text_format(words, "; readings of device and process need %d nights", 2 * JUMP_SIDE_NIGHTS);
    }
}

static void group_describe(struct page *page, const struct trend_group *group, int number)
{
    struct text words = {0};
    group_words(&words, group);
    if (number > 0) {
        page_gap(page);
    }
    page_words(page, BLOCK_LEAD, MEDIUM_TERMINAL, text_string(&words));
    page_anchored_heading(page, MEDIA_READ, "group", number, text_string(&words));
    words.length = 0;
    counts_words(&words, group);
    page_words(page, BLOCK_LEAD, MEDIUM_TERMINAL, text_string(&words));
    text_append(&words, ".");
    page_words_move(page, BLOCK_TEXT, MEDIA_READ, &words);
    for (int at = 0; at < group->event_count; at++) {
        event_describe(page, group, &group->events[at]);
    }
}

static void figures_describe(struct page *page)
{
    for (int number = 0; number < FIGURES_MAXIMUM; number++) {
        struct text name = {0};
        text_append(&name, TREND_PLOT);
        if (number > 0) {
            text_format(&name, "-%d", number + 1);
        }
        page_figure(page, MEDIUM_SCREEN | MEDIUM_DOCUMENT, page_word_move(page, &name),
                    "Figures of each night, and the steps in them", true);
    }
}

static void trend_describe(const void *subject, struct page *page)
{
    const struct trend *trend = subject;
    page_words(page, BLOCK_TITLE, MEDIA_READ, "Trend of a history");
    if (trend->group_count > 1) {
        page_contents(page, MEDIUM_SCREEN);
    }
    for (int at = 0; at < trend->group_count; at++) {
        group_describe(page, &trend->groups[at], at);
    }
    figures_describe(page);
    page_words(
        page, BLOCK_NOTE, MEDIA_READ,
        "A night is a run. Counted levels (requested, allocated, reserved) are the same each night, so that every "
        "change is a step; an excursion is back within two nights. Of readings (device, process) a jump has "
        "lasted three nights, and a drift seven.");
}

static const struct page_kind trend_kind = {
    .name = "a trend",
    .what = "the trend of a history",
    .describe = trend_describe,
    .value = trend_value,
    .has_figures = true,
};

enum status_code trend_format_parse(const char *name, enum report_format *format, struct status *error)
{
    return page_format_parse(&trend_kind, name, format, error);
}

enum status_code trend_render(const struct trend *trend, enum report_format format, const struct report_style *style,
                              struct text *text, struct status *error)
{
    return page_render(&trend_kind, trend, format, style, text, error);
}
