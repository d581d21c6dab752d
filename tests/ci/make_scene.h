/* Make scene: the Makefile with a toolkit and a driver of our own, in a build folder that nothing else uses. Holds no
 * test. */
#ifndef ASSAY_TESTS_CI_MAKE_SCENE_H
#define ASSAY_TESTS_CI_MAKE_SCENE_H

#include <stdbool.h>

#include "harness/base/text.h"

struct make_scene {
    char folder[64], toolkit[96];
    char path[4096], nvcc[160], build[128], object[192];
};

/* As cmocka's state. */
int make_scene_open(void **state);
int make_scene_close(void **state);

/* A driver whose GPUs are of these compute capabilities, one a line. */
void make_gpu_insert(const struct make_scene *scene, const char *capability);

/* The body of a compiler that knows a few GPUs, writes what it is asked to write, and says on standard output for which
 * GPUs; and another compiler in its place. */
extern const char make_scene_nvcc[];
void make_nvcc_replace(const struct make_scene *scene, const char *body);

/* Runs make as a user does: with none of the settings of the make that runs this test, which exports what it was
 * given. visible: CUDA_VISIBLE_DEVICES=... Fails the running test if make fails. The caller releases the output. */
struct text make_run(const struct make_scene *scene, const char *visible, const char *const *words);

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

#define GPUS_SHOWN  "CUDA_VISIBLE_DEVICES=0"
#define GPUS_HIDDEN "CUDA_VISIBLE_DEVICES=-1"

/* Fails the running test if part is not there, or is, and releases output. */
void make_expect(struct text output, const char *part, bool is_there);

#endif
