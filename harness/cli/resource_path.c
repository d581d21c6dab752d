/* Resources: found relative to the current folder, then to the executable, so that neither a build tree nor an
 * installed tree that was moved needs a setting. */
#include "harness/cli/resource_path.h"

#include <limits.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

/* The folder of the executable, "." where the system does not say. */
static const char *executable_folder(char path[PATH_MAX])
{
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);
    if (length <= 0) {
        return ".";
    }
    path[length] = '\0';
    char *slash = strrchr(path, '/');
    if (slash == NULL) {
        return ".";
    }
    *slash = '\0';
    return path;
}

const char *resource_path(struct arena *arena, const char *name)
{
    char buffer[PATH_MAX];
    const char *folder = executable_folder(buffer);
    const char *const candidates[] = {
        arena_copy(arena, name),
        arena_format(arena, "%s/../%s", folder, name),
        arena_format(arena, "%s/../../%s", folder, name),
        arena_format(arena, "%s/../share/assay/%s", folder, name),
        arena_format(arena, "%s/%s", ASSAY_DATADIR, name),
    };
    for (size_t i = 0; i < sizeof candidates / sizeof candidates[0]; i++) {
        if (candidates[i] != NULL && access(candidates[i], R_OK) == 0) {
            return candidates[i];
        }
    }
    return candidates[0];
}

const char *suite_path(struct arena *arena, const char *name)
{
    return strncmp(name, "suites/", strlen("suites/")) == 0 ? resource_path(arena, name) : name;
}
