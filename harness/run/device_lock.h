/* Device lock: one file for each GPU, in a folder that all users of the machine share, locked (flock) while a run
 * measures on it. Internal to harness/run. docs/decisions/0011 says why it is made so.
 *
 * A run that measures alone locks it for itself; runs that share lock it together. Children inherit the lock, so that a
 * GPU is taken as long as any process of a run lives. The kernel gives it back when they are gone, however they went;
 * the file stays, and holds a line about who took it last. */
#ifndef ASSAY_RUN_DEVICE_LOCK_H
#define ASSAY_RUN_DEVICE_LOCK_H

#include <limits.h>
#include <stdbool.h>

#include "harness/base/status.h"

enum { DEVICE_LOCK_NAME_BYTES = 64 };

struct device_lock {
    int file; /* -1: not held */
    char path[PATH_MAX];
};

/* Where locks are without a wish: the first of /run/lock and /tmp into which every user may write, and where none may
 * take away what others made. NULL: neither. Static. */
const char *device_lock_folder(void);

/* The name of a GPU's lock, from its uuid, or from its PCI bus id if it has none, without what is not a letter, a
 * digit or '-'. False if both are empty. */
bool device_lock_name(const char *uuid, const char *pci_bus_id, char name[DEVICE_LOCK_NAME_BYTES]);

/* Takes the lock without waiting. records_folder: what others are told. STATUS_DEVICE: another run has it; the text
 * says who and what to do. STATUS_IO: there can be no lock here. */
enum status_code device_lock_take(const char *folder, const char *name, bool shared, const char *records_folder,
                                  struct device_lock *lock, struct status *error);

/* Gives up this process's part of it. One that is not held is accepted. */
void device_lock_release(struct device_lock *lock);

#endif
