/* GPU scene: ci/gpu.sh with a folder of its own: suites of tiny cases, a build folder whose test programs are stand-ins
 * beside the real assay, a Python that has no torch until it is given one. The names have blanks in them. */
#ifndef ASSAY_TESTS_CI_GPU_SCENE_H
#define ASSAY_TESTS_CI_GPU_SCENE_H

#include "tests/support/command_run.h"

enum { GPU_SCENE_PATH_BYTES = 64, GPU_SCENE_WORDS_MAXIMUM = 12 };

struct gpu_scene {
    char folder[GPU_SCENE_PATH_BYTES];
    const char *script;  /* below the folder, of a tree with a build folder of its own; NULL: ci/gpu.sh of this one */
    const char *starter; /* words for sh that run "$0" with "$@"; NULL: none */
};

/* Setup and teardown of cmocka; *state is a struct gpu_scene. */
int gpu_scene_make(void **state);
int gpu_scene_remove(void **state);

/* A path below the scene's folder; lives until the next but three calls. */
const char *gpu_scene_path(const struct gpu_scene *scene, const char *name);

/* Replaces a suite of the scene: its cases, in YAML's flow style, all of them in the host tier. */
void gpu_scene_suite(const struct gpu_scene *scene, const char *name, const char *cases);

/* Runs ci/gpu.sh into the folder "out" with these options more, ended by NULL. environment as in command_run. */
struct command_result gpu_scene_run(const struct gpu_scene *scene, const char *const *options,
                                    const char *const *environment);

/* The same on the emulated GPU, for programs of tests/cuda_emulation: the folder of the running program is where its
 * plug-in lies; the scene's folder, with its stand-ins, comes first on PATH, and has the locks. more: a setting more,
 * "NAME=value". */
struct command_result gpu_scene_run_emulated(const struct gpu_scene *scene, const char *const *options,
                                             const char *more);

/* Fails the running test, and prints what the script printed, unless it ended so. The last line of its output begins
 * with begin; the folder has at most eight files, all of them small. Releases the result. */
void gpu_scene_expect(const struct gpu_scene *scene, struct command_result *result, int exit_code, const char *begin);

/* The content of a file of "out"; "" where there is none. The caller releases it. */
struct text gpu_scene_read(const struct gpu_scene *scene, const char *name);

/* Fails the running test unless a file of "out" has these words in it. */
void gpu_scene_says(const struct gpu_scene *scene, const char *name, const char *words);

/* Whether a part has this result in timing.tsv. */
bool gpu_scene_part_is(const struct gpu_scene *scene, const char *part, const char *result);

#endif
