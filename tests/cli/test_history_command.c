/* assay history, as somebody types it: what each action prints, and what is said when it cannot. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/history/history_fixture.h"
#include "tests/support/command_run.h"

static struct command_result history_run(struct history_scene *scene, const char *const *words)
{
    const char *all[24] = {program_path(), "history"};
    char setting[SCENE_PATH_BYTES + 16];
    int count = 2;
    snprintf(setting, sizeof setting, "ASSAY_HISTORY=%s", scene->database);
    for (; words[count - 2] != NULL; count++) {
        all[count] = words[count - 2];
    }
    return command_run(all, (const char *const[]){setting, "COLUMNS=80", NULL});
}

/* It ends with 0; these words, one after the other, are what it prints, among others. */
static void expect_said(struct history_scene *scene, const char *const *words, const char *const *parts)
{
    struct command_result result = history_run(scene, words);
    const char *rest = text_string(&result.output);
    if (result.exit_code != 0) {
        fail_msg("%s: %s", words[0], text_string(&result.error));
    }
    for (; *parts != NULL; parts++) {
        const char *found = strstr(rest, *parts);
        if (found == NULL) {
            fail_msg("'%s' is not in its place in\n%s", *parts, text_string(&result.output));
        }
        rest = found + strlen(*parts);
    }
    command_result_release(&result);
}

