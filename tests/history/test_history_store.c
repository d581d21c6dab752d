/* What a history keeps: the figures of a run come back as they were read, each run once, in whatever order they
 * came. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/history/history_fixture.h"
#include "tests/support/whole_file.h"

static int64_t file_bytes(const char *path)
{
    struct stat facts;
    assert_int_equal(stat(path, &facts), 0);
    return (int64_t)facts.st_size;
}

static void expect_text(const char *found, const char *wanted)
{
    if (wanted == NULL) {
        assert_null(found);
    } else {
        assert_non_null(found);
        assert_string_equal(found, wanted);
    }
}

static void expect_case(const struct case_figures *found, const struct case_figures *wanted)
{
    expect_text(found->id, wanted->id);
    expect_text(found->label, wanted->label);
    expect_text(found->status, wanted->status);
    expect_text(found->reason, wanted->reason);
    expect_text(found->machine, wanted->machine);
    expect_text(found->tags, wanted->tags);
    expect_text(found->disturbance, wanted->disturbance);
    assert_int_equal(found->standing, wanted->standing);
    assert_int_equal(found->invalid, wanted->invalid);
    assert_int_equal(found->made_count, wanted->made_count);
    assert_int_equal(found->wanted_count, wanted->wanted_count);
    for (int level = 0; level < LEVEL_COUNT; level++) {
        assert_int_equal(found->measured.of[level], wanted->measured.of[level]);
        assert_int_equal(found->predicted.of[level], wanted->predicted.of[level]);
        assert_int_equal(found->spread.of[level], wanted->spread.of[level]);
    }
}

/* All of it but where it comes from. */
static void expect_figures(const struct run_figures *found, const struct run_figures *wanted)
{
    expect_text(found->run_id, wanted->run_id);
    expect_text(found->started, wanted->started);
    expect_text(found->suite_path, wanted->suite_path);
    expect_text(found->absent_cause, wanted->absent_cause);
    expect_text(found->notes, wanted->notes);
    assert_int_equal(found->unnamed_absent_count, wanted->unnamed_absent_count);
    assert_int_equal(found->damaged_line_count, wanted->damaged_line_count);
    assert_int_equal(found->ended, wanted->ended);
    for (int property = 0; property < ENVIRONMENT_COUNT; property++) {
        expect_text(found->environment[property], wanted->environment[property]);
    }
    assert_int_equal(found->case_count, wanted->case_count);
    for (int at = 0; at < wanted->case_count; at++) {
        expect_case(&found->cases[at], &wanted->cases[at]);
    }
    assert_int_equal(found->absent_count, wanted->absent_count);
    for (int at = 0; at < wanted->absent_count; at++) {
        expect_text(found->absent[at].id, wanted->absent[at].id);
        assert_int_equal(found->absent[at].wanted_count, wanted->absent[at].wanted_count);
    }
}

static struct run_figures figures_of(struct history *history, const char *beginning)
{
    struct arena arena = {0};
    struct history_run run;
    struct run_figures figures;
    assert_int_equal(history_run_find(history, beginning, &arena, &run, NULL), STATUS_OK);
    assert_int_equal(history_figures(history, &run, &figures, NULL), STATUS_OK);
    arena_release(&arena);
    return figures;
}

static enum status_code round_trip(const struct run_figures *wanted, void *context, struct status *error)
{
    struct history *history = context;
    enum import_outcome outcome;
    assert_int_equal(history_import(history, wanted, IMPORT_GUARDED, &outcome, error), STATUS_OK);
    struct run_figures found = figures_of(history, wanted->run_id);
    expect_figures(&found, wanted);
    run_figures_release(&found);
    return STATUS_OK;
}

