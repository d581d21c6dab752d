/* Placed plain: what the same disk and bus give to a program that does nothing besides, beside the transfers of a
 * placed case. Internal to harness/run. */
#ifndef ASSAY_RUN_PLACED_PLAIN_H
#define ASSAY_RUN_PLACED_PLAIN_H

#include "harness/run/placed_members.h"

/* Reads what a transfer from the disk read, and copies as many bytes to or from a device as one between it and the host
 * did, at most PLACED_PLAIN_MIB of each. The lanes are open, and nothing runs on them. Without a counterpart stay
 * transfers between two GPUs, which go through the host, those to the disk, which the kernel takes into its memory
 * first, those of less than 1 MiB, and what cannot be had. */
enum { PLACED_PLAIN_MIB = 4096 };
void placed_plain_measure(const struct placed_trial *trial, const struct placed_lanes *lanes,
                          struct placed_transfers *transfers);

#endif
