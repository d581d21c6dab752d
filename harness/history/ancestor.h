/* Ancestor: the run of the history that is nearest before a revision, as git knows what was before it.
 *
 * A revision is what records have of it: what `git describe --always --dirty` said when assay was built ("a35b9e5",
 * "v0.2.0-3-ga35b9e5", "v0.2.0", each with "-dirty" behind it or not). git is asked in a folder for the commit and its
 * first parents, the nearest first; a run of the commit itself counts as the nearest of all. Runs of sources that were
 * changed and not committed ("-dirty") are of no commit, and are never an ancestor; nor is a run that was cut short, or
 * that lacks cases: what it lacks would be new in the next one, and pass.
 *
 * That there is none is no error, and `why_not` says it: git is not installed, the folder is in no repository, git does
 * not know the commit, the history has no run of its ancestors; and, if the clone is shallow, that older commits are
 * not there and `git fetch --unshallow` gets them. */
#ifndef ASSAY_HISTORY_ANCESTOR_H
#define ASSAY_HISTORY_ANCESTOR_H

#include "harness/history/history.h"

/* That are looked through. */
enum { ANCESTORS_MAXIMUM = 20000 };

struct ancestor {
    bool found;
    struct history_run run; /* the newest of that commit */
    int distance;           /* first parents from the revision to it; 0: the same commit */
    const char *why_not;    /* if it was not found; in the arena */
};

/* Of the runs that filter lets through. folder: inside of the repository, "." usually. revision "" or NULL: the records
 * have none. STATUS_INVALID, STATUS_IO: the history cannot be read. */
enum status_code history_ancestor(struct history *history, const struct history_filter *filter, const char *folder,
                                  const char *revision, struct arena *arena, struct ancestor *ancestor,
                                  struct status *error);

/* The part of a revision that git understands, copied to arena: "a35b9e5" of "v0.2.0-3-ga35b9e5-dirty", "v0.2.0" of
 * "v0.2.0". NULL: it is empty, or has characters that no revision has (it comes from a file), or no memory. */
const char *revision_commit(struct arena *arena, const char *revision);

#endif
