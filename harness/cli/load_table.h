/* Load table: what a load came to, as text and as JSON. */
#ifndef ASSAY_CLI_LOAD_TABLE_H
#define ASSAY_CLI_LOAD_TABLE_H

#include "harness/cli/load_case.h"
#include "harness/load/plain_transfer.h"

struct load_figures {
    struct load_result predicted, measured; /* shares are borrowed */
    int64_t cached_bytes; /* of the files, that the page cache had when the load began; -1: not known */
    bool has_plain;
    struct plain_transfer plain; /* a sequential read of the same files, in the same run */
    bool host_known;
    int64_t host_grown_bytes; /* of the resident bytes of this process, at most, since before the load */
    int64_t *driver_bytes;    /* by place: what the driver counts more on that GPU; -1: it is not told */
    bool is_read;             /* false: on meta nothing is */
    bool agrees;              /* predicted and measured are the same, on every device */
    struct offload_totals offloaded;
};

/* Bytes of tensors by the second; 0 if nothing was read. */
double load_rate(const struct load_figures *figures);

void load_text_append(const struct load_case *load, const struct load_figures *figures, struct text *text);

/* NULL if memory ran out. */
struct json *load_json(const struct load_case *load, const struct load_figures *figures);

#endif
