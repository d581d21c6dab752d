/* Trend: the steps of a history, dated to nights, revisions and what else changed; the same in each format. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/history/trend_page.h"
#include "tests/history/history_fixture.h"
#include "tests/support/command_run.h"

enum { MIB = 1 << 20, NIGHTS = 24 };

/* 24 nights: allocated bytes of one case jump with the driver and the revision at the 12th, the process drifts from
 * the 14th on, and an L4 measures in between with other figures. */
static void nights_make(struct history_scene *scene)
{
    for (int night = 0; night < NIGHTS; night++) {
        char run_id[32], started[40], revision[32], other[32];
        snprintf(run_id, sizeof run_id, "run-%02d", night);
        snprintf(other, sizeof other, "l4-run-%02d", night);
        snprintf(started, sizeof started, "2026-10-%02dT02:00:00Z", 1 + night);
        snprintf(revision, sizeof revision, "abc%04d", night < 12 ? 1 : 2);
        night_append(scene->records,
                     &(struct night_facts){.run_id = run_id,
                                           .started = started,
                                           .revision = revision,
                                           .driver = night < 12 ? "570.1" : "580.2",
                                           .allocated_more = night < 12 ? 0 : 7 * MIB,
                                           .process_more =
                                               65536 * (night % 2) + (night < 14 ? 0 : (int64_t)(night - 13) * MIB)});
        if (night % 3 == 0) {
            night_append(scene->records, &(struct night_facts){.run_id = other,
                                                               .started = started,
                                                               .revision = revision,
                                                               .device = "NVIDIA L4",
                                                               .process_more = 900 * (int64_t)MIB});
        }
    }
    scene_import(scene, scene->records);
}

static struct trend trend_of(struct history_scene *scene, struct trend_request request)
{
    struct history *history = NULL;
    struct trend trend;
    if (request.levels[LEVEL_PROCESS] == false && request.levels[LEVEL_ALLOCATED] == false) {
        for (int level = 0; level < LEVEL_COUNT; level++) {
            request.levels[level] = true;
        }
    }
    assert_int_equal(history_open(scene->database, HISTORY_READ, &history, NULL), STATUS_OK);
    if (trend_make(history, &request, &trend, &scene->error) != STATUS_OK) {
        fail_msg("%s", scene->error.text);
    }
    history_close(history);
    return trend;
}

static void steps_are_dated(void **state)
{
    struct history_scene *scene = *state;
    nights_make(scene);
    struct trend trend = trend_of(scene, (struct trend_request){0});
    assert_int_equal(trend.group_count, 2);
    const struct trend_group *h200 = &trend.groups[0], *l4 = &trend.groups[1];
    assert_string_equal(h200->device, "cuda (NVIDIA H200)");
    assert_string_equal(l4->device, "cuda (NVIDIA L4)");
    assert_int_equal(h200->night_count, NIGHTS);
    assert_int_equal(l4->night_count, NIGHTS / 3);
    assert_int_equal(l4->step_count, 0);
    assert_int_equal(h200->event_count, 2);
    const struct trend_event *drifts = &h200->events[0], *jump = &h200->events[1];
    assert_int_equal(drifts->kind, STEP_DRIFT);
    assert_int_equal(drifts->count, 3);
    assert_in_range(drifts->from, 12, 14);
    assert_int_equal(drifts->to, NIGHTS - 1);
    assert_true(drifts->steps[0].share > drifts->steps[1].share && drifts->steps[1].share > drifts->steps[2].share);
    assert_int_equal(jump->kind, STEP_JUMP);
    assert_int_equal(jump->count, 1);
    assert_int_equal(jump->from, 11);
    assert_int_equal(jump->to, 12);
    assert_int_equal(jump->steps[0].level, LEVEL_ALLOCATED);
    assert_int_equal(jump->steps[0].step.after_bytes - jump->steps[0].step.before_bytes, 7 * MIB);
    assert_string_equal(jump->steps[0].series->id, "gpt2/infer/float32/b1/s512");
    assert_true(nights_differ(&h200->nights[11], &h200->nights[12], ENVIRONMENT_DRIVER));
    assert_true(nights_differ(&h200->nights[11], &h200->nights[12], ENVIRONMENT_REVISION));
    assert_false(nights_differ(&h200->nights[11], &h200->nights[12], ENVIRONMENT_RUNTIME));
    trend_release(&trend);
}

