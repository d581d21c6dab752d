/* External estimators of a suite, with the program itself and estimators that are scripts: what they say is in the
 * records and judged, and whatever they do, the cases are measured. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/run/command_scene.h"
#include "tests/support/command_run.h"
#include "tests/support/whole_file.h"

#define LOAD "  - {model: tiny-gpt2, mode: load}\n"

static const char LOAD_ID[] = "tiny-gpt2/load/float32";

/* Runs a suite of cases and external estimators on the meta device into the folder "out"; $S in text is the scene's
 * folder. The exit code. */
static int run_suite_text(struct command_scene *scene, const char *text)
{
    struct text expanded = {0};
    while (*text != '\0') {
        const char *mark = strstr(text, "$S");
        text_append_bytes(&expanded, text, mark != NULL ? (size_t)(mark - text) : strlen(text));
        text_append(&expanded, mark != NULL ? scene->folder : "");
        text = mark != NULL ? mark + 2 : "";
    }
    const char *suite = scene_suite(scene, "suite.yaml", text_string(&expanded));
    struct run_words words = run_words_of(suite, "meta", scene_path(scene, "out"), NULL, NULL);
    int exit_code = run_do(scene, &words);
    text_release(&expanded);
    return exit_code;
}

/* The estimate of the case that ran last. The caller releases *records. */
static const struct json *estimate_of(struct command_scene *scene, const char *id, const char *estimator,
                                      struct record_file *records)
{
    *records = records_of(scene_path(scene, "out"));
    return json_get(json_get(case_of(records, id), "estimates"), estimator);
}

/* Runs one case with an estimator whose program is a script of this body: its total_bytes, -1 for null; note: what its
 * note must hold, NULL: it must have none. */
static int64_t total_of_script(struct command_scene *scene, const char *body, const char *more, const char *note)
{
    struct record_file records;
    char suite[512];
    script_write(scene->folder, "fake", body);
    unlink(scene_path(scene, "out/external.jsonl"));
    snprintf(suite, sizeof suite,
             LOAD "external:\n  fake:\n    command: ['$S/fake', '{model}']\n    quantities: {total_bytes: /a/0}\n%s",
             more);
    assert_int_equal(run_suite_text(scene, suite), 0);
    const struct json *estimate = estimate_of(scene, LOAD_ID, "fake", &records);
    assert_int_equal(json_kind(estimate), JSON_KIND_OBJECT);
    const char *said = json_string_or(json_get(estimate, "note"), "");
    if (note == NULL ? *said != '\0' : strstr(said, note) == NULL) {
        fail_msg("the note is \"%s\"", said);
    }
    int64_t total = json_integer_or(json_get(estimate, "total_bytes"), -1);
    record_file_release(&records);
    return total;
}

static void figures_are_read_where_pointers_lead(void **state)
{
    struct command_scene *scene = *state;
    assert_int_equal(total_of_script(scene, "echo '{\"a\": [1234]}'", "", NULL), 1234);
    assert_int_equal(total_of_script(scene, "echo '{\"a\": [2.5]}'", "    unit: 1MiB\n", NULL), 2621440);
    assert_int_equal(total_of_script(scene, "echo 'careful' >&2; echo '{\"a\": [0]}'", "", NULL), 0);
    /* said to be unknown, so nothing is wrong */
    assert_int_equal(total_of_script(scene, "echo '{\"a\": [null]}'", "", NULL), -1);
}

static void whatever_goes_wrong_the_figure_is_unknown_and_says_why(void **state)
{
    static const struct {
        const char *body, *more, *note;
    } rows[] = {
        {"echo '{\"b\": 1}'", "", "total_bytes: '/a/0' leads nowhere in the output"},
        {"echo '{\"a\": [\"12\"]}'", "", "total_bytes: '/a/0' is no number of bytes"},
        {"echo '{\"a\": [-1]}'", "", "is no number of bytes"},
        {"echo '{\"a\": [1e300]}'", "", "is no number of bytes"},
        {"echo '{\"a\": [9223372036854775807]}'", "    unit: 1KiB\n", "is no number of bytes"},
        {"echo 'total: 12'", "", "its output is no JSON: fake:1:"},
        {"true", "", "its output is no JSON"},
        {"echo '{\"a\": [1]}'; echo 'no such model' >&2; exit 3", "",
         "/fake ended with exit code 3; it says: no such model"},
        {"kill -9 $$", "", "/fake was killed by signal 9"},
        {"sleep 600 & sleep 600", "    timeout_seconds: 1\n", "/fake did not end in 1 s, so it was ended"},
        {"while :; do echo '[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[['; done", "",
         "/fake printed more than 4194304 bytes"},
    };
    struct command_scene *scene = *state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(total_of_script(scene, rows[i].body, rows[i].more, rows[i].note), -1);
    }
    /* what it has started holds its output open: it is neither waited for nor left behind */
    assert_int_equal(total_of_script(scene, "sleep 600 & echo $! >\"${0%/*}/left\"; echo '{\"a\": [7]}'", "", NULL), 7);
    char command[128];
    snprintf(command, sizeof command, "grep -q '^State:.[^Z]' /proc/$(cat %s/left)/status", scene->folder);
    const char *const words[] = {"sh", "-c", command, NULL};
    struct command_result result = command_run(words, NULL);
    assert_int_not_equal(result.exit_code, 0);
    command_result_release(&result);
}

