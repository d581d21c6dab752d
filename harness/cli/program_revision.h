/* Program revision: which state of the sources this program was built from. */
#ifndef ASSAY_CLI_PROGRAM_REVISION_H
#define ASSAY_CLI_PROGRAM_REVISION_H

/* What `git describe --always --dirty` said when the program was built: "0.1.0-12-g4692a72-dirty", "a35b9e5". NULL: it
 * was built without a repository, as from a release. */
const char *program_revision(void);

#endif