/* What rose counts until a night behind it was accepted. */
static void rises_count_behind_the_night_that_was_accepted(void **state)
{
    struct history_scene *scene = *state;
    const struct trend_step *worst = NULL;
    nights_make(scene);
    struct trend trend = trend_of(scene, (struct trend_request){0});
    assert_int_equal(trend_rises(&trend, &worst), 4); /* a jump, and three drifts */
    assert_int_equal(worst->level, LEVEL_ALLOCATED);
    trend_release(&trend);
    struct history *history = history_opened(scene);
    assert_int_equal(history_accept(history, "run-12", "2026-10-14T09:00:00Z", "ada", "", &scene->error), STATUS_OK);
    assert_int_equal(history_accept(history, "run-99", "2026-10-14T09:00:00Z", "ada", "", &scene->error),
                     STATUS_INVALID);
    history_close(history);
    trend = trend_of(scene, (struct trend_request){0});
    assert_int_equal(trend_rises(&trend, &worst), 3);
    assert_int_equal(worst->step.kind, STEP_DRIFT);
    trend_release(&trend);
    history = history_opened(scene);
    assert_int_equal(history_accept(history, "run-23", "2026-10-25T09:00:00Z", "ada", "", &scene->error), STATUS_OK);
    history_close(history);
    trend = trend_of(scene, (struct trend_request){0});
    assert_int_equal(trend_rises(&trend, &worst), 0);
    trend_release(&trend);
}

static void cases_levels_and_nights_are_chosen(void **state)
{
    struct history_scene *scene = *state;
    nights_make(scene);
    struct trend one = trend_of(scene, (struct trend_request){.pattern = "b2", .filter = {.device = "*H200*"}});
    assert_int_equal(one.group_count, 1);
    assert_int_equal(one.groups[0].series_count, 1); /* by its tag */
    assert_int_equal(one.groups[0].step_count, 1);
    trend_release(&one);
    struct trend counted = trend_of(scene, (struct trend_request){.levels = {[LEVEL_ALLOCATED] = true}});
    assert_int_equal(counted.groups[0].step_count, 1);
    trend_release(&counted);
    struct trend newest = trend_of(scene, (struct trend_request){.nights = 5});
    assert_int_equal(newest.groups[0].night_count, 5);
    assert_int_equal(newest.groups[1].night_count, 5);
    assert_int_equal(newest.groups[0].step_count, 0);
    trend_release(&newest);
    struct trend none = trend_of(scene, (struct trend_request){.pattern = "bert*"});
    assert_int_equal(none.group_count, 0);
    trend_release(&none);
}

/* Readings that something disturbed are no part of a series; what was counted is. */
static void disturbed_readings_do_not_count(void **state)
{
    struct history_scene *scene = *state;
    for (int night = 0; night < 12; night++) {
        char run_id[16], started[32];
        snprintf(run_id, sizeof run_id, "run-%02d", night);
        snprintf(started, sizeof started, "2026-10-%02dT02:00:00Z", 1 + night);
        night_append(scene->records, &(struct night_facts){.run_id = run_id,
                                                           .started = started,
                                                           .cases = 1,
                                                           .reason = night >= 6 ? "a neighbour" : NULL,
                                                           .allocated_more = night >= 6 ? 512 : 0,
                                                           .process_more = night >= 6 ? 512 * (int64_t)MIB : 0});
    }
    scene_import(scene, scene->records);
    struct trend trend = trend_of(scene, (struct trend_request){0});
    assert_int_equal(trend.groups[0].step_count, 1);
    assert_int_equal(trend.groups[0].steps[0].level, LEVEL_ALLOCATED);
    assert_int_equal(trend.groups[0].steps[0].step.to, 6);
    trend_release(&trend);
}

/* The first night of a new level reads as the old one did, so the jump of the reading is found one night late; what was
 * counted knows better. */
static void a_reading_takes_the_night_of_what_was_counted(void **state)
{
    struct history_scene *scene = *state;
    for (int night = 0; night < 20; night++) {
        char run_id[16], started[32];
        snprintf(run_id, sizeof run_id, "run-%02d", night);
        snprintf(started, sizeof started, "2026-10-%02dT02:00:00Z", 1 + night);
        night_append(scene->records, &(struct night_facts){.run_id = run_id,
                                                           .started = started,
                                                           .cases = 1,
                                                           .allocated_more = night >= 9 ? 512 : 0,
                                                           .process_more = night > 9 ? 50 * (int64_t)MIB : 0});
    }
    scene_import(scene, scene->records);
    struct trend both = trend_of(scene, (struct trend_request){0});
    assert_int_equal(both.groups[0].event_count, 1);
    assert_int_equal(both.groups[0].events[0].count, 2);
    assert_int_equal(both.groups[0].events[0].to, 9);
    struct trend alone = trend_of(scene, (struct trend_request){.levels = {[LEVEL_PROCESS] = true}});
    assert_int_equal(alone.groups[0].events[0].to, 10);
    trend_release(&both);
    trend_release(&alone);
}

