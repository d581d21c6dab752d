/* Command scene: `assay run` as a process of its own, its children seen from outside, and its case lines held against
 * those of a clean run. Holds no test. */
#ifndef ASSAY_TESTS_RUN_COMMAND_SCENE_H
#define ASSAY_TESTS_RUN_COMMAND_SCENE_H

#include <stdbool.h>
#include <sys/types.h>

#include "harness/record/record.h"

enum { SCENE_PATHS_MAXIMUM = 256, SCENE_RUNS_MAXIMUM = 64, SCENE_PATH_BYTES = 192 };

struct command_scene {
    char folder[64]; /* of the whole test, with suites, outputs and locks */
    char paths[SCENE_PATHS_MAXIMUM][SCENE_PATH_BYTES];
    int path_count;
    pid_t runs[SCENE_RUNS_MAXIMUM]; /* that were started */
    int run_count;
};

int command_scene_open(void **state); /* set-up and tear-down of a test */
int command_scene_close(void **state);

/* A name below the folder; lives as long as the scene. */
const char *scene_path(struct command_scene *scene, const char *name);

/* A suite of these cases, each a line of YAML that begins with "  - "; returns its path. */
const char *scene_suite(struct command_scene *scene, const char *name, const char *cases);

/* Two cases that come after the one that goes wrong, as a text for scene_suite, and their ids. settings: what both have
 * besides, ", for: host". */
#define SCENE_REST(settings)                                                                                           \
    "  - {model: tiny-bert, mode: train, seq: 8" settings "}\n"                                                        \
    "  - {model: tiny-gpt2, mode: generate, seq: 4, new_tokens: 4" settings "}\n"
enum { SCENE_REST_COUNT = 2 };
extern const char *const scene_rest_ids[SCENE_REST_COUNT];

/* The words of `assay run SUITE --device DEVICE --out OUT`, and option, value where they are not NULL. */
struct run_words {
    const char *words[16];
};
struct run_words run_words_of(const char *suite, const char *device, const char *out, const char *option,
                              const char *value);

/* Starts it without waiting; output and errors go to the files OUT.output and OUT.error. locks are in the folder. */
pid_t run_start(struct command_scene *scene, const struct run_words *words);

/* Waits for its end: its exit code, or 128 + the signal. */
int run_wait(pid_t run);

/* Starts it and waits. */
int run_do(struct command_scene *scene, const struct run_words *words);

/* Fails the running test unless what a run wrote to the file OUT.output or OUT.error has the piece. */
void said_check(const char *out, const char *stream, const char *piece);

/* Waits until the run into this folder has written its run line: children before that ask which device they stand
 * on. */
void run_line_wait(const char *out);

/* The child that there is, which measures once the run line is written; waits until there is one. */
pid_t run_child(pid_t run);

/* Waits until a child has prepared itself: it dies with the run from then on, and the kernel takes it first (its
 * score). */
void prepared_wait(pid_t child);

/* Waits until a process has come to its end (it may still have to be looked at by its parent). */
void end_wait(pid_t process);

/* Waits until so many cases stand in the records of out. */
void cases_wait(const char *out, int count);

/* The records of out; the caller releases them. */
struct record_file records_of(const char *out);

/* Of the last run. */
const struct json *case_of(const struct record_file *records, const char *id);

/* Fails the running test where two lines of one case differ in anything but times, attempts and what the driver or the
 * kernel counted. */
void same_case_check(const struct json *clean, const struct json *other);

#endif
