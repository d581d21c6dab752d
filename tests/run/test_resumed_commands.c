/* assay run killed with SIGKILL at random moments, again and again, and resumed: in the end its records are those of a
 * run that nobody disturbed, case for case. Sometimes the end of the file is lost too, as if the machine went down. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/run/command_scene.h"
#include "tests/support/command_run.h"

enum { KILLS = 40, KILLS_LEAST = 4, MOMENT_US = 4000 };

/* 24 cases, quick ones. */
#define CASES                                                                                                          \
    "  - {model: tiny-bert, mode: infer, batch: [1, 2, 3, 4, 5, 6], seq: [8, 16], device: host}\n"                     \
    "  - {model: tiny-gpt2, mode: train, batch: [1, 2, 3, 4, 5, 6], seq: [8, 16], device: meta}\n"

static struct run_words words_of(const char *suite, const char *out, const char *jobs, bool resume)
{
    struct run_words words = run_words_of(suite, "auto", out, "--jobs", jobs);
    words.words[10] = "--records-only";
    words.words[11] = "--constants";
    words.words[12] = "none";
    words.words[13] = resume ? "--resume" : NULL;
    return words;
}

static uint32_t seed = 19;

static int random_below(int limit)
{
    seed = seed * 1664525u + 1013904223u;
    return (int)((seed >> 8) % (uint32_t)limit);
}

/* As a machine that goes down leaves it: the end of the last line is lost, or zeros stand for it. */
static void end_lose(const char *out)
{
    char path[SCENE_PATH_BYTES + 16];
    struct stat state;
    snprintf(path, sizeof path, "%s/records.jsonl", out);
    if (stat(path, &state) != 0 || state.st_size < 300) {
        return;
    }
    int lost = 1 + random_below(200);
    assert_int_equal(truncate(path, state.st_size - lost), 0);
    if (random_below(2) == 0) {
        assert_int_equal(truncate(path, state.st_size), 0);
    }
}

/* Whole lines of one type in the file. */
static int lines_count(const char *out, const char *type)
{
    char path[SCENE_PATH_BYTES + 16], begin[32], *line = NULL;
    size_t room = 0;
    int count = 0;
    snprintf(path, sizeof path, "%s/records.jsonl", out);
    snprintf(begin, sizeof begin, "{\"type\": \"%s\"", type);
    FILE *file = fopen(path, "re");
    while (file != NULL && getline(&line, &room, file) > 0) {
        count += strncmp(line, begin, strlen(begin)) == 0 && strchr(line, '\n') != NULL;
    }
    free(line);
    if (file != NULL) {
        fclose(file);
    }
    return count;
}

/* Started, and killed at some moment: once it has begun to measure, or a case or two later. Whether it came to its end
 * before. */
static bool run_kill(struct command_scene *scene, const struct run_words *words)
{
    const char *out = words->words[6];
    int runs = lines_count(out, "run"), cases = lines_count(out, "case") + random_below(3);
    pid_t run = run_start(scene, words);
    siginfo_t ended = {.si_pid = 0};
    while (ended.si_pid == 0 && (lines_count(out, "run") <= runs || lines_count(out, "case") < cases)) {
        usleep(500);
        waitid(P_PID, (id_t)run, &ended, WEXITED | WNOHANG | WNOWAIT);
    }
    usleep((useconds_t)random_below(MOMENT_US));
    kill(run, SIGKILL);
    return run_wait(run) == 0;
}

static void killed_and_resumed(struct command_scene *scene, const char *jobs, int jobs_count)
{
    const char *suite = scene_suite(scene, "suite.yaml", CASES);
    const char *clean = scene_path(scene, "clean"), *out = scene_path(scene, "out");
    struct run_words words = words_of(suite, clean, jobs, false);
    assert_int_equal(run_do(scene, &words), 0);
    words = words_of(suite, out, jobs, true);
    bool is_done = false;
    int kills = 0;
    while (kills < KILLS && !is_done) {
        int before = lines_count(out, "case");
        is_done = run_kill(scene, &words);
        assert_true(lines_count(out, "case") >= before - jobs_count); /* those that went down with it, and no more */
        kills++;
        if (!is_done && kills % 4 == 3) {
            end_lose(out);
        }
    }
    assert_true(kills >= KILLS_LEAST);
    assert_int_equal(run_do(scene, &words), 0);
    struct record_file wanted = records_of(clean), made = records_of(out);
    const struct record_run *run = &made.runs[made.run_count - 1];
    assert_int_equal(run->case_count, wanted.runs[0].case_count);
    assert_non_null(run->end);
    assert_string_equal(json_string_or(json_get(run->end, "outcome"), ""), "pass");
    for (int i = 0; i < wanted.runs[0].case_count; i++) {
        const char *id = json_string_or(json_get(wanted.runs[0].cases[i], "id"), "");
        same_case_check(wanted.runs[0].cases[i], case_of(&made, id));
    }
    record_file_release(&wanted);
    record_file_release(&made);
    const char *const compare[] = {program_path(), "compare", clean, out, "--tolerance", "process=none", NULL};
    struct command_result result = command_run(compare, NULL);
    assert_int_equal(result.exit_code, 0);
    command_result_release(&result);
}

static void one_case_at_a_time(void **state)
{
    killed_and_resumed(*state, "1", 1);
}

static void four_cases_at_a_time(void **state)
{
    killed_and_resumed(*state, "4", 4);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, command_scene_open, command_scene_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(one_case_at_a_time),
        TEST(four_cases_at_a_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
