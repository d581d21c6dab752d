/* Operand view: an operand of the tape as a tensor at a real address. */
#ifndef ASSAY_REPLAY_OPERAND_VIEW_H
#define ASSAY_REPLAY_OPERAND_VIEW_H

#include <stdint.h>

#include "harness/base/status.h"
#include "harness/tape/tape.h"

/* The tensor that operand is, in a storage of storage_bytes at address. STATUS_INTERNAL if its shape is not one or
 * if it reaches beyond the storage: nothing wrong may be handed to a device. */
enum status_code operand_view(const struct operand *operand, void *address, int64_t storage_bytes,
                              struct tensor *tensor, struct status *error);

/* The number that one floating element stands for, from its bytes. */
double element_value(enum dtype dtype, const void *bytes);

#endif
