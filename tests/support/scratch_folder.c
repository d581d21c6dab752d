/* Scratch folder: see scratch_folder.h. */
#include "tests/support/scratch_folder.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>

static int entry_remove(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    return remove(path);
}

int scratch_folder_remove(const char *folder)
{
    return nftw(folder, entry_remove, 8, FTW_DEPTH | FTW_PHYS);
}

int scratch_scene_open(void **state)
{
    struct scratch_scene *scene = calloc(1, sizeof *scene);
    if (scene == NULL) {
        return 1;
    }
    snprintf(scene->folder, sizeof scene->folder, "/tmp/assay-scene-XXXXXX");
    *state = scene;
    return mkdtemp(scene->folder) == NULL;
}

int scratch_scene_close(void **state)
{
    struct scratch_scene *scene = *state;
    int code = scratch_folder_remove(scene->folder);
    free(scene);
    return code;
}
