/* What may happen to a history: a full disk, a kill, two writers, files that are none, and files that want to do harm.
 * Nothing is lost, and it is said what is wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/history/history_inside.h"
#include "harness/history/trend.h"
#include "tests/history/history_fixture.h"
#include "tests/support/whole_file.h"

static void bytes_write(const char *path, const char *bytes, size_t count)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
}

static int64_t file_bytes(const char *path)
{
    struct stat facts;
    assert_int_equal(stat(path, &facts), 0);
    return (int64_t)facts.st_size;
}

/* Both ways of opening refuse it with these words, and leave every byte as it was. */
static void expect_refusal(struct history_scene *scene, const char *path, enum status_code code, const char *words)
{
    for (int access = HISTORY_READ; access <= HISTORY_WRITE; access++) {
        struct history *history = NULL;
        const bool is_file = access == HISTORY_READ || file_bytes(path) > 0;
        char *before = is_file ? whole_file_read(path) : NULL;
        const int64_t bytes = file_bytes(path);
        assert_int_equal(history_open(path, (enum history_access)access, &history, &scene->error), code);
        assert_null(history);
        if (strstr(scene->error.text, words) == NULL) {
            fail_msg("'%s' does not say '%s'", scene->error.text, words);
        }
        char *after = whole_file_read(path);
        assert_int_equal(file_bytes(path), bytes);
        assert_memory_equal(before, after, (size_t)bytes);
        free(before);
        free(after);
    }
}

static void files_that_are_none_are_refused_and_stay(void **state)
{
    struct history_scene *scene = *state;
    char other[SCENE_PATH_BYTES];
    snprintf(other, sizeof other, "%s/other", scene->folder);
    bytes_write(other, "model: gpt2\nthis is a suite, and no database at all\n", 50);
    expect_refusal(scene, other, STATUS_INVALID, "is no history: it is not a database of SQLite");
    unlink(other);
    database_execute(other, "CREATE TABLE bookmark (address TEXT)");
    expect_refusal(scene, other, STATUS_INVALID, "is a database of SQLite, and not a history of assay");
    database_execute(other, "PRAGMA user_version = 1");
    expect_refusal(scene, other, STATUS_INVALID, "is a database of SQLite, and not a history of assay");
    night_append(scene->records, &(struct night_facts){.run_id = "aaaa1111"});
    scene_import(scene, scene->records);
    database_execute(scene->database, "PRAGMA user_version = 7");
    expect_refusal(scene, scene->database, STATUS_INVALID,
                   "is a history of version 7, and this assay knows versions up to 3");
}

