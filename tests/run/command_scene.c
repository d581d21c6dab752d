/* Command scene: processes, files and what may differ between two runs of one case. */
#include "tests/run/command_scene.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/command_run.h"
#include "tests/support/scratch_folder.h"
#include "tests/support/whole_file.h"

enum { TRIES = 6000, TRY_US = 5000 };

const char *const scene_rest_ids[SCENE_REST_COUNT] = {"tiny-bert/train/float32/b1/s8/adamw-fused",
                                                      "tiny-gpt2/generate/float32/b1/s4/n4"};

int command_scene_open(void **state)
{
    struct command_scene *scene = calloc(1, sizeof *scene);
    snprintf(scene->folder, sizeof scene->folder, "/tmp/assay-command-XXXXXX");
    *state = scene;
    return mkdtemp(scene->folder) == NULL;
}

int command_scene_close(void **state)
{
    struct command_scene *scene = *state;
    for (int i = 0; i < scene->run_count; i++) { /* what a test that failed did not wait for */
        if (waitpid(scene->runs[i], NULL, WNOHANG) == 0) {
            kill(scene->runs[i], SIGKILL);
            waitpid(scene->runs[i], NULL, 0);
        }
    }
    int code = scratch_folder_remove(scene->folder);
    free(scene);
    return code;
}

const char *scene_path(struct command_scene *scene, const char *name)
{
    assert_true(scene->path_count < SCENE_PATHS_MAXIMUM);
    char path[SCENE_PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", scene->folder, name);
    return memcpy(scene->paths[scene->path_count++], path, sizeof path);
}

const char *scene_suite(struct command_scene *scene, const char *name, const char *cases)
{
    const char *path = scene_path(scene, name);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fprintf(file, "version: 1\nname: t\ncases:\n%s", cases);
    assert_int_equal(fclose(file), 0);
    return path;
}

struct run_words run_words_of(const char *suite, const char *device, const char *out, const char *option,
                              const char *value)
{
    return (struct run_words){
        {program_path(), "run", suite, "--device", device, "--out", out, "--quiet", option, value, NULL}};
}

static int stream_open(const char *out, const char *name)
{
    char path[SCENE_PATH_BYTES + 16];
    snprintf(path, sizeof path, "%s.%s", out, name);
    return open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
}

pid_t run_start(struct command_scene *scene, const struct run_words *words)
{
    const char *out = words->words[6];
    pid_t run = fork();
    assert_true(run >= 0);
    if (run == 0) {
        int output = stream_open(out, "output"), error = stream_open(out, "error");
        setenv("ASSAY_LOCK_DIR", scene->folder, 1);
        if (output < 0 || error < 0 || dup2(output, STDOUT_FILENO) < 0 || dup2(error, STDERR_FILENO) < 0) {
            _exit(126);
        }
        execv(words->words[0], (char *const *)words->words);
        _exit(127);
    }
    assert_true(scene->run_count < SCENE_RUNS_MAXIMUM);
    scene->runs[scene->run_count++] = run;
    return run;
}

int run_wait(pid_t run)
{
    int status = 0;
    assert_int_equal(waitpid(run, &status, 0), run);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int run_do(struct command_scene *scene, const struct run_words *words)
{
    return run_wait(run_start(scene, words));
}

void said_check(const char *out, const char *stream, const char *piece)
{
    char path[SCENE_PATH_BYTES + 16];
    snprintf(path, sizeof path, "%s.%s", out, stream);
    char *said = whole_file_read(path);
    if (strstr(said, piece) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", said, piece);
    }
    free(said);
}

void run_line_wait(const char *out)
{
    char path[SCENE_PATH_BYTES + 32];
    struct stat records = {0};
    snprintf(path, sizeof path, "%s/records.jsonl", out);
    for (int tries = 0; tries < TRIES && (stat(path, &records) != 0 || records.st_size == 0); tries++) {
        usleep(TRY_US);
    }
    assert_true(records.st_size > 0);
}

pid_t run_child(pid_t run)
{
    char path[64];
    int child = 0;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)run, (int)run);
    for (int tries = 0; tries < TRIES && child == 0; tries++) {
        FILE *file = fopen(path, "re");
        if (file != NULL && fscanf(file, "%d", &child) != 1) {
            child = 0;
        }
        if (file != NULL) {
            fclose(file);
        }
        usleep(child == 0 ? TRY_US : 0);
    }
    if (child == 0) {
        fail_msg("process %d has no child", (int)run);
    }
    return (pid_t)child;
}

