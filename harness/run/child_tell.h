/* Child tell: what a child has sent, told to whoever looks on while it is under way. Internal to harness/run. */
#ifndef ASSAY_RUN_CHILD_TELL_H
#define ASSAY_RUN_CHILD_TELL_H

#include "harness/run/child.h"

/* Hands every object that has arrived since the last call to progress->told; nothing if that is NULL. Lines that are
 * not whole wait; what is no object is passed over, and refused where the attempt ends. */
void child_tell(struct child *child, const struct suite_case *case_, const struct run_progress *progress);

#endif
