/* Hub answer: what comes back for one request, taken line by line and block by block. Knows nothing of libcurl, so that
 * it can be fed by hand. Internal to harness/hub. */
#ifndef ASSAY_HUB_HUB_ANSWER_H
#define ASSAY_HUB_HUB_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/hub/hub_transfer.h"

enum answer_end {
    ANSWER_OPEN,         /* more may come */
    ANSWER_ENOUGH,       /* all that was asked for is here, and more was coming: the transfer may be broken off */
    ANSWER_TOO_LONG,     /* the file, or what stands before the range, is longer than is taken */
    ANSWER_HEADERS_LONG, /* more headers than are taken */
    ANSWER_NO_MEMORY,
    ANSWER_WRONG_RANGE /* a 206 for other bytes than those asked for */
};

struct answer {
    const struct hub_request *request;
    struct hub_response *response;
    enum answer_end end;
    int64_t header_bytes, body_bytes; /* that came */
    /* of the headers: -1 where they did not come */
    int64_t content_length, range_first, range_size, linked_size;
};

/* Begins an answer. What of the response is said by headers of redirects on the way (commit, size) stays. */
void answer_begin(struct answer *answer, const struct hub_request *request, struct hub_response *response);

/* One header line, with its line end. False: stop. */
bool answer_header(struct answer *answer, const char *line, size_t length);

/* A block of the body of an answer with this status. False: stop. */
bool answer_body(struct answer *answer, long status, const char *block, size_t length);

/* After the last block: what is known of the size. */
void answer_finish(struct answer *answer, long status);

#endif
