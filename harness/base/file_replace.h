/* File replace: the one writer of whole files. A reader sees the old content or the new one and nothing between,
 * whatever happens to this program, the disk or a second writer of the same file meanwhile.
 *
 * The new content goes into a file beside the old one that has no name until it is complete and on the disk (or a
 * random one of its own where the file system wants a name: .assay-XXXXXXXXXXXXXXXX, made anew and never through a
 * link). It then takes the name in one step. A file that is replaced keeps its permissions, a new one has those that
 * the umask leaves. One that may not be written is not replaced either, though its folder would allow it. */
#ifndef ASSAY_BASE_FILE_REPLACE_H
#define ASSAY_BASE_FILE_REPLACE_H

#include <stdint.h>

#include "harness/base/status.h"
#include "harness/base/text.h"

/* Who has said where the content goes. */
enum file_role {
    /* The user (--output FILE): a link is followed and stays, what it leads to is replaced; what is no regular file (a
     * pipe, a terminal, >(command), /dev/stdout) is written directly. */
    FILE_NAMED,
    /* This program, in a folder of the user's (report.html): whatever is there must be a regular file. A link is
     * refused because a folder may come from somebody else; a link to the folder is the user's own affair. */
    FILE_CHOSEN,
    /* This program, in a folder of its own (a cache): what is there is replaced, a link itself instead of what it leads
     * to. */
    FILE_KEPT
};

/* Writes content to path. STATUS_IO with "PATH: cannot be written: cause", and a remedy where the role is the reason;
 * what was there is then as it was. STATUS_OUT_OF_MEMORY if content has failed. */
enum status_code file_replace(const char *path, enum file_role role, const struct text *content, struct status *error);

/* The same in pieces, for content that is too long to be kept: opened, given to, and finished. The old content stays
 * until then. */
struct file_replacement; /* opaque */

/* STATUS_IO as above: path is refused, or nothing can be written beside it. path is borrowed. The caller finishes or
 * abandons *made. */
enum status_code file_replacement_open(const char *path, enum file_role role, struct file_replacement **made,
                                       struct status *error);

/* Takes the content; borrowed until the end. */
struct text_drain *file_replacement_drain(struct file_replacement *replacement);

/* The next count bytes are zero. A file on a file system that can do so keeps no room for them. STATUS_IO. */
enum status_code file_replacement_skip(struct file_replacement *replacement, int64_t count, struct status *error);

/* Brings what it was given so far to the disk, so that nothing can fail there any more, and finish has only to give the
 * name: for several files that are to appear together. STATUS_IO. */
enum status_code file_replacement_settle(struct file_replacement *replacement, struct status *error);

/* Writes what content has kept, and gives all of it its name. STATUS_IO, STATUS_OUT_OF_MEMORY as file_replace; releases
 * replacement in any case. */
enum status_code file_replacement_finish(struct file_replacement *replacement, const struct text *content,
                                         struct status *error);

/* Gives it its name, and begins to bring its content to the disk without waiting for that: for many files of which
 * nobody reads one before the caller says so, which is to be after file_settle of each. Errors and end as those of
 * finish. */
enum status_code file_replacement_name(struct file_replacement *replacement, struct status *error);
/* Waits until the content of the file at path is on the disk. STATUS_IO with "PATH: cannot be written: cause". */
enum status_code file_settle(const char *path, struct status *error);

/* Leaves what was there as it was. NULL is accepted. */
void file_replacement_abandon(struct file_replacement *replacement);

/* Whether file_replace would refuse what is at path now, before anything costly is done for its content. A folder that
 * is missing or cannot be written is no matter here. */
enum status_code file_replace_check(const char *path, enum file_role role, struct status *error);

#endif
