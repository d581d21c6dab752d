/* One scratch file for a test program: set-up and tear-down of cmocka, and its path between them. */
#ifndef ASSAY_TESTS_SCRATCH_FILE_H
#define ASSAY_TESTS_SCRATCH_FILE_H

extern char scratch_file_path[]; /* in /tmp; made by scratch_file_make */

int scratch_file_make(void **state);   /* an empty file; not 0 where it cannot be made */
int scratch_file_remove(void **state); /* not 0 where it was gone */

#endif
