/* Hub repository: what the parts of harness/hub share of one. Internal to harness/hub. */
#ifndef ASSAY_HUB_HUB_REPOSITORY_H
#define ASSAY_HUB_HUB_REPOSITORY_H

#include "harness/base/arena.h"
#include "harness/hub/hub.h"
#include "harness/hub/hub_cache.h"
#include "harness/hub/hub_transfer.h"

struct hub_repository {
    struct hub_settings settings;
    struct hub_name name;
    char own_folder[PATH_MAX];         /* of the endpoint; "": none */
    char commit[HUB_COMMIT_BYTES];     /* "": not known yet */
    char old_commit[HUB_COMMIT_BYTES]; /* known, but so long ago that the hub is asked first; "": none */
    struct hub_transfer *transfer;     /* NULL: none was needed yet */
    bool exists;                       /* the hub has answered as for a repository that is there */
    struct arena arena;                /* paths that were given out */
};

/* The address of a file: ENDPOINT/REPOSITORY/resolve/COMMIT-OR-REVISION/FILE, its parts escaped. */
enum status_code repository_address(const struct hub_repository *repository, const char *file, struct text *address,
                                    struct status *error);

/* One request for a file of the repository, and the meaning of the answer. STATUS_OK with *absent: the repository has
 * no such file. The commit becomes known here. request->address is set here where it is NULL. */
enum status_code repository_ask(struct hub_repository *repository, const char *file, struct hub_request *request,
                                struct hub_response *response, bool *absent, struct status *error);

/* Opens the source of a file of which nothing but perhaps a head is here. *source is NULL where it is absent. */
enum status_code range_source_open(struct hub_repository *repository, const char *file, struct byte_source **source,
                                   struct status *error);

#endif