static void places_that_hold_none_are_refused(void **state)
{
    struct history_scene *scene = *state;
    struct history *history = NULL;
    char path[SCENE_PATH_BYTES];
    assert_int_equal(history_open(scene->database, HISTORY_READ, &history, &scene->error), STATUS_IO);
    assert_non_null(strstr(scene->error.text, "there is no history yet; `assay history import RECORDS` makes one"));
    assert_int_equal(access(scene->database, F_OK), -1);
    assert_int_equal(history_open(scene->folder, HISTORY_WRITE, &history, &scene->error), STATUS_IO);
    assert_non_null(strstr(scene->error.text, "is not a regular file"));
    snprintf(path, sizeof path, "%s/pipe", scene->folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(history_open(path, HISTORY_WRITE, &history, &scene->error), STATUS_IO);
    assert_non_null(strstr(scene->error.text, "is not a regular file"));
    snprintf(path, sizeof path, "%s/missing/history.db", scene->folder);
    assert_int_equal(history_open(path, HISTORY_WRITE, &history, &scene->error), STATUS_IO);
    assert_non_null(strstr(scene->error.text, "cannot be opened: No such file or directory"));
    /* a name that SQLite has a use of its own for is a file like any other */
    assert_int_equal(chdir(scene->folder), 0);
    assert_int_equal(history_open(":memory:", HISTORY_WRITE, &history, &scene->error), STATUS_OK);
    history_close(history);
    assert_int_equal(access(":memory:", F_OK), 0);
}

/* ---- in a process of its own ---- */

static int code_of_child(pid_t child)
{
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static enum status_code try_import(struct history_scene *scene)
{
    struct history *history = NULL;
    struct run_figures figures;
    enum import_outcome outcome;
    enum status_code code = history_open(scene->database, HISTORY_WRITE, &history, &scene->error);
    if (code == STATUS_OK) {
        code = run_figures_read(scene->records, &figures, &scene->error);
        if (code == STATUS_OK) {
            code = history_import(history, &figures, IMPORT_GUARDED, &outcome, &scene->error);
        }
        run_figures_release(&figures);
    }
    history_close(history);
    return code;
}

/* 0: it was refused with STATUS_IO and these words. */
static int refusal_code(struct history_scene *scene, const char *words)
{
    if (try_import(scene) != STATUS_IO) {
        return 1;
    }
    if (strstr(scene->error.text, words) == NULL) {
        fprintf(stderr, "'%s' does not say '%s'\n", scene->error.text, words);
        return 2;
    }
    return 0;
}

static void a_full_disk_leaves_what_was_there(void **state)
{
    struct history_scene *scene = *state;
    night_append(scene->records, &(struct night_facts){.run_id = "aaaa1111"});
    scene_import(scene, scene->records);
    struct text before = history_exported(scene->database);
    night_append(scene->records, &(struct night_facts){.run_id = "bbbb2222", .cases = 900});
    const int64_t room = file_bytes(scene->database) + 8192;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const struct rlimit small = {(rlim_t)room, (rlim_t)room};
        signal(SIGXFSZ, SIG_IGN);
        _exit(setrlimit(RLIMIT_FSIZE, &small) == 0 ? refusal_code(scene, "cannot be written: the disk") : 3);
    }
    assert_int_equal(code_of_child(child), 0);
    struct text after = history_exported(scene->database);
    assert_string_equal(text_string(&before), text_string(&after));
    assert_int_equal(scene_import(scene, scene->records), IMPORT_ADDED); /* with room it goes on */
    text_release(&before);
    text_release(&after);
}

/* As somebody who may not write, which root always may. */
static int as_nobody(struct history_scene *scene, const char *words)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (geteuid() == 0 && setuid(65534) != 0) {
            _exit(3);
        }
        _exit(refusal_code(scene, words));
    }
    return code_of_child(child);
}

static int read_as_nobody(struct history_scene *scene)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (geteuid() == 0 && setuid(65534) != 0) {
            _exit(3);
        }
        struct text text = history_exported(scene->database);
        _exit(strstr(text_string(&text), "aaaa1111") != NULL ? 0 : 1);
    }
    return code_of_child(child);
}

static void what_may_only_be_read_is_read_and_not_written(void **state)
{
    struct history_scene *scene = *state;
    assert_int_equal(chmod(scene->folder, 0777), 0);
    night_append(scene->records, &(struct night_facts){.run_id = "aaaa1111"});
    scene_import(scene, scene->records);
    night_append(scene->records, &(struct night_facts){.run_id = "bbbb2222"});
    assert_int_equal(chmod(scene->records, 0644), 0);
    assert_int_equal(chmod(scene->database, 0444), 0);
    assert_int_equal(as_nobody(scene, "cannot be written: you may only read it; it is as it was"), 0);
    assert_int_equal(read_as_nobody(scene), 0);
    assert_int_equal(chmod(scene->database, 0666), 0);
    assert_int_equal(chmod(scene->folder, 0555), 0);
    assert_int_equal(as_nobody(scene, "cannot be "), 0);
    assert_int_equal(read_as_nobody(scene), 0);
    assert_int_equal(chmod(scene->folder, 0755), 0);
    struct text text = history_exported(scene->database);
    assert_null(strstr(text_string(&text), "bbbb2222"));
    text_release(&text);
}

