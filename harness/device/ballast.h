/* Ballast: fills an open device until exactly so many bytes can still be had for segments.
 *
 * The room is kept free by a segment of its size while the rest is taken, in pieces that halve until the device refuses
 * the smallest that a segment can be; then it is given back. So what is left is what the device hands out, whatever its
 * counters say, and no page is counted twice. The granule is BALLAST_STEP_BYTES, in which CUDA's driver hands out
 * memory and of which segments are multiples. For devices that have no bound of their own: a GPU that nobody else takes
 * memory of meanwhile. */
#ifndef ASSAY_DEVICE_BALLAST_H
#define ASSAY_DEVICE_BALLAST_H

#include <stdint.h>

#include "harness/base/status.h"
#include "harness/device/device.h"

enum {
    BALLAST_STEP_BYTES = 2 * 1024 * 1024,
    BALLAST_PIECES_MAXIMUM = 512,
    BALLAST_STEP_QUESTIONS = 3,
    BALLAST_SURPLUS_BYTES = 32 * 1024 * 1024 /* that a device may give beyond what it said was free */
};

struct ballast {
    struct device *device;
    int count;
    struct {
        void *address;
        int64_t bytes;
    } pieces[BALLAST_PIECES_MAXIMUM];
};

/* What an open device takes for a segment of one step, by its own count; -1: it does not tell. Other bytes than
 * BALLAST_STEP_BYTES: the driver hands out memory in other granules, of which a segment may share one, so that the room
 * that ballast leaves is not what a case finds. Others who take or give back memory meanwhile are told from that by
 * asking again. */
enum status_code ballast_step_taken(struct device *device, int64_t *bytes, struct status *error);

/* Leaves room_bytes (>= 0), less what is no whole step. STATUS_INVALID if the device has not so many free;
 * STATUS_DEVICE if it cannot be filled, or gives much more than it said was free: such a driver lends the host's
 * memory, of which no more than BALLAST_SURPLUS_BYTES and one piece is taken. Nothing is kept on failure. The device
 * must stay open until ballast_release. */
enum status_code ballast_take(struct device *device, int64_t room_bytes, struct ballast *ballast, struct status *error);

/* Gives everything back; all zero is accepted. The first error; what could not be given back is lost. */
enum status_code ballast_release(struct ballast *ballast, struct status *error);

#endif
