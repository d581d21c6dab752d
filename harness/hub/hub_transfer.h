/* Hub transfer: one file, or a part of one, over HTTP. Redirects are followed and passing troubles tried again here;
 * what an answer means is said in hub_repository.c. Internal to harness/hub.
 *
 * The token goes to the scheme, host and port of the endpoint and nowhere else. Where the endpoint is https, nothing is
 * fetched by http. Nothing is asked compressed: what is counted is what comes. */
#ifndef ASSAY_HUB_HUB_TRANSFER_H
#define ASSAY_HUB_HUB_TRANSFER_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/status.h"
#include "harness/base/text.h"
#include "harness/hub/hub.h"
#include "harness/hub/hub_name.h"
#include "harness/hub/hub_settings.h"

enum {
    HUB_ADDRESS_BYTES = 8192,
    HUB_HEADERS_BYTES_MAXIMUM = 128 * 1024, /* of one answer */
    HUB_REDIRECTS_MAXIMUM = 5,
    HUB_PART_BYTES_MAXIMUM = 128 * 1024 * 1024 /* what is taken, or passed over, of one file at most */
};

struct hub_request {
    const char *address;
    bool ranged;   /* bytes first to first + count - 1; else the whole file, which must not be longer than count */
    int64_t first; /* first + count <= HUB_PART_BYTES_MAXIMUM where the server may not know ranges */
    int64_t count;
};

struct hub_response {
    long status;       /* of HTTP, after redirects: 200 and 206 both mean that bytes holds what was asked for */
    struct text bytes; /* fewer than were asked for where the file ends before */
    int64_t size;      /* of the whole file; -1: the server does not say */
    char commit[HUB_COMMIT_BYTES]; /* X-Repo-Commit; "" if it was not sent */
    char error_code[64];           /* X-Error-Code: "GatedRepo", "RepoNotFound", "EntryNotFound", "RevisionNotFound" */
    char error_message[256];       /* X-Error-Message */
    char address[HUB_ADDRESS_BYTES]; /* where it came from in the end */
};

struct hub_transfer; /* a connection that is kept, and what has gone through it */

/* Borrows settings. STATUS_IO if there is no libcurl, or if the network is forbidden. */
enum status_code hub_transfer_open(const struct hub_settings *settings, struct hub_transfer **transfer,
                                   struct status *error);
void hub_transfer_close(struct hub_transfer *transfer); /* NULL is accepted */

/* STATUS_OK with whatever status the server gave in the end. STATUS_IO: no answer, or one that broke off or breaks the
 * rules of HTTP; the text names the address and the reason. The caller releases response->bytes. */
enum status_code hub_transfer_get(struct hub_transfer *transfer, const struct hub_request *request,
                                  struct hub_response *response, struct status *error);

struct hub_traffic hub_transfer_traffic(const struct hub_transfer *transfer);

#endif
