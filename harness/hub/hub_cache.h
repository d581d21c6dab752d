/* Hub cache: huggingface_hub's layout of files on disk, read and written. Internal to harness/hub.
 *
 *   FOLDER/models--OWNER--NAME/refs/REVISION             the commit, as text
 *                              snapshots/COMMIT/FILE     the file; huggingface_hub makes it a link into blobs/
 *                              .no_exist/COMMIT/FILE     empty: the repository has no such file at that commit
 *                              heads/COMMIT/FILE         only in folders of our own: the first bytes of a large file
 *
 * Names come checked (hub_name.h): no part of them leaves the folder. What is written appears whole, under its name, or
 * not at all, however many processes write it. */
#ifndef ASSAY_HUB_HUB_CACHE_H
#define ASSAY_HUB_HUB_CACHE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/status.h"
#include "harness/base/text.h"
#include "harness/hub/hub_name.h"

enum hub_presence {
    HUB_PRESENCE_UNKNOWN, /* the cache does not say */
    HUB_PRESENCE_HERE,
    HUB_PRESENCE_ABSENT /* the repository has no such file */
};

/* The first bytes of a file on the hub. */
struct hub_head {
    struct text bytes;
    int64_t size; /* of the whole file */
};

/* Whether the folder has anything of the repository. */
bool hub_cache_knows(const char *folder, const char *repository);

/* The commit that a revision stands for there: what refs/REVISION says, or the revision itself where there is a
 * snapshot of that name. age_seconds: since it was written; 0 for a commit; may be NULL. False where it is not
 * known. */
bool hub_cache_commit(const char *folder, const char *repository, const char *revision, char commit[HUB_COMMIT_BYTES],
                      int64_t *age_seconds);

/* The file at that commit; path is set where it is here. */
enum hub_presence hub_cache_file(const char *folder, const char *repository, const char *commit, const char *file,
                                 char path[PATH_MAX]);

/* False if no head is kept, or it is damaged. The caller releases head->bytes. */
bool hub_cache_head(const char *folder, const char *repository, const char *commit, const char *file,
                    struct hub_head *head);

/* Writers, for folders of our own; STATUS_IO with the path if the disk does not take it. */
enum status_code hub_cache_keep_file(const char *folder, const char *repository, const char *commit, const char *file,
                                     const struct text *bytes, struct status *error);
enum status_code hub_cache_keep_absence(const char *folder, const char *repository, const char *commit,
                                        const char *file, struct status *error);
enum status_code hub_cache_keep_head(const char *folder, const char *repository, const char *commit, const char *file,
                                     const struct hub_head *head, struct status *error);
/* Removes the heads of a commit, in whatever folder of the repository their files lie. */
void hub_cache_forget_heads(const char *folder, const char *repository, const char *commit);

enum status_code hub_cache_keep_commit(const char *folder, const char *repository, const char *revision,
                                       const char *commit, struct status *error);

#endif
