/* Temporary folder: a folder of this program's own, and its end with all that lies in it. */
#ifndef ASSAY_BASE_TEMPORARY_FOLDER_H
#define ASSAY_BASE_TEMPORARY_FOLDER_H

#include <limits.h>

#include "harness/base/status.h"

/* Makes $TMPDIR/NAME-XXXXXX, or one in /tmp, for this user alone. STATUS_IO with the cause. */
enum status_code temporary_folder_make(const char *name, char path[PATH_MAX], struct status *error);

/* Removes it with all that lies in it; links go, and what they point to stays. What cannot be removed stays too. "" is
 * accepted; path is "" afterwards. */
void temporary_folder_remove(char path[PATH_MAX]);

#endif
