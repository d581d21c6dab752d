/* A scene of offload folders: a scratch folder, and what a test puts into it. */
#ifndef ASSAY_TESTS_CHECKPOINT_OFFLOAD_SCENE_H
#define ASSAY_TESTS_CHECKPOINT_OFFLOAD_SCENE_H

#include <stddef.h>
#include <stdint.h>

#include "harness/checkpoint/offload_write.h"

struct offload_scene {
    char root[64];
    char folder[96]; /* in root; not made yet */
};

int offload_scene_make(void **state);
int offload_scene_remove(void **state);

/* Puts a file into the folder, which is made where it is missing. */
void scene_write(const struct offload_scene *scene, const char *name, const char *content);
void scene_bytes_write(const struct offload_scene *scene, const char *name, const void *bytes, size_t count);

/* The content of a file, in full. */
void scene_file_expect(const struct offload_scene *scene, const char *name, const char *content);
void scene_bytes_expect(const struct offload_scene *scene, const char *name, const void *bytes, size_t count);

/* Reads a file of exactly so many bytes. */
void scene_bytes_read(const struct offload_scene *scene, const char *name, void *bytes, size_t count);

/* Removes the folder with what is in it. */
void scene_empty(const struct offload_scene *scene);

/* Files in the folder, hidden ones too; 0 where it is missing. */
int scene_file_count(const struct offload_scene *scene);

/* Writes a tensor whole; fails the test where that fails. */
void scene_tensor_put(struct offload_writer *writer, const char *name, const char *dtype, int rank,
                      const int64_t *shape, const void *bytes);

#endif