static void a_run_comes_back_as_it_was_read(void **state)
{
    struct history_scene *scene = *state;
    night_append(scene->records, &(struct night_facts){.run_id = "aaaa1111",
                                                       .revision = "a35b9e5",
                                                       .reason = "another process held 1 GiB",
                                                       .selected = 5,
                                                       .killed = true});
    night_append(scene->records, &(struct night_facts){.run_id = "bbbb2222", .device = "a 'quoted' \\\"GPU\\\""});
    struct history *history = history_opened(scene);
    assert_int_equal(run_figures_each(scene->records, round_trip, history, &scene->error), STATUS_OK);
    /* real ones: a host and a GPU */
    assert_int_equal(run_figures_each("results/reference/host-intel-r-xeon-r-processor/records.jsonl", round_trip,
                                      history, &scene->error),
                     STATUS_OK);
    assert_int_equal(
        run_figures_each("results/reference/nvidia-h100-80gb-hbm3/records.jsonl", round_trip, history, &scene->error),
        STATUS_OK);
    history_close(history);
}

static void a_second_import_changes_no_byte(void **state)
{
    struct history_scene *scene = *state;
    night_append(scene->records, &(struct night_facts){.run_id = "aaaa1111"});
    assert_int_equal(scene_import(scene, scene->records), IMPORT_ADDED);
    const int64_t bytes = file_bytes(scene->database);
    char *before = whole_file_read(scene->database);
    assert_int_equal(scene_import(scene, scene->records), IMPORT_PRESENT);
    char *after = whole_file_read(scene->database);
    assert_int_equal(file_bytes(scene->database), bytes);
    assert_memory_equal(before, after, (size_t)bytes);
    free(before);
    free(after);
}

static void a_run_that_grew_is_renewed_and_a_shorter_copy_is_not_taken(void **state)
{
    struct history_scene *scene = *state;
    char whole[SCENE_PATH_BYTES];
    snprintf(whole, sizeof whole, "%s/whole.jsonl", scene->folder);
    night_append(scene->records,
                 &(struct night_facts){.run_id = "aaaa1111", .cases = 1, .selected = 3, .killed = true});
    night_append(whole, &(struct night_facts){.run_id = "aaaa1111"});
    assert_int_equal(scene_import(scene, scene->records), IMPORT_ADDED);
    assert_int_equal(scene_import(scene, whole), IMPORT_RENEWED);
    struct text grown = history_exported(scene->database);
    assert_int_equal(scene_import(scene, scene->records), IMPORT_KEPT);
    struct text kept = history_exported(scene->database);
    assert_string_equal(text_string(&grown), text_string(&kept));
    assert_non_null(strstr(text_string(&kept), "gpt2/infer/float32/b3/s512"));
    text_release(&grown);
    text_release(&kept);
}

static int runs_count(const char *database)
{
    const struct history_filter all = {0};
    struct history *history = NULL;
    struct arena arena = {0};
    struct history_runs runs;
    assert_int_equal(history_open(database, HISTORY_READ, &history, NULL), STATUS_OK);
    assert_int_equal(history_runs_list(history, &all, &arena, &runs, NULL), STATUS_OK);
    arena_release(&arena);
    history_close(history);
    return runs.count;
}

/* A night that appends to one folder each time, a run that went on, and one that went on after another. */
static void each_run_of_a_file_is_one(void **state)
{
    struct history_scene *scene = *state;
    night_append(scene->records, &(struct night_facts){.run_id = "aaaa1111", .started = "2026-11-20T02:00:00Z"});
    night_append(scene->records,
                 &(struct night_facts){.run_id = "bbbb2222", .cases = 2, .selected = 4, .killed = true});
    night_append(scene->records,
                 &(struct night_facts){.run_id = "bbbb2222", .first = 2, .cases = 2, .selected = 4, .resumption = 1});
    night_append(scene->records,
                 &(struct night_facts){.run_id = "cccc3333", .cases = 1, .selected = 3, .killed = true});
    night_append(scene->records, &(struct night_facts){.run_id = "dddd4444"});
    night_append(scene->records,
                 &(struct night_facts){.run_id = "cccc3333", .first = 1, .cases = 2, .selected = 3, .resumption = 1});
    assert_int_equal(scene_import(scene, scene->records), IMPORT_RENEWED);
    assert_int_equal(runs_count(scene->database), 4);
    struct history *history = history_opened(scene);
    struct run_figures resumed = figures_of(history, "bbbb2222"), later = figures_of(history, "cccc3333");
    assert_int_equal(resumed.case_count, 4);
    assert_int_equal(resumed.absent_count, 0);
    assert_true(resumed.ended);
    assert_int_equal(later.case_count, 3);
    assert_true(later.ended);
    run_figures_release(&resumed);
    run_figures_release(&later);
    history_close(history);
}