/* Each run is there as a whole or not at all, whenever the writer is killed. */
static void a_kill_leaves_whole_runs_alone(void **state)
{
    struct history_scene *scene = *state;
    char path[SCENE_PATH_BYTES];
    night_append(scene->records, &(struct night_facts){.run_id = "aaaa1111", .cases = 300});
    scene_import(scene, scene->records);
    snprintf(path, sizeof path, "%s/more.jsonl", scene->folder);
    for (int run = 0; run < 8; run++) {
        char run_id[16];
        snprintf(run_id, sizeof run_id, "run-%04d", run);
        night_append(path, &(struct night_facts){.run_id = run_id, .cases = 300});
    }
    for (int turn = 0; turn < 12; turn++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            for (;;) {
                scene_import(scene, path);
            }
        }
        usleep((useconds_t)(3000 + 4000 * turn));
        kill(child, SIGKILL);
        assert_int_equal(code_of_child(child), 128 + SIGKILL);
        const struct history_filter all = {0};
        struct history *history = history_opened(scene);
        struct arena arena = {0};
        struct history_runs runs;
        assert_int_equal(history_runs_list(history, &all, &arena, &runs, NULL), STATUS_OK);
        assert_true(runs.count >= 1);
        for (int at = 0; at < runs.count; at++) {
            assert_int_equal(runs.runs[at].case_count, 300);
        }
        if (runs.count > 1) { /* so that there is something to import again */
            runs.count--;
            assert_int_equal(history_remove(history, &runs, NULL), STATUS_OK);
        }
        arena_release(&arena);
        history_close(history);
    }
}

enum { WRITERS = 3, RUNS = 12 };

/* Each writer has runs of its own and one that all have. The file is not there when they begin. */
static void writers_at_the_same_time_lose_nothing(void **state)
{
    struct history_scene *scene = *state;
    pid_t children[WRITERS];
    for (int writer = 0; writer < WRITERS; writer++) {
        char path[SCENE_PATH_BYTES], run_id[32];
        snprintf(path, sizeof path, "%s/%d.jsonl", scene->folder, writer);
        for (int run = 0; run < RUNS; run++) {
            snprintf(run_id, sizeof run_id, "%d-of-%d", run, writer);
            night_append(path, &(struct night_facts){.run_id = run_id, .cases = 20});
        }
        night_append(path, &(struct night_facts){.run_id = "of-all", .cases = 20});
        children[writer] = fork();
        assert_true(children[writer] >= 0);
        if (children[writer] == 0) {
            scene_import(scene, path);
            _exit(0);
        }
    }
    for (int writer = 0; writer < WRITERS; writer++) {
        assert_int_equal(code_of_child(children[writer]), 0);
    }
    const struct history_filter all = {0};
    struct history *history = history_opened(scene);
    struct arena arena = {0};
    struct history_runs runs;
    assert_int_equal(history_runs_list(history, &all, &arena, &runs, NULL), STATUS_OK);
    assert_int_equal(runs.count, WRITERS * RUNS + 1);
    for (int at = 0; at < runs.count; at++) {
        assert_int_equal(runs.runs[at].case_count, 20);
    }
    arena_release(&arena);
    history_close(history);
}

/* One of them makes the file; the others may see it in no state but before and after. */
static void a_file_that_several_begin_is_a_history_to_all(void **state)
{
    enum { ROUNDS = 80, BEGINNERS = 4 };
    struct history_scene *scene = *state;
    for (int round = 0; round < ROUNDS; round++) {
        pid_t children[BEGINNERS];
        remove(scene->database);
        for (int at = 0; at < BEGINNERS; at++) {
            children[at] = fork();
            assert_true(children[at] >= 0);
            if (children[at] == 0) {
                struct history *history = NULL;
                enum status_code code = history_open(scene->database, HISTORY_WRITE, &history, NULL);
                history_close(history);
                _exit(code == STATUS_OK ? 0 : 1);
            }
        }
        for (int at = 0; at < BEGINNERS; at++) {
            assert_int_equal(code_of_child(children[at]), 0);
        }
    }
}

