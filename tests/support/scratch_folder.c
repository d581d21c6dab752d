/* Scratch folder: see scratch_folder.h. */
#include "tests/support/scratch_folder.h"

#include <ftw.h>
#include <stdio.h>

static int entry_remove(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    return remove(path);
}

int scratch_folder_remove(const char *folder)
{
    return nftw(folder, entry_remove, 8, FTW_DEPTH | FTW_PHYS);
}
