/* A scene of offload folders: scratch files, looked at byte by byte. */
#include "tests/checkpoint/offload_scene.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/support/scratch_folder.h"

enum { PATH_BYTES = 512 };

int offload_scene_make(void **state)
{
    struct offload_scene *scene = calloc(1, sizeof *scene);
    if (scene == NULL) {
        return -1;
    }
    snprintf(scene->root, sizeof scene->root, "/tmp/assay-offload-XXXXXX");
    if (mkdtemp(scene->root) == NULL) {
        return -1;
    }
    snprintf(scene->folder, sizeof scene->folder, "%s/weights", scene->root);
    *state = scene;
    return 0;
}

int offload_scene_remove(void **state)
{
    struct offload_scene *scene = *state;
    int removed = scratch_folder_remove(scene->root);
    free(scene);
    return removed;
}

void scene_bytes_write(const struct offload_scene *scene, const char *name, const void *bytes, size_t count)
{
    char path[PATH_BYTES];
    mkdir(scene->folder, 0777);
    snprintf(path, sizeof path, "%s/%s", scene->folder, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
}

void scene_write(const struct offload_scene *scene, const char *name, const char *content)
{
    scene_bytes_write(scene, name, content, strlen(content));
}

void scene_bytes_read(const struct offload_scene *scene, const char *name, void *bytes, size_t count)
{
    char path[PATH_BYTES], beyond;
    snprintf(path, sizeof path, "%s/%s", scene->folder, name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fread(bytes, 1, count, file), count);
    assert_int_equal(fread(&beyond, 1, 1, file), 0);
    fclose(file);
}

void scene_bytes_expect(const struct offload_scene *scene, const char *name, const void *bytes, size_t count)
{
    unsigned char *found = malloc(count + 1);
    assert_non_null(found);
    scene_bytes_read(scene, name, found, count);
    assert_memory_equal(found, bytes, count);
    free(found);
}

void scene_file_expect(const struct offload_scene *scene, const char *name, const char *content)
{
    scene_bytes_expect(scene, name, content, strlen(content));
}

void scene_empty(const struct offload_scene *scene)
{
    struct stat facts;
    assert_true(lstat(scene->folder, &facts) != 0 || scratch_folder_remove(scene->folder) == 0);
}

int scene_file_count(const struct offload_scene *scene)
{
    int count = 0;
    DIR *entries = opendir(scene->folder);
    if (entries == NULL) {
        return 0;
    }
    for (const struct dirent *entry = readdir(entries); entry != NULL; entry = readdir(entries)) {
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    }
    closedir(entries);
    return count;
}

void scene_tensor_put(struct offload_writer *writer, const char *name, const char *dtype, int rank,
                      const int64_t *shape, const void *bytes)
{
    struct status error = {0};
    int64_t count = 0;
    const struct offload_tensor tensor = {
        .name = name, .type = offload_type_named(dtype), .rank = rank, .shape = shape};
    assert_non_null(tensor.type);
    assert_int_equal(offload_tensor_bytes("test", &tensor, &count, &error), STATUS_OK);
    if (offload_writer_begin(writer, &tensor, &error) != STATUS_OK ||
        offload_writer_take(writer, bytes, count, &error) != STATUS_OK ||
        offload_writer_end(writer, &error) != STATUS_OK) {
        fail_msg("%s: %s", name, error.text);
    }
}
