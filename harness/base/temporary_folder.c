/* Temporary folder: entries are removed by the descriptor of the folder that they are in, so that nobody can lead the
 * removal elsewhere by exchanging a folder for a link. */
#include "harness/base/temporary_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DEPTH_MAXIMUM = 16 }; /* nothing of ours is deeper */

enum status_code temporary_folder_make(const char *name, char path[PATH_MAX], struct status *error)
{
    const char *wish = getenv("TMPDIR");
    const char *parent = wish != NULL && wish[0] != '\0' ? wish : "/tmp";
    int length = snprintf(path, PATH_MAX, "%s/%s-XXXXXX", parent, name);
    bool fits = length > 0 && length < PATH_MAX;
    if (!fits || mkdtemp(path) == NULL) {
        int cause = fits ? errno : ENAMETOOLONG;
        path[0] = '\0';
        return status_set(error, STATUS_IO, "%s: no folder can be made there: %s; set TMPDIR to a folder with room",
                          parent, strerror(cause));
    }
    return STATUS_OK;
}

static void folder_empty(int folder, int depth);

static void entry_remove(int folder, const char *name, int depth)
{
    if (unlinkat(folder, name, 0) == 0 || depth == DEPTH_MAXIMUM) {
        return;
    }
    int below = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (below >= 0) {
        folder_empty(below, depth + 1);
        unlinkat(folder, name, AT_REMOVEDIR);
    }
}

/* Takes over the descriptor. */
static void folder_empty(int folder, int depth)
{
    DIR *list = fdopendir(folder);
    const struct dirent *entry = NULL;
    if (list == NULL) {
        close(folder);
        return;
    }
    while ((entry = readdir(list)) != NULL) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            entry_remove(folder, entry->d_name, depth);
        }
    }
    closedir(list);
}

void temporary_folder_remove(char path[PATH_MAX])
{
    int folder = path[0] != '\0' ? open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
    if (folder >= 0) {
        folder_empty(folder, 0);
        rmdir(path);
    }
    path[0] = '\0';
}
