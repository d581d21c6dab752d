/* Parent folders: mkdir for one after the other, and nothing for those that are there. */
#include "harness/cli/parent_folders.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum status_code parent_folders_make(const char *path, struct status *error)
{
    char folder[4096];
    for (const char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        int length = snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
        if (length >= (int)sizeof folder || (mkdir(folder, 0777) != 0 && errno != EEXIST)) {
            return status_set(error, STATUS_IO, "%s: cannot be made: %s; choose another folder with --out", folder,
                              strerror(errno));
        }
    }
    return STATUS_OK;
}
