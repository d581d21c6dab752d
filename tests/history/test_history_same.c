/* One run is one night: records that changed behind somebody's back are refused, a merge that is completed is no second
 * night, and a run that was resumed began when it began. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "tests/history/history_fixture.h"

static enum import_manner manner;

static enum status_code figures_try(const struct run_figures *figures, void *context, struct status *error)
{
    enum import_outcome outcome = IMPORT_PRESENT;
    enum status_code code = history_import(context, figures, manner, &outcome, error);
    assert_true(code != STATUS_OK || outcome == IMPORT_RENEWED);
    return code;
}

/* What a file of records is refused with; the history stays as it was, and takes them if somebody says so. */
static void expect_refused(struct history_scene *scene, const char *path, const char *words)
{
    struct history *history = history_opened(scene);
    struct text before = history_exported(scene->database);
    manner = IMPORT_GUARDED;
    assert_int_equal(run_figures_each(path, figures_try, history, &scene->error), STATUS_INVALID);
    if (strstr(scene->error.text, words) == NULL) {
        fail_msg("'%s' is not in: %s", words, scene->error.text);
    }
    struct text after = history_exported(scene->database);
    assert_string_equal(text_string(&before), text_string(&after));
    text_release(&after);
    manner = IMPORT_REPLACES;
    assert_int_equal(run_figures_each(path, figures_try, history, &scene->error), STATUS_OK);
    after = history_exported(scene->database);
    assert_string_not_equal(text_string(&before), text_string(&after));
    text_release(&before);
    text_release(&after);
    history_close(history);
}