static void program_that_is_not_installed_is_unknown_and_no_failure(void **state)
{
    struct command_scene *scene = *state;
    struct record_file records;
    int code =
        run_suite_text(scene, LOAD "external:\n"
                                   "  absent: {command: [assay-no-such-program], quantities: {total_bytes: /a}}\n"
                                   "  old:\n"
                                   "    command: [echo, '1']\n"
                                   "    version: ['$S/no-version']\n"
                                   "    quantities: {total_bytes: ''}\n");
    assert_int_equal(code, 0);
    const struct json *estimate = estimate_of(scene, LOAD_ID, "absent", &records);
    assert_int_equal(json_kind(json_get(estimate, "total_bytes")), JSON_KIND_NULL);
    assert_string_equal(json_string_or(json_get(estimate, "note"), ""), "assay-no-such-program is not installed");
    record_file_release(&records);
    estimate = estimate_of(scene, LOAD_ID, "old", &records);
    assert_non_null(strstr(json_string_or(json_get(estimate, "note"), ""), "no-version is not installed"));
    record_file_release(&records);
    said_check(scene_path(scene, "out"), "error", "absent is unknown: assay-no-such-program is not installed");
}

/* Words of the command hold the case, and equal ones are asked once, also by the next run into the folder. */
static void questions_are_asked_once(void **state)
{
    static const char suite[] = "  - {model: [tiny-gpt2, tiny-bert], mode: [load, infer], batch: [1, 2], seq: 8}\n"
                                "external:\n"
                                "  fake:\n"
                                "    command: ['$S/fake', '{model}', '{precision}-{{x}}', '{config}']\n"
                                "    version: [echo, 'fake 1.2']\n"
                                "    modes: infer\n"
                                "    quantities: {total_bytes: /total, parts.weights_bytes: /weights}\n";
    struct command_scene *scene = *state;
    struct record_file records;
    script_write(scene->folder, "fake",
                 "echo \"$@\" >>\"${0%/*}/calls\"; test -f \"$3\" && echo '{\"total\": 5, \"weights\": 4}'");
    for (int time = 0; time < 2; time++) {
        assert_int_equal(run_suite_text(scene, suite), 0);
    }
    const struct json *estimate = estimate_of(scene, "tiny-bert/infer/float32/b2/s8", "fake", &records);
    assert_int_equal(json_integer_or(json_get(estimate, "total_bytes"), -1), 5);
    assert_int_equal(json_integer_or(json_get(estimate, "parts.weights_bytes"), -1), 4);
    assert_string_equal(json_string_or(json_get(estimate, "version"), ""), "fake 1.2");
    record_file_release(&records);
    assert_null(estimate_of(scene, "tiny-gpt2/load/float32", "fake", &records));
    record_file_release(&records);
    char calls[128];
    snprintf(calls, sizeof calls, "%s/calls", scene->folder);
    const char *const words[] = {"cat", calls, NULL};
    struct command_result result = command_run(words, NULL);
    char wanted[2 * PATH_MAX + 128], *catalogue = realpath("models/catalogue", NULL);
    assert_non_null(catalogue);
    snprintf(wanted, sizeof wanted,
             "tiny-gpt2 float32-{x} %s/tiny-gpt2/config.json\ntiny-bert float32-{x} %s/tiny-bert/config.json\n",
             catalogue, catalogue);
    free(catalogue);
    assert_string_equal(text_string(&result.output), wanted);
    command_result_release(&result);
}

