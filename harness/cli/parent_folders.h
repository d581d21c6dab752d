/* Parent folders: those above what a command writes. */
#ifndef ASSAY_CLI_PARENT_FOLDERS_H
#define ASSAY_CLI_PARENT_FOLDERS_H

#include "harness/base/status.h"

/* Makes the folders above path, which whoever writes makes itself. STATUS_IO names the folder that cannot be made. */
enum status_code parent_folders_make(const char *path, struct status *error);

#endif
