/* Shard scene: a suite of small cases on the device meta, measured whole and in three shards, once for all tests of a
 * program; and files that are changed as hostile or broken ones would be. Holds no test. */
#ifndef ASSAY_TESTS_RUN_SHARD_SCENE_H
#define ASSAY_TESTS_RUN_SHARD_SCENE_H

#include "tests/support/command_run.h"

enum { SHARD_SCENE_SHARDS = 3, SHARD_SCENE_CASES = 12, SHARD_SCENE_ATTEMPTS = 13 };

/* Set-up and tear-down of a group: FOLDER/suite.yaml, FOLDER/whole and FOLDER/parts/1 to 3. */
int shard_scene_open(void **state);
int shard_scene_close(void **state);

/* A path below the folder; lives until the scene is closed. */
const char *shard_path(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Runs `assay COMMAND OPTIONS`, and fails the running test unless it ends with this exit code. Released by the
 * caller. */
struct command_result shard_do(int exit_code, const char *command, const char *const *options);

/* A copy of the folders parts/1 to 3 under a new name. */
const char *shard_parts_copy(const char *name);

/* Replaces `from` in a file by `to`, each time it stands there; fails the running test if it does not. */
void shard_file_change(const char *path, const char *from, const char *to);

/* Makes "started", or "finished", of a run another time: "2026-11-20T02:00:00Z". */
void shard_time_change(const char *path, const char *member, const char *time);

/* Cuts the last lines off a file. */
void shard_file_cut(const char *path, int lines);

#define SHARD_WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

#endif