void prepared_wait(pid_t child)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/oom_score_adj", (int)child);
    for (int tries = 0; tries < TRIES; tries++) {
        int score = 0;
        FILE *file = fopen(path, "re");
        bool read = file != NULL && fscanf(file, "%d", &score) == 1;
        if (file != NULL) {
            fclose(file);
        }
        if (read && score == 1000) {
            return;
        }
        usleep(TRY_US);
    }
    fail_msg("process %d is not prepared", (int)child);
}

void end_wait(pid_t process)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)process);
    for (int tries = 0; tries < TRIES; tries++) {
        char state = 'X';
        FILE *file = fopen(path, "re");
        if (file != NULL && fscanf(file, "%*d (%*[^)]) %c", &state) != 1) {
            state = 'X';
        }
        if (file != NULL) {
            fclose(file);
        }
        if (state == 'X' || state == 'Z') {
            return;
        }
        usleep(TRY_US);
    }
    fail_msg("process %d is still there", (int)process);
}

void cases_wait(const char *out, int count)
{
    for (int tries = 0; tries < TRIES; tries++) {
        struct record_file file = {0};
        bool there =
            record_file_read(out, &file, NULL) == STATUS_OK && file.runs[file.run_count - 1].case_count >= count;
        record_file_release(&file);
        if (there) {
            return;
        }
        usleep(TRY_US);
    }
    fail_msg("%s has no %d cases", out, count);
}

struct record_file records_of(const char *out)
{
    struct record_file records = {0};
    struct status error;
    if (record_file_read(out, &records, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    return records;
}

const struct json *case_of(const struct record_file *records, const char *id)
{
    const struct record_run *run = &records->runs[records->run_count - 1];
    for (int i = 0; i < run->case_count; i++) {
        if (strcmp(json_string_or(json_get(run->cases[i], "id"), ""), id) == 0) {
            return run->cases[i];
        }
    }
    fail_msg("there is no case %s", id);
    return NULL;
}

/* What is measured outside of the ledger and the allocator, and so is never twice the same. */
static bool may_differ(const char *key)
{
    static const char *const keys[] = {"duration_s",         "attempt",         "seconds",   "process_bytes",
                                       "process_bytes_peak", "process_items",   "validity",  "cgroup_bytes",
                                       "cgroup_bytes_peak",  "footprint_bytes", "suite_line"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (strcmp(key, keys[i]) == 0) {
            return true;
        }
    }
    return false;
}

static void same_check(const char *way, const struct json *clean, const struct json *other)
{
    const char *quantity = json_string_or(json_get(clean, "quantity"), NULL);
    if (quantity != NULL && may_differ(quantity)) { /* a verdict on one of them */
        return;
    }
    if (json_kind(clean) != json_kind(other) || json_count(clean) != json_count(other)) {
        fail_msg("%s is of another kind or count", way);
    }
    if (json_kind(clean) == JSON_KIND_OBJECT || json_kind(clean) == JSON_KIND_ARRAY) {
        const char *key = NULL;
        for (size_t i = 0; i < json_count(clean); i++) {
            char below[256];
            bool is_object = json_kind(clean) == JSON_KIND_OBJECT;
            key = is_object ? json_key_after(clean, key) : NULL;
            snprintf(below, sizeof below, "%s.%s", way, is_object ? key : "#");
            if (!is_object || !may_differ(key)) {
                same_check(below, is_object ? json_get(clean, key) : json_at(clean, i),
                           is_object ? json_get(other, key) : json_at(other, i));
            }
        }
        return;
    }
    struct text a = {0}, b = {0}; /* numbers to their last digit */
    assert_int_equal(json_write(clean, 0, &a, NULL), STATUS_OK);
    assert_int_equal(json_write(other, 0, &b, NULL), STATUS_OK);
    if (strcmp(text_string(&a), text_string(&b)) != 0) {
        fail_msg("%s is %s, and %s in a clean run", way, text_string(&b), text_string(&a));
    }
    text_release(&a);
    text_release(&b);
}

void same_case_check(const struct json *clean, const struct json *other)
{
    assert_string_equal(json_string_or(json_get(clean, "status"), ""), "ok");
    assert_true(json_string_or(json_get(clean, "sequence_hash"), NULL) != NULL);
    same_check(json_string_or(json_get(clean, "id"), "?"), clean, other);
}
