/* The end of a scratch folder that a test has made. Linked into every test program. */
#ifndef ASSAY_TESTS_SUPPORT_SCRATCH_FOLDER_H
#define ASSAY_TESTS_SUPPORT_SCRATCH_FOLDER_H

/* Removes a folder with all that is in it, links themselves and not what they point to. Not 0 where it was gone, or
 * something in it cannot be removed. */
int scratch_folder_remove(const char *folder);

#endif
