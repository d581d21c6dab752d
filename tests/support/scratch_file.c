/* Scratch file: see scratch_file.h. */
#include "tests/support/scratch_file.h"

#include <stdlib.h>
#include <unistd.h>

char scratch_file_path[] = "/tmp/assay-test-XXXXXX";

int scratch_file_make(void **state)
{
    (void)state;
    int file = mkstemp(scratch_file_path);
    return file < 0 || close(file) != 0;
}

int scratch_file_remove(void **state)
{
    (void)state;
    return unlink(scratch_file_path);
}