static void one_night_is_no_series(void **state)
{
    struct history_scene *scene = *state;
    night_append(scene->records, &(struct night_facts){.run_id = "aaaa1111"});
    scene_import(scene, scene->records);
    struct trend trend = trend_of(scene, (struct trend_request){0});
    const struct report_style style = {.width = 100};
    struct text page = {0};
    assert_int_equal(trend_render(&trend, REPORT_TABLE, &style, &page, NULL), STATUS_OK);
    assert_string_equal(text_string(&page), "nightly on cuda (NVIDIA H200): 1 night, 2026-11-20, 3 cases\n"
                                            "no step in any case; readings of device and process need 6 nights\n");
    text_release(&page);
    trend_release(&trend);
}

static struct text rendered(const struct trend *trend, enum report_format format, int width)
{
    const struct report_style style = {.width = width};
    struct text text = {0};
    assert_int_equal(trend_render(trend, format, &style, &text, NULL), STATUS_OK);
    return text;
}

static void expect_parts(const struct text *text, const char *const *parts)
{
    const char *rest = text_string(text);
    for (; *parts != NULL; parts++) {
        const char *found = strstr(rest, *parts);
        if (found == NULL) {
            fail_msg("'%s' is not in its place in\n%s", *parts, text_string(text));
        }
        rest = found + strlen(*parts);
    }
}

static void the_page_says_when_and_what_else_changed(void **state)
{
    struct history_scene *scene = *state;
    nights_make(scene);
    struct trend trend = trend_of(scene, (struct trend_request){0});
    struct text page = rendered(&trend, REPORT_TABLE, 120);
    expect_parts(&page, (const char *const[]){
                            "nightly on cuda (NVIDIA H200): 24 nights, 2026-10-01 to 2026-10-24, 3 cases\n",
                            "3 drifts, 1 jump, 0 excursions in 3 cases\n", "3 drifts, 2026-10-1", " to 2026-10-24\n",
                            "process", "gpt2 infer float32 b1 s512: +1.00 MiB (+0.25 %) a night,\n", "2026-10-1",
                            "2026-10-13: 1 jump since 2026-10-12\n", "  program revision: abc0001 -> abc0002\n",
                            "  driver: 570.1 -> 580.2\n", "+7.00 MiB", "allocated", "100.00 MiB", "107.00 MiB",
                            "gpt2 infer float32 b1 s512\n",
                            "nightly on cuda (NVIDIA L4): 8 nights, 2026-10-01 to 2026-10-22, 3 cases\n",
                            "no step in any case\n", NULL});
    struct text narrow = rendered(&trend, REPORT_TABLE, 60), markdown = rendered(&trend, REPORT_MARKDOWN, 80);
    for (const char *line = text_string(&narrow); *line != '\0'; line += strcspn(line, "\n") + 1) {
        assert_true(strcspn(line, "\n") <= 64); /* letters, of which some have two bytes */
    }
    expect_parts(&markdown,
                 (const char *const[]){"# Trend of a history\n", "### 3 drifts", "| +7.00 MiB | +7.00 % |", NULL});
    text_release(&page);
    text_release(&narrow);
    text_release(&markdown);
    trend_release(&trend);
}

static void names_from_outside_are_escaped(void **state)
{
    struct history_scene *scene = *state;
    night_append(scene->records, &(struct night_facts){.run_id = "aaaa1111",
                                                       .suite = "<script>alert(1)</script>",
                                                       .driver = "\\u001b[31m|<b>",
                                                       .device = "a|b & <i>c</i>"});
    scene_import(scene, scene->records);
    struct trend trend = trend_of(scene, (struct trend_request){0});
    struct text html = rendered(&trend, REPORT_HTML, 80), terminal = rendered(&trend, REPORT_TABLE, 80);
    assert_null(strstr(text_string(&html), "<script>"));
    assert_null(strstr(text_string(&html), "<i>"));
    assert_null(strchr(text_string(&terminal), '\033'));
    text_release(&html);
    text_release(&terminal);
    trend_release(&trend);
}

