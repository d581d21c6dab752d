/* Versions of a history: from each earlier one to the newest, in one step after the other, and none backwards. The
 * steps are the test's own, and then those of the program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/history/history_inside.h"
#include "tests/history/history_fixture.h"

static const struct history_step steps[] = {
    {1, "CREATE TABLE night (number INTEGER PRIMARY KEY, bytes INTEGER NOT NULL) STRICT;"
        "INSERT INTO night (bytes) VALUES (100), (200);"},
    {2, "ALTER TABLE night ADD COLUMN kibibytes INTEGER; UPDATE night SET kibibytes = bytes / 10;"},
    {3, "CREATE TABLE mark (night INTEGER NOT NULL REFERENCES night) STRICT;"
        "INSERT INTO mark SELECT number FROM night WHERE bytes > 150;"},
};

static void file_open(struct history_scene *scene, struct history *history)
{
    *history = (struct history){.path = scene->database};
    assert_int_equal(sqlite3_open(scene->database, &history->database), SQLITE_OK);
}

static int64_t number_of(struct history *history, const char *sql)
{
    struct query query = query_make(history, sql);
    const int64_t number = query_row(&query) ? query_integer(&query, 0, INT64_MIN, INT64_MAX) : -1;
    assert_int_equal(query_finish(&query, NULL), STATUS_OK);
    return number;
}

static void every_earlier_version_becomes_the_newest(void **state)
{
    struct history_scene *scene = *state;
    for (int from = 0; from <= 3; from++) {
        struct history history;
        remove(scene->database);
        file_open(scene, &history);
        if (from > 0) {
            assert_int_equal(schema_settle(&history, steps, from, &scene->error), STATUS_OK);
            assert_int_equal(number_of(&history, "PRAGMA user_version"), from);
        }
        assert_int_equal(schema_settle(&history, steps, 3, &scene->error), STATUS_OK);
        assert_int_equal(number_of(&history, "PRAGMA user_version"), 3);
        assert_int_equal(number_of(&history, "SELECT sum(kibibytes) FROM night"), 30);
        assert_int_equal(number_of(&history, "SELECT count(*) FROM mark"), 1);
        assert_int_equal(schema_settle(&history, steps, 3, &scene->error), STATUS_OK); /* once */
        assert_int_equal(number_of(&history, "SELECT count(*) FROM mark"), 1);
        assert_int_equal(schema_settle(&history, steps, 2, &scene->error), STATUS_INVALID);
        assert_non_null(strstr(scene->error.text, "is a history of version 3, and this assay knows versions up to 2"));
        assert_int_equal(number_of(&history, "PRAGMA user_version"), 3);
        sqlite3_close(history.database);
    }
}

static void a_step_that_fails_leaves_the_earlier_version(void **state)
{
    static const struct history_step broken[] = {
        {1, "CREATE TABLE night (number INTEGER PRIMARY KEY, bytes INTEGER NOT NULL) STRICT;"},
        {2, "CREATE TABLE mark (night INTEGER) STRICT; INSERT INTO nowhere VALUES (1);"},
    };
    struct history_scene *scene = *state;
    struct history history;
    file_open(scene, &history);
    assert_int_equal(schema_settle(&history, broken, 1, &scene->error), STATUS_OK);
    assert_int_equal(schema_settle(&history, broken, 2, &scene->error), STATUS_INVALID);
    assert_non_null(strstr(scene->error.text, "(it is of version 1 and must become one of version 2)"));
    assert_int_equal(number_of(&history, "PRAGMA user_version"), 1);
    assert_int_equal(number_of(&history, "SELECT count(*) FROM sqlite_schema WHERE name = 'mark'"), 0);
    sqlite3_close(history.database);
}

/* What was released is never changed: whoever has a file of version 1 has these tables. */
static void version_1_is_as_it_was(void **state)
{
    struct history_scene *scene = *state;
    struct history *history = history_opened(scene);
    assert_int_equal(number_of(history, "PRAGMA user_version"), HISTORY_VERSION);
    assert_int_equal(number_of(history, "PRAGMA application_id"), 0x61737379);
    assert_int_equal(number_of(history, "SELECT count(*) FROM pragma_table_info('figure')"), 19);
    assert_int_equal(number_of(history, "SELECT count(*) FROM pragma_table_info('run')"), 12);
    assert_int_equal(number_of(history, "SELECT count(*) FROM sqlite_schema WHERE type = 'table'"), 9);
    history_close(history);
}

/* A file of version 1 keeps every figure, and knows the parts of what is merged from then on. */
static void a_file_of_version_1_goes_on(void **state)
{
    struct history_scene *scene = *state;
    night_append(scene->records, &(struct night_facts){.run_id = "aaaa1111", .started = "2026-11-19T02:00:00Z"});
    scene_import(scene, scene->records);
    struct text before = history_exported(scene->database);
    database_execute(scene->database, "DROP TABLE part; DROP TABLE acceptance; ALTER TABLE figure DROP COLUMN judged; "
                                      "PRAGMA user_version = 1;");
    night_append(scene->records, &(struct night_facts){.run_id = "bbbb2222", .merged = "cccc3333"});
    assert_int_equal(scene_import(scene, scene->records), IMPORT_ADDED);
    struct history *history = history_opened(scene);
    assert_int_equal(number_of(history, "PRAGMA user_version"), HISTORY_VERSION);
    assert_int_equal(number_of(history, "SELECT count(*) FROM part"), 1);
    history_close(history);
    struct text after = history_exported(scene->database);
    assert_memory_equal(text_string(&before), text_string(&after), before.length);
    text_release(&before);
    text_release(&after);
}

int main(void)
{
#define SCENE_TEST(test) cmocka_unit_test_setup_teardown(test, history_scene_open, history_scene_close)
    const struct CMUnitTest tests[] = {
        SCENE_TEST(every_earlier_version_becomes_the_newest),
        SCENE_TEST(a_step_that_fails_leaves_the_earlier_version),
        SCENE_TEST(version_1_is_as_it_was),
        SCENE_TEST(a_file_of_version_1_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
