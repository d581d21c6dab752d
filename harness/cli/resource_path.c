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

enum { CANDIDATES_MAXIMUM = 3 };

/* Where NAME is looked for, in order; returns how many. */
static int candidates_list(struct arena *arena, const char *name, const char *candidates[CANDIDATES_MAXIMUM])
{
    const char *chosen = secure_getenv("ASSAY_DATA_DIR");
    char folder[PATH_MAX];
    int count = 0;
    if (chosen != NULL && *chosen != '\0') {
        candidates[count++] = arena_format(arena, "%s/%s", chosen, name);
        return count;
    }
    if (executable_folder_read(folder)) {
        const char *beside = arena_format(arena, "%s/../share/assay/%s", folder, name);
        const char *repository = repository_of(folder);
        if (repository != NULL) {
            candidates[count++] = repository_path(arena, repository, name);
        }
        candidates[count++] = beside;
    }
    candidates[count++] = arena_format(arena, "%s/%s", ASSAY_DATADIR, name);
    return count;
}

const char *resource_path(struct arena *arena, const char *name)
{
    const char *candidates[CANDIDATES_MAXIMUM];
    int count = candidates_list(arena, name, candidates);
    for (int i = 0; i < count; i++) {
        if (candidates[i] != NULL && access(candidates[i], R_OK) == 0) {
            return candidates[i];
        }
    }
    bool is_beside = count == CANDIDATES_MAXIMUM - 1; /* of a program that was moved: where it was to be installed */
    return candidates[is_beside ? count - 1 : 0];
}

void resource_places_append(const char *name, struct text *text)
{
    struct arena arena = {0};
    const char *candidates[CANDIDATES_MAXIMUM];
    int count = candidates_list(&arena, name, candidates);
    for (int i = 0; i < count; i++) {
        bool found = candidates[i] != NULL && access(candidates[i], R_OK) == 0;
        text_format(text, "%s%s%s", i > 0 ? ", " : "", candidates[i] != NULL ? candidates[i] : "?",
                    found ? "" : " (not there)");
        if (found) {
            break;
        }
    }
    arena_release(&arena);
}

const char *suite_path(struct arena *arena, const char *name)
{
    bool is_resource = strncmp(name, "suites/", strlen("suites/")) == 0 && access(name, F_OK) != 0;
    return is_resource ? resource_path(arena, name) : name;
}