static const char *other_path(struct history_scene *scene, const char *name)
{
    static char path[SCENE_PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s.jsonl", scene->folder, name);
    return path;
}

static void records_that_changed_are_refused(void **state)
{
    struct history_scene *scene = *state;
    night_append(scene->records, &(struct night_facts){.run_id = "aaaa1111"});
    scene_import(scene, scene->records);
    const char *path = other_path(scene, "more");
    night_append(path, &(struct night_facts){.run_id = "aaaa1111", .allocated_more = 1 << 20});
    expect_refused(
        scene, path,
        "has run aaaa1111, and these records say something else of it: gpt2/infer/float32/b1/s512: allocated "
        "peak 104858112 bytes, and 105906688 in them. Nothing of it was changed; if the records are right, "
        "import them with --replace");
}

/* With a case more, which alone would be a run that went on. */
static void a_run_that_went_on_and_changed_is_refused(void **state)
{
    struct history_scene *scene = *state;
    night_append(scene->records, &(struct night_facts){.run_id = "aaaa1111", .selected = 4, .killed = true});
    scene_import(scene, scene->records);
    const char *path = other_path(scene, "more");
    night_append(path, &(struct night_facts){.run_id = "aaaa1111", .cases = 4, .process_more = -4096});
    expect_refused(scene, path, "b1/s512: process peak 419430400 bytes, and 419426304 in them; so have 2 more");
}

static void a_case_that_is_gone_is_a_change(void **state)
{
    struct history_scene *scene = *state;
    night_append(scene->records, &(struct night_facts){.run_id = "aaaa1111", .cases = 3});
    scene_import(scene, scene->records);
    const char *path = other_path(scene, "other");
    night_append(path, &(struct night_facts){.run_id = "aaaa1111", .first = 1, .cases = 3, .selected = 4});
    expect_refused(scene, path, "gpt2/infer/float32/b1/s512 was ok, and is not in them");
}

static struct history_runs listed(struct history *history, struct arena *arena, struct history_filter filter)
{
    struct history_runs runs;
    assert_int_equal(history_runs_list(history, &filter, arena, &runs, NULL), STATUS_OK);
    return runs;
}

static void expect_runs(struct history_scene *scene, const char *const *run_ids, int count)
{
    struct history *history = history_opened(scene);
    struct arena arena = {0};
    const struct history_runs runs = listed(history, &arena, (struct history_filter){0});
    assert_int_equal(runs.count, count);
    for (int at = 0; at < count; at++) {
        assert_string_equal(runs.runs[at].run_id, run_ids[at]);
    }
    arena_release(&arena);
    history_close(history);
}

/* A merge of two of three shards, completed in the morning; then the first one again, and a shard by itself. */
static void a_merge_that_is_completed_later_is_one_night(void **state)
{
    struct history_scene *scene = *state;
    const struct night_facts shard = {.run_id = "part0001", .cases = 1, .selected = 1};
    const struct night_facts first = {.run_id = "merge001", .cases = 2, .selected = 3, .merged = "part0001,part0002"};
    const struct night_facts whole = {.run_id = "merge002", .merged = "part0001,part0002,part0003"};
    char paths[3][SCENE_PATH_BYTES];
    for (int at = 0; at < 3; at++) {
        snprintf(paths[at], sizeof paths[at], "%s/%d.jsonl", scene->folder, at);
        night_append(paths[at], at == 0 ? &shard : at == 1 ? &first : &whole);
    }
    assert_int_equal(scene_import(scene, paths[0]), IMPORT_ADDED);
    assert_int_equal(scene_import(scene, paths[1]), IMPORT_RENEWED);
    expect_runs(scene, (const char *const[]){"merge001"}, 1);
    assert_int_equal(scene_import(scene, paths[2]), IMPORT_RENEWED);
    expect_runs(scene, (const char *const[]){"merge002"}, 1);
    struct text grown = history_exported(scene->database);
    assert_int_equal(scene_import(scene, paths[2]), IMPORT_PRESENT);
    assert_int_equal(scene_import(scene, paths[1]), IMPORT_KEPT);
    assert_int_equal(scene_import(scene, paths[0]), IMPORT_KEPT);
    expect_runs(scene, (const char *const[]){"merge002"}, 1);
    /* whatever comes first, the history is the same */
    snprintf(scene->database, sizeof scene->database, "%s/anew.db", scene->folder);
    for (int at = 2; at >= 0; at--) {
        scene_import(scene, paths[at]);
    }
    struct text anew = history_exported(scene->database);
    assert_string_equal(text_string(&grown), text_string(&anew));
    text_release(&grown);
    text_release(&anew);
    /* another night of the same suite shares no shard with it */
    night_append(scene->records, &(struct night_facts){.run_id = "merge003",
                                                       .started = "2026-11-21T02:00:00Z",
                                                       .merged = "part0011,part0012,part0013"});
    assert_int_equal(scene_import(scene, scene->records), IMPORT_ADDED);
    expect_runs(scene, (const char *const[]){"merge003", "merge002"}, 2);
}

/* The run of the evening went on in the morning, behind that of the night. */
static void a_resumed_run_began_when_it_began(void **state)
{
    struct history_scene *scene = *state;
    night_append(
        scene->records,
        &(struct night_facts){
            .run_id = "aaaa1111", .started = "2026-11-20T02:00:00Z", .cases = 1, .selected = 3, .killed = true});
    night_append(scene->records, &(struct night_facts){.run_id = "bbbb2222", .started = "2026-11-21T02:00:00Z"});
    night_append(scene->records, &(struct night_facts){.run_id = "aaaa1111",
                                                       .started = "2026-11-22T09:00:00Z",
                                                       .first = 1,
                                                       .cases = 2,
                                                       .selected = 3,
                                                       .resumption = 1});
    scene_import(scene, scene->records);
    expect_runs(scene, (const char *const[]){"bbbb2222", "aaaa1111"}, 2);
    struct run_figures figures;
    assert_int_equal(run_figures_read(scene->records, &figures, &scene->error), STATUS_OK);
    assert_string_equal(figures.run_id, "aaaa1111");
    assert_string_equal(figures.started, "2026-11-20T02:00:00Z");
    assert_true(figures.ended);
    run_figures_release(&figures);
}

static void runs_of_one_second_have_an_order(void **state)
{
    struct history_scene *scene = *state;
    struct arena arena = {0};
    night_append(scene->records, &(struct night_facts){.run_id = "bbbb2222"});
    night_append(scene->records, &(struct night_facts){.run_id = "aaaa1111"});
    night_append(scene->records, &(struct night_facts){.run_id = "cccc3333", .started = "2026-11-20T02:00:01Z"});
    scene_import(scene, scene->records);
    expect_runs(scene, (const char *const[]){"cccc3333", "bbbb2222", "aaaa1111"}, 3);
    struct history *history = history_opened(scene);
    const struct history_filter before = {.until = "2026-11-20T02:00:00Z", .except = "bbbb2222"};
    const struct history_runs runs = listed(history, &arena, before);
    assert_int_equal(runs.count, 1);
    assert_string_equal(runs.runs[0].run_id, "aaaa1111");
    arena_release(&arena);
    history_close(history);
}

int main(void)
{
#define SCENE_TEST(test) cmocka_unit_test_setup_teardown(test, history_scene_open, history_scene_close)
    const struct CMUnitTest tests[] = {
        SCENE_TEST(records_that_changed_are_refused),  SCENE_TEST(a_run_that_went_on_and_changed_is_refused),
        SCENE_TEST(a_case_that_is_gone_is_a_change),   SCENE_TEST(a_merge_that_is_completed_later_is_one_night),
        SCENE_TEST(a_resumed_run_began_when_it_began), SCENE_TEST(runs_of_one_second_have_an_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