static void a_history_made_anew_is_the_same(void **state)
{
    struct history_scene *scene = *state;
    char anew[SCENE_PATH_BYTES], path[8][SCENE_PATH_BYTES];
    struct history *history = NULL;
    for (int night = 0; night < 8; night++) {
        char run_id[16], started[32];
        snprintf(run_id, sizeof run_id, "run-%d", night);
        snprintf(started, sizeof started, "2026-11-%02dT02:00:00Z", 10 + night);
        snprintf(path[night], sizeof path[night], "%s/%d.jsonl", scene->folder, night);
        night_append(path[night], &(struct night_facts){.run_id = run_id,
                                                        .started = started,
                                                        .process_more = night * 4096,
                                                        .killed = night == 3,
                                                        .selected = night == 3 ? 4 : 3});
        scene_import(scene, path[night]);
    }
    snprintf(anew, sizeof anew, "%s/anew.db", scene->folder);
    assert_int_equal(history_open(anew, HISTORY_WRITE, &history, &scene->error), STATUS_OK);
    for (int night = 7; night >= 0; night--) {
        records_imported(history, path[night]);
    }
    history_close(history);
    struct text grown = history_exported(scene->database), made = history_exported(anew);
    assert_true(grown.length > 1000);
    assert_string_equal(text_string(&grown), text_string(&made));
    text_release(&grown);
    text_release(&made);
}

static struct history_runs listed(struct history *history, struct arena *arena, struct history_filter filter)
{
    struct history_runs runs;
    assert_int_equal(history_runs_list(history, &filter, arena, &runs, NULL), STATUS_OK);
    return runs;
}

static void runs_are_chosen_and_counted(void **state)
{
    struct history_scene *scene = *state;
    struct arena arena = {0};
    struct history_run run;
    night_append(scene->records, &(struct night_facts){.run_id = "aaaa1111", .started = "2026-11-18T02:00:00Z"});
    night_append(scene->records, &(struct night_facts){.run_id = "aaaa2222",
                                                       .started = "2026-11-19T02:00:00Z",
                                                       .device = "NVIDIA L4",
                                                       .selected = 5,
                                                       .killed = true});
    night_append(scene->records,
                 &(struct night_facts){.run_id = "bbbb3333", .started = "2026-11-20T02:00:00Z", .suite = "quick"});
    scene_import(scene, scene->records);
    struct history *history = history_opened(scene);
    struct history_runs all = listed(history, &arena, (struct history_filter){0});
    assert_int_equal(all.count, 3);
    assert_string_equal(all.runs[0].run_id, "bbbb3333");
    assert_string_equal(all.runs[2].run_id, "aaaa1111");
    assert_int_equal(all.runs[1].ok_count, 3);
    assert_int_equal(all.runs[1].absent_count, 2);
    assert_false(all.runs[1].ended);
    assert_true(all.runs[0].ended);
    assert_string_equal(all.runs[1].environment[ENVIRONMENT_DEVICE], "cuda (NVIDIA L4)");
    assert_int_equal(listed(history, &arena, (struct history_filter){.suite = "night*"}).count, 2);
    assert_int_equal(listed(history, &arena, (struct history_filter){.device = "*L4*"}).count, 1);
    assert_int_equal(listed(history, &arena, (struct history_filter){.plan_hash = "8d5a0f3b2c4e6172"}).count, 3);
    assert_int_equal(listed(history, &arena, (struct history_filter){.plan_hash = "8d5a0f3b2c4e617"}).count, 0);
    assert_int_equal(listed(history, &arena, (struct history_filter){.before = "2026-11-19"}).count, 1);
    assert_int_equal(listed(history, &arena, (struct history_filter){.since = "2026-11-19"}).count, 2);
    assert_int_equal(listed(history, &arena, (struct history_filter){.except = "bbbb3333", .most = 1}).count, 1);
    assert_int_equal(history_run_find(history, "bbbb", &arena, &run, NULL), STATUS_OK);
    assert_int_equal(history_run_find(history, "aaaa", &arena, &run, &scene->error), STATUS_INVALID);
    assert_non_null(strstr(scene->error.text, "'aaaa' begins 2 runs of the history (aaaa2222 of"));
    assert_int_equal(history_run_find(history, "eeee", &arena, &run, &scene->error), STATUS_INVALID);
    assert_non_null(strstr(scene->error.text, "has no run whose run_id begins with 'eeee'"));
    assert_int_equal(history_run_find(history, "bb", &arena, &run, &scene->error), STATUS_INVALID);
    assert_int_equal(history_run_find(history, "%%%%", &arena, &run, &scene->error), STATUS_INVALID);
    history_close(history);
    arena_release(&arena);
}

