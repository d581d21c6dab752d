/* A tape on a device, step by step, with the memory of its parameters open to the test. No allocator, no ledger: each
 * storage is a block of its own, poisoned before it is used. */
#ifndef ASSAY_TESTS_TAPE_MACHINE_H
#define ASSAY_TESTS_TAPE_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/device/device.h"
#include "models/workload/workload_tape.h"

struct tape_machine {
    struct config config;
    struct skeleton skeleton;
    struct tape *tape;
    struct tape_view view;
    struct device *device;
    void **memory; /* of the device, one for each storage; NULL while it does not live */
    int position;  /* the next event */
    enum stage stage;
};

/* Reads the configuration at path, builds the tape for the target, opens the device. Fails the test on any error. */
void machine_open_on(struct tape_machine *machine, const char *device_spec, const char *target_name, const char *path,
                     const struct workload *workload, int step_count, double learning_rate);
/* The same on the host. */
void machine_open_for(struct tape_machine *machine, const char *target_name, const char *path,
                      const struct workload *workload, int step_count, double learning_rate);
/* The same for the target "host". */
void machine_open(struct tape_machine *machine, const char *path, const struct workload *workload, int step_count,
                  double learning_rate);
void machine_close(struct tape_machine *machine);

/* Starts again: all memory is given back. */
void machine_rewind(struct tape_machine *machine);

/* Runs up to the beginning of the occurrence-th (from 1) stage of that kind; false where the tape ended before. */
bool machine_run_until(struct tape_machine *machine, enum stage stage, int occurrence);

/* The living storage of a category with that label, or -1. */
int machine_find(const struct tape_machine *machine, enum category category, const char *label);
int64_t machine_bytes(const struct tape_machine *machine, int storage);
float *machine_floats(const struct tape_machine *machine, int storage); /* of a machine on the host */
/* All bytes of a storage, from and to memory of the host. */
void machine_read(const struct tape_machine *machine, int storage, void *bytes);
void machine_write(const struct tape_machine *machine, int storage, const void *bytes);

double machine_loss(const struct tape_machine *machine);

#endif
