/* Offloaded weights of a run lie in a folder of their attempt, which is gone whatever ends it: its own end, a child
 * that is killed, a run that is interrupted. A folder that cannot be had is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "harness/base/temporary_folder.h"
#include "tests/run/command_scene.h"

#define OFFLOADED                                                                                                      \
    "  - {model: tiny-bert, mode: load, device: host}\n"                                                               \
    "  - {model: distilgpt2, mode: infer, seq: 512, batch: 4, place: disk-offload, device: host}\n"

/* How many entries of a folder begin so. */
static int entries_count(const char *folder, const char *beginning)
{
    DIR *list = opendir(folder);
    const struct dirent *entry = NULL;
    int count = 0;
    while (list != NULL && (entry = readdir(list)) != NULL) {
        count += entry->d_name[0] != '.' && strncmp(entry->d_name, beginning, strlen(beginning)) == 0;
    }
    if (list != NULL) {
        closedir(list);
    }
    return count;
}

static const char *temporary_set(struct command_scene *scene)
{
    const char *path = scene_path(scene, "tmp");
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(setenv("TMPDIR", path, 1), 0);
    return path;
}

static int temporary_unset(void **state)
{
    unsetenv("TMPDIR");
    return command_scene_close(state);
}

/* Until weights lie in the folder of the attempt. */
static void weights_wait(const char *temporary)
{
    for (int tries = 0; tries < 30000; tries++) {
        DIR *list = opendir(temporary);
        const struct dirent *entry = NULL;
        int count = 0;
        while (list != NULL && (entry = readdir(list)) != NULL) {
            char path[512];
            snprintf(path, sizeof path, "%s/%.200s", temporary, entry->d_name);
            count += strncmp(entry->d_name, "assay-case-", 11) == 0 ? entries_count(path, "transformer") : 0;
        }
        if (list != NULL) {
            closedir(list);
        }
        if (count > 3) {
            return;
        }
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    fail_msg("no weights came to %s", temporary);
}

static pid_t offload_stop(struct command_scene *scene, const char *temporary, pid_t *run)
{
    const struct run_words words =
        run_words_of(scene_suite(scene, "suite.yaml", OFFLOADED), "auto", scene_path(scene, "out"), NULL, NULL);
    *run = run_start(scene, &words);
    cases_wait(scene_path(scene, "out"), 1);
    weights_wait(temporary);
    pid_t child = run_child(*run);
    assert_int_equal(kill(child, SIGSTOP), 0);
    return child;
}

static void a_run_that_is_interrupted_leaves_no_weights(void **state)
{
    struct command_scene *scene = *state;
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    const char *temporary = temporary_set(scene);
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        pid_t run = 0, child = offload_stop(scene, temporary, &run);
        assert_int_equal(entries_count(temporary, "assay-"), 1);
        assert_int_equal(kill(run, signals[i]), 0);
        assert_int_equal(run_wait(run), 7);
        end_wait(child);
        assert_int_equal(entries_count(temporary, ""), 0);
        unlink(scene_path(scene, "out/records.jsonl"));
    }
}

static void a_child_that_is_killed_leaves_no_weights(void **state)
{
    struct command_scene *scene = *state;
    const char *temporary = temporary_set(scene);
    pid_t run = 0, child = offload_stop(scene, temporary, &run);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(run_wait(run), 3);
    assert_int_equal(entries_count(temporary, ""), 0);
    struct record_file records = records_of(scene_path(scene, "out"));
    assert_int_equal(records.runs[0].case_count, 2);
    record_file_release(&records);
}

static void a_run_that_ends_leaves_no_weights(void **state)
{
    struct command_scene *scene = *state;
    const char *temporary = temporary_set(scene);
    const char *suite =
        scene_suite(scene, "suite.yaml", "  - {model: tiny-llama, mode: infer, place: [disk-offload, cpu-offload]}\n");
    const struct run_words words = run_words_of(suite, "host", scene_path(scene, "out"), "--jobs", "2");
    assert_int_equal(run_do(scene, &words), 0);
    assert_int_equal(entries_count(temporary, ""), 0);
}

static void a_folder_that_cannot_be_had_is_told(void **state)
{
    struct command_scene *scene = *state;
    assert_int_equal(setenv("TMPDIR", "/proc/nowhere", 1), 0);
    const char *suite = scene_suite(scene, "suite.yaml", "  - {model: tiny-llama, mode: infer, place: disk-offload}\n");
    const struct run_words words = run_words_of(suite, "host", scene_path(scene, "out"), NULL, NULL);
    assert_int_equal(run_do(scene, &words), 3);
    struct record_file records = records_of(scene_path(scene, "out"));
    const char *reason = json_string_or(json_get(records.runs[0].cases[0], "reason"), "");
    assert_memory_equal(reason, "device disk: /proc/nowhere: ", 28);
    assert_non_null(strstr(reason, "set TMPDIR to a folder with room"));
    record_file_release(&records);
}

/* A link in the folder may point to anything of anybody's. */
static void what_links_point_to_stays(void **state)
{
    struct command_scene *scene = *state;
    const char *temporary = temporary_set(scene), *kept = scene_path(scene, "kept");
    char folder[PATH_MAX], path[PATH_MAX + 32], made[PATH_MAX];
    assert_int_equal(mkdir(kept, 0700), 0);
    snprintf(path, sizeof path, "%s/file", kept);
    close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    assert_int_equal(temporary_folder_make("assay-case", folder, NULL), STATUS_OK);
    memcpy(made, folder, sizeof made);
    snprintf(path, sizeof path, "%s/below", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/below/link", folder);
    assert_int_equal(symlink(kept, path), 0);
    snprintf(path, sizeof path, "%s/link", folder);
    assert_int_equal(symlink(kept, path), 0);
    temporary_folder_remove(folder);
    assert_string_equal(folder, "");
    assert_int_equal(access(made, F_OK), -1);
    assert_int_equal(entries_count(kept, "file"), 1);
    assert_int_equal(entries_count(temporary, ""), 0);
    temporary_folder_remove(folder); /* is accepted */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, command_scene_open, temporary_unset)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_run_that_is_interrupted_leaves_no_weights),
        TEST(a_child_that_is_killed_leaves_no_weights),
        TEST(a_run_that_ends_leaves_no_weights),
        TEST(a_folder_that_cannot_be_had_is_told),
        TEST(what_links_point_to_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
