/* Resources: found beside the executable, so that neither a build tree nor an installed tree that was moved needs a
 * setting. Never in the current folder: what lies there came from somewhere, and gnuplot runs the scripts of plots/. */
#include "harness/cli/resource_path.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Cuts the last name off and returns it; NULL if the path has none. */
static const char *last_name_cut(char *path)
{
    char *slash = strrchr(path, '/');
    if (slash == NULL) {
        return NULL;
    }
    *slash = '\0';
    return slash + 1;
}

static bool is_name(const char *name, const char *expected)
{
    return name != NULL && strcmp(name, expected) == 0;
}

/* The repository whose build folder, or a variant's below it, the executable lies in; NULL if it lies elsewhere: the
 * folder above another one, /tmp say, may be anybody's. */
static const char *repository_of(char *executable_folder)
{
    const char *name = last_name_cut(executable_folder);
    if (!is_name(name, "build")) {
        name = last_name_cut(executable_folder);
    }
    return is_name(name, "build") ? executable_folder : NULL;
}

/* NAME in the repository: by its short name if the repository is the current folder, so that records and messages
 * do not tell where it lies. NULL if the host has no memory. */
static const char *repository_path(struct arena *arena, const char *repository, const char *name)
{
    struct stat there, here;
    bool is_here = stat(repository, &there) == 0 && stat(".", &here) == 0 && there.st_dev == here.st_dev &&
                   there.st_ino == here.st_ino;
    return is_here ? arena_copy(arena, name) : arena_format(arena, "%s/%s", repository, name);
}

static bool executable_folder_read(char path[PATH_MAX])
{
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);
    path[length > 0 ? length : 0] = '\0';
    return last_name_cut(path) != NULL;
}

const char *resource_path(struct arena *arena, const char *name)
{
    const char *chosen = secure_getenv("ASSAY_DATA_DIR");
    const char *installed = arena_format(arena, "%s/%s", ASSAY_DATADIR, name);
    const char *beside = NULL, *built = NULL;
    char folder[PATH_MAX];
    if (chosen != NULL && *chosen != '\0') {
        return arena_format(arena, "%s/%s", chosen, name);
    }
    if (executable_folder_read(folder)) {
        beside = arena_format(arena, "%s/../share/assay/%s", folder, name);
        const char *repository = repository_of(folder);
        built = repository != NULL ? repository_path(arena, repository, name) : NULL;
    }
    const char *const candidates[] = {built, beside, installed};
    for (size_t i = 0; i < sizeof candidates / sizeof candidates[0]; i++) {
        if (candidates[i] != NULL && access(candidates[i], R_OK) == 0) {
            return candidates[i];
        }
    }
    return built != NULL ? built : installed;
}

const char *suite_path(struct arena *arena, const char *name)
{
    bool is_resource = strncmp(name, "suites/", strlen("suites/")) == 0 && access(name, F_OK) != 0;
    return is_resource ? resource_path(arena, name) : name;
}