static void what_is_removed_is_gone_and_nothing_else(void **state)
{
    struct history_scene *scene = *state;
    struct arena arena = {0};
    night_append(scene->records, &(struct night_facts){.run_id = "aaaa1111"});
    scene_import(scene, scene->records);
    struct text before = history_exported(scene->database);
    const int64_t small = file_bytes(scene->database);
    night_append(scene->records, &(struct night_facts){.run_id = "bbbb2222",
                                                       .started = "2026-11-21T02:00:00Z",
                                                       .device = "of another kind",
                                                       .cases = 800,
                                                       .process_by_case = 4096});
    scene_import(scene, scene->records);
    assert_true(file_bytes(scene->database) > small + 50000);
    struct history *history = history_opened(scene);
    struct history_runs gone = listed(history, &arena, (struct history_filter){.since = "2026-11-21"});
    assert_int_equal(gone.count, 1);
    assert_int_equal(history_remove(history, &gone, &scene->error), STATUS_OK);
    history_close(history);
    struct text after = history_exported(scene->database);
    assert_string_equal(text_string(&before), text_string(&after));
    assert_true(file_bytes(scene->database) <= small + 8192); /* its room is the disk's again */
    database_execute(scene->database, "CREATE TEMP TABLE one (n INTEGER CHECK (n = 0));"
                                      "INSERT INTO one SELECT count(*) FROM word WHERE word LIKE '%another kind%';");
    text_release(&before);
    text_release(&after);
    arena_release(&arena);
}

static void a_run_without_a_case_is_refused(void **state)
{
    struct history_scene *scene = *state;
    struct history *history = history_opened(scene);
    struct run_figures figures = {.source = "here", .run_id = "aaaa1111", .started = "2026-11-20T02:00:00Z"};
    enum import_outcome outcome;
    assert_int_equal(history_import(history, &figures, IMPORT_GUARDED, &outcome, &scene->error), STATUS_INVALID);
    assert_string_equal(scene->error.text, "here: a run attempted no case, so no history can keep it");
    history_close(history);
    assert_int_equal(runs_count(scene->database), 0);
}

int main(void)
{
#define SCENE_TEST(test) cmocka_unit_test_setup_teardown(test, history_scene_open, history_scene_close)
    const struct CMUnitTest tests[] = {
        SCENE_TEST(a_run_comes_back_as_it_was_read),
        SCENE_TEST(a_second_import_changes_no_byte),
        SCENE_TEST(a_run_that_grew_is_renewed_and_a_shorter_copy_is_not_taken),
        SCENE_TEST(each_run_of_a_file_is_one),
        SCENE_TEST(a_history_made_anew_is_the_same),
        SCENE_TEST(runs_are_chosen_and_counted),
        SCENE_TEST(what_is_removed_is_gone_and_nothing_else),
        SCENE_TEST(a_run_without_a_case_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
