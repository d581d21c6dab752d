/* Ballast: segments that nobody uses. It reads no counter but for the size of its first piece. */
#include "harness/device/ballast.h"

#include <inttypes.h>
#include <stddef.h>

static enum status_code piece_take(struct ballast *ballast, int64_t bytes, struct status *error)
{
    void *address = NULL;
    if (ballast->count == BALLAST_PIECES_MAXIMUM) {
        return status_set(error, STATUS_DEVICE, "the device is not full after %d pieces of ballast", ballast->count);
    }
    enum status_code code = ballast->device->table->segment_alloc(ballast->device, bytes, &address, error);
    if (code == STATUS_OK) {
        ballast->pieces[ballast->count].address = address;
        ballast->pieces[ballast->count++].bytes = bytes;
    }
    return code;
}

/* What the device says is free; more than any has if it does not say. */
static int64_t free_bytes_now(struct device *device)
{
    struct device_reading reading = {0};
    bool known = device->table->read_memory(device, &reading, NULL) == STATUS_OK && reading.free_valid;
    return known ? reading.free_bytes : INT64_C(1) << 42;
}

/* Takes all the memory that the device still gives, in pieces that get smaller as it runs out. */
static enum status_code free_memory_take(struct ballast *ballast, struct status *error)
{
    const int64_t free_bytes = free_bytes_now(ballast->device);
    int64_t bytes = free_bytes / BALLAST_STEP_BYTES * BALLAST_STEP_BYTES, taken_bytes = 0;
    enum status_code code = STATUS_OK;
    while (code == STATUS_OK) {
        bytes = bytes > BALLAST_STEP_BYTES ? bytes : BALLAST_STEP_BYTES;
        code = piece_take(ballast, bytes, error);
        taken_bytes += code == STATUS_OK ? bytes : 0;
        if (code == STATUS_OK && taken_bytes - free_bytes > BALLAST_SURPLUS_BYTES) {
            return status_set(error, STATUS_DEVICE,
                              "the device gives more memory than the %" PRId64 " bytes that it had free, so it borrows "
                              "the host's (as drivers of Windows do, also below WSL2) and cannot be filled",
                              free_bytes);
        }
        if (code == STATUS_OUT_OF_MEMORY && bytes > BALLAST_STEP_BYTES) {
            bytes = bytes / 2 / BALLAST_STEP_BYTES * BALLAST_STEP_BYTES;
            code = STATUS_OK;
        }
    }
    return code == STATUS_OUT_OF_MEMORY ? STATUS_OK : code; /* not even the smallest is left */
}

/* -1: not told. */
static int64_t device_bytes_now(struct device *device)
{
    struct device_reading reading = {0};
    bool told = device->table->read_memory(device, &reading, NULL) == STATUS_OK && reading.device_valid;
    return told ? reading.device_bytes : -1;
}

enum status_code ballast_step_taken(struct device *device, int64_t *bytes, struct status *error)
{
    *bytes = 0;
    for (int i = 0; i < BALLAST_STEP_QUESTIONS && *bytes != BALLAST_STEP_BYTES && *bytes >= 0; i++) {
        void *address = NULL;
        int64_t before = device_bytes_now(device);
        enum status_code code = device->table->segment_alloc(device, BALLAST_STEP_BYTES, &address, error);
        if (code != STATUS_OK) {
            return code;
        }
        int64_t after = device_bytes_now(device);
        *bytes = before < 0 || after < before ? -1 : after - before;
        code = device->table->segment_free(device, address, BALLAST_STEP_BYTES, error);
        if (code != STATUS_OK) {
            return code;
        }
    }
    return STATUS_OK;
}

enum status_code ballast_take(struct device *device, int64_t room_bytes, struct ballast *ballast, struct status *error)
{
    int64_t kept_bytes = room_bytes / BALLAST_STEP_BYTES * BALLAST_STEP_BYTES;
    void *kept = NULL;
    struct status unsaid;
    enum status_code code = STATUS_OK;
    *ballast = (struct ballast){.device = device};
    if (kept_bytes > 0) {
        code = device->table->segment_alloc(device, kept_bytes, &kept, error);
    }
    if (code == STATUS_OUT_OF_MEMORY) {
        return status_set(error, STATUS_INVALID,
                          "%" PRId64 " bytes are to be left, and the device has not so many free", kept_bytes);
    }
    if (code == STATUS_OK) {
        code = free_memory_take(ballast, error);
    }
    if (kept != NULL) {
        enum status_code freed =
            device->table->segment_free(device, kept, kept_bytes, code == STATUS_OK ? error : &unsaid);
        code = code == STATUS_OK ? freed : code;
    }
    if (code != STATUS_OK) {
        ballast_release(ballast, &unsaid);
    }
    return code;
}

enum status_code ballast_release(struct ballast *ballast, struct status *error)
{
    enum status_code code = STATUS_OK;
    struct status unsaid;
    while (ballast->count > 0) {
        ballast->count--;
        enum status_code freed = ballast->device->table->segment_free(
            ballast->device, ballast->pieces[ballast->count].address, ballast->pieces[ballast->count].bytes,
            code == STATUS_OK ? error : &unsaid);
        code = code == STATUS_OK ? freed : code;
    }
    return code;
}