/* Reads, waits, and writes: what reads first must hold others off from its beginning, or two of it block each other. */
static enum status_code read_then_write(struct history *history, void *context, struct status *error)
{
    (void)context;
    struct query query = query_make(history, "SELECT count(*) FROM word");
    assert_true(query_row(&query));
    assert_int_equal(query_finish(&query, error), STATUS_OK);
    usleep(200000);
    return history_execute(history, "UPDATE word SET word = word || '!' WHERE number = 1", error);
}

static void a_writer_waits_at_its_beginning(void **state)
{
    struct history_scene *scene = *state;
    night_append(scene->records, &(struct night_facts){.run_id = "aaaa1111"});
    scene_import(scene, scene->records);
    pid_t children[WRITERS];
    for (int writer = 0; writer < WRITERS; writer++) {
        children[writer] = fork();
        assert_true(children[writer] >= 0);
        if (children[writer] == 0) {
            struct history *history = history_opened(scene);
            _exit(history_transact(history, read_then_write, NULL, &scene->error) == STATUS_OK ? 0 : 1);
        }
    }
    for (int writer = 0; writer < WRITERS; writer++) {
        assert_int_equal(code_of_child(children[writer]), 0);
    }
}

static void a_torn_last_line_costs_its_case_alone(void **state)
{
    struct history_scene *scene = *state;
    night_append(scene->records, &(struct night_facts){.run_id = "aaaa1111", .killed = true});
    assert_int_equal(truncate(scene->records, file_bytes(scene->records) - 100), 0);
    assert_int_equal(scene_import(scene, scene->records), IMPORT_ADDED);
    struct text text = history_exported(scene->database);
    assert_non_null(strstr(text_string(&text), "infer/float32/b2/s512"));
    assert_null(strstr(text_string(&text), "infer/float32/b3/s512"));
    text_release(&text);
}

/* ---- what wants to do harm ---- */

/* Reads all of it, in every way; whatever it says, it must not break. */
static enum status_code read_all(struct history_scene *scene)
{
    const struct history_filter all = {0};
    struct history *history = NULL;
    struct arena arena = {0};
    struct history_runs runs = {0};
    enum status_code code = history_open(scene->database, HISTORY_READ, &history, &scene->error);
    if (code == STATUS_OK) {
        code = history_runs_list(history, &all, &arena, &runs, &scene->error);
    }
    for (int at = 0; at < runs.count && code == STATUS_OK; at++) {
        struct run_figures figures;
        code = history_figures(history, &runs.runs[at], &figures, &scene->error);
        run_figures_release(&figures);
    }
    if (code == STATUS_OK) {
        struct trend trend;
        struct trend_request request = {.levels = {true, true, true, true, true}};
        code = trend_make(history, &request, &trend, &scene->error);
        trend_release(&trend);
    }
    arena_release(&arena);
    history_close(history);
    return code;
}

static void fields_that_cannot_be_are_damage(void **state)
{
    static const char *const harms[] = {
        "UPDATE figure SET measured_allocated = -5",
        "UPDATE circumstance SET standing = 'splendid'",
        "UPDATE circumstance SET invalid = 77",
        "UPDATE figure SET circumstance = 123456789",
        "DROP TABLE figure",
        "ALTER TABLE run RENAME COLUMN started TO begun",
        "DROP TABLE figure; CREATE TABLE figure (run, subject, circumstance, measured_requested, measured_allocated, "
        "measured_reserved, measured_device, measured_process, predicted_requested, predicted_allocated, "
        "predicted_reserved, predicted_device, predicted_process, spread_requested, spread_allocated, spread_reserved, "
        "spread_device, spread_process); INSERT INTO figure (run, subject, circumstance, measured_requested) "
        "SELECT run.number, subject.number, 1, 'much' FROM run, subject",
    };
    struct history_scene *scene = *state;
    night_append(scene->records, &(struct night_facts){.run_id = "aaaa1111"});
    for (size_t at = 0; at < sizeof harms / sizeof harms[0]; at++) {
        unlink(scene->database);
        scene_import(scene, scene->records);
        database_execute(scene->database, harms[at]);
        if (read_all(scene) != STATUS_INVALID || strstr(scene->error.text, "this history is damaged") == NULL) {
            fail_msg("%s: %s", harms[at], scene->error.text);
        }
    }
}