/* What config.json holds belongs to the question, whichever way the program is led to it. */
static void changed_configuration_is_asked_about_again(void **state)
{
    static const char suite[] =
        "  - {model: $S, mode: load}\n"
        "external:\n"
        "  of_file: {command: ['$S/fake', '{config}'], quantities: {total_bytes: /a}}\n"
        "  of_folder: {command: ['$S/fake', '{model}/config.json'], quantities: {total_bytes: /a}}\n";
    static const char *const estimators[] = {"of_file", "of_folder"};
    struct command_scene *scene = *state;
    char change[512];
    script_write(scene->folder, "fake", "grep n_layer \"$1\" | sed 's/.*: *\\([0-9]*\\).*/{\"a\": \\1}/'");
    for (int layers = 3; layers < 5; layers++) {
        snprintf(change, sizeof change, "sed 's/\"n_layer\": *[0-9]*/\"n_layer\": %d/' %s >%s/config.json", layers,
                 "models/catalogue/tiny-gpt2/config.json", scene->folder);
        const char *const words[] = {"sh", "-c", change, NULL};
        struct command_result result = command_run(words, NULL);
        assert_int_equal(result.exit_code, 0);
        command_result_release(&result);
        assert_int_equal(run_suite_text(scene, suite), 0);
        for (size_t i = 0; i < sizeof estimators / sizeof estimators[0]; i++) {
            struct record_file records = records_of(scene_path(scene, "out"));
            const struct json *estimates = json_get(records.runs[records.run_count - 1].cases[0], "estimates");
            assert_int_equal(json_integer_or(json_get(json_get(estimates, estimators[i]), "total_bytes"), -1), layers);
            record_file_release(&records);
        }
    }
}

/* Starts a run whose estimator never ends, nor what that has started, and ends the run by a signal once both are at
 * work: its exit code. Fails the running test where one of them lives on. */
static int run_end_by(struct command_scene *scene, int signal_number)
{
    char suite[512], alive[320];
    script_write(scene->folder, "fake",
                 "sleep 600 & echo $$ $! >\"${0%/*}/fake.new\"; mv \"${0%/*}/fake.new\" \"${0%/*}/fake.pids\"; wait");
    snprintf(suite, sizeof suite, LOAD "external:\n  fake: {command: ['%s/fake'], quantities: {total_bytes: /a}}\n",
             scene->folder);
    const char *out = scene_path(scene, "out");
    struct run_words words = run_words_of(scene_suite(scene, "suite.yaml", suite), "meta", out, NULL, NULL);
    pid_t run = run_start(scene, &words);
    const char *begun = scene_path(scene, "fake.pids");
    while (access(begun, F_OK) != 0) {
        usleep(1000);
    }
    assert_int_equal(kill(run, signal_number), 0);
    int exit_code = run_wait(run);
    /* The kernel tells the guard; that may take a moment. */
    snprintf(alive, sizeof alive,
             "for i in $(seq 500); do lives=; for pid in $(cat %s/fake.pids); do "
             "! grep -q '^State:.[^Z]' /proc/$pid/status || lives=$pid; done; [ -n \"$lives\" ] || exit 0; sleep 0.01; "
             "done; exit 1",
             scene->folder);
    const char *const look[] = {"sh", "-c", alive, NULL};
    struct command_result result = command_run(look, NULL);
    assert_int_equal(result.exit_code, 0);
    command_result_release(&result);
    return exit_code;
}

/* A signal ends the program with the run, and no case is begun. */
static void signal_ends_the_program_too(void **state)
{
    struct command_scene *scene = *state;
    assert_int_equal(run_end_by(scene, SIGINT), 7);
    struct record_file records = records_of(scene_path(scene, "out"));
    assert_int_equal(records.runs[0].case_count, 0);
    record_file_release(&records);
}

static void killed_run_leaves_no_program(void **state)
{
    struct command_scene *scene = *state;
    assert_int_equal(run_end_by(scene, SIGKILL), 128 + SIGKILL);
}

/* What stands where answers are kept and is no file of the folder's own is neither waited for nor written to. */
static void answers_are_kept_in_a_file_of_the_folder_alone(void **state)
{
    static const char suite[] = LOAD "external:\n  fake: {command: ['$S/fake'], quantities: {total_bytes: /a}}\n";
    struct command_scene *scene = *state;
    script_write(scene->folder, "fake", "echo '{\"a\": 5}'");
    const char *kept = scene_path(scene, "out/external.jsonl"), *elsewhere = scene_path(scene, "elsewhere");
    assert_int_equal(mkdir(scene_path(scene, "out"), 0700), 0);
    assert_int_equal(mkfifo(kept, 0600), 0);
    assert_int_equal(run_suite_text(scene, suite), 0);
    assert_int_equal(unlink(kept), 0);
    assert_int_equal(symlink(elsewhere, kept), 0);
    assert_int_equal(run_suite_text(scene, suite), 0);
    assert_int_not_equal(access(elsewhere, F_OK), 0);
    assert_int_equal(unlink(kept), 0);
    assert_int_equal(run_suite_text(scene, suite), 0);
    assert_int_equal(access(kept, F_OK), 0);
}

/* A killed run, or one on a full disk, may have left half a line: the answer that follows is kept on a line of its
 * own. */
