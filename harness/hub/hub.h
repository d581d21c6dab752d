/* Hub: the files of a repository of the Hugging Face hub: from the cache of huggingface_hub, from a cache of our own,
 * or by HTTP, in this order (docs/decisions/0015). Only what is asked for is transferred: small files whole, of large
 * ones the bytes that a reader of headers wants, so that a model of 140 GB costs kilobytes.
 *
 * All files come from one commit. It is the one that the revision stands for in huggingface_hub's cache where that has
 * the repository, else the one that the hub named within the last HUB_REVISION_AGE_SECONDS, else the hub is asked. */
#ifndef ASSAY_HUB_HUB_H
#define ASSAY_HUB_HUB_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/byte_source.h"
#include "harness/base/status.h"
#include "harness/hub/hub_name.h"
#include "harness/hub/hub_settings.h"

enum {
    HUB_REVISION_AGE_SECONDS = 24 * 60 * 60,
    HUB_FIRST_READ_BYTES = 16 * 1024, /* of a large file: holds the header of a shard of some 130 tensors */
    HUB_READ_AHEAD_BYTES_MAXIMUM =
        4 * 1024 * 1024 /* beyond what is asked for; as much as was read before, up to this */
};

struct hub_repository; /* opaque */

/* What went over the network. */
struct hub_traffic {
    int requests;
    int64_t bytes; /* of headers and bodies that came */
};

/* Nothing is looked for yet. settings and name are copied. The caller closes it, after the sources that came from
 * it. */
enum status_code hub_repository_open(const struct hub_settings *settings, const struct hub_name *name,
                                     struct hub_repository **repository, struct status *error);
void hub_repository_close(struct hub_repository *repository); /* NULL is accepted */

/* Whether a cache holds anything of the repository: asking for its files then needs no network, if they are there. */
bool hub_repository_is_cached(const struct hub_repository *repository);

/* Whether there is such a repository, as far as caches and answers have told: also where it is gated. */
bool hub_repository_exists(const struct hub_repository *repository);

/* A small file, whole, of at most maximum_bytes: *path is where it is in a cache, and lives as long as the repository;
 * NULL if the repository has no such file. One whose name ends in .json is kept only if it is JSON: a broken one is
 * asked for anew by the next.
 *
 * Errors: STATUS_INVALID: the file is no JSON (REPOSITORY/FILE:LINE:COLUMN: ...), the repository is missing, private or
 * gated, the revision is missing, the file is too long, the server breaks the rules. STATUS_IO: there is no network, it
 * is forbidden, or the cache cannot be written. Each says what would help. */
enum status_code hub_repository_path(struct hub_repository *repository, const char *file, int64_t maximum_bytes,
                                     const char **path, struct status *error);

/* A large file, to be read in parts; *source is NULL if the repository has no such file. It borrows the repository.
 * What is read of its beginning is kept when it is released. Errors as above. */
enum status_code hub_repository_source(struct hub_repository *repository, const char *file, struct byte_source **source,
                                       struct status *error);

/* What was kept of large files turned out to be wrong: it is removed, and asked for anew by the next repository that is
 * opened. */
void hub_repository_forget(struct hub_repository *repository);

/* Whether files can be transferred at all: libcurl is there. STATUS_IO with the remedy where it is not. It is loaded
 * for this, and stays. */
enum status_code hub_library_check(struct status *error);

/* What has been transferred for this repository. */
struct hub_traffic hub_repository_traffic(const struct hub_repository *repository);

/* The commit that files come from; "" before any was asked for. */
const char *hub_repository_commit(const struct hub_repository *repository);

#endif