static void triggers_and_views_of_others_are_not_obeyed(void **state)
{
    struct history_scene *scene = *state;
    night_append(scene->records, &(struct night_facts){.run_id = "aaaa1111"});
    scene_import(scene, scene->records);
    database_execute(scene->database, "CREATE TRIGGER greedy AFTER INSERT ON run BEGIN DELETE FROM figure; END;");
    night_append(scene->records, &(struct night_facts){.run_id = "bbbb2222"});
    assert_int_equal(scene_import(scene, scene->records), IMPORT_ADDED);
    struct text text = history_exported(scene->database);
    assert_non_null(strstr(text_string(&text), "aaaa1111"));
    text_release(&text);
    database_execute(scene->database, "DROP TRIGGER greedy; ALTER TABLE absent RENAME TO kept;"
                                      "CREATE VIEW absent AS SELECT * FROM kept;");
    assert_int_equal(read_all(scene), STATUS_INVALID);
}

/* Bytes changed and files cut by chance: an error or an answer, never a crash. */
static void broken_bytes_break_nothing_else(void **state)
{
    struct history_scene *scene = *state;
    uint32_t random = 12345;
    int refused = 0;
    night_append(scene->records, &(struct night_facts){.run_id = "aaaa1111", .cases = 40, .reason = "a neighbour"});
    night_append(scene->records, &(struct night_facts){.run_id = "bbbb2222", .cases = 40});
    scene_import(scene, scene->records);
    const size_t bytes = (size_t)file_bytes(scene->database);
    char *whole = whole_file_read(scene->database), *broken = malloc(bytes);
    assert_non_null(broken);
    for (int turn = 0; turn < 400; turn++) {
        memcpy(broken, whole, bytes);
        for (int change = 0; change < 1 + turn % 20; change++) {
            random = random * 1664525u + 1013904223u;
            broken[(random >> 4) % bytes] = (char)(random >> 24);
        }
        random = random * 1664525u + 1013904223u;
        bytes_write(scene->database, broken, turn % 5 == 0 ? (random >> 4) % bytes + 1 : bytes);
        refused += read_all(scene) != STATUS_OK ? 1 : 0;
    }
    assert_true(refused > 50);
    free(whole);
    free(broken);
}

int main(void)
{
#define SCENE_TEST(test) cmocka_unit_test_setup_teardown(test, history_scene_open, history_scene_close)
    const struct CMUnitTest tests[] = {
        SCENE_TEST(files_that_are_none_are_refused_and_stay),
        SCENE_TEST(a_full_disk_leaves_what_was_there),
        SCENE_TEST(what_may_only_be_read_is_read_and_not_written),
        SCENE_TEST(a_kill_leaves_whole_runs_alone),
        SCENE_TEST(writers_at_the_same_time_lose_nothing),
        SCENE_TEST(a_file_that_several_begin_is_a_history_to_all),
        SCENE_TEST(a_writer_waits_at_its_beginning),
        SCENE_TEST(a_torn_last_line_costs_its_case_alone),
        SCENE_TEST(fields_that_cannot_be_are_damage),
        SCENE_TEST(triggers_and_views_of_others_are_not_obeyed),
        SCENE_TEST(broken_bytes_break_nothing_else),
        SCENE_TEST(places_that_hold_none_are_refused), /* the last: it changes the folder */
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
