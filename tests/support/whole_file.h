/* Whole file: what a test compares with. Linked into every test program. */
#ifndef ASSAY_TESTS_SUPPORT_WHOLE_FILE_H
#define ASSAY_TESTS_SUPPORT_WHOLE_FILE_H

/* The bytes of a file and a NUL behind them; released with free. Fails the running test where it cannot be read or is
 * empty. */
char *whole_file_read(const char *path);

#endif
