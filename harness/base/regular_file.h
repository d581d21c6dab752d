/* Regular file: files whose names this program has chosen, opened for reading or for appending. The folder they lie in may come
 * from somebody else, so a FIFO never holds the program up, and nothing is appended through a link. */
#ifndef ASSAY_BASE_REGULAR_FILE_H
#define ASSAY_BASE_REGULAR_FILE_H

#include "harness/base/status.h"

/* Opens path for reading; the caller closes *file. A link is followed: reading harms nothing. STATUS_IO with "PATH: cannot be
 * opened: cause; remedy" where it cannot be, with "PATH: is not a regular file; remedy" where it is something else. */
enum status_code regular_file_read(const char *path, const char *remedy, int *file, struct status *error);

/* Opens path for reading and appending; makes the file where there is none. STATUS_IO as above, and where path is a link. */
enum status_code regular_file_append(const char *path, const char *remedy, int *file, struct status *error);

#endif