static void expect_refused(struct history_scene *scene, const char *const *words, const char *why)
{
    struct command_result result = history_run(scene, words);
    if (result.exit_code != 2 || strstr(text_string(&result.error), why) == NULL) {
        fail_msg("%s: %d, '%s' does not say '%s'", words[0] != NULL ? words[0] : "", result.exit_code,
                 text_string(&result.error), why);
    }
    command_result_release(&result);
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void nights_append(struct history_scene *scene, int count)
{
    for (int night = 0; night < count; night++) {
        char run_id[16], started[32];
        snprintf(run_id, sizeof run_id, "run-%02d", night);
        snprintf(started, sizeof started, "2026-11-%02dT02:00:00Z", 1 + night);
        night_append(scene->records, &(struct night_facts){.run_id = run_id,
                                                           .started = started,
                                                           .revision = night < 3 ? "abc0001" : "abc0002",
                                                           .allocated_more = night < 3 ? 0 : 1024});
    }
}

static void a_history_from_its_first_night_to_its_end(void **state)
{
    struct history_scene *scene = *state;
    nights_append(scene, 5);
    expect_said(scene, WORDS("import", scene->records),
                WORDS("added    2026-11-01T02:00  run-00  3 cases  nightly on cuda (NVIDIA H200)\n",
                      "5 added, 0 renewed, 0 there already: "));
    expect_said(scene, WORDS("import", scene->records, scene->folder),
                WORDS("there    2026-11-01T02:00", "0 added, 0 renewed, 10 there already: "));
    expect_said(scene, WORDS("show"),
                WORDS(": 5 runs\n", "started           run", "2026-11-05 02:00  run-04", "nightly", "abc0002",
                      "3 ok on cuda", "2026-11-01 02:00  run-00"));
    expect_said(scene, WORDS("show", "--nights", "1", "--format", "json"),
                WORDS("\"run_id\": \"run-04\"", "\"device\": \"cuda (NVIDIA H200)\"", "\"ok\": 3"));
    expect_said(scene, WORDS("show", "latest"),
                WORDS("run run-04\n", "started             2026-11-05T02:00:00Z\n", "driver              570.124.06\n",
                      "ok        100.00 MiB", "400.00 MiB\n", "case: gpt2 infer float32 b1 s512\n"));
}

/* A name that nothing has is no empty history. */
static void what_matches_nothing_is_told(void **state)
{
    struct history_scene *scene = *state;
    char nights[SCENE_PATH_BYTES];
    nights_append(scene, 2);
    expect_said(scene, WORDS("import", scene->records), WORDS("2 added"));
    const char *const *const lines[] = {WORDS("show", "--device", "*L4*"), WORDS("export", "--case", "zz*"),
                                        WORDS("export", "--since", "2027-01-01", "--format", "csv")};
    for (int at = 0; at < 3; at++) {
        struct command_result result = history_run(scene, lines[at]);
        assert_int_equal(result.exit_code, 0);
        command_says(&result.error, "history.db is of what the options choose; `assay history show` without them");
        command_result_release(&result);
    }
    struct command_result result = history_run(scene, WORDS("show", "--device", "*H200*"));
    assert_string_equal(text_string(&result.error), "");
    command_result_release(&result);
    /* the folder of all nights is no folder of a run */
    snprintf(nights, sizeof nights, "%s/nights", scene->folder);
    assert_int_equal(mkdir(nights, 0755), 0);
    expect_refused(scene, WORDS("import", nights), "of a folder of nights name each of them: ");
    assert_int_equal(rmdir(nights), 0);
}

/* Records that somebody changed are refused, and taken if he says so. */
static void the_past_is_measured_once(void **state)
{
    struct history_scene *scene = *state;
    char other[SCENE_PATH_BYTES];
    snprintf(other, sizeof other, "%s/other.jsonl", scene->folder);
    night_append(scene->records, &(struct night_facts){.run_id = "run-00"});
    night_append(other, &(struct night_facts){.run_id = "run-00", .allocated_more = 512});
    expect_said(scene, WORDS("import", scene->records), WORDS("1 added"));
    expect_refused(scene, WORDS("import", other), "allocated peak 104858112 bytes, and 104858624 in them. Nothing of");
    expect_refused(scene, WORDS("show", "--replace"), "history show: takes no --replace");
    expect_said(scene, WORDS("import", "--replace", other), WORDS("renewed ", "0 added, 1 renewed"));
    expect_refused(scene, WORDS("import", scene->records), "import them with --replace");
}

/* Records come from anywhere: what a terminal would obey is no part of a line. */
static void names_are_told_without_what_a_terminal_obeys(void **state)
{
    struct history_scene *scene = *state;
    for (int night = 0; night < 2; night++) {
        night_append(scene->records,
                     &(struct night_facts){.run_id = night == 0 ? "run-00" : "run-01",
                                           .started = night == 0 ? "2026-11-01T02:00:00Z" : "2026-11-02T02:00:00Z",
                                           .suite = "a\\u001b[31mb\\nadded",
                                           .device = "GPU \\u001b]0;x\\u0007"});
    }
    const char *const *const lines[] = {WORDS("import", scene->records), WORDS("prune", "--keep", "1")};
    for (int at = 0; at < 2; at++) {
        struct command_result result = history_run(scene, lines[at]);
        assert_int_equal(result.exit_code, 0);
        command_says(&result.output, "2026-11-01T02:00  run-00  3 cases  a?[31mb added on cuda (GPU ?]0;x?)\n");
        assert_null(strchr(text_string(&result.output), '\x1b'));
        command_result_release(&result);
    }
}

static void what_it_cannot_do_it_says(void **state)
{
    struct history_scene *scene = *state;
    char broken[SCENE_PATH_BYTES];
    expect_refused(scene, WORDS("show"), "there is no history yet; `assay history import RECORDS` makes one");
    expect_refused(scene, WORDS("imprt", "x"),
                   "'imprt' is nothing that a history can do; write import, show, trend, "
                   "prune or export");
    expect_refused(scene, (const char *const[]){NULL}, "history: what to do is missing; write import, show");
    expect_refused(scene, WORDS("import"), "history import: takes RECORDS...");
    expect_refused(scene, WORDS("trend", "gpt2"), "history trend: takes no operand; --case GLOB chooses cases");
    expect_refused(scene, WORDS("import", scene->folder, "--keep", "3"), "history import: takes no --keep");
    expect_refused(scene, WORDS("import", "/absent"), "cannot be opened");
    assert_int_equal(access(scene->database, F_OK), -1); /* and no empty history is left */
    nights_append(scene, 2);
    snprintf(broken, sizeof broken, "%s/broken.jsonl", scene->folder);
    FILE *file = fopen(broken, "w");
    fputs("{\"type\":\"case\"}\n", file);
    fclose(file);
    expect_refused(scene, WORDS("import", scene->records, broken), "broken.jsonl:1:1: ");
    expect_said(scene, WORDS("show"), WORDS(": 2 runs\n")); /* what stood before the error is there */
    expect_refused(scene, WORDS("show", "zzzz"), "has no run whose run_id begins with 'zzzz'");
    expect_refused(scene, WORDS("show", "--since", "yesterday"),
                   "history: --since: 'yesterday' is no date; write it as 2026-11-20");
    expect_refused(scene, WORDS("trend", "--level", "virtual"), "'virtual' is not a level");
    expect_refused(scene, WORDS("trend", "--case", "bert*"), "has a measured case that is asked for");
    expect_refused(scene, WORDS("trend", "--format", "junit"), "junit");
    expect_refused(scene, WORDS("export", "--format", "xml"), "history export: --format: 'xml' is not known");
    expect_refused(scene, WORDS("prune"), "nothing says what goes; write --keep N, --before DATE or both");
    expect_refused(scene, WORDS("prune", "--keep", "0"), "--keep");
    database_execute(scene->database, "PRAGMA user_version = 9");
    expect_refused(scene, WORDS("import", scene->records), "is a history of version 9");
}

static void steps_are_shown_and_kept(void **state)
{
    struct history_scene *scene = *state;
    char page[SCENE_PATH_BYTES], plots[SCENE_PATH_BYTES], plot[SCENE_PATH_BYTES + 16];
    struct stat facts;
    nights_append(scene, 6);
    expect_said(scene, WORDS("import", scene->records), WORDS("6 added"));
    expect_said(scene, WORDS("trend"),
                WORDS("nightly on cuda (NVIDIA H200): 6 nights", "2026-11-04: 1 jump since 2026-11-03\n",
                      "program revision: abc0001 -> abc0002\n", "+1.00 KiB", "allocated"));
    expect_said(scene, WORDS("trend", "--level", "process,requested"), WORDS("no step in any case\n"));
    struct command_result red = history_run(scene, WORDS("trend", "--fail"));
    assert_int_equal(red.exit_code, 1);
    command_says(&red.output, "1 jump since");
    command_says(&red.error, "exit code 1: NO-GO: 1 figure rose; the most: allocated peak of gpt2 infer");
    command_result_release(&red);
    expect_said(scene, WORDS("trend", "--fail", "--level", "process,requested"), WORDS("no step in any case\n"));
    command_needed("gnuplot");
    snprintf(page, sizeof page, "%s/trend.html", scene->folder);
    snprintf(plots, sizeof plots, "%s/plots", scene->folder);
    snprintf(plot, sizeof plot, "%s/trend.svg", plots);
    expect_said(scene, WORDS("trend", "--format", "html", "--output", page, "--plots", plots), WORDS(""));
    assert_int_equal(stat(page, &facts), 0);
    assert_int_equal(stat(plot, &facts), 0);
}

static void old_nights_go_and_are_named(void **state)
{
    struct history_scene *scene = *state;
    nights_append(scene, 6);
    night_append(scene->records,
                 &(struct night_facts){.run_id = "of-l4", .started = "2026-11-01T02:00:00Z", .device = "NVIDIA L4"});
    expect_said(scene, WORDS("import", scene->records), WORDS("7 added"));
    expect_said(scene, WORDS("prune", "--keep", "4", "--dry-run"),
                WORDS("would go  2026-11-02T02:00  run-01  3 cases  nightly on cuda (NVIDIA H200)\n",
                      "would go  2026-11-01T02:00  run-00", "2 of 7 runs would go; "));
    expect_said(scene, WORDS("show"), WORDS(": 7 runs\n"));
    expect_said(scene, WORDS("prune", "--keep", "4", "--before", "2026-11-02"),
                WORDS("removed   2026-11-01T02:00  run-00", "1 of 7 runs removed; ", " before, ", " now\n"));
    expect_said(scene, WORDS("prune", "--device", "*L4*", "--before", "2026-12-01"),
                WORDS("removed   2026-11-01T02:00  of-l4", "1 of 1 run removed; "));
    expect_said(scene, WORDS("show"), WORDS(": 5 runs\n"));
    expect_said(scene, WORDS("prune", "--keep", "100"), WORDS("0 of 5 runs removed; "));
}

static void figures_are_exported(void **state)
{
    struct history_scene *scene = *state;
    nights_append(scene, 2);
    expect_said(scene, WORDS("import", scene->records), WORDS("2 added"));
    expect_said(
        scene, WORDS("export", "--case", "b2"),
        WORDS("{\"run_id\": \"run-00\", \"started\": \"2026-11-01T02:00:00Z\", \"device\": \"cuda (NVIDIA H200)\"",
              "\"id\": \"gpt2/infer/float32/b2/s512\"", "\"allocated_bytes_peak\": 115343872", "\"device_bytes\": null",
              "\"replay_allocated_bytes_peak\": 115343872", "}\n{\"run_id\": \"run-01\""));
    expect_said(scene, WORDS("export", "--format", "csv", "--since", "2026-11-02"),
                WORDS("run_id,started,device,driver,", "id,label,status,standing,invalid,requested_bytes_peak,",
                      "\r\nrun-01,2026-11-02T02:00:00Z,cuda (NVIDIA H200),570.124.06,"));
}

static void a_torn_line_is_told(void **state)
{
    struct history_scene *scene = *state;
    struct stat facts;
    night_append(scene->records, &(struct night_facts){.run_id = "aaaa1111", .killed = true});
    assert_int_equal(stat(scene->records, &facts), 0);
    assert_int_equal(truncate(scene->records, facts.st_size - 50), 0);
    struct command_result result = history_run(scene, WORDS("import", scene->records));
    assert_int_equal(result.exit_code, 0);
    command_says(&result.output, "added    2026-11-20T02:00  aaaa1111  2 cases");
    command_says(&result.error, "1 line that a killed run left unfinished was left out");
    command_result_release(&result);
    expect_said(scene, WORDS("show"), WORDS("2 ok, 1 missing, did not end on cuda"));
}

/* Without a name it is results/history.db of the current folder, which is made. */
static void the_usual_place_is_made(void **state)
{
    struct history_scene *scene = *state;
    char command[1200], *here = realpath(program_path(), NULL);
    assert_non_null(here);
    nights_append(scene, 1);
    snprintf(command, sizeof command, "cd %s && unset ASSAY_HISTORY && %s history import records.jsonl", scene->folder,
             here);
    struct command_result result = command_run((const char *const[]){"sh", "-c", command, NULL}, NULL);
    assert_int_equal(result.exit_code, 0);
    command_says(&result.output, "1 added, 0 renewed, 0 there already: results/history.db\n");
    command_result_release(&result);
    free(here);
}

int main(void)
{
#define SCENE_TEST(test) cmocka_unit_test_setup_teardown(test, history_scene_open, history_scene_close)
    const struct CMUnitTest tests[] = {
        SCENE_TEST(a_history_from_its_first_night_to_its_end),
        SCENE_TEST(what_matches_nothing_is_told),
        SCENE_TEST(the_past_is_measured_once),
        SCENE_TEST(names_are_told_without_what_a_terminal_obeys),
        SCENE_TEST(what_it_cannot_do_it_says),
        SCENE_TEST(steps_are_shown_and_kept),
        SCENE_TEST(old_nights_go_and_are_named),
        SCENE_TEST(figures_are_exported),
        SCENE_TEST(a_torn_line_is_told),
        SCENE_TEST(the_usual_place_is_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
