/* Program revision: a file of its own, because it alone is compiled again at each commit (REVISION in the Makefile). */
#include "harness/cli/program_revision.h"

#include <stddef.h>

#ifndef ASSAY_REVISION
#define ASSAY_REVISION ""
#endif

const char *program_revision(void)
{
    static const char revision[] = ASSAY_REVISION;
    return revision[0] != '\0' ? revision : NULL;
}