static void half_a_line_costs_one_answer(void **state)
{
    static const char suite[] = LOAD "external:\n  fake: {command: ['$S/fake'], quantities: {total_bytes: /a}}\n";
    struct command_scene *scene = *state;
    const char *kept = scene_path(scene, "out/external.jsonl");
    script_write(scene->folder, "fake", "echo asked >>${0%/*}/asked; echo '{\"a\": 5}'");
    assert_int_equal(mkdir(scene_path(scene, "out"), 0700), 0);
    FILE *file = fopen(kept, "w");
    assert_non_null(file);
    fputs("{\"question\": {\"comm", file);
    fclose(file);
    assert_int_equal(run_suite_text(scene, suite), 0);
    assert_int_equal(run_suite_text(scene, suite), 0);
    char *asked = whole_file_read(scene_path(scene, "asked"));
    assert_string_equal(asked, "asked\n");
    free(asked);
}

/* Like any estimator's: a tolerance that does not hold fails the run, and one on a figure that is unknown leaves it
 * open. */
static void figures_are_judged(void **state)
{
    static const char with_tolerance[] = "  - {model: tiny-gpt2, mode: load, tolerances: {fake: {total_bytes: 1%}}}\n"
                                         "external:\n"
                                         "  fake: {command: ['$S/fake'], quantities: {total_bytes: /a}}\n";
    struct command_scene *scene = *state;
    script_write(scene->folder, "fake", "echo '{\"a\": 1}'");
    assert_int_equal(run_suite_text(scene, with_tolerance), 1);
    script_write(scene->folder, "fake", "exit 1");
    unlink(scene_path(scene, "out/external.jsonl"));
    assert_int_equal(run_suite_text(scene, with_tolerance), 3);
}

static void mistakes_in_a_suite_have_their_place(void **state)
{
    static const struct {
        const char *external, *says;
    } rows[] = {
        {"  replay: {command: [x], quantities: {total_bytes: /a}}\n",
         "'replay' is the name of an estimator of assay's own"},
        {"  fake: {quantities: {total_bytes: /a}}\n", "fake has no command"},
        {"  fake: {command: x, quantities: {total_bytes: /a}}\n", "command"},
        {"  fake: {command: [x, '{modle}'], quantities: {total_bytes: /a}}\n",
         "'{modle}' has a brace that is no placeholder"},
        {"  fake: {command: [x, 'a}'], quantities: {total_bytes: /a}}\n", "has a brace that is no placeholder"},
        {"  fake: {command: [x]}\n", "fake needs 1 to 32 quantities"},
        {"  fake: {command: [x], quantities: {total_bytes: a}}\n", "total_bytes: 'a' is no JSON pointer"},
        {"  fake: {command: [x], quantities: {total_bytes: /a}, unit: 10gb}\n", "unit: "},
        {"  fake: {command: [x], quantities: {total_bytes: /a}, modes: [load, sleep]}\n", "sleep"},
        {"  fake: {command: [x], quantities: {total_bytes: /a}, timeout_seconds: 0}\n", "timeout_seconds"},
        {"  fake: {command: [x], quantities: {total_bytes: /a}, tiemout_seconds: 1}\n",
         "unknown key 'tiemout_seconds' in an external estimator; did you mean 'timeout_seconds'?"},
        {"  expected: {command: [x], quantities: {total_bytes: /a}}\n", "cannot be its name"},
        {"  - x\n", "external: "},
    };
    struct command_scene *scene = *state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char suite[512];
        snprintf(suite, sizeof suite, LOAD "external:\n%s", rows[i].external);
        assert_int_equal(run_suite_text(scene, suite), 2);
        said_check(scene_path(scene, "out"), "error", "suite.yaml:");
        said_check(scene_path(scene, "out"), "error", rows[i].says);
    }
}

int main(void)
{
#define SCENE_TEST(test) cmocka_unit_test_setup_teardown(test, command_scene_open, command_scene_close)
    const struct CMUnitTest tests[] = {
        SCENE_TEST(figures_are_read_where_pointers_lead),
        SCENE_TEST(whatever_goes_wrong_the_figure_is_unknown_and_says_why),
        SCENE_TEST(program_that_is_not_installed_is_unknown_and_no_failure),
        SCENE_TEST(questions_are_asked_once),
        SCENE_TEST(changed_configuration_is_asked_about_again),
        SCENE_TEST(signal_ends_the_program_too),
        SCENE_TEST(killed_run_leaves_no_program),
        SCENE_TEST(answers_are_kept_in_a_file_of_the_folder_alone),
        SCENE_TEST(half_a_line_costs_one_answer),
        SCENE_TEST(figures_are_judged),
        SCENE_TEST(mistakes_in_a_suite_have_their_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
