/* Regular file: the one way in which a file from outside is opened. It may come from somebody else, or lie in a folder
 * that does, so a FIFO never holds the program up, a device that has no end is never read, and nothing is appended
 * through a link. */
#ifndef ASSAY_BASE_REGULAR_FILE_H
#define ASSAY_BASE_REGULAR_FILE_H

#include <sys/stat.h>

#include "harness/base/status.h"

/* Opens path for reading; the caller closes what is returned. A link is followed: reading harms nothing. *facts are
 * fstat's. -1 and errno where it cannot be opened; -1 and an errno of 0 where it is something else than a regular file.
 * For callers with words of their own; the others take regular_file_read. */
int regular_file_open(const char *path, struct stat *facts);

/* The same with words: STATUS_IO with "PATH: cannot be opened: cause; remedy" where it cannot be, with "PATH: is not a
 * regular file; remedy" where it is something else. */
enum status_code regular_file_read(const char *path, const char *remedy, int *file, struct status *error);

/* Opens path for reading and appending; makes the file if there is none; the caller closes *file. STATUS_IO as
 * above, and where path is a link. */
enum status_code regular_file_append(const char *path, const char *remedy, int *file, struct status *error);

#endif
