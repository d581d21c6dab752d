/* Offload copy: tensors of model files as a stream of bytes, through a buffer that does not grow with them. */
#ifndef ASSAY_CLI_OFFLOAD_COPY_H
#define ASSAY_CLI_OFFLOAD_COPY_H

#include "harness/base/byte_source.h"
#include "models/offload_list.h"

enum { OFFLOAD_PIECE_BYTES = 4 << 20 };

/* All zero but files is a copy that has read nothing. */
struct offload_copy {
    const struct checkpoint *files;
    struct byte_source *source; /* the file that was read last */
    int file;
    unsigned char *piece;
};

/* Gives the bytes of an item in order to take, which ends the copy with any other code than STATUS_OK. The item has no obstacle. Errors
 * of reading name the file; STATUS_INVALID where a file has become shorter since its header was read. */
enum status_code offload_copy_item(struct offload_copy *copy, const struct offload_item *item,
                                   enum status_code (*take)(void *context, const void *bytes, int64_t count,
                                                            struct status *error),
                                   void *context, struct status *error);
void offload_copy_close(struct offload_copy *copy);

#endif
