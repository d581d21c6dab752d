/* Device lock: one file for each GPU, in a folder that all users of the machine share, locked (flock) while a run
 * measures on it. Internal to harness/run. docs/decisions/0011 says why it is made so.
 *
 * A run that measures alone locks it for itself; runs that share lock it together. Children inherit the lock, so that a
 * GPU is taken as long as any process of a run lives. The kernel gives it back when they are gone, however they went;
 * the file stays, and holds a line about who took it last.
 *
 * A script that measures with several programs opens the file itself and locks it once (device_lock_hold); the programs
 * that it starts find the lock among the descriptors that came with them, and neither wait for it nor take it. */
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

/* The path of a lock; false if it is too long. */
bool device_lock_path(const char *folder, const char *name, char path[PATH_MAX]);

/* Takes the lock without waiting; one that who started this program holds for itself is ours too, shared or not.
 * records_folder: what others are told. STATUS_BUSY: another run has it; the text says who, and what to do is for
 * the caller to add, by the options that its command has. STATUS_IO:
 * there can be no lock here. */
enum status_code device_lock_take(const char *folder, const char *name, bool shared, const char *records_folder,
                                  struct device_lock *lock, struct status *error);

/* Makes the file of a lock, if it is not there, and tells its path. STATUS_IO: there can be no lock here. */
enum status_code device_lock_make(const char *folder, const char *name, char path[PATH_MAX], struct status *error);

/* Takes the lock, alone and without waiting, in a descriptor that who started this program has opened on its file: it
 * is held until the last process that has the descriptor has closed it. STATUS_INVALID: the descriptor is of no such
 * file. Otherwise as device_lock_take. */
enum status_code device_lock_hold(const char *folder, const char *name, int file, const char *records_folder,
                                  struct status *error);

/* Gives up this process's part of it. One that is not held is accepted. */
void device_lock_release(struct device_lock *lock);

#endif