static void json_has_every_step(void **state)
{
    struct history_scene *scene = *state;
    nights_make(scene);
    struct trend trend = trend_of(scene, (struct trend_request){0});
    struct text text = rendered(&trend, REPORT_JSON, 80);
    struct json *document = NULL;
    assert_int_equal(json_parse_text("trend", text_string(&text), text.length, &document, NULL), STATUS_OK);
    const struct json *group = json_at(json_get(document, "groups"), 0), *steps = json_get(group, "steps");
    assert_int_equal(json_count(json_get(group, "nights")), NIGHTS);
    assert_int_equal(json_count(steps), 4);
    const struct json *jump = json_at(steps, 3);
    assert_string_equal(json_string_or(json_get(jump, "kind"), ""), "jump");
    assert_string_equal(json_string_or(json_get(jump, "level"), ""), "allocated");
    assert_string_equal(json_string_or(json_get(json_get(jump, "to"), "run_id"), ""), "run-12");
    assert_string_equal(json_string_or(json_get(json_get(jump, "from"), "revision"), ""), "abc0001");
    assert_int_equal(json_integer_or(json_get(jump, "before_bytes"), 0), 100 * MIB + 512);
    assert_int_equal(json_count(json_get(jump, "environment")), 2);
    assert_int_equal(json_kind(json_get(jump, "bytes_per_night")), JSON_KIND_NULL);
    json_release(document);
    text_release(&text);
    trend_release(&trend);
}

static void plots_show_the_steps(void **state)
{
    struct history_scene *scene = *state;
    struct plot_set set = {0};
    struct text notes = {0};
    const struct plot_place place = {.script_directory = "plots", .set = &set, .notes = &notes};
    command_needed("gnuplot");
    nights_make(scene);
    struct trend trend = trend_of(scene, (struct trend_request){0});
    assert_int_equal(trend_draw(&trend, &place, &scene->error), STATUS_OK);
    assert_string_equal(text_string(&notes), "");
    assert_int_equal(set.count, 2); /* a page for each GPU */
    assert_string_equal(set.plots[0].name, "trend");
    assert_string_equal(set.plots[1].name, "trend-2");
    assert_string_equal(set.plots[0].title, "nightly on cuda (NVIDIA H200)");
    const char *data = text_string(&set.plots[0].data);
    int panels = 1;
    for (const char *at = data; (at = strstr(at, "\n\n\n")) != NULL; at++) {
        panels++;
    }
    assert_int_equal(panels, 4); /* three drifts and a jump */
    /* the 13th night, its fitted level, and the jump half a day before it */
    assert_non_null(strstr(data, "\tallocated peak\t1791856800\t112198144\t112198144\t1791813600\n"));
    assert_non_null(strstr(text_string(&set.plots[0].svg), "</svg>"));
    plot_set_release(&set);
    text_release(&notes);
    trend_release(&trend);
}

/* One night is no range of time, and a figure of nothing none of bytes. */
static void plots_of_next_to_nothing_are_drawn(void **state)
{
    struct history_scene *scene = *state;
    struct plot_set set = {0};
    struct text notes = {0};
    const struct plot_place place = {.script_directory = "plots", .set = &set, .notes = &notes};
    command_needed("gnuplot");
    night_append(scene->records,
                 &(struct night_facts){.run_id = "aaaa1111", .cases = 1, .process_more = -400 * (int64_t)MIB});
    scene_import(scene, scene->records);
    struct trend trend = trend_of(scene, (struct trend_request){0});
    assert_int_equal(trend.groups[0].series[0].points[0].bytes[LEVEL_PROCESS], 0);
    assert_int_equal(trend_draw(&trend, &place, &scene->error), STATUS_OK);
    assert_string_equal(text_string(&notes), "");
    assert_int_equal(set.count, 1);
    const char *svg = text_string(&set.plots[0].svg);
    assert_non_null(strstr(svg, "</svg>"));
    assert_non_null(strstr(svg, "11-20 02:00")); /* runs of one day have hours under them */
    assert_non_null(strstr(svg, "nightly on cuda (NVIDIA H200); 1 night, 2026-11-20. No step was found"));
    plot_set_release(&set);
    text_release(&notes);
    trend_release(&trend);
}

int main(void)
{
#define SCENE_TEST(test) cmocka_unit_test_setup_teardown(test, history_scene_open, history_scene_close)
    const struct CMUnitTest tests[] = {
        SCENE_TEST(steps_are_dated),
        SCENE_TEST(rises_count_behind_the_night_that_was_accepted),
        SCENE_TEST(cases_levels_and_nights_are_chosen),
        SCENE_TEST(disturbed_readings_do_not_count),
        SCENE_TEST(a_reading_takes_the_night_of_what_was_counted),
        SCENE_TEST(one_night_is_no_series),
        SCENE_TEST(the_page_says_when_and_what_else_changed),
        SCENE_TEST(names_from_outside_are_escaped),
        SCENE_TEST(json_has_every_step),
        SCENE_TEST(plots_show_the_steps),
        SCENE_TEST(plots_of_next_to_nothing_are_drawn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
